"""Write the subset of TOML that a lock needs; `tomllib` reads back equal values."""

from __future__ import annotations

from collections.abc import Mapping

Value = str | bool
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def toml_string(text: str) -> str:
    """Return a basic string with invisible characters escaped, so that a person sees everything in it.

    Raises:
        ValueError: TOML cannot hold the text (half of a surrogate pair).
    """
    return f'"{"".join(map(_escaped, text))}"'


def toml_table(path: str, values: Mapping[str, Value], *, repeated: bool = False, quoted: bool = False) -> str:
    """Return a table: its header and one line for each value.

    Args:
        path: Dotted bare keys.
        values: The values in order; ASCII text that ends in a line break becomes a literal block.
        repeated: Whether the table is one of an array (`[[path]]`).
        quoted: Whether the keys are arbitrary text.
    """
    header = f"[[{path}]]" if repeated else f"[{path}]"
    lines = [f"{toml_string(key) if quoted else key} = {toml_value(value)}\n" for key, value in values.items()]
    return f"{header}\n{''.join(lines)}"


def toml_value(value: Value) -> str:
    """Return one value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value.endswith("\n") and _is_literal(value):
        return f"'''\n{value}'''"  # the line break after the opening quotes is not part of the text
    return toml_string(value)


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
