"""A search for news asks as the service's own page does, and reads the JSON of that shape."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest

TOKEN = "4-123456789012345678901234567890"
FIRST = {
    "title": "Honey of the year",
    "url": "https://news.test/honey?x=1&y=2",
    "snippet": "A warm spring & much lime: keepers are content.",
    "source": "The Daily Hive",
    "published_date": "2026-07-04",
}
SECOND = {"title": "No date", "url": "https://news.test/second", "snippet": ""}


def page(*results: object, following: object = None) -> str:
    return json.dumps({"results": list(results), "next": following})


def fields(asked) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(asked.target).query, keep_blank_values=True).items()}


def test_news_come_cleaned_with_their_source_and_day(room) -> None:
    room.answers(room.recorded("news.html"), room.recorded("news.json"))
    answer = room.news(max_results=2)
    assert answer.status == "success"
    assert answer.value["results"] == [FIRST, SECOND]
    assert [notice[-3:] for notice in answer.value["notices"]] == [": 1"]
    assert answer.text.splitlines()[:7] == [
        f"1. {FIRST['title']}",
        f"   {FIRST['url']}",
        "   The Daily Hive, 2026-07-04",
        f"   {FIRST['snippet']}",
        "",
        f"2. {SECOND['title']}",
        f"   {SECOND['url']}",
    ]


def test_the_question_is_sent_as_the_page_of_the_service_does(room) -> None:
    room.answers(room.recorded("news.html"), room.recorded("news.json"))
    room.news("größe & mehr", region="de-de", timelimit="w", safesearch="on", max_results=1)
    first, second = room.server.asked
    assert (first.method, urlsplit(first.target).path, first.body) == ("GET", "/", b"")
    assert fields(first) == {"q": "größe & mehr", "iar": "news", "ia": "news"}
    assert (second.method, urlsplit(second.target).path) == ("GET", "/news.js")
    asked = {"l": "de-de", "o": "json", "noamp": "1", "q": "größe & mehr", "p": "1", "df": "w", "vqd": TOKEN}
    assert fields(second) == asked
    assert not {"cookie", "referer", "authorization", "content-length"} & {*first.headers, *second.headers}


def test_further_news_are_read_until_there_is_enough_and_only_their_start_is_taken(room) -> None:
    more = page({"title": "Third", "url": "https://news.test/3"}, SECOND, following="news.js?s=30")
    room.answers(room.recorded("news.html"), room.recorded("news.json"), more)
    answer = room.news(max_results=20)
    assert [one["url"][-6:] for one in answer.value["results"]] == ["=1&y=2", "second", "test/3"]
    assert len(room.server.asked) == 3
    assert (fields(room.server.asked[2])["s"], fields(room.server.asked[2])["vqd"]) == ("30", TOKEN)


def test_news_that_lead_on_for_ever_are_left_after_the_third_answer(room) -> None:
    answers = [page(following=f"news.js?s={number}0") for number in range(1, 9)]
    room.answers(room.recorded("news.html"), *answers)
    assert room.news(max_results=30).value["results"] == []
    assert len(room.server.asked) == 4


@pytest.mark.parametrize(
    "following",
    [
        "https://evil.test/news.js?s=9999999",
        "?s=-1",
        "?s=1e3",
        "?s=\u0663",
        5,
        {"s": 30},
        "?" + "&" * 99,
        "?s=" + "1" * 9000,
    ],
)
def test_an_address_of_further_news_that_is_none_ends_the_search(room, following: object) -> None:
    room.answers(room.recorded("news.html"), page(FIRST, following=following), "never asked")
    assert room.news(max_results=30).status == "success"
    assert len(room.server.asked) == 2


def test_later_news_that_fail_do_not_spoil_the_first(room) -> None:
    room.answers(room.recorded("news.html"), room.recorded("news.json"), room.reply("", "403 Forbidden"))
    answer = room.news(max_results=20)
    assert answer.value["results"] == [FIRST, SECOND]
    assert answer.value["notices"][0].endswith("(challenge)")


def test_no_news_are_not_an_error(room) -> None:
    room.answers(room.recorded("news.html"), page())
    answer = room.news()
    assert (answer.status, answer.text, answer.value["results"]) == ("success", "(no results)", [])


@pytest.mark.parametrize(
    ("first", "second", "error"),
    [
        ("challenge", None, ("unavailable", "challenge")),
        ("<html>Welcome!</html>", None, ("unavailable", "format")),
        ("vqd=evil&x", None, ("unavailable", "format")),
        ("token", "If this error persists", ("unavailable", "format")),
        ("token", "[]", ("unavailable", "format")),
        ("token", '{"results": {}}', ("unavailable", "format")),
        ("token", "[" * 100_000, ("unavailable", "format")),
    ],
)
def test_what_is_not_news_is_unavailable_and_never_an_empty_list(room, first: str, second: str, error: object) -> None:
    pages = {"challenge": room.recorded("challenge.html"), "token": room.recorded("news.html")}
    room.answers(*filter(None, (pages.get(first, first), second)))
    assert room.news().error == error


@pytest.mark.parametrize(
    ("status", "reason"), [("202 Accepted", "challenge"), ("429 Too Many", "rate-limit"), ("500 Oh", "status")]
)
@pytest.mark.parametrize("before", [[], ["news.html"]], ids=["token", "news"])
def test_a_refusal_has_its_reason_and_may_be_tried_again(room, status: str, reason: str, before: list[str]) -> None:
    room.answers(*map(room.recorded, before), room.reply("no", status))
    answer = room.news()
    assert (answer.error, answer.is_retryable) == (("unavailable", reason), True)


def test_no_redirect_is_followed(room) -> None:
    room.answers(room.reply(status="302 Found", location="http://169.254.169.254/"))
    assert room.news().error == ("unavailable", "redirect")
    assert len(room.server.asked) == 1


def test_results_of_another_kind_are_left_out_and_hidden_characters_too(room) -> None:
    rows = [None, 5, {"url": 5}, {"title": "a\u202eb\n2. c", "url": "https://a.test/", "date": 1e300, "source": ["x"]}]
    more = [{"title": {}, "url": "https://b.test/", "date": True, "excerpt": "<" * 20_000}]
    room.answers(room.recorded("news.html"), page(*rows, *more))
    first, second = room.news().value["results"]
    assert first == {"title": "ab 2. c", "url": "https://a.test/", "snippet": ""}
    assert (second["title"], len(second["snippet"])) == ("https://b.test/", 500)


@pytest.mark.parametrize("kind", ["images", "videos", "", "News"])
def test_another_kind_of_search_is_refused_and_asks_nothing(room, kind: str) -> None:
    assert room.duck(search_type=kind).error == ("invalid_input", "enum")
    assert not room.server.asked


def test_without_a_kind_pages_are_looked_for(room) -> None:
    room.answers(room.recorded("results.html"))
    room.duck(search_type="text", max_results=1)
    assert [(one.method, one.target) for one in room.server.asked] == [("POST", "/html/")]
