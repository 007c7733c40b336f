"""Check a plugin's metadata, and that its wheel contains the manifest."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from strands_cli.api import Code, Finding, Manifest, Where, json_object
from strands_cli_dev.plugin_check.plugin_project import PluginProject
from strands_cli_dev.plugin_check.tool_definitions import requirement_fault, specifier_fault

BAD_METADATA = Code(
    "bad-metadata",
    "A plugin's name, version, dependencies or Python versions do not follow the packaging standards.",
    "Correct the field.",
)
PLUGIN_NAME = Code(
    "plugin-name",
    "A plugin's name does not begin with strands-tool-, or strands-flow- for workflows.",
    "Rename it, unless it is published.",
)
MANIFEST_NOT_PACKAGED = Code(
    "manifest-not-packaged",
    "A plugin's wheel does not contain strands_tools.json.",
    "Include it in the build as the fix describes.",
)

# https://packaging.python.org/en/latest/specifications/name-normalization/
_NAME = re.compile(r"[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9._-]*[a-zA-Z0-9]")
_CONVENTION = "strands-tool"
_CONVENTION_OF_DATA = "strands-flow"
BUILD_HOOK = "strands-tools"


def check_metadata(project: PluginProject) -> Iterator[Finding]:
    """Yield the metadata that installers reject, and a name that does not follow the convention."""
    for field, message in _installed_faults(project) if project.is_installed else _faults(project):
        where = Where(str(project.directory / ("METADATA" if project.is_installed else "pyproject.toml")))
        yield Finding(BAD_METADATA, f"{field}: {message}", where)
    source = project.source
    if not (source.tools or source.folders):  # other parts already have names that help a person
        return
    convention = _CONVENTION if source.tools else _CONVENTION_OF_DATA
    if not source.name.startswith(convention):
        message = f"the distribution is named '{project.name}'; by convention its name begins with {convention}-"
        yield Finding(PLUGIN_NAME, message, project.where, severity="warning")


def _faults(project: PluginProject) -> Iterator[tuple[str, str]]:
    metadata = project.settings["project"]
    if not _NAME.fullmatch(project.name):
        yield "project.name", f"{project.name!r} is not a valid name of a distribution"
    if "version" not in metadata and "version" not in metadata.get("dynamic", ()):
        yield "project", "there is no version, and 'version' is not in `dynamic`"
    elif isinstance(version := metadata.get("version"), str) and (fault := _version_fault(version)):
        yield "project.version", fault
    python = metadata.get("requires-python")
    if isinstance(python, str) and (fault := specifier_fault(python)):
        yield "project.requires-python", fault
    for text in metadata.get("dependencies", ()):
        if isinstance(text, str) and (fault := requirement_fault(text)):
            yield "project.dependencies", f"{text!r}: {fault}"


def _installed_faults(project: PluginProject) -> Iterator[tuple[str, str]]:
    metadata = Distribution.at(project.directory).metadata.json
    name, version = (str(metadata.get(key) or "") for key in ("name", "version"))
    if canonicalize_name(name) != project.name:
        yield "Name", f"the metadata of '{project.name}' states the name {name!r}"
    if _version_fault(version):
        yield "Version", f"{version!r} is not a version"


def _version_fault(text: str) -> str | None:
    try:
        Version(text)
    except InvalidVersion as error:
        return str(error)
    return None


def has_build_hook(project: PluginProject) -> bool:
    """Return whether the build generates the manifest, so that it need not be committed."""
    return hook_options(project) is not None


def hook_options(project: PluginProject) -> Mapping[str, Any] | None:
    """Return the options of the build hook that generates the manifest; None without it."""
    hatch = _at(project.settings, "tool", "hatch", "build")
    targets = [*(_at(hatch, "targets", name) for name in ("wheel", "sdist")), hatch]
    options = [_at(target, "hooks", BUILD_HOOK) for target in targets if BUILD_HOOK in _at(target, "hooks")]
    return options[0] if options else None


def check_packaged(project: PluginProject, manifest: Path) -> Iterator[Finding]:
    """Yield the reason, from the build's configuration, why the wheel will not contain the manifest.

    Args:
        project: A source tree; for an installed distribution nothing is checked.
    """
    if project.is_installed or has_build_hook(project):
        return
    backend = str(_at(project.settings, "build-system").get("build-backend", "setuptools.build_meta"))
    path = manifest.relative_to(project.directory).as_posix()
    fault = {"hatchling": _hatch_fault, "setuptools": _setuptools_fault}.get(backend.partition(".")[0])
    reason = fault(project, path) if fault else None
    if reason is None and backend.partition(".")[0] != "setuptools" and _ignored(project.directory, path):
        reason = ".gitignore names it, and the build leaves out what git ignores", "remove it from .gitignore"
    if reason is not None:
        message = f"{Manifest.FILE_NAME} would not be in the wheel: {reason[0]}"
        yield Finding(MANIFEST_NOT_PACKAGED, message, project.where, reason[1])


def _hatch_fault(project: PluginProject, path: str) -> tuple[str, str] | None:
    build = _at(project.settings, "tool", "hatch", "build")
    wheel = _at(build, "targets", "wheel")
    excluded = [*_texts(build, "exclude"), *_texts(wheel, "exclude")]
    if any(_matches(path, pattern) for pattern in excluded):
        return "`exclude` leaves it out", "narrow `exclude`"
    if any(_matches(path, pattern) for pattern in [*_texts(wheel, "artifacts"), *_texts(build, "artifacts")]):
        return None
    chosen = [text for key in ("packages", "only-include", "include") for text in _texts(wheel, key)]
    if chosen and not any(_matches(path, pattern) for pattern in chosen):
        return f"the wheel contains only {', '.join(chosen)}", f'packages = ["{Path(path).parent.as_posix()}"]'
    return None


def _setuptools_fault(project: PluginProject, path: str) -> tuple[str, str] | None:
    root, file = project.source.root.relative_to(project.directory), Manifest.FILE_NAME
    package = Path(path).parent.relative_to(root).as_posix().replace("/", ".")
    settings = _at(project.settings, "tool", "setuptools")
    stated = _at(settings, "package-data")
    patterns = [*_texts(stated, package), *_texts(stated, "*")]
    if any(fnmatch(file, pattern) for pattern in patterns):
        return None
    manifest_in = project.directory / "MANIFEST.in"
    named = manifest_in.is_file() and any(
        text in manifest_in.read_text(encoding="utf-8", errors="replace") for text in (file, "*.json", "graft")
    )
    if named and settings.get("include-package-data", True):
        return None
    return "no package data names it", f'[tool.setuptools.package-data] "{package}" = ["{file}", "py.typed"]'


def _ignored(directory: Path, path: str) -> bool:
    file = directory / ".gitignore"
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []
    patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    # The last matching line decides, as with git.
    verdicts = [not line.startswith("!") for line in patterns if _matches(path, line.removeprefix("!"))]
    return bool(verdicts) and verdicts[-1]


def _matches(path: str, pattern: str) -> bool:
    """Return whether a pattern with git's rules matches a file or one of its parent folders."""
    anchored, plain = "/" in pattern.rstrip("/"), pattern.strip("/")
    above = [path, *(parent.as_posix() for parent in Path(path).parents if parent.name)]
    return any(fnmatch(path_above if anchored else Path(path_above).name, plain) for path_above in above)


def _at(table: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    for key in keys:
        inner = table.get(key)
        table = json_object(inner)
    return table


def _texts(table: Mapping[str, Any], key: str) -> list[str]:
    value = table.get(key)
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
