"""Hand-made installed distributions: a `*.dist-info` and a package in a directory, of every sound and broken kind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

GROUP = "strands_cli.tools"
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def tool(name: str, entry: str, **fields: Any) -> dict[str, Any]:
    """Return a manifest's tool with everything that is needed, and the given fields over it."""
    described = {"name": name, "entry": entry, "kind": "module", "description": f"Does {name}.", "input_schema": SCHEMA}
    return {**described, **fields}


def manifest_of(distribution: str, *tools: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a sound manifest."""
    head = {"manifest_version": 1, "api": {"min": 1, "max": 1}, "distribution": distribution}
    return {**head, "tools": list(tools), **fields}


def module_source(name: str, description: str = "", **spec: Any) -> str:
    """Return the source of a module tool: a literal TOOL_SPEC and a function that echoes its input."""
    literal = {"name": name, "description": description or f"Does {name}.", "inputSchema": {"json": SCHEMA}, **spec}
    return (
        f"TOOL_SPEC = {literal!r}\n\n\n"
        f"def {name}(tool, **kwargs):\n"
        "    content = [{'text': str(tool['input'])}]\n"
        "    return {'toolUseId': tool['toolUseId'], 'status': 'success', 'content': content}\n"
    )


def make_distribution(
    directory: Path,
    name: str,
    version: str = "1.0",
    entry_points: Mapping[str, str] | str | bytes | None = None,
    files: Mapping[str, str | bytes] | None = None,
    manifest: Mapping[str, Any] | str | bytes | None = None,
) -> Path:
    """Write one installed distribution and return its `*.dist-info`.

    Args:
        directory: Where it is installed; made if it is missing.
        name: As in its metadata; `_` takes the place of `-` in file names.
        version: As in its metadata.
        entry_points: Name -> value for the group of tools, or the whole `entry_points.txt`, or None for no file.
        files: Relative path -> contents.
        manifest: A document or raw text for `strands_tools.json` in the package of the first entry point.
    """
    escaped = name.replace("-", "_")
    record = directory / f"{escaped}-{version}.dist-info"
    _write(record / "METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    if isinstance(entry_points, Mapping):
        lines = "".join(f"{key} = {value}\n" for key, value in entry_points.items())
        _write(record / "entry_points.txt", f"[{GROUP}]\n{lines}")
    elif entry_points is not None:
        _write(record / "entry_points.txt", entry_points)
    for path, contents in (files or {}).items():
        _write(directory / path, contents)
    if manifest is not None:
        package = escaped
        if isinstance(entry_points, Mapping) and entry_points:
            package = next(iter(entry_points.values())).partition(":")[0].partition(".")[0].strip()
        text = json.dumps(manifest) if isinstance(manifest, Mapping) else manifest
        _write(directory / package / "strands_tools.json", text)
    return record


def sound(directory: Path, tool_name: str, version: str = "1.0", **fields: Any) -> Path:
    """Install `strands-tool-<name>` with one module tool and a manifest; `fields` go into the manifest's tool."""
    name, package = _names(tool_name)
    entry = f"{package}.{tool_name}"
    return make_distribution(
        directory,
        name,
        version,
        {tool_name: entry},
        {f"{package}/__init__.py": "", f"{package}/{tool_name}.py": module_source(tool_name)},
        manifest_of(name, tool(tool_name, entry, **fields)),
    )


def without_manifest(directory: Path, tool_name: str, source: str | None = None, attribute: str = "") -> Path:
    """Install a distribution whose single module says everything there is to know."""
    name, package = _names(tool_name)
    value = f"{package}:{attribute}" if attribute else package
    files = {f"{package}/__init__.py": module_source(tool_name) if source is None else source}
    return make_distribution(directory, name, "1.0", {tool_name: value}, files)


def broken_manifest(directory: Path, tool_name: str) -> Path:
    """Install a distribution whose manifest is not JSON."""
    record = sound(directory, tool_name)
    _write(directory / _names(tool_name)[1] / "strands_tools.json", '{"manifest_version": 1,,}')
    return record


def twin(directory: Path, tool_name: str, distribution: str) -> Path:
    """Install another distribution that claims a name somebody else may have."""
    package = distribution.replace("-", "_")
    return make_distribution(
        directory,
        distribution,
        "1.0",
        {tool_name: package},
        {f"{package}/__init__.py": module_source(tool_name)},
        manifest_of(distribution, tool(tool_name, package)),
    )


def booby_trapped(directory: Path, tool_name: str, sentinel: Path) -> Path:
    """Install a tool whose import leaves a file and raises: listing it must leave no file."""
    record = sound(directory, tool_name)
    package = directory / _names(tool_name)[1]
    trap = f"open({str(sentinel)!r}, 'w').close()\nraise RuntimeError('this plugin was imported')\n"
    _write(package / "__init__.py", trap)
    _write(package / f"{tool_name}.py", trap)
    return record


def exits_on_import(directory: Path, tool_name: str) -> Path:
    """Install a tool whose import ends the process."""
    record = sound(directory, tool_name)
    _write(directory / _names(tool_name)[1] / "__init__.py", "import sys\n\nsys.exit(7)\n")
    return record


def _names(tool_name: str) -> tuple[str, str]:
    return f"strands-tool-{tool_name.replace('_', '-')}", f"strands_tool_{tool_name}"


def _write(path: Path, contents: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(contents if isinstance(contents, bytes) else contents.encode())
