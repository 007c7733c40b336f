"""Read and check `strands_tools.json`, the manifest that describes tools without an import."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from strands_cli.canonical_json import json_object, strict_json
from strands_cli.catalog.distributions import normalise
from strands_cli.errors import Code, Finding, Where, suggest
from strands_cli.policy.claims import word_faults
from strands_cli.quick_dataclass import dataclass

BAD_MANIFEST = Code(
    "bad-manifest",
    "A strands_tools.json cannot be read or breaks the manifest's rules.",
    "Correct the reported field, or generate it again with: strands plugin manifest --write",
)
MANIFEST_VERSION = Code(
    "manifest-version",
    "A manifest is written for another version of strands-cli.",
    "Upgrade strands-cli or the distribution.",
)
MANIFEST_FIELD = Code("manifest-field", "A manifest has an unknown field.", "Correct or remove the field.")
MANIFEST_UNTRUE = Code(
    "manifest-untrue",
    "A manifest differs from the distribution's own metadata or code.",
    "Generate it again with: strands plugin manifest --write",
)

FILE_NAME = "strands_tools.json"
MANIFEST_FORMAT = 1
# The calling contract of this program; the `api` of a manifest must include it.
CONTRACT = 1
MAX_BYTES = 1_000_000
MAX_DEPTH = 64

KINDS = ("module", "function", "agent_tool", "class", "suite", "provider")
# Kinds that provide several tools from one entry point.
MANY = frozenset({"class", "suite", "provider"})
TOOL_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
MEMBER_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

_TOP_FIELDS = {"manifest_version": int, "api": dict, "distribution": str, "tools": list}
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
_REQUIRED = ("name", "entry", "kind")
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


@dataclass(frozen=True, slots=True)
class Manifest:
    """A valid manifest: `tools` are its checked objects, `low` to `high` its calling contracts."""

    file: str
    tools: tuple[Mapping[str, Any], ...]
    low: int
    high: int

    @property
    def contracts(self) -> str:
        """Return the range as text, `2` or `2 to 3`."""
        return str(self.low) if self.low == self.high else f"{self.low} to {self.high}"


def parse_manifest(raw: bytes, file: str, distribution: str) -> tuple[Manifest | None, list[Finding]]:
    """Read a manifest and check everything that does not need the code.

    Args:
        raw: The file's bytes.
        file: Its path, for findings.
        distribution: Normalised name of the distribution that contains it.

    Returns:
        The manifest, or None if it has an error, and all findings.
    """
    try:
        document = _load(raw)
    except _Unreadable as error:
        return None, [Finding(BAD_MANIFEST, f"the manifest {error}", Where(file, error.line, error.column))]
    check = _Check(file)
    if not isinstance(document, dict):
        check.fault("", "the manifest is not a JSON object")
        return None, check.findings
    version = document.get("manifest_version")
    if isinstance(version, int) and version > MANIFEST_FORMAT:
        message = f"the manifest has version {version}; this strands-cli reads version {MANIFEST_FORMAT}"
        return None, [Finding(MANIFEST_VERSION, message, Where(file, pointer="/manifest_version"))]
    low, high = _check_top(document, distribution, check)
    tools = document.get("tools")
    for index, tool in enumerate(tools if isinstance(tools, list) else ()):
        _check_tool(tool, f"/tools/{index}", check)
    if check.failed:
        return None, check.findings
    return Manifest(file, tuple(document["tools"]), low, high), check.findings


class _Unreadable(Exception):
    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def _load(raw: bytes) -> Any:
    if len(raw) > MAX_BYTES:
        raise _Unreadable(f"is larger than {MAX_BYTES:,} bytes")
    if raw.startswith(b"\xef\xbb\xbf"):
        raise _Unreadable("begins with a byte order mark; save it as UTF-8 without one", 1, 1)
    try:
        document = strict_json(raw.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _Unreadable("is not UTF-8", raw.count(b"\n", 0, error.start) + 1) from None
    except json.JSONDecodeError as error:
        raise _Unreadable(f"is not JSON: {error.msg}", error.lineno, error.colno) from None
    except RecursionError:
        raise _Unreadable(f"nests deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:  # NaN, or a number with thousands of digits
        raise _Unreadable(f"cannot be read: {error}") from None
    if b"\\u" in raw and _has_half_characters(document):
        raise _Unreadable("escapes half a character (a lone surrogate), which is not text")
    # Most manifests have fewer brackets than allowed levels, and need no walk.
    if raw.count(b"{") + raw.count(b"[") > MAX_DEPTH and _too_deep(document):
        raise _Unreadable(f"nests deeper than {MAX_DEPTH} levels")
    return document


def _has_half_characters(document: Any) -> bool:
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except RecursionError:
        return False  # the depth has its own finding
    return False


def _too_deep(document: Any) -> bool:
    level = [document]
    for _ in range(MAX_DEPTH + 1):
        level = [
            child
            for node in level
            if isinstance(node, (dict, list))
            for child in (node.values() if isinstance(node, dict) else node)
        ]
        if not level:
            return False
    return True


class _Check:
    """The findings of one manifest, each at its JSON pointer."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.findings: list[Finding] = []
        self.failed = False

    def fault(self, pointer: str, message: str, code: Code = BAD_MANIFEST, fix: str | None = None) -> None:
        self.failed = True
        self.findings.append(Finding(code, message, Where(self.file, pointer=pointer), fix))

    def fields(self, node: Mapping[str, Any], known: Mapping[str, Any], pointer: str) -> None:
        """Check that each field is known (a warning if not) and has its type (an error if not)."""
        for key, value in node.items():
            kind = known.get(key)
            if kind is type(value):
                continue  # nearly every field
            if kind is None:
                where = Where(self.file, pointer=f"{pointer}/{key}")
                message = f"the manifest's field {key!r} is unknown"
                self.findings.append(Finding(MANIFEST_FIELD, message, where, suggest(key, known), "warning"))
            elif not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
                self.fault(f"{pointer}/{key}", f"{key} must be {_type_names(kind)}, not {_type_of(value)}")

    def strings(self, node: Mapping[str, Any], keys: tuple[str, ...], pointer: str) -> None:
        for key in keys:
            values = node.get(key)
            if isinstance(values, list) and not all(isinstance(value, str) for value in values):
                self.fault(f"{pointer}/{key}", f"{key} must be an array of strings")


def _type_names(kind: type | tuple[type, ...]) -> str:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return " or ".join(_TYPE_NAMES.get(one, "null" if one is type(None) else "a number") for one in kinds)


def _type_of(value: object) -> str:
    return "null" if value is None else _TYPE_NAMES.get(type(value), "a number")


def _check_top(document: Mapping[str, Any], distribution: str, check: _Check) -> tuple[int, int]:
    check.fields(document, _TOP_FIELDS, "")
    for key in ("manifest_version", "distribution", "tools"):
        if key not in document:
            check.fault("", f"the manifest has no {key!r}")
    version = document.get("manifest_version", MANIFEST_FORMAT)
    if isinstance(version, int) and version < 1:
        check.fault("/manifest_version", f"manifest_version must be {MANIFEST_FORMAT}, not {version}")
    named = document.get("distribution")
    if isinstance(named, str) and normalise(named) != distribution:
        message = f"the manifest names the distribution {named!r}, but belongs to '{distribution}'"
        check.fault("/distribution", message, MANIFEST_UNTRUE, "correct 'distribution', or reinstall the package")
    return _check_api(document.get("api"), check)


def _check_api(api: Any, check: _Check) -> tuple[int, int]:
    if not isinstance(api, dict):
        return CONTRACT, CONTRACT  # absent means the first contract; another type is already reported
    check.fields(api, {"min": int, "max": int}, "/api")
    low, high = (api.get(key, CONTRACT) for key in ("min", "max"))
    if not (isinstance(low, int) and isinstance(high, int)):
        return CONTRACT, CONTRACT
    if low > high:
        check.fault("/api", f"api.min ({low}) is greater than api.max ({high})")
    return low, high


def _check_tool(tool: Any, pointer: str, check: _Check) -> None:
    if not isinstance(tool, dict):
        check.fault(pointer, f"a tool must be an object, not {_type_of(tool)}")
        return
    check.fields(tool, _TOOL_FIELDS, pointer)
    for key in _REQUIRED:
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


def _check_parts(tool: Mapping[str, Any], pointer: str, check: _Check) -> None:
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
