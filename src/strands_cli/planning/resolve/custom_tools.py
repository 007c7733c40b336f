"""Custom Python that a workflow names as a tool: its place, the gaps in its source, and who allows it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from strands_cli.catalog.distributions.scan import search_path
from strands_cli.catalog.resolution import BAD_TOOL_REF, UNKNOWN_TOOL
from strands_cli.errors import Code, Where, suggest
from strands_cli.planning.plan_values import PlannedTool, place_of
from strands_cli.planning.planned_tool import PythonTool, configured_claims
from strands_cli.planning.resolve.resolve_context import ResolveContext
from strands_cli.planning.resolve.single_tool import (
    how_to_grant,
    is_denied_by_policy,
    is_granted,
    python_tool,
    with_place,
)
from strands_cli.texts.canonical_json import json_object
from strands_cli.toolref import ToolRef, with_prefix_corrected
from strands_cli.workflow.steps import ToolEntry

if TYPE_CHECKING:
    from strands_cli.catalog.source.source_tool import SourceTool


# Custom Python before its import: the facts in its source about a tool, read without executing it.


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
    """Return the fix for a reference to a missing module.

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
    """Return the setting that finds a module beside the workflow, where a run would not look for it; None otherwise."""
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
    """Return the tool in the source that a reference to custom Python names."""
    return _read(str(ref.module), ref.attribute, folders)


def secrets_in_source(ref: ToolRef, folders: Sequence[str]) -> tuple[str, ...]:
    """Return the secrets that the source of one tool declares; those of a class show when it is imported."""
    tool = tool_in(ref, folders)
    names = json_object(tool.strands_cli.get("capabilities")).get("secrets") if tool and not tool.members else None
    return tuple(name for name in names if isinstance(name, str)) if isinstance(names, (list, tuple)) else ()


def lacks(ref: ToolRef, folders: Sequence[str]) -> bool:
    """Return whether the source surely has no tool of the attribute that a reference to custom Python names."""
    from strands_cli.catalog.source.source_reader import lacks_tool

    try:
        source = _source_of(str(ref.module), folders)
    except OSError:
        return False
    return source is not None and ref.attribute is not None and lacks_tool(source[1], ref.attribute)


def class_of_method(ref: ToolRef, folders: Sequence[str]) -> str | None:
    """Return the reference to a class of tools, if a reference to custom Python names a method of it or no part."""
    owner, _, method = (ref.attribute or "").rpartition(".")
    tool = _read(str(ref.module), owner, folders) if owner else None
    if tool is None or tool.kind != "class":
        return None
    is_member = any(member.name == method for member in tool.members or ())
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


CUSTOM_TOOL_DENIED = Code(
    "custom-tool-denied",
    "The workflow names its own Python code, which is not allowed.",
    "Read it, then add it to STRANDS_CUSTOM_TOOL_ALLOWLIST, or to a policy file.",
    21,
)

Answer = TypeVar("Answer")


def python_folders(context: ResolveContext) -> list[str]:
    """Return the folders of a workflow in which its Python is looked for; its own is the last."""
    base = context.around.base_dir
    return [str(base / path) for path in (*context.spec.tools.python_path, "")]


def report_folder(ref: ToolRef, where: Where, context: ResolveContext) -> None:
    """Report once that a module is in the workflow's folder, where Python does not look for it."""
    fix = _missing_folder(ref, context)
    message = f"the module '{ref.module}' is in the workflow's folder, where Python does not look for it"
    if fix and message not in [finding.message for finding in context.findings]:
        context.report(UNKNOWN_TOOL, message, where, fix)


def resolve_custom(ref: ToolRef, entry: ToolEntry, where: Where, context: ResolveContext) -> tuple[PlannedTool, ...]:
    """Return custom Python as a tool; nothing, with a finding, where it is absent, faulty or not allowed."""
    tool = replace(python_tool(ref, entry.tool, entry), folder=_answer_once(_folder_of, ref, context, context))
    planned = with_place(context.decide(tool, where), context.settings)
    is_decided = is_denied_by_policy(planned) or is_granted(planned, context.rules, context.settings)
    corrected = None if is_decided else with_prefix_corrected(entry.tool)
    if corrected and not _answer_once(is_found, ref, context, python_folders(context)):
        message = f"'{entry.tool}' begins with no known prefix, and there is no Python module '{ref.module}'"
        lower = corrected.lower()
        guess = lower if lower.removeprefix("native:") in context.catalog.by_name else corrected
        context.report(BAD_TOOL_REF, message, where, f"did you mean '{guess}'?")
        return ()
    is_sought = not _missing_folder(ref, context) and not is_denied_by_policy(planned)
    if is_sought and _answer_once(is_absent, ref, context, python_folders(context)[:-1]):
        fix = how_to_find(ref, python_folders(context)[:-1], context.catalog.by_name)
        context.omit(UNKNOWN_TOOL, f"there is no Python module '{ref.module}'", where, fix)
        return ()
    if not _check_source(ref, planned, entry, where, context):
        return ()
    if is_decided:
        added = {"capabilities": {"secrets": secrets_in_source(ref, python_folders(context))}}
        return (replace(planned, config_claims=configured_claims(added, planned.config_claims)),)
    allow, name = how_to_grant(planned, context.rules), planned.record.name
    # Only the very name: a similar one belongs to another tool.
    fix = f"did you mean 'native:{name}'? Otherwise {allow}" if name in context.catalog.by_name else allow
    context.report(CUSTOM_TOOL_DENIED, f"'{entry.tool}' is custom Python that is not allowed", where, fix)
    return ()


def _missing_folder(ref: ToolRef, context: ResolveContext) -> str | None:
    return _answer_once(missing_folder, ref, context, context.spec.tools.python_path, context.around.base_dir)


def _answer_once(ask: Callable[..., Answer], ref: ToolRef, context: ResolveContext, *places: Any) -> Answer:
    """Return the result of a function for the module of a reference; files are read once for each module."""
    key = (ask.__name__, str(ref.module))
    if key not in context.of_modules:
        context.of_modules[key] = ask(str(ref.module), *places)
    answer: Answer = context.of_modules[key]
    return answer


def _check_source(ref: ToolRef, planned: PythonTool, entry: ToolEntry, where: Where, context: ResolveContext) -> bool:
    """Report settings that do not fit the tool, and a name that its module does not have; return whether it has."""
    if owner := class_of_method(ref, python_folders(context)):
        message = f"'{entry.tool}' names a part of a class, which cannot be called without an object of the class"
        context.omit(UNKNOWN_TOOL, message, where, f"name the class, for all of its tools: {owner}")
        return False
    tools = tools_in(str(ref.module), python_folders(context))
    tool = tool_in(ref, python_folders(context)) if tools else None
    is_missing = tool is not None and tool.line is None and ref.canonical not in tools
    if is_missing or lacks(ref, python_folders(context)):
        message = f"'{entry.tool}' names a tool that the module '{ref.module}' does not have"
        fix = suggest(ref.canonical, tools, f"it has: {', '.join(tools)}" if tools else "correct the name")
        context.omit(UNKNOWN_TOOL, message, where, fix)
        return False
    if tool is None:
        return True
    context.findings += tool.check_words(str(ref.module))
    if schema := tool.catalogue.get("config_schema"):
        context.check_config(replace(planned.record, config_schema=schema), entry.config, where)
    return True


def _folder_of(module: str, context: ResolveContext) -> str | None:
    """Return the folder of the workflow in which Python finds a module; None if it finds it without."""
    from importlib.machinery import PathFinder

    top, paths = module.partition(".")[0], context.spec.tools.python_path
    if not paths or PathFinder.find_spec(top, search_path()) is not None:
        return None
    folders = [place_of(context.around.base_dir, path) for path in paths]
    return next((folder for folder in folders if PathFinder.find_spec(top, [folder])), folders[0])
