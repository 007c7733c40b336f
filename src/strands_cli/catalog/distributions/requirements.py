"""Check a tool's requirements on this machine without importing the tool or its requirements."""

# Strings and os.path: a listing handles thousands of names, and Path costs it several times more.
# ruff: noqa: PTH112, PTH118
from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from strands_cli.catalog.distributions.entry_points import Scan, normalise
from strands_cli.catalog.distributions.module_files import find_package, module_file
from strands_cli.versions import satisfies

_SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows", "cygwin": "windows"}
_SIMPLE_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*((?:[<>=!]=?[^;@\[]*)?)")


def unmet(requires: Mapping[str, Any], seen: Scan) -> list[str]:
    """Return the missing requirements, each as a phrase that follows "needs"; empty if all are met."""
    missing = [_python(requires["python"])] if "python" in requires else []
    if systems := requires.get("os"):
        missing.append(_system(systems))
    missing += [_variable(name) for name in requires.get("env", ())]
    missing += [_distribution(text, seen) for text in requires.get("distributions", ())]
    missing += [_module(name, seen) for name in requires.get("modules", ())]
    return [phrase for phrase in missing if phrase]


def _python(specifier: str) -> str | None:
    running = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info.releaselevel != "final":
        import platform  # only the version of a pre-release has more parts

        running = platform.python_version().rstrip("+")
    return _judge(running, specifier, f"Python {specifier} (this is {running})")


def _judge(version: str, specifier: str, phrase: str) -> str | None:
    try:
        return None if satisfies(version, specifier) else phrase
    except ValueError:
        return f"{phrase}; that cannot be compared"


def _system(systems: list[str]) -> str | None:
    running = _SYSTEMS.get(sys.platform, sys.platform)
    wanted = {_SYSTEMS.get(name.lower(), name.lower()) for name in systems}
    return None if running in wanted else f"the operating system {' or '.join(sorted(wanted))} (this is {running})"


def _variable(name: str) -> str | None:
    return None if os.environ.get(name) else f"the environment variable {name}"


def _distribution(text: str, seen: Scan) -> str | None:
    simple = _SIMPLE_REQUIREMENT.fullmatch(text)
    if simple is None:
        return _full_requirement(text, seen)
    return _installed(simple[1], simple[2].strip(), text, seen)


def _installed(name: str, specifier: str, text: str, seen: Scan) -> str | None:
    if normalise(name) not in seen.records:
        return f"the distribution {text!r}: pip install '{text}'"
    version = seen.version(name)
    if not specifier or version is None:
        return None
    return _judge(version, specifier, f"the distribution {text!r} ({version} is installed)")


def _full_requirement(text: str, seen: Scan) -> str | None:
    from packaging.requirements import InvalidRequirement, Requirement  # markers, extras and URLs are rare

    try:
        requirement = Requirement(text)
    except InvalidRequirement:
        return f"the distribution {text!r}, which is not a PEP 508 requirement"
    if requirement.marker is not None and not requirement.marker.evaluate():
        return None
    lacking = _installed(requirement.name, str(requirement.specifier), text, seen)
    return lacking or next(
        filter(None, (_extra(requirement.name, one, text, seen) for one in requirement.extras)), None
    )


def _extra(name: str, extra: str, text: str, seen: Scan) -> str | None:
    """Return the missing part of an installed distribution's extra; only direct dependencies are checked."""
    from packaging.requirements import InvalidRequirement, Requirement

    from strands_cli.catalog.distributions.dist_info import open_distribution

    installed = open_distribution(seen.records[normalise(name)][0][1])
    provided = {normalise(one) for one in installed.metadata.get_all("Provides-Extra") or ()}
    if normalise(extra) not in provided:
        return f"the distribution {text!r}, which has no extra {extra!r}"
    try:
        needs = [Requirement(one) for one in installed.requires or ()]
    except InvalidRequirement as error:
        return f"the distribution {text!r}, whose own requirements cannot be read ({str(error).splitlines()[0]})"
    for needed in needs:
        marker = needed.marker
        if marker is None or marker.evaluate({"extra": ""}) or not marker.evaluate({"extra": extra}):
            continue
        if _installed(needed.name, str(needed.specifier), str(needed), seen):
            return f"the distribution {text!r}, of which {needed.name!r} is missing or of another version: " + (
                f"pip install '{text}'"
            )
    return None


def _module(name: str, seen: Scan) -> str | None:
    if not all(part.isidentifier() for part in name.split(".")):
        return f"the module {name!r}, which is not a module name"
    top = name.partition(".")[0]
    if top in sys.builtin_module_names:
        return None
    package = find_package(top, seen.listings)
    if package and (name == top or module_file(package, name) or _namespace(package.directory, name)):
        return None
    return f"the module {name!r}"


def _namespace(directory: str | None, name: str) -> bool:
    return directory is not None and os.path.isdir(os.path.join(directory, *name.split(".")[1:]))
