"""The certain faults of an entry point, in the words that every command has for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from strands_cli.catalog.manifest import MANIFEST_UNTRUE, TOOL_NAME
from strands_cli.errors import Code, Finding, Where

if TYPE_CHECKING:
    from strands_cli.catalog.source.source_module import ReadModule, SourceError

BAD_ENTRY_POINT = Code(
    "bad-entry-point",
    "An entry point's value is not 'module' or 'module:attribute'.",
    "Report it to the distribution's author.",
)
BAD_TOOL_NAME = Code(
    "bad-tool-name",
    "A tool's name is not lower-case letters, digits and '_' (at most 64, a letter first).",
    "Rename the entry point.",
)
MISSING_MODULE = Code(
    "missing-module",
    "An entry point names a module that does not exist.",
    "Reinstall the distribution, or correct the entry point.",
)
MISSING_ATTRIBUTE = Code(
    "missing-attribute",
    "An entry point names something that its module does not define.",
    "Correct the entry point or the module.",
)
NOT_A_TOOL = Code(
    "not-a-tool",
    "An entry point names something other than a tool.",
    "Correct the entry point or the module.",
)
UNREADABLE_SOURCE = Code(
    "unreadable-source", "A tool's module cannot be read as Python source.", "Correct the module, or ship a manifest."
)


def bad_name(name: str, distribution: str, where: Where) -> Finding:
    """Report a name that no tool may have."""
    proper = re.sub(r"[^a-z0-9_]+", "_", name.lower()).strip("_")
    fix = f"rename it, for example to '{proper}'" if TOOL_NAME.fullmatch(proper) else None
    message = f"'{name}' of '{distribution}' is not a tool name (lower-case letters, digits and '_')"
    return Finding(BAD_TOOL_NAME, message, where, fix)


def bad_value(name: str, distribution: str, value: str, where: Where) -> Finding:
    """Report a value that names no module."""
    message = f"the entry point '{name}' of '{distribution}' is not 'module' or 'module:attribute': {value[:80]!r}"
    return Finding(BAD_ENTRY_POINT, message, where)


def no_module(
    name: str, distribution: str, module: str, where: Where, fix: str | None = None, *, is_here: bool = False
) -> Finding:
    """Report a module that does not exist; `is_here` if it is in the current directory."""
    lacks = "is only in the current directory, which is never searched" if is_here else "does not exist"
    message = f"the entry point '{name}' of '{distribution}' names the module '{module}', which {lacks}"
    return Finding(MISSING_MODULE, message, where, "run from another directory" if is_here else fix)


def other_name(name: str, called: str | None, where: Where) -> Finding:
    """Report a tool with another name than its entry point."""
    message = f"the entry point is named '{name}', but its tool is named '{called}'"
    return Finding(MANIFEST_UNTRUE, message, where, "give both the same name")


def unreadable(module: str, error: SourceError, file: str) -> Finding:
    """Report a module with invalid Python."""
    return Finding(UNREADABLE_SOURCE, f"the module '{module}' cannot be read: {error}", Where(file, error.line))


def fault_in_source(module: str, attribute: str | None, read_module: ReadModule) -> Finding | None:
    """Return why an entry point surely names no tool, as far as its source shows it.

    Raises:
        SourceError: The source is not Python.
    """
    from strands_cli.catalog.source.source_reader import (
        lacks_tool,
        why_no_tool,  # parse Python; a manifest saves that
    )

    file_and_text = read_module(module)
    if file_and_text is None or not file_and_text[0].endswith(".py"):
        return None
    file, raw = file_and_text
    reference = f"{module}:{attribute}" if attribute else module
    if attribute and lacks_tool(raw, attribute.partition(".")[0]):
        message = f"the entry point {reference} names what its module does not define"
        return Finding(MISSING_ATTRIBUTE, message, Where(file))
    if (reason := why_no_tool(module, attribute, read_module)) is None:
        return None
    return Finding(NOT_A_TOOL, f"the entry point {reference} is not a tool: {reason[0]}", Where(file, reason[1]))
