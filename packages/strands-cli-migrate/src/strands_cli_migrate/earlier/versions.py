"""The meaning of a file's version: the earlier program took every number and text, also the present one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from strands_cli.api import Code, FormatProblem
from strands_cli_migrate.earlier.values import items, mapping, texts_in, token

# The version of the present format.
PRESENT = 2
UNKNOWN_VERSION = Code(
    "unknown-version",
    "A version is later than the present format, and may be one of an earlier strands-cli.",
    "Write the present version, or `version: 0` for an earlier strands-cli.",
)
PRESENT_FIELD = Code(
    "present-field",
    "A file of another version has a field of the present format.",
    "Write the version of the present format.",
)
_NUMBERS = re.compile(r"\s*[vV]?(\d+)(?:\.\d+){0,3}\s*")
# Fields that only the present format has; `*` is any name or number.
_FIELDS = (
    "agents/*/input_schema_for",
    "context_policy/memory",
    "context_policy/prompt_end",
    "context_policy/retrieval/replaces_tools",
    "context_policy/skills_in_prompts",
    "env/take_variables",
    "inputs/absent",
    "inputs/allow_undeclared",
    "inputs/keep_texts",
    "outputs/plain_paths",
    "pattern/config/all_nodes",
    "pattern/config/last_response",
    "rendering",
    "tools/mcp_folder",
)
# Fields that people have written into files of the earlier format too.
_LATER_FIELDS = ("agents/*/memory", "outputs/overwrite", "pattern/config/on_reject")
_MODULES = ("strands_tools.", "strands_cli.tools.")
# Words of templates that only the earlier program knew.
_WORDS = re.compile(
    r"\b(?:cumulative_tokens|last_evaluation|iteration_counts|router_agent)\b|[=!]=\s*['\"]success['\"]"
)


def version_problem(document: dict[str, Any]) -> FormatProblem | None:
    """Return why a file may not have its meaning for an earlier strands-cli; None where nothing speaks against it.

    The earlier program accepted later versions than the present one too, which may be typos, or of a program to come.
    The content of the file decides; where that decides nothing, a person does.
    """
    version, is_later = document.get("version"), is_later_version(document.get("version"))
    fields = [*_FIELDS, *(_LATER_FIELDS if is_later else ())]
    present_field = next(
        (field_pointer for field in fields for field_pointer in _places(document, field.split("/"), "")), None
    )
    if present_field is not None:
        message = (
            f"only version {PRESENT} has `{present_field.rpartition('/')[2]}`, and this file has version {version}"
        )
        fix = f"write `version: {PRESENT}`, or leave the field out"
        return FormatProblem(message, fix, present_field, code=PRESENT_FIELD)
    if not is_later:
        return None
    if any(_signs(document)):
        message = f"there is no version {version}; the file means what it did in an earlier strands-cli"
        return FormatProblem(message, "write `version: 0`", "/version", "warning", UNKNOWN_VERSION)
    message = f"there is no version {version}"
    fix = f"write `version: {PRESENT}`; if an earlier strands-cli ran the file, `version: 0`"
    return FormatProblem(message, fix, "/version", code=UNKNOWN_VERSION)


def is_version(version: object) -> bool:
    """Return whether a value is a version at all, as every number and text is."""
    return isinstance(version, (int, float, str)) and not isinstance(version, bool)


def is_present(version: object) -> bool:
    """Return whether a version is that of the present format, also as a text or with `.0`."""
    return re.fullmatch(rf"\s*{PRESENT}(\.0)?\s*", str(version)) is not None


def is_later_version(version: object) -> bool:
    """Return whether a version is a number from that of the present format on."""
    match = _NUMBERS.fullmatch(str(version))
    return match is not None and int(match[1]) >= PRESENT


def _places(part: Any, names: list[str], pointer: str) -> Iterator[str]:
    """Yield the pointers of a path's targets."""
    if not names:
        yield pointer
        return
    name, *rest = names
    pairs = mapping(part).items() if name == "*" else [(name, mapping(part)[name])] if name in mapping(part) else ()
    for key, item in pairs:
        yield from _places(item, rest, f"{pointer}/{token(key)}")


def _signs(document: dict[str, Any]) -> Iterator[bool]:
    """Yield whether parts are there that only an earlier strands-cli had."""
    for entry in items(mapping(document.get("tools")).get("python")):
        yield "callable" in mapping(entry) or (isinstance(entry, str) and entry.startswith(_MODULES))
    for part in ("pattern", "outputs", "agents"):
        for holder, key, _ in texts_in(document.get(part), ""):
            yield _WORDS.search(str(holder[key])) is not None
