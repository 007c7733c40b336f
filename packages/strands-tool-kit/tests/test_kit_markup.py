"""Pages are read in linear time, to their end or to a limit, without what is not text."""

from __future__ import annotations

import asyncio
import html.parser
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_tool_kit.markup import feed_page, pieces


class Collector(html.parser.HTMLParser):
    """Collects text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""

    def handle_data(self, data: str) -> None:
        self.text += data

    def unknown_decl(self, data: str) -> None:
        """Pass over a declaration."""


def read(page: str, seconds: float = 60, most: int = 10**9) -> tuple[bool, str]:
    parser = Collector()
    is_whole = asyncio.run(feed_page(parser, page, seconds=seconds, is_full=lambda: len(parser.text) >= most))
    return is_whole, parser.text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>one</p> two", "one two"),
        ("a<script>evil()</script>b<style>p{}</style>c", "abc"),
        ("a<!-- hidden -->b<!doctype html>c", "abc"),
        ("a<script>never closed", "a"),
        ("a<!-- never closed", "a"),
        ("1 < 2 &amp; 3", "1 < 2 & 3"),
        ("a<SVG><p>b</p></SVG>c", "ac"),
    ],
)
def test_what_is_not_text_is_left_out(page: str, text: str) -> None:
    assert read(page) == (True, text)


def test_a_tag_without_bounds_is_cut_to_its_name() -> None:
    assert list(pieces(f"<p class='{'x' * 10_000}'>a")) == ["<p>", "a"]


@given(st.text("<>!-/ab p\"'=&;", max_size=200))
def test_every_page_is_read_to_its_end(page: str) -> None:
    assert read(page)[0]


@pytest.mark.parametrize("part", ["<", "<!--", "<a ", "</", "<![", "&#", "<script>", "<svg"])
def test_a_page_made_to_be_slow_is_not(part: str) -> None:
    began = time.process_time()
    read(part * 50_000)
    assert time.process_time() - began < 10


def test_a_limit_of_size_or_time_ends_the_reading() -> None:
    page = "<p>word</p>" * 1000
    is_whole, text = read(page, most=40)
    assert not is_whole
    assert 40 <= len(text) < 1000
    assert read(page, seconds=-1) == (False, "")


def test_other_tasks_run_while_a_page_is_read() -> None:
    async def race() -> bool:
        reading = asyncio.create_task(feed_page(Collector(), "<p>word</p>" * 5000, seconds=60))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return reading.done()

    assert asyncio.run(race()) is False
