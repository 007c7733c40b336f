"""A search with DuckDuckGo asks as its own form does, and reads the pages of that shape."""

from __future__ import annotations

import gzip

import pytest

from strands_tool_web_search._page import unwrapped

FIRST = {
    "title": "Coroutines and Tasks — Python documentation",
    "url": "https://docs.python.org/3/library/asyncio-task.html#timeouts",
    "snippet": "asyncio.timeout(delay) returns an asynchronous context manager & limits the time spent waiting.",
}
SECOND = {"title": "How do I time out?", "url": "https://stackoverflow.com/questions/1/a?x=1&y=2", "snippet": ""}
THIRD = {"title": "The third", "url": "https://example.org/third", "snippet": "Third snippet."}


def test_results_come_cleaned_unwrapped_and_without_advertisements(room) -> None:
    room.answers(room.recorded("results.html"))
    answer = room.duck(max_results=2)
    assert answer.status == "success"
    (left_out,) = answer.value["notices"]
    assert answer.value == {"query": "asyncio timeout", "results": [FIRST, SECOND], "notices": [left_out]}
    assert left_out.endswith(": 1")
    assert answer.text.splitlines() == [
        f"1. {FIRST['title']}",
        f"   {FIRST['url']}",
        f"   {FIRST['snippet']}",
        "",
        f"2. {SECOND['title']}",
        f"   {SECOND['url']}",
        "",
        f"[{left_out}]",
    ]
    assert len(room.server.asked) == 1


def test_the_question_is_sent_as_the_form_of_the_service_does(room) -> None:
    room.answers(room.recorded("results.html"))
    room.duck("größe & mehr", region="de-de", timelimit="w", safesearch="on", max_results=1)
    asked = room.server.asked[0]
    assert (asked.method, asked.target) == ("POST", "/html/")
    assert asked.form == {"b": "", "q": "größe & mehr", "kl": "de-de", "kp": "1", "df": "w"}
    assert asked.headers["host"] == f"127.0.0.1:{room.server.port}"
    assert asked.headers["content-type"] == "application/x-www-form-urlencoded"
    assert not {"cookie", "referer", "authorization"} & set(asked.headers)


@pytest.mark.parametrize(("word", "sent"), [("on", "1"), ("moderate", "-1"), ("off", "-2")])
def test_safe_search_is_sent_in_the_words_of_the_service(room, word: str, sent: str) -> None:
    room.answers(room.recorded("results.html"))
    room.duck(safesearch=word, max_results=1)
    assert room.server.asked[0].form["kp"] == sent


def test_further_pages_are_read_until_there_is_enough(room) -> None:
    room.answers(room.recorded("results.html"), room.recorded("second.html"))
    answer = room.duck(max_results=20, timelimit="y")
    assert answer.value["results"] == [FIRST, SECOND, THIRD]
    form = room.server.asked[1].form
    assert len(room.server.asked) == 2
    assert (form["s"], form["dc"], form["vqd"][:4]) == ("10", "11", "4-12")
    assert (form["q"], form["df"], form["kl"]) == ("asyncio timeout", "y", "wt-wt")


def test_a_later_page_that_fails_does_not_spoil_the_first(room) -> None:
    room.answers(room.recorded("results.html"), room.recorded("challenge.html"))
    answer = room.duck(max_results=20)
    assert answer.value["results"] == [FIRST, SECOND]
    assert answer.value["notices"][0].endswith("(challenge)")


def test_pages_that_lead_on_for_ever_are_left_after_the_third(room) -> None:
    page = room.recorded("results.html")
    room.answers(*(page.replace('name="s" value="10"', f'name="s" value="{number}0"') for number in range(1, 9)))
    assert room.duck(max_results=30).status == "success"
    assert len(room.server.asked) == 3


def test_a_page_that_leads_back_is_not_followed(room) -> None:
    room.answers(room.recorded("results.html"))
    room.duck(max_results=30)
    assert len(room.server.asked) == 2


def test_a_page_cannot_change_the_question(room) -> None:
    page = room.recorded("results.html")
    page = page.replace('name="q" value="asyncio timeout"', 'name="q" value="evil"').replace(
        'value="wt-wt"', 'value="xx"'
    )
    page = page.replace('name="nextParams"', 'name="cmd" value="evil"><input name="nextParams"')
    room.answers(page, room.recorded("second.html"))
    room.duck(max_results=20)
    form = room.server.asked[1].form
    assert (form["q"], form["kl"]) == ("asyncio timeout", "wt-wt")
    assert "cmd" not in form


def test_nothing_found_is_not_an_error(room) -> None:
    room.answers(room.recorded("empty.html"))
    answer = room.duck("qzxv")
    assert (answer.status, answer.text, answer.value["results"]) == ("success", "(no results)", [])


def test_an_advertisement_is_known_by_its_frame_too(room) -> None:
    page = room.recorded("results.html").replace(
        "https://duckduckgo.com/y.js?ad_domain=example.shop", "https://shop.test/?"
    )
    room.answers(page)
    assert "shop.test" not in str(room.duck(max_results=1))


def test_a_page_of_advertisements_alone_has_no_results(room) -> None:
    page = room.recorded("results.html")
    room.answers(page[: page.index("web-result")] + "</div></body></html>")
    assert room.duck().value["results"] == []


@pytest.mark.parametrize("status", ["200 OK", "202 Accepted"])
def test_a_challenge_is_unavailable_and_not_an_empty_answer(room, status: str) -> None:
    room.answers(room.reply(room.recorded("challenge.html"), status))
    answer = room.duck()
    assert answer.error == ("unavailable", "challenge")
    assert answer.is_retryable


def test_a_challenge_before_results_is_a_challenge(room) -> None:
    page = room.recorded("results.html").replace("</body>", '<form id="challenge-form"></form></body>')
    room.answers(page)
    assert room.duck().error == ("unavailable", "challenge")


def test_words_about_challenges_in_a_result_are_words(room) -> None:
    words = "No results: anomaly-modal &lt;form id=&quot;challenge-form&quot;&gt;"
    room.answers(room.recorded("results.html").replace("How do I", words))
    assert len(room.duck(max_results=2).value["results"]) == 2


@pytest.mark.parametrize("page", ["", "<html><body>Welcome!</body></html>", "It works", '{"results": []}', "\0\1\2"])
def test_a_page_of_another_kind_is_reported_and_not_taken_for_no_results(room, page: str) -> None:
    room.answers(page)
    answer = room.duck()
    assert answer.error == ("unavailable", "format")
    assert not answer.is_retryable


def test_compressed_pages_are_read(room) -> None:
    room.answers(room.reply(gzip.compress(room.recorded("results.html").encode()), content_encoding="gzip"))
    assert room.duck(max_results=1).value["results"] == [FIRST]


def test_a_base_address_may_have_a_path_of_its_own(room) -> None:
    room.config["base_url"] = room.server.url("/gateway/duck")
    room.answers(room.recorded("results.html"))
    room.duck(max_results=1)
    assert room.server.asked[0].target == "/gateway/duck/html/"


@pytest.mark.parametrize(
    ("href", "found"),
    [
        ("//duckduckgo.com/l/?uddg=https%3A%2F%2Fa.test%2Fb%3Fc%3Dd&rut=1", ("https://a.test/b?c=d", False)),
        ("https://duckduckgo.com/l/?kh=-1&uddg=http%3A%2F%2Fa.test", ("http://a.test", False)),
        ("https://html.duckduckgo.com/l/?uddg=https%3A%2F%2Fa.test", ("https://a.test", False)),
        ("https://duckduckgo.com/y.js?ad_domain=x&u3=https%3A%2F%2Fa.test", ("", True)),
        ("//duckduckgo.com/l/?rut=1", ("", False)),
        ("//duckduckgo.com/l/?uddg=", ("", False)),
        ("//duckduckgo.com/l/?uddg=/etc/passwd", ("", False)),
        ("//duckduckgo.com/l/?uddg=data%3Atext%2Fhtml%2Cx", ("", False)),
        ("//duckduckgo.com/l/?" + "&".join(f"a{number}=1" for number in range(50)), ("", False)),
        (
            "https://notduckduckgo.com/l/?uddg=x",
            ("https://notduckduckgo.com/l/?uddg=x", False),
        ),
        ("https://duckduckgo.com/about", ("https://duckduckgo.com/about", False)),
        ("https://[::1/", ("", False)),
        ("/relative", ("", False)),
        ("", ("", False)),
    ],
)
def test_links_are_unwrapped_to_where_they_lead(href: str, found: tuple[str, bool]) -> None:
    assert unwrapped(href) == found


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"query": ""}, "length"),
        ({"query": "   "}, "type"),
        ({"query": "\ud800"}, "type"),
        ({"query": "x" * 501}, "length"),
        ({"query": ["x"]}, "type"),
        ({"max_results": 0}, "range"),
        ({"max_results": 31}, "range"),
        ({"max_results": True}, "type"),
        ({"region": "US"}, "pattern"),
        ({"region": "us-en&kp=-2"}, "pattern"),
        ({"region": "us-en\n"}, "pattern"),
        ({"timelimit": "day"}, "enum"),
        ({"safesearch": "none"}, "enum"),
        ({"base_url": "http://127.0.0.1/"}, "unknown"),
        ({"proxy": "http://127.0.0.1/"}, "unknown"),
    ],
)
def test_other_input_is_refused_with_its_reason(room, given: dict, reason: str) -> None:
    assert room.duck(**given).error == ("invalid_input", reason)
    assert not room.server.asked
