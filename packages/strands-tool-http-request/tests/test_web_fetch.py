"""A page comes as readable text, and no page can make that slow or misleading."""

from __future__ import annotations

import asyncio
import time

import httpx
import pytest

from strands_tool_http_request import web_fetch
from strands_tool_http_request._readable import read_page

BASE = httpx.URL("http://site.test/dir/page")
PAGE = """<!doctype html><html><head><title> A  page </title><style>p{color:red}</style>
<script>alert("<p>no</p>")</script></head><body><nav><a href="/">home</a></nav>
<h1>Head</h1><p>One <b>bold</b> and <i>soft</i> <a href="other?x=1">link</a>.<br>Next &amp; last</p>
<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul><ol><li>x</li><li>y</li></ol>
<pre>  keep
   this</pre><blockquote>said</blockquote><table><tr><th>k</th><td>v</td></tr></table>
<img src="x.png" alt="a cat"><!-- <p>comment</p> --></body></html>"""


def read(page: str, *, markdown: bool = True, limit: int = 20_000):
    return asyncio.run(read_page(page, BASE, markdown=markdown, limit=limit, seconds=3))


def test_a_page_becomes_markdown() -> None:
    page = read(PAGE)
    assert page.title == "A page"
    assert page.text == (
        "# Head\n\nOne **bold** and _soft_ [link](http://site.test/dir/other?x=1).\nNext & last\n\n- a\n  - b\n- c\n\n"
        "1. x\n2. y\n\n```\n  keep\n   this\n```\n\n> said\n\n| k | v\n\na cat"
    )
    assert not page.is_cut


def test_a_page_becomes_plain_text() -> None:
    text = read(PAGE, markdown=False).text
    assert text.startswith("Head\n\nOne bold and soft link.\nNext & last")
    assert not set("*_[]`#") & set(text)


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>X</script>",
        "<SCRIPT>X</Script >",
        "<style>X</style>",
        "<template>X</template>",
        "<noscript>X</noscript>",
        "<svg><text>X</text></svg>",
        "<textarea>X</textarea>",
        "<!-- X -->",
        "<!X>",
        "<?X ?>",
        "<div hidden>X</div>",
        "<div hidden><p>X<div>X</div>X</div>",
        '<div style="color:red; DISPLAY : none">X</div>',
        '<span style="visibility:hidden">X</span>',
        '<span aria-hidden="true">X</span>',
        "<nav>X</nav>",
        '<a href="javascript:X()"></a>',
        '<a href="data:text/html,X"></a>',
        '<img src="X">',
        '<p title="X"></p>',
    ],
)
def test_what_is_invisible_is_left_out(hidden: str) -> None:
    assert "X" not in read(f"<p>before</p>{hidden}<p>after</p>").text
    assert "after" in read(f"<p>before</p>{hidden}<p>after</p>").text


def test_invisible_characters_are_left_out() -> None:
    assert read("<p>a\u200bb\u202ec\U000e0041d\ufeff&#x200b;</p>").text == "abcd"


@pytest.mark.parametrize(
    "page",
    [
        "<" * 1_000_000,
        "<a " * 300_000,
        "<a<b" * 250_000,
        '<a x="' * 160_000,
        "<a " + 'b="c" ' * 160_000 + ">",
        "<!--" * 250_000,
        "<!" * 500_000,
        "<![CDATA[" * 100_000,
        "</" * 500_000,
        "<script>" * 120_000,
        "<script></scrip" * 60_000,
        "<div>" * 50_000,
        "<ul><li>" * 120_000,
        "<blockquote>" * 40_000,
        "<div hidden>" * 40_000,
        "<div hidden>" + "<b></i>" * 35_000,
        "&" * 1_000_000,
        "&#" * 500_000,
        "&amp" * 250_000,
        "<p title='" + "a" * 900_000 + "'>x",
        '<a href="' + "x" * 1_000 + '">y</a>',
        "\n" * 1_000_000,
        "<br>" * 250_000,
        "<pre>" + " " * 1_000_000,
    ],
    ids=lambda page: f"{page[:12]}...",
)
def test_no_page_takes_long(page: str) -> None:
    begun = time.process_time()
    read(page, limit=20_000)
    assert time.process_time() - begun < 4


def test_links_do_not_break_out_of_their_mark() -> None:
    text = read('<a href="http://a.test/)[x](http://evil.test">t</a>').text
    assert text == "t"


def test_the_tool_reads_in_parts(room) -> None:
    room.server.answers["/"] = room.reply("<p>" + "0123456789" * 50, content_type="text/html; charset=utf-8")
    first = room.fetch(max_chars=100)
    assert (first.text, first.value["truncated"], first.value["next_start"]) == ("0123456789" * 10, True, 100)
    last = room.fetch(start=450, max_chars=100)
    assert (last.text, last.value["truncated"]) == ("0123456789" * 5, False)
    assert "next_start" not in last.value


def test_the_character_set_may_be_in_the_page(room) -> None:
    page = b'<html><head><meta charset="windows-1252"><title>\x80</title></head><p>\xfc'
    room.server.answers["/"] = room.reply(page, content_type="text/html")
    answer = room.fetch()
    assert (answer.value["title"], answer.text) == ("€", "ü")


def test_plain_text_is_left_as_it_is(room) -> None:
    room.server.answers["/"] = room.reply("# a\n<b>x</b>\n", content_type="text/markdown")
    assert room.fetch().text == "# a\n<b>x</b>\n"


def test_what_is_not_text_is_refused(room) -> None:
    room.server.answers["/"] = room.reply(b"%PDF-1.7\0", content_type="application/pdf")
    assert room.fetch().error == ("invalid_input", "binary")


def test_it_has_the_same_protection(room) -> None:
    room.server.answers["/"] = room.moved("http://169.254.169.254/")
    assert room.fetch().error == ("denied", "address")
    assert room.fetch("http://127.0.0.1:1/").error == ("denied", "address")
    assert room.fetch("file:///etc/passwd").error == ("invalid_input", "scheme")


def test_the_earlier_word_for_the_form_is_read(room) -> None:
    room.server.answers["/p"] = room.reply("<h1>Head</h1>", content_type="text/html")
    assert room.call(web_fetch.web_fetch, url=room.server.url("/p"), mode="text").text == "Head"
    assert room.call(web_fetch.web_fetch, url=room.server.url("/p"), mode="raw").error == ("invalid_input", "enum")
