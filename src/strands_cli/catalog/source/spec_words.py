"""The words of a tool spec besides the SDK's own: each works, at the top or under `strands_cli`, or is reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from strands_cli.catalog.definitions.definition_check import WORDS
from strands_cli.catalog.definitions.manifest import Manifest
from strands_cli.errors import Code, did_you_mean
from strands_cli.metadata import HINTS
from strands_cli.texts.canonical_json import json_object

TOOL_WORD = Code(
    "tool-word",
    "A tool states something in a word, or a form, that means nothing.",
    "Use a word that `strands explain manifest` lists, or remove it.",
)

# Fields of the manifest that a list of tools shows; in Python they are beside the others.
CATALOGUE = Manifest.CATALOGUE
_OF_THE_SDK = ("name", "description", "inputSchema", "outputSchema", "annotations", "strands_cli")
# Other words for the same, with what makes the value of it.
_OTHER_WORDS = {"requires_consent": "requires_confirmation", "timeout": "timeout_s", "timeout_ms": "timeout_s"}
CLAIMS, HINT_WORDS = WORDS["strands_cli"], WORDS["annotations"]
Words = Mapping[str, Any]
_KINDS: Mapping[type, str] = {
    str: "a string",
    dict: "a mapping",
    list: "a list",
    bool: "True or False",
    int: "a number",
    float: "a number",
}


def normal_spec(spec: Words) -> dict[str, Any]:
    """Return a spec with each known word in its place: hints, claims under `strands_cli`, catalogue fields on top.

    What is written under `strands_cli` is stronger than the same at the top; what is unknown stays where it is.
    """
    hints, claims = dict(json_object(spec.get("annotations"))), dict[str, Any]()
    normal = {word: value for word, value in spec.items() if word in _OF_THE_SDK or not _is_known(word)}
    for word, value in _stated(spec):
        name, value = _meaning(word, value)
        if name in CATALOGUE:
            normal[name] = value
        elif name in HINT_WORDS:
            hints.setdefault(name, value)
        else:
            # What is not true or false is not a promise that no person needs to confirm.
            claims[name] = True if name == "requires_confirmation" and not isinstance(value, bool) else value
    places = {"annotations": hints, "strands_cli": claims}
    return normal | {place: words for place, words in places.items() if words or place in spec}


def meaningless_words(spec: Words) -> list[tuple[str, str | None]]:
    """Return each word of a spec that means nothing, and what to write instead if that is known."""
    found: list[tuple[str, str | None]] = []
    own = json_object(spec.get("strands_cli"))
    for word, value in [*((w, v) for w, v in spec.items() if w not in _OF_THE_SDK), *own.items()]:
        name, meant = _meaning(str(word), value)
        kind = {**CLAIMS, **HINT_WORDS, **{one: WORDS["tool"][one] for one in CATALOGUE}}.get(name)
        if kind is None:
            close = did_you_mean(str(word), [*CLAIMS, *CATALOGUE, *HINTS, *_OTHER_WORDS])
            found.append((str(word), f"did you mean `{close}`?" if close else None))
        elif not isinstance(meant, kind) or (isinstance(meant, bool) and kind is not bool):
            meant_kind = kind[0] if isinstance(kind, tuple) else kind
            counts = "it counts as True; " if name == "requires_confirmation" else ""
            found.append((str(word), f"{counts}give it {_KINDS[meant_kind]}: strands explain manifest"))
    return found


def with_metadata(spec: Words, metadata: Words) -> dict[str, Any]:
    """Return a spec over what `@tool_metadata` says, as the parts `annotations` and `strands_cli` of a spec."""
    if not any(metadata.values()):
        return dict(spec)
    normal = normal_spec(spec)
    own = {word: normal.pop(word) for word in CATALOGUE if word in normal}
    claims = {**metadata["strands_cli"], **json_object(normal.get("strands_cli")), **own}
    hints = {**metadata["annotations"], **json_object(normal.get("annotations"))}
    return {**normal, "annotations": hints, "strands_cli": claims}


def catalogue_of(fields: Words) -> dict[str, Any]:
    """Return the catalogue fields that have the type of the manifest's, as a record has them."""
    sound = {name: value for name, value in fields.items() if isinstance(value, WORDS["tool"][name])}
    return {name: tuple(value) if isinstance(value, list) else value for name, value in sound.items()}


def _stated(spec: Words) -> Iterator[tuple[str, Any]]:
    """Yield the known words at the top, then all words under `strands_cli`."""
    yield from ((word, value) for word, value in spec.items() if word not in _OF_THE_SDK and _is_known(word))
    yield from json_object(spec.get("strands_cli")).items()


def _is_known(word: Any) -> bool:
    return word in CLAIMS or word in CATALOGUE or word in HINTS or word in HINT_WORDS or word in _OTHER_WORDS


def _meaning(word: str, value: Any) -> tuple[str, Any]:
    name = HINTS.get(word) or _OTHER_WORDS.get(word, word)
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return name, value / 1000 if word == "timeout_ms" and is_number else value
