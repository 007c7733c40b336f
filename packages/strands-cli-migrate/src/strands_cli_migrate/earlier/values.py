"""Parts of a document, which may have any mistake."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def mapping(value: Any) -> dict[str, Any]:
    """Return a value if it is a mapping, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """Return a value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def section(document: dict[str, Any], *names: str) -> dict[str, Any] | None:
    """Return the mapping at a path of names, made where nothing is; None where something else is."""
    holder = document
    for name in names:
        if holder.get(name) is None:
            holder[name] = {}
        inner = holder[name]
        if not isinstance(inner, dict):
            return None
        holder = inner
    return holder


def token(key: str | int) -> str:
    """Return a key as one token of a JSON pointer."""
    return str(key).replace("~", "~0").replace("/", "~1")


def texts_in(value: Any, pointer: str) -> Iterator[tuple[dict[str, Any] | list[Any], Any, str]]:
    """Yield each text in a list or a mapping: its holder, its key there, and its pointer."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        item_pointer = f"{pointer}/{token(key)}"
        if isinstance(item, str):
            yield value, key, item_pointer
        else:
            yield from texts_in(item, item_pointer)
