"""Earlier words of a tool's input: a call that has them is read in the words of the tool's schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl

from strands_cli.texts.canonical_json import json_object

# Before the name of an object: the entries after the `?` of a text go there.
_QUERY = "?"
_MOST_ENTRIES = 1000


def in_present_words(words: Any, schema: Mapping[str, Any], arguments: Any) -> Any:
    """Return arguments with each earlier word as what it is called now; they themselves if they have none.

    An earlier word beside the present one stays, which `doubled` reports, and so does an address that cannot be
    divided, which is the tool's to refuse.

    Args:
        words: What the tool states as `earlier`.
        schema: Its input schema.
        arguments: The arguments as they are written; what is not an object has no words.
    """
    if not words or not isinstance(arguments, Mapping):
        return arguments
    sound, names = _sound(words, schema), renamed(words, schema, arguments)
    # A null is an absent value, as it is by its present name.
    lesser = {*names.values(), *(word for word, name in sound.items() if name[0] != _QUERY and word not in names)}
    stated: dict[str, Any] = {word: it for word, it in arguments.items() if it is not None or word not in lesser}
    made = {names.get(word, word): it for word, it in stated.items()}
    for word, name in sound.items():
        made = _with_entries(made, word, name.removeprefix(_QUERY)) if name.startswith(_QUERY) else made
    return arguments if made == arguments else made


def renamed(words: Any, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return what each earlier word among the arguments is called now; two words never become one."""
    found: dict[str, str] = {}
    used = {word: name for word, name in _sound(words, schema).items() if word in arguments and name[0] != _QUERY}
    for word in sorted(used, key=lambda word: arguments[word] is None):
        if used[word] not in found.values() and arguments.get(used[word]) is None:
            found[word] = used[word]
    return found


def doubled(words: Any, schema: Mapping[str, Any], present: Any) -> str | None:
    """Return why a call means two things: it has an earlier word beside what that is called now; None if it has not."""
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
    stated = json_object(words)
    faulty = {word for word, _ in word_faults(stated, schema)}
    return {word: name for word, name in stated.items() if word not in faulty}


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
