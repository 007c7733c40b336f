"""A search with Tavily sends what was asked with the operator's key, and reads answers of its shape."""

from __future__ import annotations

import json

import pytest

FIRST = {
    "title": "Euro reference rates",
    "url": "https://www.ecb.europa.eu/stats/rates.html",
    "snippet": "The reference rates are usually updated at around 16:00 CET.",
    "score": 0.97512,
    "published_date": "Fri, 20 Nov 2026 15:00:00 GMT",
    "favicon": "https://www.ecb.europa.eu/favicon.ico",
}
SECOND = {"title": "Rates elsewhere", "url": "https://example.org/rates", "snippet": "Another page.", "score": 0.5}


@pytest.fixture
def found(room):
    room.answers(room.recorded("tavily.json"))
    return room


def test_results_come_cleaned(found) -> None:
    answer = found.tavily()
    assert answer.value == {"query": "exchange rate of the euro", "results": [FIRST, SECOND], "notices": []}
    assert answer.text.splitlines()[:4] == [f"1. {FIRST['title']}", f"   {FIRST['url']}", f"   {FIRST['snippet']}", ""]


def test_the_key_goes_in_a_header_and_nowhere_else(found) -> None:
    answer = found.tavily()
    asked = found.server.asked[0]
    assert (asked.method, asked.target) == ("POST", "/search")
    assert asked.headers["authorization"] == f"Bearer {found.key}"
    assert found.key.encode() not in asked.body
    assert found.key not in str(answer)


def test_only_what_was_set_is_sent_besides_the_defaults(found) -> None:
    found.tavily("x")
    assert found.server.asked[0].json == {
        "query": "x",
        "search_depth": "basic",
        "topic": "general",
        "max_results": 5,
        "auto_parameters": False,
        "include_answer": False,
        "include_raw_content": False,
        "include_images": False,
        "include_image_descriptions": False,
        "include_favicon": False,
    }


def test_every_field_reaches_the_service(found) -> None:
    given = {
        "search_depth": "advanced",
        "topic": "news",
        "max_results": 20,
        "auto_parameters": True,
        "chunks_per_source": 3,
        "time_range": "w",
        "days": 7,
        "start_date": "2026-01-01",
        "end_date": "2026-02-28",
        "include_answer": "advanced",
        "include_raw_content": "text",
        "include_images": True,
        "include_image_descriptions": True,
        "include_favicon": True,
        "include_domains": ["example.org", "*.test", "site.test/in"],
        "exclude_domains": ["evil.test"],
        "country": "united kingdom",
    }
    assert found.tavily("größe", **given).status == "success"
    assert found.server.asked[0].json == {"query": "größe", **given}


def test_an_answer_the_text_of_pages_and_images_come_on_demand(found) -> None:
    answer = found.tavily(include_answer=True, include_raw_content="markdown", include_images=True)
    assert answer.value["answer"] == "One euro is worth 1.16 dollars."
    assert answer.text.startswith("One euro is worth 1.16 dollars.\n\n1. Euro")
    assert answer.value["results"][0]["raw_content"] == "# Rates\n\nUSD 1.16"
    assert "raw_content" not in answer.value["results"][1]
    assert answer.value["images"] == [
        {"url": "https://example.org/chart.png", "description": "A chart of the rate"},
        {"url": "https://example.org/second.png"},
    ]


def test_the_number_of_results_is_kept_even_if_more_come(found) -> None:
    assert found.tavily(max_results=1).value["results"] == [FIRST]


def test_nothing_found_is_not_an_error(room) -> None:
    room.answers('{"query": "x", "results": []}')
    answer = room.tavily()
    assert (answer.status, answer.text) == ("success", "(no results)")


@pytest.mark.parametrize("secrets", [{}, None, {"TAVILY_API_KEY": ""}, {"TAVILY_API_KEY": " \n"}, {"OTHER": "x"}])
def test_without_a_declared_key_nothing_is_asked(found, secrets, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-of-the-environment")
    found.extra = {"secrets": secrets}
    answer = found.tavily()
    assert answer.error == ("unavailable", "secret")
    assert "env: {secrets: [{key: TAVILY_API_KEY}]}" in answer.text
    assert not found.server.asked


@pytest.mark.parametrize("key", ["a\r\nX-Evil: 1", "a b", "schlüssel", "a\0b"])
def test_a_key_that_cannot_be_in_a_header_is_refused_without_being_shown(found, key: str) -> None:
    found.extra = {"secrets": {"TAVILY_API_KEY": key}}
    answer = found.tavily()
    assert answer.error == ("unavailable", "secret")
    assert key not in str(answer)
    assert not found.server.asked


@pytest.mark.parametrize("name", ["api_key", "key", "authorization", "TAVILY_API_KEY", "base_url", "headers"])
def test_a_model_cannot_give_a_key_or_another_place(found, name: str) -> None:
    assert found.tavily(**{name: "x"}).error == ("invalid_input", "unknown")
    assert not found.server.asked


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden"])
def test_a_key_that_is_not_accepted_is_reported_and_not_repeated(room, status: str) -> None:
    said = {"detail": {"error": f"Unauthorized: invalid API key {room.key}."}}
    room.answers(room.reply(json.dumps(said), status))
    answer = room.tavily()
    assert answer.error == ("unavailable", "key")
    assert not answer.is_retryable
    assert room.key not in str(answer)


@pytest.mark.parametrize(
    ("status", "reason", "is_retryable"),
    [
        ("400 Bad Request", "status", False),
        ("422 Unprocessable", "status", False),
        ("429 Too Many Requests", "rate-limit", True),
        ("432 Plan limit", "status", False),
        ("433 Pay limit", "status", False),
        ("500 Oh", "status", True),
        ("502 Oh", "status", True),
        ("503 Oh", "status", True),
        ("204 No Content", "status", False),
    ],
)
def test_a_status_tells_whether_to_ask_again(room, status: str, reason: str, is_retryable: bool) -> None:
    said = json.dumps({"detail": {"error": f"no\x1b[31m luck with {room.key}"}}) if not status.startswith("204") else ""
    room.answers(room.reply(said, status))
    answer = room.tavily()
    assert (answer.error, answer.is_retryable) == (("unavailable", reason), is_retryable)
    assert answer.value["error"]["details"]["status"] == int(status[:3])
    assert room.key not in str(answer)
    assert "\x1b" not in answer.text
    assert ("no[31m luck with [secret]" in answer.text) is bool(said)


@pytest.mark.parametrize(
    ("header", "seconds"), [("7", 7), ("0", 0), ("99999", None), ("-1", None), ("soon", None), ("٣", None)]
)
def test_the_time_to_wait_is_handed_on_when_it_is_sound(room, header: str, seconds: int | None) -> None:
    room.answers(room.reply(b"{}", "429 Too Many Requests", retry_after=header.encode().decode("latin-1")))
    assert room.tavily().value["error"]["details"].get("retry_after_s") == seconds


def test_the_key_does_not_come_back_in_results_either(room) -> None:
    room.answers(
        json.dumps({"results": [{"title": room.key, "url": f"https://a.test/{room.key}", "content": room.key}]})
    )
    answer = room.tavily()
    assert answer.status == "success"
    assert room.key not in str(answer)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"include_answer": "long"}, "enum"),
        ({"include_answer": 1}, "enum"),
        ({"include_raw_content": {"a": 1}}, "enum"),
        ({"include_images": "yes"}, "type"),
        ({"search_depth": "deep"}, "enum"),
        ({"max_results": 21}, "range"),
        ({"days": 0}, "range"),
        ({"days": 1.5}, "type"),
        ({"chunks_per_source": 9}, "range"),
        ({"time_range": "hour"}, "enum"),
        ({"start_date": "2026-02-30"}, "pattern"),
        ({"end_date": "tomorrow!!"}, "pattern"),
        ({"start_date": "2026"}, "length"),
        ({"include_domains": "example.org"}, "type"),
        ({"include_domains": ["exa mple"]}, "pattern"),
        ({"include_domains": [1]}, "pattern"),
        ({"exclude_domains": ["a.test"] * 101}, "pattern"),
        ({"exclude_domains": ["x" * 201]}, "pattern"),
        ({"country": "x\n"}, "pattern"),
        ({"country": "1"}, "length"),
        ({"query": " "}, "type"),
        ({"query": "\udcff"}, "type"),
        ({"query": None}, "type"),
    ],
)
def test_other_input_is_refused_with_its_reason(room, given: dict, reason: str) -> None:
    assert room.tavily(**given).error == ("invalid_input", reason)
    assert not room.server.asked


def test_a_null_means_a_field_that_is_not_given(found) -> None:
    assert found.tavily(include_answer=None, topic=None, days=None).status == "success"
    assert found.server.asked[0].json["include_answer"] is False
