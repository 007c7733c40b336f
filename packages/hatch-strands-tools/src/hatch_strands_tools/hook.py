"""The build hook `strands-tools`: puts a true manifest into wheel and source distribution, or ends the build."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.plugin import hookimpl

from strands_cli.catalog.definition_diff import drift, shortened
from strands_cli.catalog.distributions import normalise
from strands_cli.catalog.manifest import parse_manifest
from strands_cli.errors import InvalidInput
from strands_cli.plugins.check.manifest_writer import AUTHORED, make_manifests, read_manifest, render
from strands_cli.plugins.check.project import PluginProject, read_project

OPTIONS = {"import": bool, "tools": dict}
_IMPORT_FIX = (
    "let the hook import it in a process of its own: [tool.hatch.build.hooks.strands-tools] import = true; or commit "
    "the manifest: strands plugin manifest --write"
)


class ManifestHook(BuildHookInterface[Any]):
    """Makes the manifest where none is committed, and holds a committed one against the code.

    Options: `import` allows what is not literal to be imported, in a child process; `tools` gives for each tool what
    no code says (`examples`, `requires`, `family`, ...), where there is no committed manifest to say it.
    """

    PLUGIN_NAME = "strands-tools"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Read the project and include its manifests; an editable build is only checked."""
        problems = list(wrong_options(self.config))
        if problems:
            self._abort(problems)
        try:
            project = read_project(Path(self.root))
            documents = make_manifests(project, imports=self.config.get("import", False))
        except InvalidInput as error:
            self._abort([str(finding) for finding in error.findings] + self._advice(error))
        said = self.config.get("tools", {})
        documents = {
            file: document if file.is_file() else authored(document, said) for file, document in documents.items()
        }
        problems = [line for file, document in documents.items() for line in faults(project, file, document)]
        problems += list(unknown_tools(said, documents))
        if problems:
            self._abort(problems)
        if version != "editable":
            self._include(project, documents, build_data)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what was made for the build."""
        shutil.rmtree(getattr(self, "_made", ""), ignore_errors=True)

    def _include(
        self, project: PluginProject, documents: Mapping[Path, Mapping[str, Any]], build_data: dict[str, Any]
    ) -> None:
        self._made = tempfile.mkdtemp(prefix="hatch-strands-tools-")
        base = project.source if self.target_name == "wheel" else Path(self.root)
        for number, (file, document) in enumerate(documents.items()):
            if file.is_file():
                # A version control system may ignore it; then hatchling would leave it out.
                build_data["artifacts"].append("/" + file.relative_to(self.root).as_posix())
                continue
            made = Path(self._made) / f"{number}.json"
            made.write_text(render(document), encoding="utf-8", newline="\n")
            build_data["force_include"][str(made)] = file.relative_to(base).as_posix()

    def _advice(self, error: InvalidInput) -> list[str]:
        asks = not self.config.get("import", False) and "must be imported" in str(error.findings)
        return [f"  fix: {_IMPORT_FIX}"] if asks else []

    def _abort(self, problems: list[str]) -> NoReturn:
        self.app.abort("\n".join(["strands-tools: the manifest cannot go into the build", *problems]))
        raise SystemExit(1)


def wrong_options(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with the hook's own configuration."""
    # Those that hatchling itself reads stand in the same table.
    known = {*OPTIONS, "dependencies", "enable-by-default", "require-runtime-dependencies", "require-runtime-features"}
    for name, value in config.items():
        if name not in known:
            yield f"there is no option '{name}' of strands-tools; there are: {', '.join(OPTIONS)}"
        elif name in OPTIONS and not isinstance(value, OPTIONS[name]):
            yield f"the option '{name}' of strands-tools is {value!r}, not of type {OPTIONS[name].__name__}"


def authored(document: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest with what the configuration says of its tools."""
    tools = [{**tool, **said.get(tool["name"], {})} for tool in document["tools"]]
    return {**document, "tools": tools}


def unknown_tools(said: Mapping[str, Any], documents: Mapping[Path, Mapping[str, Any]]) -> Iterator[str]:
    """Yield what the configuration says of tools that are not there, or that only code may say."""
    names = {tool["name"] for document in documents.values() for tool in document["tools"]}
    for name, fields in said.items():
        if name not in names:
            yield f"tools.{name}: there is no such tool; there are: {', '.join(sorted(names))}"
        for field in fields if isinstance(fields, Mapping) else ():
            if field not in AUTHORED:
                yield f"tools.{name}.{field}: only the code says that; to be written here: {', '.join(AUTHORED)}"


def faults(project: PluginProject, file: Path, document: Mapping[str, Any]) -> Iterator[str]:
    """Yield why a manifest may not go into the build: it is malformed, or a committed one is not what the code says."""
    raw = file.read_bytes() if file.is_file() else render(document).encode()
    yield from map(str, parse_manifest(raw, str(file), normalise(project.name))[1])
    if file.is_file():
        for pointer, old, new in drift(read_manifest(file), document):
            yield (
                f"error[manifest-drift]: the manifest says {shortened(old)}, the code says {shortened(new)}\n"
                f"  --> {file}  ({pointer})\n  fix: strands plugin manifest --write"
            )


@hookimpl
def hatch_register_build_hook() -> type[ManifestHook]:
    """Tell hatchling of the hook."""
    return ManifestHook
