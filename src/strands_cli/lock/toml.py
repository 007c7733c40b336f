"""A writer of the little TOML that a lock needs; `tomllib` reads it back to equal values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Value = str | int | bool
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def toml_string(text: str) -> str:
    """Return a basic string; whatever cannot be seen is escaped, so that a reader of the file sees all of it.

    Raises:
        ValueError: TOML cannot hold the text (half of a surrogate pair).
    """
    return f'"{"".join(map(_escaped, text))}"'


def toml_table(path: str, values: Mapping[str, Value], *, repeated: bool = False, quoted: bool = False) -> str:
    """Return a table: its header (`[path]`, or `[[path]]` where it is `repeated`) and one line for each value.

    Args:
        path: Dotted bare keys.
        values: What it holds, in this order; a text that ends in a line break becomes a literal block.
        repeated: Whether it is one of an array of tables.
        quoted: Whether the keys are arbitrary texts.
    """
    header = f"[[{path}]]" if repeated else f"[{path}]"
    lines = [f"{toml_string(key) if quoted else key} = {toml_value(value)}\n" for key, value in values.items()]
    return f"{header}\n{''.join(lines)}"


def toml_value(value: Value) -> str:
    """Return one value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return _block(value) if value.endswith("\n") and _is_literal(value) else toml_string(value)


def toml_document(head: Iterable[str], parts: Iterable[str]) -> str:
    """Return a document: comment lines, then its parts with an empty line between them."""
    comment = "".join(f"# {line}\n" for line in head)
    return comment + "\n".join(parts)


def _block(text: str) -> str:
    # The line break after the opening quotes is not part of the text.
    return f"'''\n{text}'''"


def _is_literal(text: str) -> bool:
    return "'''" not in text and text.isascii() and all(char.isprintable() or char == "\n" for char in text)


def _escaped(char: str) -> str:
    if char in _SHORT:
        return _SHORT[char]
    if char.isprintable():
        return char
    number = ord(char)
    if 0xD800 <= number <= 0xDFFF:
        raise ValueError(f"TOML cannot hold the character {number:#x}")
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"
