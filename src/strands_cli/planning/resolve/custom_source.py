"""Custom Python before its import: what its source shows of a tool, read without executing it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

from strands_cli.catalog.source import MAX_SOURCE_BYTES, SourceError, SourceTool, read_tool
from strands_cli.toolref import ToolRef


def is_found(module: str, folders: Sequence[str] = ()) -> bool:
    """Return whether Python would find the top of a module, here or in more folders; nothing is imported."""
    return PathFinder.find_spec(module.partition(".")[0], [*folders, *sys.path]) is not None


def tools_in(module: str, folders: Sequence[str]) -> tuple[str, ...]:
    """Return the tools that the source of a module shows, as references; none if they show only after its import."""
    whole = _read(module, None, folders)
    if whole is None:
        return ()
    names = [whole.name] if whole.name else [member.name for member in whole.members or ()]
    return tuple(f"{module}:{name}" for name in names if name)


def tool_in(ref: ToolRef, folders: Sequence[str]) -> SourceTool | None:
    """Return what the source shows of the tool that a reference to custom Python names."""
    return _read(str(ref.module), ref.attribute, folders)


def class_of_method(ref: ToolRef, folders: Sequence[str]) -> str | None:
    """Return the reference to the class, if a reference to custom Python names a tool that is a method of one."""
    owner, _, method = (ref.attribute or "").rpartition(".")
    found = _read(str(ref.module), owner, folders) if owner else None
    if found is None or found.kind != "class":
        return None
    return f"{ref.module}:{owner}" if any(member.name == method for member in found.members or ()) else None


def _read(module: str, attribute: str | None, folders: Sequence[str]) -> SourceTool | None:
    def read_module(name: str) -> tuple[str, bytes] | None:
        spec = _spec_of(name, [*folders, *sys.path])
        file = Path(spec.origin) if spec is not None and spec.origin else None
        if file is None or file.suffix != ".py" or file.stat().st_size > MAX_SOURCE_BYTES:
            return None
        return str(file), file.read_bytes()

    try:
        return read_tool(module, attribute, read_module)
    except (SourceError, OSError):  # reported where it is imported
        return None


def _spec_of(module: str, path: Sequence[str]) -> ModuleSpec | None:
    """Return where a module is, without importing the packages that it is in."""
    spec: ModuleSpec | None = None
    for end in range(1, module.count(".") + 2):
        name = ".".join(module.split(".")[:end])
        spec = PathFinder.find_spec(name, list(path))
        if spec is None:
            return None
        path = list(spec.submodule_search_locations or ())
    return spec
