"""Read and check `strands_tools.json`, the manifest that describes tools without an import."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from strands_cli.catalog.distributions.entry_points import normalise
from strands_cli.errors import Code, Finding, Where, suggest
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.canonical_json import json_object, strict_json
from strands_cli.texts.phrases import short_json

# Earlier words of a tool's input: a call with them is read in the words of the tool's schema.


# Before the name of an object: the entries after the `?` of a text go there.
_QUERY = "?"
_MOST_ENTRIES = 1000


def in_present_words(words: Any, schema: Mapping[str, Any], arguments: Any) -> Any:
    """Return arguments with the present name for each earlier word; they themselves if they have none.

    An earlier word beside the present one stays, which `doubled` reports, and so does an indivisible address, which the
    tool may refuse.

    Args:
        words: The `earlier` words of the tool.
        schema: Its input schema.
        arguments: The arguments as written; another value than an object has no words.
    """
    if not words or not isinstance(arguments, Mapping):
        return arguments
    sound, names = _sound(words, schema), renamed(words, schema, arguments)
    # A null is an absent value, as it is by its present name.
    lesser = {*names.values(), *(word for word, name in sound.items() if name[0] != _QUERY and word not in names)}
    stated: dict[str, Any] = {word: it for word, it in arguments.items() if it is not None or word not in lesser}
    new_arguments = {names.get(word, word): it for word, it in stated.items()}
    for word, name in sound.items():
        new_arguments = (
            _with_entries(new_arguments, word, name.removeprefix(_QUERY)) if name.startswith(_QUERY) else new_arguments
        )
    return arguments if new_arguments == arguments else new_arguments


def renamed(words: Any, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the present name of each earlier word among the arguments; two words never become one."""
    renames: dict[str, str] = {}
    used = {word: name for word, name in _sound(words, schema).items() if word in arguments and name[0] != _QUERY}
    for word in sorted(used, key=lambda word: arguments[word] is None):
        if used[word] not in renames.values() and arguments.get(used[word]) is None:
            renames[word] = used[word]
    return renames


def doubled(words: Any, schema: Mapping[str, Any], present: Any) -> str | None:
    """Return why a call is ambiguous: it has an earlier word beside its present name; None if it is not."""
    for word, name in _sound(words, schema).items() if words and isinstance(present, Mapping) else ():
        if name[0] != _QUERY and word in present:
            return f"{word!r} is what {name!r} was called before, and the call gives both"
    return None


def word_faults(words: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each earlier word that means nothing, with the reason."""
    inputs = json_object(schema.get("properties"))
    for word, name in words.items():
        target = name.removeprefix(_QUERY) if isinstance(name, str) else ""
        is_divided = isinstance(name, str) and name.startswith(_QUERY)
        if not target:
            yield word, "it must be the name of an input, or that name after '?'"
        elif target not in inputs:
            yield word, f"the tool has no input {target!r}"
        elif is_divided and (word not in inputs or word == target):
            yield word, f"'?' divides one input into two, and {word!r} is not another one than {target!r}"
        elif not is_divided and word in inputs:
            yield word, f"{word!r} is the name of an input now"


def _sound(words: Any, schema: Mapping[str, Any]) -> dict[str, str]:
    statement = json_object(words)
    faulty = {word for word, _ in word_faults(statement, schema)}
    return {word: name for word, name in statement.items() if word not in faulty}


def _with_entries(arguments: dict[str, Any], word: str, into: str) -> dict[str, Any]:
    """Divide a text at its `?`, unless an entry would be there twice or the text has a fragment."""
    text, others = arguments.get(word), arguments.get(into)
    if not isinstance(text, str) or _QUERY not in text or "#" in text or not isinstance(others, Mapping | None):
        return arguments
    path, _, query = text.partition(_QUERY)
    try:
        pairs = parse_qsl(query, keep_blank_values=True, errors="strict", max_num_fields=_MOST_ENTRIES)
    except ValueError:
        return arguments
    entries = {**(others or {}), **dict(pairs)}
    if len(entries) < len(pairs) + len(others or {}):
        return arguments
    return {**arguments, word: path, into: entries}


# Check a tool's definition as a manifest or an adoption file has it, without the tool's code.


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
    "polls": bool,
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

    def fields(self, node: Mapping[str, Any], kinds: Mapping[str, Any], pointer: str) -> None:
        """Check that each field is known (a warning if not) and has its type (an error if not)."""
        for key, value in node.items():
            kind = kinds.get(key)
            if kind is type(value):
                continue  # nearly every field
            if kind is None:
                where = Where(self.file, pointer=f"{pointer}/{key}")
                message = f"{self.noun}'s field {key!r} is unknown"
                self.findings.append(Finding(self.field_code, message, where, suggest(key, kinds), "warning"))
            elif not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
                self.fault(f"{pointer}/{key}", f"{key} must be {_type_names(kind)}, not {type_of(value)}")

    def strings(self, node: Mapping[str, Any], keys: tuple[str, ...], pointer: str) -> None:
        """Check that each array among the fields has only strings."""
        for key in keys:
            values = node.get(key)
            if isinstance(values, list) and not all(isinstance(value, str) for value in values):
                self.fault(f"{pointer}/{key}", f"{key} must be an array of strings")


def _type_names(kind: type | tuple[type, ...]) -> str:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return " or ".join(_TYPE_NAMES.get(kind, "null" if kind is type(None) else "a number") for kind in kinds)


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
    for key, kinds in (
        ("annotations", _HINTS),
        ("strands_cli", _STRANDS_CLI),
        ("requires", _REQUIRES),
        ("deprecated", _DEPRECATED),
    ):
        part = tool.get(key)
        if isinstance(part, dict) and part:
            check.fields(part, kinds, f"{pointer}/{key}")
            if key == "requires":
                check.strings(part, ("distributions", "modules", "os", "env"), f"{pointer}/requires")
    claims = tool.get("strands_cli")
    if isinstance(claims, dict) and isinstance(words := claims.get("earlier"), dict):
        for word, problem in word_faults(words, json_object(tool.get("input_schema"))):
            check.fault(f"{pointer}/strands_cli/earlier/{word}", f"the earlier word {word!r}: {problem}")


# Differences between two documents: JSON pointers and both values.


def differences(old: Any, new: Any, pointer: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the JSON pointer and both values of each difference between two documents; an absent value is `...`."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            escaped = key.replace("~", "~0").replace("/", "~1")
            yield from differences(old.get(key, ...), new.get(key, ...), f"{pointer}/{escaped}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (left, right) in enumerate(zip(old, new, strict=True)):
            yield from differences(left, right, f"{pointer}/{index}")
    elif old != new or isinstance(old, bool) is not isinstance(new, bool):
        yield pointer, old, new


def json_line(value: Any) -> str:
    """Return a value as one line of at most 80 characters of JSON."""
    return "nothing" if value is ... else short_json(value, 77)


# Read a JSON document that others wrote: its limits, and why it cannot be read.


MAX_DEPTH = 64


class UnreadableError(Exception):
    """The document cannot be read; `line` and `column` are 1-based, None where unknown."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def read_document(raw: bytes, limit: int, *, unique: bool = False) -> Any:
    """Return the value of a JSON document.

    Args:
        raw: The file's bytes.
        limit: The most bytes to read.
        unique: Whether an object with a repeated key is refused.

    Raises:
        UnreadableError: It is too large, nested too deeply, or not JSON; the message begins with a verb.
    """
    if len(raw) > limit:
        raise UnreadableError(f"is larger than {limit:,} bytes")
    if raw.startswith(b"\xef\xbb\xbf"):
        raise UnreadableError("begins with a byte order mark; save it as UTF-8 without one", 1, 1)
    try:
        text = raw.decode("utf-8")
        document = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse) if unique else strict_json(text)
    except UnicodeDecodeError as error:
        raise UnreadableError("is not UTF-8", raw.count(b"\n", 0, error.start) + 1) from None
    except json.JSONDecodeError as error:
        raise UnreadableError(f"is not JSON: {error.msg}", error.lineno, error.colno) from None
    except RecursionError:
        raise UnreadableError(f"nests deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:  # NaN, a number with thousands of digits, or a repeated key
        raise UnreadableError(f"cannot be read: {error}") from None
    if b"\\u" in raw and _has_half_characters(document):
        raise UnreadableError("escapes half a character (a lone surrogate), which is not text")
    # Most documents have fewer brackets than allowed levels, and need no walk.
    if raw.count(b"{") + raw.count(b"[") > MAX_DEPTH and _too_deep(document):
        raise UnreadableError(f"nests deeper than {MAX_DEPTH} levels")
    return document


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    pairs = list(pairs)
    mapping = dict(pairs)
    if len(mapping) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"an object has the key {twice[:80]!r} twice")
    return mapping


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


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


BAD_MANIFEST = Code(
    "bad-manifest",
    "A strands_tools.json cannot be read or breaks the manifest's rules.",
    "Correct the field, or generate it again: strands plugin manifest --write",
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
    "Generate it again: strands plugin manifest --write",
)

FILE_NAME = "strands_tools.json"
MANIFEST_FORMAT = 1
# The calling contract of this program; the `api` of a manifest must include it.
CONTRACT = 1
MAX_BYTES = 1_000_000

_TOP_FIELDS = {"manifest_version": int, "api": dict, "distribution": str, "tools": list}


@dataclass(frozen=True, slots=True)
class Manifest:
    """A valid manifest: `tools` are its checked objects, `low` to `high` its calling contracts.

    Attributes:
        FILE_NAME: The name of its file, beside the code of the tools.
        TOOL_NAME: The form of a tool's name where it is the only one of its entry point.
        MEMBER_NAME: The form of a tool's name in a class, suite or provider.
        KINDS: The kinds of tools.
        CATALOGUE: The fields of a tool that code need not state.
        OTHER_VERSION: The code of a finding about a manifest for other calling contracts.
        UNTRUE: The code of a finding about a manifest that differs from the code of its tools.
    """

    FILE_NAME = FILE_NAME
    TOOL_NAME = TOOL_NAME
    MEMBER_NAME = MEMBER_NAME
    KINDS = KINDS
    CATALOGUE = ("requires", "config_schema", "examples", "family", "category", "deprecated")
    OTHER_VERSION = MANIFEST_VERSION
    UNTRUE = MANIFEST_UNTRUE

    file: str
    tools: tuple[Mapping[str, Any], ...]
    low: int
    high: int

    @property
    def contracts(self) -> str:
        """Return the range as text, `2` or `2 to 3`."""
        return str(self.low) if self.low == self.high else f"{self.low} to {self.high}"

    @property
    def fits(self) -> bool:
        """Whether this program has a calling contract of the manifest."""
        return self.low <= CONTRACT <= self.high

    @staticmethod
    def document(distribution: str, tools: Sequence[Mapping[str, Any]], api: Any = None) -> dict[str, Any]:
        """Return the document of a manifest of these tools.

        Args:
            api: The calling contracts that it is written for; by default that of this program.
        """
        contracts = {"min": CONTRACT, "max": CONTRACT} if api is None else api
        return {"manifest_version": MANIFEST_FORMAT, "api": contracts, "distribution": distribution, "tools": [*tools]}

    @staticmethod
    def differences(old: Any, new: Any, pointer: str = "") -> Iterator[tuple[str, Any, Any]]:
        """Yield the JSON pointer and both values of each difference between two values; an absent one is `...`."""
        return differences(old, new, pointer)

    @classmethod
    def parse(cls, raw: bytes, file: str, distribution: str | None) -> tuple[Manifest | None, list[Finding]]:
        """Read a manifest and check everything that does not need the code.

        Args:
            raw: The file's bytes.
            file: Its path, for findings.
            distribution: Normalised name of the distribution that contains it; None for whichever it names.

        Returns:
            The manifest, or None if it has an error, and all findings.
        """
        try:
            document = read_document(raw, MAX_BYTES)
        except UnreadableError as error:
            return None, [Finding(BAD_MANIFEST, f"the manifest {error}", Where(file, error.line, error.column))]
        check = Check(file, BAD_MANIFEST, MANIFEST_FIELD)
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
            check_tool(tool, f"/tools/{index}", check)
        if check.failed:
            return None, check.findings
        return cls(file, tuple(document["tools"]), low, high), check.findings


def _check_top(document: Mapping[str, Any], distribution: str | None, check: Check) -> tuple[int, int]:
    check.fields(document, _TOP_FIELDS, "")
    for key in ("manifest_version", "distribution", "tools"):
        if key not in document:
            check.fault("", f"the manifest has no {key!r}")
    version = document.get("manifest_version", MANIFEST_FORMAT)
    if isinstance(version, int) and version < 1:
        check.fault("/manifest_version", f"manifest_version must be {MANIFEST_FORMAT}, not {version}")
    named = document.get("distribution")
    if distribution is not None and isinstance(named, str) and normalise(named) != distribution:
        message = f"the manifest names the distribution {named!r}, but belongs to '{distribution}'"
        check.fault("/distribution", message, MANIFEST_UNTRUE, "correct 'distribution', or reinstall the package")
    return _check_api(document.get("api"), check)


def _check_api(api: Any, check: Check) -> tuple[int, int]:
    if not isinstance(api, dict):
        return CONTRACT, CONTRACT  # absent means the first contract; another type is already reported
    check.fields(api, {"min": int, "max": int}, "/api")
    low, high = (api.get(key, CONTRACT) for key in ("min", "max"))
    if not (isinstance(low, int) and isinstance(high, int)):
        return CONTRACT, CONTRACT
    if low > high:
        check.fault("/api", f"api.min ({low}) is greater than api.max ({high})")
    return low, high
