"""Turns the errors of pydantic into findings: each mistake once, at its place, with a fix."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from strands_cli.errors import Code, Edit, Finding, clear_edit, did_you_mean, too_many
from strands_cli.texts.phrases import shown
from strands_cli.workflow.findings import BAD_IDENTIFIER, BAD_VALUE, MISSING_KEY
from strands_cli.workflow.key_meanings import (
    Loc,
    advice_on,
    clear_key,
    holds_names,
    keys_at,
    meant_at,
    meant_pattern,
    mistyped_type,
    section_of,
    steps_below,
)
from strands_cli.workflow.patterns.pattern_models import PATTERNS
from strands_cli.workflow.sections import FormatModel
from strands_cli.yaml_files.document import Document, escape

UNKNOWN_KEY = Code(
    "unknown-key", "A key that the format does not have.", "Correct or remove it; keys with `x-` are free."
)
WRONG_TYPE = Code(
    "wrong-type", "A value does not have the type that the format requires.", "Write a value of the reported type."
)
STEP_FORM = Code(
    "step-form", "A step does not have exactly one of the three forms.", "Give it `agent`, `tool` or `type: hitl`."
)
UNKNOWN_PATTERN = Code("unknown-pattern", "A pattern type that does not exist.", "Use one of the seven.")

# So many mistakes of one kind are reported in one mapping or list, and in the document; the others are counted.
MOST_IN_PLACE, MOST_OF_KIND = 20, 100
# Names that may have fewer characters than other identifiers.
_LETTERS = {
    r"^[a-zA-Z0-9_-]{1,64}$": "use letters, digits, _ and - only, at most 64",
    r"^[A-Za-z_][A-Za-z0-9_]*$": "use letters, digits and _ only, and begin with a letter or _",
}
VERSIONS = "write `version: 2`"
AS_MAPPING = "write it as a mapping: `key: value` on lines of their own"
STEP_FORMS = "a step needs one of `agent`, `tool`, `type: hitl`"
STEP_WORDS = ("agent", "tool", "type")
_STEP_TAGS = {"<agent>": "agent", "<tool>": "tool", "<gate>": "type"}
_EXPECTED = {
    "string": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "dict": "a mapping",
    "mapping": "a mapping",
    "model": "a mapping",
    "tuple": "a list",
    "none": "nothing",
}
_BOOLEANS = {**dict.fromkeys(("yes", "on", "true"), "true"), **dict.fromkeys(("no", "off", "false"), "false")}
_WORD = re.compile(r"[\w.:/-]{1,40}")
_SECONDS = {"ms": 0.001, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600}
_DURATION = re.compile(r"(\d+(?:\.\d+)?) ?(ms|s|sec|m|min|h)", re.IGNORECASE)
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}


@dataclass(slots=True)
class _Mistake:
    """The errors at one node, those of all alternatives of a union together."""

    pointer: str
    loc: Loc
    error: Mapping[str, Any]
    expected: list[str] = field(default_factory=list)


def findings_of(errors: list[Any], model: type[FormatModel], document: Document, at: str = "") -> Iterator[Finding]:
    """Translate the errors of one validation."""
    root = value_at(document.value, at)
    likely_keys = _meant_keys(errors, model, root)
    mistakes: dict[tuple[str, object], _Mistake] = {}
    for error in errors:
        pointer, is_exact = pointer_of(error["loc"], root)
        if error["type"] == "missing" and (pointer, error["loc"][-1]) in likely_keys:
            continue  # the unknown key beside it is a finding
        detail = error["loc"][-1] if error["type"] == "missing" else is_exact
        mistake = mistakes.setdefault((pointer, detail), _Mistake(at + pointer, error["loc"], error))
        mistake.expected += [word for word in _expected(error) if word not in mistake.expected]
    for mistake in mistakes.values():
        finding = _finding(mistake, model, document)
        if finding is not None:
            yield finding


def first_findings_of(
    errors: list[Any], model: type[FormatModel], document: Document, at: str = ""
) -> Iterator[Finding]:
    """Yield the findings of the first errors of each kind, and how many more there are."""
    few, omitted = few_of(errors)
    yield from findings_of(few, model, document, at)
    if omitted:
        yield too_many(f"and {omitted:,} more mistakes", document.where(at), omitted)


def few_of(errors: list[Any]) -> tuple[list[Any], int]:
    """Return the errors to report, and how many more there are: of one kind so many in one place, and in all."""
    few: list[Any] = []
    by_kind, by_place = Counter[str](), Counter[tuple[str, Loc]]()
    for error in errors:
        group = (error["type"], error["loc"][:-1])
        by_kind[error["type"]] += 1
        by_place[group] += 1
        if by_place[group] <= MOST_IN_PLACE and by_kind[error["type"]] <= MOST_OF_KIND:
            few.append(error)
    return few, len(errors) - len(few)


def _meant_keys(errors: list[Any], model: type[FormatModel], root: Any) -> set[tuple[str, str]]:
    """Return the keys that mistyped ones mean, each with the pointer of its mapping."""
    unknown = [error for error in errors if error["type"] == "extra_forbidden"]
    keys = set()
    for loc in (error["loc"] for error in unknown):
        pointer, _ = pointer_of(loc[:-1], root)
        if section := section_of(str(loc[-1]), model, loc[:-1]):
            keys.add((pointer, str(section[0])))
        if steps := steps_below(str(loc[-1]), model, loc[:-1]):
            keys.add((pointer, steps))
        if close := meant_at(str(loc[-1]), model, loc[:-1], value_at(root, pointer)):
            keys.add((pointer, close))
    return keys


def value_at(value: Any, pointer: str) -> Any:
    """Return the node of a JSON value at a pointer that exists."""
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def has_entry(value: Any, token: Any) -> bool:
    """Return whether a JSON value has an entry of this key or index."""
    if isinstance(value, list):
        return isinstance(token, int) and token < len(value)
    return isinstance(value, dict) and token in value


def pointer_of(loc: Loc, value: Any) -> tuple[str, bool]:
    """Return the pointer of an error's node, and whether its last token is a node of the document."""
    pointer, is_exact = "", True
    for token in loc:
        is_exact = has_entry(value, token)
        if is_exact:
            value = value[token]
            pointer += f"/{escape(token)}"
    return pointer, is_exact


def _expected(error: Mapping[str, Any]) -> list[str]:
    kind = str(error["type"]).split("_")[0]
    is_type = str(error["type"]).endswith(("_type", "_parsing", "_from_float"))
    return [_EXPECTED[kind]] if is_type and kind in _EXPECTED else []


def spoken(pointer: str) -> str:
    """Return a pointer as a readable path: `/pattern/config/steps/0` is `pattern.config.steps[0]`."""
    text = ""
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        text += f"[{key}]" if key.isdigit() else f".{key}" if text else key
    return text or "the document"


def _finding(mistake: _Mistake, model: type[FormatModel], document: Document) -> Finding | None:
    error, kind, pointer = mistake.error, str(mistake.error["type"]), mistake.pointer
    key = str(mistake.loc[-1]) if mistake.loc else ""
    if kind == "missing":
        return _missing(key, pointer, document)
    if kind in ("extra_forbidden", "unknown_key"):
        return _unknown_key(mistake, model, document)
    if kind == "union_tag_not_found":
        return _no_form(mistake, document)
    if kind == "empty_list":
        name = error["ctx"]["key"]
        message = f"`{name}` of {spoken(pointer)} is empty, which could mean none or all"
        return Finding(
            WRONG_TYPE, message, document.where(f"{pointer}/{name}"), f"write `{name}: []` for none, or remove the key"
        )
    if key == "[key]":
        message = f"{mistake.loc[-2]!r} cannot be a name"
        return Finding(
            BAD_IDENTIFIER, message, document.where(pointer, key=True), edits=_behind_colon(str(mistake.loc[-2]))
        )
    if mistake.expected:
        return _wrong_type(mistake, model, document)
    return _bad_value(mistake, document)


def _missing(key: str, pointer: str, document: Document) -> Finding:
    is_empty = value_at(document.value, pointer) is None
    owner = "the document" if not pointer else f"`{spoken(pointer)}`"
    message = f"{owner} has no value" if is_empty else f"{owner} has no `{key}`"
    fix = f"write a value behind `{key}:`" if is_empty else f"add `{key}:`"
    edits: tuple[Edit, ...] = ()
    if key == "version" and pointer in ("", "/version"):
        fix, edits = VERSIONS, (Edit("", "2", "node") if pointer else Edit("", "version: 2", "top"),)
    return Finding(MISSING_KEY, message, document.where(pointer), fix, edits=edits)


def _unknown_key(mistake: _Mistake, model: type[FormatModel], document: Document) -> Finding:
    if mistake.error["type"] == "unknown_key":
        key, pointer, loc = mistake.error["ctx"]["key"], f"{mistake.pointer}/{mistake.error['ctx']['key']}", mistake.loc
    else:
        key, pointer, loc = str(mistake.loc[-1]), mistake.pointer, mistake.loc[:-1]
    where = document.where(pointer, key=True)
    parent = pointer.rpartition("/")[0]
    form = _STEP_TAGS.get(str(loc[-1])) if loc else None
    if form and key in _STEP_TAGS.values():
        message = f"{STEP_FORMS}; this one has `{form}` and `{key}`"
        return Finding(STEP_FORM, message, where, "keep one of the two, or make two steps of it")
    keys = keys_at(model, loc)
    close = meant_at(key, model, loc, value_at(document.value, parent))
    unit = ", in milliseconds" if close and close.endswith("_ms") else ""
    fix = f"did you mean `{close}`{unit}?" if close else advice_on(key) or f"known here: {', '.join(sorted(keys))}"
    if close is None and (steps := steps_below(key, model, loc)):
        fix = f"write it in a step: `{steps}: [{{{key}: ...}}]`"
    elif close is None and (section := section_of(key, model, loc)):
        fix = f"write it under `{'.'.join(map(str, section))}:`"
        if section[0] == "pattern" and "pattern" not in value_at(document.value, parent):
            kinds = [kind for kind, pattern in PATTERNS.items() if key in _config_keys(pattern)]
            one_kind = f"write `pattern: {{type: {kinds[0]}, config: {{{key}: ...}}}}`" if len(kinds) == 1 else None
            fix = one_kind or f"{fix}, with `pattern.type` beside that"
    edits = _behind_colon(key, keys) or clear_key(key, close, keys, value_at(document.value, parent))
    return Finding(UNKNOWN_KEY, f"`{key}` is not a key of {_owner(parent, model)}", where, fix, edits=edits)


def _config_keys(pattern: type[FormatModel]) -> Container[str]:
    config: Any = pattern.model_fields["config"].annotation
    return {field.alias or name for name, field in config.model_fields.items()}


def _owner(pointer: str, model: type[FormatModel]) -> str:
    whole = "a workflow" if "pattern" in model.model_fields else "an agent"
    return f"`{spoken(pointer)}`" if pointer else whole


def _no_form(mistake: _Mistake, document: Document) -> Finding:
    value, where = mistake.error["input"], document.where(mistake.pointer)
    if not isinstance(value, dict):
        message = f"`{spoken(mistake.pointer)}` must be a mapping, not {_kind(value)}"
        names_pattern = mistake.loc[-1:] == ("pattern",) and isinstance(value, str) and value in PATTERNS
        fix = f"write `pattern: {{type: {value}, config: {{...}}}}`" if names_pattern else AS_MAPPING
        return Finding(WRONG_TYPE, message, where, fix)
    if mistake.loc[-1:] == ("pattern",):
        name, pattern_name = value.get("type"), meant_pattern(value)
        if typo := mistyped_type(value):
            key_place = document.where(f"{mistake.pointer}/{escape(typo)}", key=True)
            message, edits = f"`{typo}` is not a key of `pattern`", clear_edit(typo, ["type"])
            return Finding(UNKNOWN_KEY, message, key_place, "did you mean `type`?", edits=edits)
        if name is None:
            fix = f"add `type: {pattern_name}`" if pattern_name else f"one of {', '.join(PATTERNS.installed())}"
            return Finding(MISSING_KEY, "`pattern` has no `type`", where, fix)
        known = f"one of {', '.join(PATTERNS.installed())}, or install the distribution that brings it"
        fix = f"did you mean `{pattern_name}`?" if pattern_name else known
        where, kinds = document.where(f"{mistake.pointer}/type"), PATTERNS.installed()
        edits = _only_item(name, kinds) or clear_edit(str(name), kinds)
        return Finding(UNKNOWN_PATTERN, f"there is no pattern {name!r}", where, fix, edits=edits)
    for key in value:
        close = did_you_mean(str(key), STEP_WORDS)
        if close:
            key_place = document.where(f"{mistake.pointer}/{escape(key)}", key=True)
            edits = clear_edit(str(key), STEP_WORDS)
            return Finding(STEP_FORM, STEP_FORMS, key_place, f"did you mean `{close}` for `{key}`?", edits=edits)
    return Finding(STEP_FORM, STEP_FORMS, where, "add `agent: NAME`, `tool: REF` or `type: hitl`")


def _wrong_type(mistake: _Mistake, model: type[FormatModel], document: Document) -> Finding:
    value = mistake.error["input"]
    # Of two that may be written, the wider one says both.
    expected = [kind for kind in mistake.expected if kind != "a whole number" or "a number" not in mistake.expected]
    message = f"`{spoken(mistake.pointer)}` must be {' or '.join(expected)}, not {_kind(value)}"
    fix = "put it in quotes" if mistake.expected == ["text"] and isinstance(value, bool) else None
    edits = _exact_conversion(mistake, expected, model, document)
    number = _DURATION.fullmatch(value) if isinstance(value, str) and "number" in mistake.expected[0] else None
    if number:
        fix = f"write the number alone: {_in_unit(number, mistake.pointer)}"
        edits = (Edit(str(value), _in_unit(number, mistake.pointer), "node"),)
    elif re.fullmatch("/inputs/values/[^/]+", mistake.pointer) and isinstance(value, (list, dict)):
        form = "{type: array, default: [...]}" if isinstance(value, list) else "{type: object, default: {...}}"
        fix = f"declare it: `inputs: {{optional: {{{mistake.pointer.split('/')[-1]}: {form}}}}}`"
    elif mistake.expected == ["a list"] and isinstance(value, str) and _WORD.fullmatch(value):
        fix = f"write it as a list: [{value}]"
    elif mistake.expected == ["a list"]:
        fix = "write it as a list: `- item` on lines of their own"
    elif mistake.pointer == "/pattern/config/default" and not isinstance(value, str):
        fix = "write steps as a route under `routes`, and its name here: `default: NAME`"
    elif mistake.pointer == "/tools" and isinstance(value, list):
        fix = "write the list under `tools.python:`"
    elif mistake.expected == ["a mapping"]:
        is_list = isinstance(value, list) and mistake.pointer
        fix = "write it as a mapping: `name: ...` for each" if is_list else AS_MAPPING
        if mistake.pointer and not holds_names(model, mistake.loc) and (keys := keys_at(model, mistake.loc)):
            fix = f"write it as a mapping, with keys of {', '.join(sorted(keys))}"
    return Finding(WRONG_TYPE, message, document.where(mistake.pointer), fix, edits=edits)


def _exact_conversion(
    mistake: _Mistake, expected: list[str], model: type[FormatModel], document: Document
) -> tuple[Edit, ...]:
    """Return the edit that gives a value its only possible type: `"5"` is 5, `yes` is true, a word is a list of it."""
    value, kinds = mistake.error["input"], {*expected}
    if kinds <= {"a number", "a whole number"} and isinstance(value, str):
        form = r"-?\d{1,15}(\.\d{1,15})?" if "a number" in kinds else r"-?\d{1,15}"
        return (Edit(value, value, "node"),) if re.fullmatch(form, value) else ()
    if kinds == {"true or false"} and str(value).lower() in _BOOLEANS:
        return (Edit(str(value), _BOOLEANS[str(value).lower()], "node"),)
    if kinds == {"text"} and isinstance(value, (int, float)):
        return (Edit("", f'"{document.text_at(mistake.pointer) or str(value).lower()}"', "node"),)
    if "text" in kinds and "a list" not in kinds and (edits := _only_item(value)):
        return edits
    if kinds == {"a list"} and isinstance(value, str) and _WORD.fullmatch(value):
        return (Edit(value, "", "list"),)
    key, colon, rest = str(value).partition(":")
    if kinds == {"a mapping"} and isinstance(value, str) and rest and key in keys_at(model, mistake.loc):
        return (Edit(f"{key}{colon}", f"{key}: ", "text"),)
    return ()


def _in_unit(duration: re.Match[str], pointer: str) -> str:
    """Return a duration such as `30s` in seconds, or in milliseconds for a key that says so."""
    seconds = float(duration[1]) * _SECONDS[duration[2].lower()]
    return f"{seconds * 1000 if pointer.endswith('_ms') else seconds:g}"


def _only_item(value: Any, words: Container[str] | None = None) -> tuple[Edit, ...]:
    """Return the edit that takes the one text of a list out of it, if it is one of these words."""
    is_item = isinstance(value, list) and len(value) == 1 and isinstance(value[0], str)
    return (Edit(value[0], "", "item"),) if is_item and (words is None or value[0] in words) else ()


def _behind_colon(key: str, known_keys: Container[str] | None = None) -> tuple[Edit, ...]:
    """Return the edit of a key that is one with its value: `tools:[a]` has no space, and `runtime {a: b}` no colon."""
    match = re.match(r"([\w.-]+)(: *| +)(?=[\[{\"'])", key)
    is_key = match is not None and (known_keys is None or match[1] in known_keys)
    return (Edit(match[0], f"{match[1]}: ", "text"),) if match is not None and is_key else ()


# Words of Python and of other schemas for the types of JSON.
_TYPE_WORDS = {
    "list": "array",
    "dict": "object",
    "map": "object",
    "mapping": "object",
    "float": "number",
    "text": "string",
}


def _bad_value(mistake: _Mistake, document: Document) -> Finding | None:
    error, kind = mistake.error, str(mistake.error["type"])
    context, name = error.get("ctx", {}), spoken(mistake.pointer)
    where = document.where(mistake.pointer)
    if kind == "literal_error":
        words = [word.strip("'") for word in context["expected"].replace(" or ", ", ").split(", ")]
        close = _TYPE_WORDS.get(str(error["input"]).lower(), did_you_mean(str(error["input"]), words))
        close = close if close in words else None
        choice = f"one of {', '.join(words)}" if words[1:] else words[0]
        message = f"`{name}` is {shown(error['input'])}; it must be {choice}"
        fix = f"did you mean `{close}`?" if close else _meant_input(mistake)
        word = str(error["input"])
        synonym = _TYPE_WORDS.get(word.lower(), "")
        edits = (Edit(word, synonym),) if synonym in words else clear_edit(word, words)
        edits = _only_item(error["input"], words) or edits
        return Finding(BAD_VALUE, message, where, fix, edits=edits)
    if kind in _BOUNDS:
        bound, key = _BOUNDS[kind]
        return Finding(BAD_VALUE, f"`{name}` is {shown(error['input'])}; it must be {bound} {context[key]:g}", where)
    if kind == "string_pattern_mismatch":
        fix = _LETTERS.get(context["pattern"])
        return Finding(BAD_IDENTIFIER, f"`{name}` is {shown(error['input'])}, which cannot be a name", where, fix)
    if kind in ("too_short", "string_too_short"):
        if counts_failed_items(error):
            return None
        least = context["min_length"]
        message = f"`{name}` is empty" if least == 1 else f"`{name}` needs {least} or more items"
        return Finding(BAD_VALUE, message, where)
    if kind == "too_long":
        return Finding(
            BAD_VALUE, f"`{name}` can only be empty", where, "write `[]` for none; without the key it is all"
        )
    return Finding(BAD_VALUE, f"`{name}` is not usable: {error['msg']}", where)


def _meant_input(mistake: _Mistake) -> str | None:
    """Return the advice where the default of an input is written in place of its type."""
    _, section, *names = mistake.pointer.split("/")
    if section != "inputs" or len(names) != 2:
        return None
    return f"for a fixed value write `inputs: {{values: {{{names[1]}: ...}}}}`, for a default `{{default: ...}}`"


def counts_failed_items(error: Mapping[str, Any]) -> bool:
    """Return whether an error is that of a list whose items failed, which pydantic does not count; they have errors."""
    is_short = error["type"] in ("too_short", "string_too_short")
    return is_short and hasattr(error["input"], "__len__") and len(error["input"]) >= error["ctx"]["min_length"]


def _kind(value: Any) -> str:
    words: tuple[tuple[type, str], ...] = (
        (bool, "true or false"),
        (int, "a number"),
        (float, "a number"),
        (str, "text"),
        (list, "a list"),
        (dict, "a mapping"),
    )
    return next((word for kind, word in words if isinstance(value, kind)), "empty")
