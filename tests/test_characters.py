from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from strands_cli.texts.unicode_safety import hidden_characters, printable, texts_of


def test_hidden_characters_are_named_once_each() -> None:
    text = "a\u202eb\u200bc\u202e\x1b[31m"
    assert hidden_characters(text) == ["U+202E RIGHT-TO-LEFT OVERRIDE", "U+200B ZERO WIDTH SPACE", "U+001B"]
    assert hidden_characters("Über 東京\n\tund 👍") == []


@given(st.text())
def test_what_is_flagged_is_what_a_terminal_does_not_get(text: str) -> None:
    assert bool(hidden_characters(text)) == (printable(text) != text)


def test_every_text_of_a_document_is_found_with_its_pointer() -> None:
    document = {"a/b": ["x", {"~": "y"}], "n": 3}
    found = [("/a~1b", "a/b"), ("/a~1b/0", "x"), ("/a~1b/1/~0", "~"), ("/a~1b/1/~0", "y"), ("/n", "n")]
    assert list(texts_of(document)) == found
