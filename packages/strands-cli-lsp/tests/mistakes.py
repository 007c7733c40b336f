"""Mistakes of people in sound workflows, made by chance from a seed, and how `validate --fix` corrects each."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from strands_cli import app
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.errors import Finding, StrandsCliError, has_errors
from strands_cli.workflow.format_schema import workflow_schema
from strands_cli.workflow.key_meanings import SYNONYMS
from strands_cli.yaml_files.document import Document
from strands_cli.yaml_files.document_reader import read_document
from strands_cli_lsp.fixed_text import corrected

ROOT = Path(__file__).parents[3]
WORKFLOWS = 50
_SCHEMA = workflow_schema()
_KEYS = {key for part in (_SCHEMA, *_SCHEMA["$defs"].values()) for key in part.get("properties", ())}
_NAMING = re.compile(r"/agents/[^/]+|/inputs/(?:required|optional|values)/[^/]+|/pattern/config/(?:nodes|routes)/[^/]+")
_IDS = re.compile(r"/pattern/config/(?:tasks|branches)/\d+/id")
_WORDS_OF_NAMES = re.compile(r"/(?:agent|producer|from|to|default)$|/(?:deps|to)/\d+$")
_NEAR = dict(zip("qwertyuiopasdfghjklzxcvbn", "wertyuioplsdfghjkloxcvbnm", strict=True))

Spoil = Callable[[random.Random, str, Document], str | None]


class Outcome(NamedTuple):
    """One mistake: its kind, the workflow, the text with it, and what became of it."""

    kind: str
    workflow: str
    before: str
    spoiled: str
    after: str
    verdict: str


def sound_workflows() -> Iterator[tuple[Path, str]]:
    """Yield fifty workflows of the examples and the tests without errors, with their texts."""
    folders = [ROOT / "examples", ROOT / "tests" / "workflow" / "workflows", ROOT / "tests"]
    files = dict.fromkeys(path for folder in folders for path in sorted(folder.rglob("*.yaml")))
    count = 0
    for path in files:
        text = path.read_text("utf-8")
        if not re.search(r"^pattern:", text, re.M) or not re.search(r"^version: 2$", text, re.M):
            continue
        if not has_errors(findings_of(path, text)):
            yield path, text
            count += 1
        if count == WORKFLOWS:
            return


_CATALOGS: dict[Path, Any] = {}


def findings_of(path: Path, text: str) -> tuple[Finding, ...]:
    """Return the findings about a text in place of a file."""
    catalog = _CATALOGS.setdefault(path.parent, None) or discover_catalog(project=path.parent)
    _CATALOGS[path.parent] = catalog
    return app.check(path, text, None, catalog)


def slip(rng: random.Random, word: str) -> str:
    """Return a word with one letter left out, typed twice, changed or in the wrong place."""
    at = rng.randrange(1, len(word)) if len(word) > 1 else 0
    kind = rng.choice(("omitted", "doubled", "changed", "swapped"))
    if kind == "omitted":
        return word[:at] + word[at + 1 :]
    if kind == "doubled":
        return word[:at] + word[at] + word[at:]
    if kind == "changed":
        return word[:at] + _NEAR.get(word[at].lower(), "x") + word[at + 1 :]
    return word[: at - 1] + word[at] + word[at - 1] + word[at + 1 :]


def offset(text: str, position: tuple[int, int]) -> int:
    """Return the offset of a line and a column (1-based) in a text."""
    lines = text.split("\n")
    return sum(len(line) + 1 for line in lines[: position[0] - 1]) + position[1] - 1


def _at(text: str, position: tuple[int, int], old: str, new: str) -> str | None:
    at = offset(text, position)
    at += text[at : at + 1] in ("'", '"')
    return text[:at] + new + text[at + len(old) :] if text.startswith(old, at) and new != old else None


def _key(rng: random.Random, document: Document, change: Callable[[str], str | None]) -> str | None:
    places = [(at, pointer.rpartition("/")[2]) for pointer, at in document.keys.items()]
    places = [(at, key) for at, key in places if key in _KEYS and change(key)]
    if not places:
        return None
    at, key = rng.choice(places)
    return _at(document.text, at, key, change(key) or key)


def key_slip(rng: random.Random, text: str, document: Document) -> str | None:
    return _key(rng, document, lambda key: slip(rng, key) if len(key) > 2 else None)


def key_synonym(rng: random.Random, text: str, document: Document) -> str | None:
    def change(key: str) -> str | None:
        words = [word for word, meant in SYNONYMS.items() if key in meant and word not in _KEYS]
        return rng.choice(words) if words else None

    return _key(rng, document, change)


def key_case(rng: random.Random, text: str, document: Document) -> str | None:
    return _key(rng, document, lambda key: key.capitalize())


def key_hyphen(rng: random.Random, text: str, document: Document) -> str | None:
    return _key(rng, document, lambda key: key.replace("_", "-") if "_" in key else None)


def _value(rng: random.Random, document: Document, fits: Callable[[str, Any], Any]) -> tuple[Any, Any, str] | None:
    values = [(at, value_at(document.value, pointer), pointer) for pointer, at in document.positions.items()]
    values = [(at, value, pointer) for at, value, pointer in values if fits(pointer, value)]
    return rng.choice(values) if values else None


def value_at(value: Any, pointer: str) -> Any:
    """Return the value at a pointer."""
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def _value_slip(rng: random.Random, document: Document, fits: Callable[[str, Any], Any]) -> str | None:
    chosen = _value(
        rng, document, lambda pointer, value: isinstance(value, str) and len(value) > 1 and fits(pointer, value)
    )
    return None if chosen is None else _at(document.text, chosen[0], chosen[1], slip(rng, chosen[1]))


def name_of_reference(rng: random.Random, text: str, document: Document) -> str | None:
    return _value_slip(
        rng,
        document,
        lambda pointer, value: _WORDS_OF_NAMES.search(pointer) and "/inputs" not in pointer and value != "else",
    )


def name_of_definition(rng: random.Random, text: str, document: Document) -> str | None:
    names = [(at, pointer.rpartition("/")[2]) for pointer, at in document.keys.items() if _NAMING.fullmatch(pointer)]
    names += [
        (document.positions[pointer], value_at(document.value, pointer))
        for pointer in document.positions
        if _IDS.fullmatch(pointer)
    ]
    names = [(at, name) for at, name in names if len(name) > 1]
    if not names:
        return None
    at, name = rng.choice(names)
    return _at(text, at, name, slip(rng, name))


def tool_name(rng: random.Random, text: str, document: Document) -> str | None:
    chosen = _value(rng, document, lambda pointer, value: isinstance(value, str) and value.startswith("native:"))
    if chosen is None:
        return None
    return _at(text, chosen[0], chosen[1], "native:" + slip(rng, chosen[1].removeprefix("native:")))


def enumerated(rng: random.Random, text: str, document: Document) -> str | None:
    return _value_slip(
        rng, document, lambda pointer, value: re.search(r"/(?:type|memory|method|on_error|transport)$", pointer)
    )


def _in_templates(rng: random.Random, text: str, pattern: str) -> str | None:
    places = [
        code.start() + match.start(1)
        for code in re.finditer(r"\{\{.*?\}\}|\{%.*?%\}", text)
        for match in re.finditer(pattern, code[0])
    ]
    if not places:
        return None
    at = rng.choice(places)
    word = re.match(r"\w+", text[at:])
    assert word is not None
    return text[:at] + slip(rng, word[0]) + text[at + len(word[0]) :]


def template_name(rng: random.Random, text: str, document: Document) -> str | None:
    return _in_templates(rng, text, r"(?:\{\{|if|in) +([a-z]\w{2,})")


def template_field(rng: random.Random, text: str, document: Document) -> str | None:
    return _in_templates(rng, text, r"[\w\]]\.([a-z]\w{2,})")


def template_filter(rng: random.Random, text: str, document: Document) -> str | None:
    return _in_templates(rng, text, r"\| *([a-z]\w{2,})")


def number_in_quotes(rng: random.Random, text: str, document: Document) -> str | None:
    chosen = _value(rng, document, lambda pointer, value: type(value) in (int, float))
    return None if chosen is None else _at(text, chosen[0], str(chosen[1]), f'"{chosen[1]}"')


def number_with_unit(rng: random.Random, text: str, document: Document) -> str | None:
    chosen = _value(
        rng, document, lambda pointer, value: type(value) is int and re.search(r"_s$|timeout|wait", pointer)
    )
    return None if chosen is None else _at(text, chosen[0], str(chosen[1]), f"{chosen[1]}s")


def yes_or_no(rng: random.Random, text: str, document: Document) -> str | None:
    chosen = _value(rng, document, lambda pointer, value: isinstance(value, bool))
    return None if chosen is None else _at(text, chosen[0], str(chosen[1]).lower(), "yes" if chosen[1] else "no")


def lone_item(rng: random.Random, text: str, document: Document) -> str | None:
    lists = list(re.finditer(r"(?<=: )\[([\w:./-]+)\]", text))
    if not lists:
        return None
    chosen = rng.choice(lists)
    return text[: chosen.start()] + chosen[1] + text[chosen.end() :]


def list_of_word(rng: random.Random, text: str, document: Document) -> str | None:
    chosen = _value(rng, document, lambda pointer, value: isinstance(value, str) and re.fullmatch(r"[\w.-]+", value))
    return None if chosen is None else _at(text, chosen[0], chosen[1], f"[{chosen[1]}]")


def no_version(rng: random.Random, text: str, document: Document) -> str | None:
    return text.replace("version: 2\n", "", 1)


def empty_version(rng: random.Random, text: str, document: Document) -> str | None:
    return text.replace("version: 2\n", "version:\n", 1)


def _line(rng: random.Random, text: str, pattern: str, change: Callable[[re.Match[str]], str]) -> str | None:
    lines = text.split("\n")
    fitting = [(number, match) for number, line in enumerate(lines) if (match := re.fullmatch(pattern, line))]
    fitting = [(number, match) for number, match in fitting if not match[0].lstrip().startswith("#")]
    if not fitting:
        return None
    number, match = rng.choice(fitting)
    lines[number] = change(match)
    return "\n".join(lines)


def tab(rng: random.Random, text: str, document: Document) -> str | None:
    return _line(rng, text, r"((?:  )+)(\S.*)", lambda match: "\t" * (len(match[1]) // 2) + match[2])


def no_quotes_around_template(rng: random.Random, text: str, document: Document) -> str | None:
    return _line(rng, text, r'(.*: )"(\{\{[^"]*)"(.*)', lambda match: match[1] + match[2] + match[3])


def line_twice(rng: random.Random, text: str, document: Document) -> str | None:
    return _line(rng, text, r" *\w+: .+", lambda match: f"{match[0]}\n{match[0]}")


def no_space_after_colon(rng: random.Random, text: str, document: Document) -> str | None:
    return _line(rng, text, r"( *(?:- )?\w+:) (\S.*)", lambda match: match[1] + match[2])


def no_colon(rng: random.Random, text: str, document: Document) -> str | None:
    return _line(rng, text, r"( *(?:- )?\w+):( .*|)", lambda match: match[1] + match[2])


def no_closing_quote(rng: random.Random, text: str, document: Document) -> str | None:
    return _line(rng, text, r"(.*)\"([\]} ]*)", lambda match: match[1] + match[2])


def no_opening_quote(rng: random.Random, text: str, document: Document) -> str | None:
    return _line(rng, text, r"( *(?:- )?\w+: )\"(.*)", lambda match: match[1] + match[2])


def no_closing_bracket(rng: random.Random, text: str, document: Document) -> str | None:
    return _line(rng, text, r"(.*[\[{].*)[\]}]", lambda match: match[1])


def indented_otherwise(rng: random.Random, text: str, document: Document) -> str | None:
    width = rng.choice((-1, 1))
    return _line(rng, text, r"( +)(\S.*)", lambda match: " " * (len(match[1]) + width) + match[2])


def no_space_after_dash(rng: random.Random, text: str, document: Document) -> str | None:
    return _line(rng, text, r"( *-) (\S.*)", lambda match: match[1] + match[2])


def no_line(rng: random.Random, text: str, document: Document) -> str | None:
    return _line(rng, text, r" +(?:- )?\w+: .+", lambda match: "# ")


KINDS: tuple[Spoil, ...] = (
    *(key_slip, key_synonym, key_case, key_hyphen, name_of_reference, name_of_definition, tool_name, enumerated),
    *(template_name, template_field, template_filter, number_in_quotes, number_with_unit, yes_or_no, lone_item),
    *(list_of_word, no_version, empty_version, tab, no_quotes_around_template, line_twice, no_space_after_colon),
    *(no_colon, no_closing_quote, no_opening_quote, no_closing_bracket, indented_otherwise, no_space_after_dash),
    no_line,
)


def outcomes(seed: int, count: int) -> Iterator[Outcome]:
    """Yield what becomes of so many mistakes, each in a copy of one of the workflows; each kind comes in turn."""
    rng, files = random.Random(seed), list(sound_workflows())
    per_file = -(-count // len(files))
    made = 0
    for number, (path, text) in enumerate(files):
        document = read_document(path, text)
        before = sorted((finding.code, finding.message) for finding in findings_of(path, text))
        kinds = [KINDS[(number * per_file + step) % len(KINDS)] for step in range(10_000)]
        of_file = 0
        for kind in kinds:
            if of_file == per_file or made == count:
                break
            spoiled = kind(rng, text, document)
            if spoiled is None or spoiled == text or _findings(path, spoiled) == before:
                continue  # nothing is wrong with it
            of_file, made = of_file + 1, made + 1
            yield outcome(kind.__name__, path, text, spoiled)


def _findings(path: Path, text: str) -> list[tuple[str, str]]:
    try:
        return sorted((finding.code, finding.message) for finding in findings_of(path, text))
    except StrandsCliError as error:
        return [(finding.code, finding.message) for finding in error.findings]


def outcome(kind: str, path: Path, text: str, spoiled: str) -> Outcome:
    """Correct a text, and compare it with the sound one."""
    result = corrected(spoiled, str(path), lambda now: findings_of(path, now))
    if result.text == text:
        verdict = "restored"
    elif result.is_read and not has_errors(result.findings) and result.text != spoiled:
        same = read_document(path, result.text).value == read_document(path, text).value
        verdict = "same" if same else "wrong"
    else:
        verdict = "left" if result.text == spoiled else "partly"
    return Outcome(kind, str(path.relative_to(ROOT)), text, spoiled, result.text, verdict)
