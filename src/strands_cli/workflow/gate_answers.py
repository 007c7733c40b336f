"""Typed answers of gates: the meaning of a text by the JSON Schema of the answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from strands_cli.texts.phrases import joined
from strands_cli.workflow.steps import meant_word
from strands_cli.workflow.templates.regular_expressions import SlowPattern, search

# The words of a yes and of a no, in any case.
YES, NO = ("yes", "y"), ("no", "n")
# The answers that refuse, where a gate knows them as words.
REFUSALS = ("rejected", "reject", *NO, "denied", "deny", "refused", "refuse", "cancel", "stop", "abort")


class UnfitAnswer(ValueError):
    """An answer does not fit its question; the message is the reason."""


def yes_or_no(text: str) -> str | None:
    """Return `yes` or `no` where a text clearly means that, in any case."""
    word = text.strip().lower()
    return "yes" if word in YES else "no" if word in NO else None


def answer_words(schema: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the only texts that a schema accepts, where it has a list of them."""
    if schema is None or schema.get("type") == "boolean":
        return () if schema is None else ("yes", "no")
    words = schema.get("enum")
    is_listed = isinstance(words, (list, tuple)) and all(isinstance(word, str) for word in words)
    return tuple(words or ()) if is_listed else ()


def read_answer(text: str, schema: Mapping[str, Any]) -> tuple[str, Any]:
    """Return an answer as it is stored, and its value.

    Raises:
        UnfitAnswer: It does not fit the schema.
    """
    if schema.get("type") == "boolean":
        word = {"true": "yes", "false": "no"}.get(text.strip().lower()) or yes_or_no(text)
        if word is None:
            raise UnfitAnswer(f"{text!r} is neither yes nor no")
        return word, word == "yes"
    if words := answer_words(schema):
        word = in_words(text, words) or meant_word(text, words)
        if word is None:
            raise UnfitAnswer(f"{text!r} is none of {joined(words)}")
        return word, word
    value = text if schema.get("type") == "string" else _json_of(text)
    if (problem := _problem(value, schema)) is not None:
        raise UnfitAnswer(problem)
    return text if isinstance(value, str) else text.strip(), value


def in_words(text: str, words: tuple[str, ...]) -> str | None:
    """Return the word of a gate that a plain yes or no means, where it has another one for that."""
    meant = yes_or_no(text)
    if meant is None or text.strip().casefold() in {word.casefold() for word in words}:
        return None
    if meant == "yes":
        return meant_word(meant, words)
    return next((word for word in words if word.strip().lower() in REFUSALS), None)


def _json_of(text: str) -> Any:
    """Return the value of JSON; a text that is none is the value itself."""
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except (ValueError, RecursionError):
        return text
    return value


def _problem(value: Any, schema: Mapping[str, Any]) -> str | None:
    import jsonschema  # few gates have a schema
    import referencing

    def pattern(_validator: Any, wanted: Any, text: Any, _schema: Any) -> Iterator[Any]:
        if isinstance(text, str) and search(wanted, text) is None:
            yield jsonschema.ValidationError(f"{text!r} does not match {wanted!r}")

    extend: Any = jsonschema.validators.extend
    kind = extend(jsonschema.Draft202012Validator, {"pattern": pattern})
    try:
        error = jsonschema.exceptions.best_match(kind(schema, registry=referencing.Registry()).iter_errors(value))
    except (SlowPattern, RecursionError, referencing.exceptions.Unresolvable) as fault:
        return str(fault)
    if error is None:
        return None
    place = error.json_path.removeprefix("$").lstrip(".")
    return f"{place}: {error.message}" if place else str(error.message)
