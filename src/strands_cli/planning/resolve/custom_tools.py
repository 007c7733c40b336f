"""Custom Python that a workflow names as a tool: where it is, what its source lacks, and who allows it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from strands_cli.catalog.distributions.scan import search_path
from strands_cli.catalog.resolution import BAD_TOOL_REF, UNKNOWN_TOOL
from strands_cli.errors import Code, Where, suggest
from strands_cli.planning.plan.places import place_of
from strands_cli.planning.plan.plan_values import PlannedTool
from strands_cli.planning.planned_tools.planned_tool import PythonTool
from strands_cli.planning.planned_tools.tool_config import configured_claims
from strands_cli.planning.resolve.custom_source import (
    class_of_method,
    how_to_find,
    is_absent,
    is_found,
    lacks,
    missing_folder,
    secrets_in_source,
    tool_in,
    tools_in,
)
from strands_cli.planning.resolve.resolve_context import ResolveContext
from strands_cli.planning.resolve.single_tool import (
    how_to_grant,
    is_denied_by_policy,
    is_granted,
    python_tool,
    with_place,
)
from strands_cli.toolref import ToolRef, with_prefix_corrected
from strands_cli.workflow.steps.tool_entries import ToolEntry

CUSTOM_TOOL_DENIED = Code(
    "custom-tool-denied",
    "The workflow names its own Python code, which is not allowed.",
    "After reading it, add it to STRANDS_CUSTOM_TOOL_ALLOWLIST, or allow it by name in a policy file.",
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
    if fix and message not in [found.message for found in context.findings]:
        context.report(UNKNOWN_TOOL, message, where, fix)


def resolve_custom(ref: ToolRef, entry: ToolEntry, where: Where, context: ResolveContext) -> tuple[PlannedTool, ...]:
    """Return custom Python as a tool; nothing, with a finding, where it is absent, faulty or not allowed."""
    tool = replace(python_tool(ref, entry.tool, entry), folder=_asked(_folder_of, ref, context, context))
    planned = with_place(context.decide(tool, where), context.settings)
    is_decided = is_denied_by_policy(planned) or is_granted(planned, context.rules, context.settings)
    corrected = None if is_decided else with_prefix_corrected(entry.tool)
    if corrected and not _asked(is_found, ref, context, python_folders(context)):
        message = f"'{entry.tool}' begins with no known prefix, and there is no Python module '{ref.module}'"
        lower = corrected.lower()
        meant = lower if lower.removeprefix("native:") in context.catalog.by_name else corrected
        context.report(BAD_TOOL_REF, message, where, f"did you mean '{meant}'?")
        return ()
    is_sought = not _missing_folder(ref, context) and not is_denied_by_policy(planned)
    if is_sought and _asked(is_absent, ref, context, python_folders(context)[:-1]):
        fix = how_to_find(ref, python_folders(context)[:-1], context.catalog.by_name)
        context.omit(UNKNOWN_TOOL, f"there is no Python module '{ref.module}'", where, fix)
        return ()
    if not _check_source(ref, planned, entry, where, context):
        return ()
    if is_decided:
        added = {"capabilities": {"secrets": secrets_in_source(ref, python_folders(context))}}
        return (replace(planned, config_claims=configured_claims(added, planned.config_claims)),)
    allow, name = how_to_grant(planned, context.rules), planned.record.name
    # Only the very name: one that is merely alike belongs to another tool.
    fix = f"did you mean 'native:{name}'? Otherwise {allow}" if name in context.catalog.by_name else allow
    context.report(CUSTOM_TOOL_DENIED, f"'{entry.tool}' is custom Python that is not allowed", where, fix)
    return ()


def _missing_folder(ref: ToolRef, context: ResolveContext) -> str | None:
    return _asked(missing_folder, ref, context, context.spec.tools.python_path, context.around.base_dir)


def _asked(ask: Callable[..., Answer], ref: ToolRef, context: ResolveContext, *places: Any) -> Answer:
    """Return what a function says of the module of a reference; files are looked at once for each module."""
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
    found = tool_in(ref, python_folders(context)) if tools else None
    is_missing = found is not None and found.line is None and ref.canonical not in tools
    if is_missing or lacks(ref, python_folders(context)):
        message = f"'{entry.tool}' names a tool that the module '{ref.module}' does not have"
        fix = suggest(ref.canonical, tools, f"it has: {', '.join(tools)}" if tools else "correct the name")
        context.omit(UNKNOWN_TOOL, message, where, fix)
        return False
    if found is None:
        return True
    context.findings += found.check_words(str(ref.module))
    if schema := found.catalogue.get("config_schema"):
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
