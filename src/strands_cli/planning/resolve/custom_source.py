"""Custom Python before its import: what its source shows of a tool, read without executing it."""

from __future__ import annotations

import sys
from collections.abc import Container, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli.catalog.distributions.scan import search_path
from strands_cli.errors import suggest
from strands_cli.texts.canonical_json import json_object
from strands_cli.toolref import ToolRef

if TYPE_CHECKING:  # what parses Python is imported where a workflow names custom Python
    from strands_cli.catalog.source.source_tool import SourceTool


def is_found(module: str, folders: Sequence[str] = ()) -> bool:
    """Return whether Python would find the top of a module, installed or in these folders; nothing is imported."""
    top = module.partition(".")[0]
    if PathFinder.find_spec(top, [*folders, *search_path()]) is not None:
        return True
    # Editable installations have finders of their own; some of older libraries lack the method.
    finders = [getattr(finder, "find_spec", None) for finder in sys.meta_path if finder is not PathFinder]
    return any(find(top, None) is not None for find in finders if find is not None)


def is_absent(module: str, folders: Sequence[str]) -> bool:
    """Return whether Python surely finds no module of this name, installed or in these folders; nothing is imported."""
    path = [*folders, *(entry for entry in sys.path if entry)]
    if module in sys.modules or not is_found(module, path):
        return module not in sys.modules
    parts = module.split(".")
    for end in range(1, len(parts)):
        parent = _spec_of(".".join(parts[:end]), path)
        if parent is None or _may_make_modules(parent):
            return False
    return _spec_of(module, path) is None and len(parts) > 1


def _may_make_modules(parent: ModuleSpec) -> bool:
    """Return whether the code of a package may add to its modules, as `pkgutil.extend_path` and `six.moves` do."""
    origin = Path(parent.origin) if parent.has_location and parent.origin else None
    if origin is None:
        return parent.submodule_search_locations is None
    try:
        source = origin.read_bytes()
    except OSError:
        return True
    return origin.suffix != ".py" or any(word in source for word in (b"__path__", b"sys.modules", b"meta_path"))


def how_to_find(ref: ToolRef, folders: Sequence[str], installed: Container[str]) -> str | None:
    """Return the fix for a reference to a module that is found nowhere.

    Args:
        installed: The names of the installed tools, one of which may be meant.
    """
    name = (ref.attribute or ref.name).lower()
    if name in installed:
        return f"did you mean 'native:{name}'?"
    beside = {file.stem for folder in folders for file in Path(folder).glob("*.py")}
    otherwise = "correct the name, install it, or add its folder: `tools: {python_path: [FOLDER]}`"
    return suggest(str(ref.module), beside, otherwise)


def missing_folder(module: str, python_path: Sequence[str], base: Path) -> str | None:
    """Return what finds a module that lies beside the workflow, where a run would not look for it; None otherwise."""
    if is_found(module, [str(base / path) for path in python_path]) or not is_found(module, [str(base)]):
        return None
    return f"write `tools: {{python_path: [{', '.join(['.', *python_path])}]}}`"


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


def secrets_in_source(ref: ToolRef, folders: Sequence[str]) -> tuple[str, ...]:
    """Return the secrets that the source of one tool declares; those of a class show when it is imported."""
    found = tool_in(ref, folders)
    names = json_object(found.strands_cli.get("capabilities")).get("secrets") if found and not found.members else None
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, (list, tuple)) else ()


def lacks(ref: ToolRef, folders: Sequence[str]) -> bool:
    """Return whether the source surely has no tool of the attribute that a reference to custom Python names."""
    from strands_cli.catalog.source.absent_names import lacks_tool

    try:
        found = _source_of(str(ref.module), folders)
    except OSError:
        return False
    return found is not None and ref.attribute is not None and lacks_tool(found[1], ref.attribute)


def class_of_method(ref: ToolRef, folders: Sequence[str]) -> str | None:
    """Return the reference to a class of tools, if a reference to custom Python names a method of it or no part."""
    owner, _, method = (ref.attribute or "").rpartition(".")
    found = _read(str(ref.module), owner, folders) if owner else None
    if found is None or found.kind != "class":
        return None
    is_member = any(member.name == method for member in found.members or ())
    return f"{ref.module}:{owner}" if is_member or lacks(ref, folders) else None


def _read(module: str, attribute: str | None, folders: Sequence[str]) -> SourceTool | None:
    from strands_cli.catalog.source.source_module import SourceError
    from strands_cli.catalog.source.source_reader import read_tool

    try:
        return read_tool(module, attribute, lambda name: _source_of(name, folders))
    except (SourceError, OSError):  # reported where it is imported
        return None


def _source_of(module: str, folders: Sequence[str]) -> tuple[str, bytes] | None:
    from strands_cli.catalog.source.source_module import MAX_SOURCE_BYTES

    spec = _spec_of(module, [*folders, *sys.path])
    file = Path(spec.origin) if spec is not None and spec.origin else None
    if file is None or file.suffix != ".py" or file.stat().st_size > MAX_SOURCE_BYTES:
        return None
    return str(file), file.read_bytes()


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
