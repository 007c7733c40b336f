"""A decision has a number of its own, a choice with reasons, and the changes that it forbids."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import CLONE

FOLDER = CLONE / "docs" / "decisions"
DECISIONS = sorted(FOLDER.glob("[0-9]*.md"))
PARTS = ["Choice.", "Why.", "What it forbids."]
MOST_WORDS = 250


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.name[:4])
def test_a_decision_has_its_number_its_parts_and_few_words(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    number, title = re.match(r"# (\d+)\. (.+)\n", text).groups()  # type: ignore[union-attr]
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower().replace("'", "")).strip("-")
    assert page.stem == f"{int(number):04}-{slug}"
    assert re.findall(r"^\*\*(.+?)\*\*", text, re.MULTILINE) == PARTS
    assert len(re.findall(r"\S*\w\S*", text)) <= MOST_WORDS


def test_each_number_is_given_once() -> None:
    assert len({page.name[:4] for page in DECISIONS}) == len(DECISIONS)
