"""Check a tool's definition as a manifest or an adoption file has it, without the tool's code."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from strands_cli.catalog.definitions.earlier_words import word_faults
from strands_cli.errors import Code, Finding, Where, suggest
from strands_cli.texts.canonical_json import json_object

KINDS = ("module", "function", "agent_tool", "class", "suite", "provider")
# Kinds that provide several tools from one entry point.
MANY = frozenset({"class", "suite", "provider"})
# The form of a tool's name where it is the only one of its entry point.
TOOL_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
# The form of a tool's name in a class, suite or provider.
MEMBER_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

_TOOL_FIELDS: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "entry": str,
    "kind": str,
    "description": (str, type(None)),
    "input_schema": (dict, type(None)),
    "output_schema": (dict, type(None)),
    "annotations": dict,
    "strands_cli": dict,
    "requires": dict,
    "config_schema": (dict, type(None)),
    "examples": list,
    "family": (str, type(None)),
    "category": (str, type(None)),
    "deprecated": (dict, type(None)),
}
REQUIRED = ("name", "entry", "kind")
_REQUIRES = {"distributions": list, "modules": list, "python": str, "os": list, "env": list}
_DEPRECATED = {"since": str, "replacement": str}
_STRANDS_CLI: dict[str, type | tuple[type, ...]] = {
    "requires_confirmation": bool,
    "read_only_when": dict,
    "capabilities": dict,
    "resources": dict,
    "timeout_s": (int, float),
    "max_output_bytes": int,
    "engines": str,
    "earlier": dict,
}
_HINTS: dict[str, type | tuple[type, ...]] = {
    "title": str,
    "readOnlyHint": bool,
    "destructiveHint": bool,
    "idempotentHint": bool,
    "openWorldHint": bool,
}
# The fields of a tool, and the words in two of them, each with its type.
WORDS: Mapping[str, Mapping[str, Any]] = {"tool": _TOOL_FIELDS, "strands_cli": _STRANDS_CLI, "annotations": _HINTS}
_TYPE_NAMES = {str: "a string", int: "an integer", bool: "true or false", dict: "an object", list: "an array"}


class Check:
    """The findings of one document, each at its JSON pointer; `noun` names it in messages."""

    def __init__(self, file: str, code: Code, field_code: Code, noun: str = "the manifest") -> None:
        self.file = file
        self.code, self.field_code, self.noun = code, field_code, noun
        self.findings: list[Finding] = []
        self.failed = False

    def fault(self, pointer: str, message: str, code: Code | None = None, fix: str | None = None) -> None:
        """Report an error at a JSON pointer."""
        self.failed = True
        self.findings.append(Finding(code or self.code, message, Where(self.file, pointer=pointer), fix))

    def fields(self, node: Mapping[str, Any], known: Mapping[str, Any], pointer: str) -> None:
        """Check that each field is known (a warning if not) and has its type (an error if not)."""
        for key, value in node.items():
            kind = known.get(key)
            if kind is type(value):
                continue  # nearly every field
            if kind is None:
                where = Where(self.file, pointer=f"{pointer}/{key}")
                message = f"{self.noun}'s field {key!r} is unknown"
                self.findings.append(Finding(self.field_code, message, where, suggest(key, known), "warning"))
            elif not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
                self.fault(f"{pointer}/{key}", f"{key} must be {_type_names(kind)}, not {type_of(value)}")

    def strings(self, node: Mapping[str, Any], keys: tuple[str, ...], pointer: str) -> None:
        """Check that each field that is an array has only strings."""
        for key in keys:
            values = node.get(key)
            if isinstance(values, list) and not all(isinstance(value, str) for value in values):
                self.fault(f"{pointer}/{key}", f"{key} must be an array of strings")


def _type_names(kind: type | tuple[type, ...]) -> str:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return " or ".join(_TYPE_NAMES.get(one, "null" if one is type(None) else "a number") for one in kinds)


def type_of(value: object) -> str:
    """Return how messages name a value's type."""
    return "null" if value is None else _TYPE_NAMES.get(type(value), "a number")


def check_tool(tool: Any, pointer: str, check: Check, required: Sequence[str] = REQUIRED) -> None:
    """Check one tool's object: its fields, their types, and the names and words in them."""
    if not isinstance(tool, dict):
        check.fault(pointer, f"a tool must be an object, not {type_of(tool)}")
        return
    check.fields(tool, _TOOL_FIELDS, pointer)
    for key in required:
        if key not in tool:
            check.fault(pointer, f"the tool has no {key!r}")
    kind, name = tool.get("kind"), tool.get("name")
    if isinstance(kind, str) and kind not in KINDS:
        fix = suggest(kind, KINDS, f"one of {', '.join(KINDS)}")
        check.fault(f"{pointer}/kind", f"{kind!r} is not a kind of tool", fix=fix)
    if isinstance(name, str) and not (MEMBER_NAME if isinstance(kind, str) and kind in MANY else TOOL_NAME).fullmatch(
        name
    ):
        check.fault(f"{pointer}/name", f"{name!r} is not a tool name (lower-case letters, digits and '_')")
    for key in ("input_schema", "output_schema", "config_schema"):
        schema = tool.get(key)
        if isinstance(schema, dict) and schema.get("type", "object") != "object" and key != "output_schema":
            check.fault(f"{pointer}/{key}/type", f"{key} must describe an object")
    _check_parts(tool, pointer, check)


def _check_parts(tool: Mapping[str, Any], pointer: str, check: Check) -> None:
    for key, known in (
        ("annotations", _HINTS),
        ("strands_cli", _STRANDS_CLI),
        ("requires", _REQUIRES),
        ("deprecated", _DEPRECATED),
    ):
        part = tool.get(key)
        if isinstance(part, dict) and part:
            check.fields(part, known, f"{pointer}/{key}")
            if key == "requires":
                check.strings(part, ("distributions", "modules", "os", "env"), f"{pointer}/requires")
    claims = tool.get("strands_cli")
    if isinstance(claims, dict) and isinstance(words := claims.get("earlier"), dict):
        for word, problem in word_faults(words, json_object(tool.get("input_schema"))):
            check.fault(f"{pointer}/strands_cli/earlier/{word}", f"the earlier word {word!r}: {problem}")
