"""The manifests that a build of a plugin must contain, for build hooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from strands_cli.catalog.definitions.definition_diff import manifest_differences
from strands_cli.catalog.definitions.manifest import parse_manifest
from strands_cli.catalog.distributions.entry_points import normalise
from strands_cli.errors import Finding, InvalidInput, Where
from strands_cli.plugins.check.manifest_writer import AUTHORED, drifted, make_manifests, read_manifest, render
from strands_cli.plugins.check.project import BAD_PLUGIN, PluginProject, read_project

Authored = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class BuildManifest:
    """One manifest of a build.

    Attributes:
        file: Its path in the source tree.
        path: The same, relative to the directory that the packages are imported from.
        text: The text of the file, generated from the code.
        is_committed: Whether the source tree contains the file.
        problems: Reasons why the build cannot use it: the file is malformed or differs from the code.
    """

    file: Path
    path: Path
    text: str
    is_committed: bool
    problems: tuple[str, ...]


def build_manifests(
    directory: Path, *, imports: bool = False, import_fix: str | None = None, authored: Authored | None = None
) -> list[BuildManifest]:
    """Generate the manifests of a plugin project and compare those that are committed with the code.

    Args:
        directory: The project, with its `pyproject.toml`.
        imports: Whether code that is not literal may be imported, in a child process.
        import_fix: The fix to suggest if code must be imported and `imports` is false.
        authored: Fields of each tool that the code does not state, for packages without a committed manifest.

    Raises:
        InvalidInput: A module is missing, does not import, must be imported without `imports`, or defines no tool; or
            `authored` has an unknown tool, or a field that the code states.
    """
    project = read_project(directory)
    documents = make_manifests(project, imports=imports, import_fix=import_fix)
    _require_known(authored or {}, documents, project)
    return [_manifest(project, file, document, authored or {}) for file, document in documents.items()]


def _manifest(project: PluginProject, file: Path, document: Mapping[str, Any], authored: Authored) -> BuildManifest:
    is_committed = file.is_file()
    if not is_committed:
        document = {**document, "tools": [{**tool, **authored.get(tool["name"], {})} for tool in document["tools"]]}
    text = render(document)
    raw = file.read_bytes() if is_committed else text.encode()
    problems = list(parse_manifest(raw, str(file), normalise(project.name))[1])
    if is_committed:
        problems += [drifted(file, *difference) for difference in manifest_differences(read_manifest(file), document)]
    return BuildManifest(file, file.relative_to(project.source), text, is_committed, tuple(map(str, problems)))


def _require_known(authored: Authored, documents: Mapping[Path, Mapping[str, Any]], project: PluginProject) -> None:
    names = {tool["name"] for document in documents.values() for tool in document["tools"]}
    findings = [Finding(BAD_PLUGIN, problem, Where(str(project.declared_in))) for problem in _unknown(authored, names)]
    if findings:
        raise InvalidInput("the plugin's manifest cannot be made", findings=findings)


def _unknown(authored: Authored, names: set[str]) -> Iterator[str]:
    """Yield a problem for each unknown tool of `authored`, and for each field that only the code states."""
    for name, fields in authored.items():
        if name not in names:
            yield f"tools.{name}: unknown tool; known: {', '.join(sorted(names))}"
        for field in fields if isinstance(fields, Mapping) else ():
            if field not in AUTHORED:
                yield f"tools.{name}.{field}: this field comes from the code; allowed here: {', '.join(AUTHORED)}"
