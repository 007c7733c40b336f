"""The page on security says what the program says: its words, its table of layers, and a test for each claim."""

from __future__ import annotations

import re
from pathlib import Path

from strands_cli_doctor.os_layers import LAYERS
from tests.docs.pages import CLONE

PAGE = CLONE / "docs" / "explanation" / "security-model.md"
WORDS = {"enforced", "best effort", "not available"}
TARGET = re.compile(r"\]\(([^)]+)\)")


def tables() -> list[list[list[str]]]:
    """Return the page's tables as rows of cells, without their rulers."""
    found: list[list[list[str]]] = [[]]
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("|"):
            found.append([])
        elif not line.startswith("| ---"):
            found[-1].append([cell.strip() for cell in line.strip("|").split("|")])
    return [table for table in found if table]


def table(*head: str) -> list[dict[str, str]]:
    """Return the rows of the table with this head, by column."""
    (rows,) = (rows[1:] for rows in tables() if rows[0] == list(head))
    return [dict(zip(head, row, strict=True)) for row in rows]


def test_the_table_of_layers_is_the_doctors() -> None:
    written = [tuple(row.values()) for row in table("layer", "prevents", "Linux", "macOS", "Windows")]
    assert written == [(layer.name, layer.prevents, layer.linux, layer.macos, layer.windows) for layer in LAYERS]


def test_every_promise_has_one_of_three_words_and_a_test_that_shows_it() -> None:
    rows = table("tool", "what is guaranteed", "by", "Linux", "macOS", "Windows", "shown by")
    assert len(rows) > 12
    for row in rows:
        assert {row["Linux"], row["macOS"], row["Windows"]} <= WORDS, row
        targets = TARGET.findall(row["shown by"])
        assert targets or "not there yet" in row["by"], row
        assert all(is_test(target) for target in targets), row


def test_what_is_shown_is_shown_by_a_test() -> None:
    text = PAGE.read_text(encoding="utf-8")
    shown = re.findall(r"\[shown\]\(([^)]+)\)", text)
    assert len(shown) > 8
    assert all(is_test(target) for target in shown)


def test_every_first_party_tool_of_danger_is_in_the_table() -> None:
    named = " ".join(
        row["tool"] for row in table("tool", "what is guaranteed", "by", "Linux", "macOS", "Windows", "shown by")
    )
    for tool in ("python_exec", "http_request", "web_fetch", "file_read", "grep", "tavily_search", "MCP"):
        assert tool in named


def is_test(target: str) -> bool:
    """Return whether a link of the page leads to a file of tests that has some."""
    place = (PAGE.parent / target).resolve()
    return place.name.startswith("test_") and "def test_" in read(place)


def read(place: Path) -> str:
    return place.read_text(encoding="utf-8") if place.is_file() else ""
