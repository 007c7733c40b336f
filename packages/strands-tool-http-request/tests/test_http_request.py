"""What an ordinary request sends and gets."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest


def test_a_get_brings_status_headers_and_text(room) -> None:
    room.server.answers["/"] = room.reply(
        "hello", content_type="text/plain; charset=utf-8", x_one="1", set_cookie="a=b"
    )
    answer = room.request()
    assert (answer.status, answer.text) == ("success", "hello")
    assert answer.value["status"] == 200
    assert answer.value["headers"]["x-one"] == "1"
    assert "set-cookie" not in answer.value["headers"]
    assert (answer.value["size"], answer.value["truncated"], answer.value["notices"]) == (5, False, [])


def test_json_comes_parsed_and_only_once(room) -> None:
    room.server.answers["/"] = room.reply('{"a": [1, 2.5, null]}', content_type="application/problem+json")
    answer = room.request()
    assert (answer.text, answer.value["json"]) == ("", {"a": [1, 2.5, None]})


@pytest.mark.parametrize("body", ["{", "NaN", "[" * 100_000, '"\\ud800"', "9" * 10_000])
def test_what_is_not_sound_json_stays_text(room, body: str) -> None:
    room.server.answers["/"] = room.reply(body, content_type="application/json")
    answer = room.request()
    assert answer.text == body
    assert "json" not in answer.value
    assert "JSON" in "".join(answer.value["notices"])


def test_an_error_status_is_an_answer(room) -> None:
    room.server.answers["/"] = room.reply("broken", "500 Oh", content_type="text/plain")
    answer = room.request()
    assert (answer.status, answer.value["status"], answer.text) == ("success", 500, "broken")
    assert answer.value["error"] == "HTTP 500 Internal Server Error", "a step without a model fails with it"


def test_json_and_body_and_params_are_sent_unchanged(room) -> None:
    room.server.answers["/"] = room.reply()
    url = room.server.url("/?a=1")
    room.request(url, method="POST", json={"ü": 1}, params={"b": "x", "c": True, "d": 2}, headers={"X-Two": "2"})
    room.request(method="PUT", body="text")
    first, second = room.server.asked
    assert (first.method, json.loads(first.body), first.target) == ("POST", {"ü": 1}, "/?a=1&b=x&c=true&d=2")
    assert (first.headers["content-type"], first.headers["x-two"]) == ("application/json", "2")
    assert first.headers["host"] == f"127.0.0.1:{room.server.port}"
    assert (second.body, second.headers["content-type"]) == (b"text", "text/plain; charset=utf-8")


def test_head_has_headers_and_no_body(room) -> None:
    room.server.answers["/"] = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n"
    answer = room.request(method="HEAD")
    assert (answer.value["headers"]["content-length"], answer.value["size"]) == ("1000", 0)


@pytest.mark.parametrize("way", ["gzip", "deflate", "raw"])
def test_compressed_content_is_unfolded(room, way: str) -> None:
    raw = zlib.compressobj(wbits=-15)
    folded = {
        "gzip": gzip.compress(b"abc" * 100),
        "deflate": zlib.compress(b"abc" * 100),
        "raw": raw.compress(b"abc" * 100) + raw.flush(),
    }[way]
    encoding = "gzip" if way == "gzip" else "deflate"
    room.server.answers["/"] = room.reply(folded, content_type="text/plain", content_encoding=encoding)
    assert room.request().text == "abc" * 100


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain; charset=latin-1", b"\xfc", "ü"),
        ("text/plain; charset=windows-1252", b"\x80", "€"),
        ("text/plain; charset=utf-16", "ü".encode("utf-16"), "ü"),
        ("text/plain", b"\xef\xbb\xbf\xc3\xbc", "ü"),
        ("text/plain; charset=rot13", b"abc", "abc"),
        ("text/plain; charset=unicode_escape", b"\\u0041", "\\u0041"),
        ("text/plain; charset=zip", b"abc", "abc"),
    ],
)
def test_text_is_decoded_by_a_character_set_and_by_nothing_else(room, kind: str, body: bytes, text: str) -> None:
    room.server.answers["/"] = room.reply(body, content_type=kind)
    assert room.request().text == text


def test_binary_content_is_reported_and_not_shown(room) -> None:
    room.server.answers["/"] = room.reply(b"\x89PNG\0", content_type="image/png")
    answer = room.request()
    assert (answer.text, answer.value["size"]) == ("", 5)
    assert "image/png" in "".join(answer.value["notices"])


def test_a_name_is_resolved_once_and_connected_to_what_was_checked(room) -> None:
    room.names["site.test"] = ["127.0.0.1"]
    room.server.answers["/"] = room.reply("here", content_type="text/plain")
    assert room.request(room.server.url(host="SITE.test.")).text == "here"
    assert room.looked_up == ["site.test"]
    assert room.server.asked[0].headers["host"] == f"site.test:{room.server.port}"


def test_redirects_are_followed_and_reported(room) -> None:
    room.server.answers |= {
        "/": room.moved("/b?secret=1"),
        "/b": room.moved("c"),
        "/c": room.reply("end", content_type="text/plain"),
    }
    answer = room.request()
    assert (answer.text, answer.value["url"]) == ("end", room.server.url("/c"))
    assert answer.value["redirects"] == [room.server.url("/"), room.server.url("/b")]


def test_a_second_address_is_tried_when_the_first_is_dead(room) -> None:
    room.config["allow_private"].append(f"127.0.0.2:{room.server.port}")
    room.names["two.test"] = ["127.0.0.2", "127.0.0.1"]
    room.server.answers["/"] = room.reply("second", content_type="text/plain")
    assert room.request(room.server.url(host="two.test")).text == "second"


def test_nothing_comes_from_the_environment(room, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, room.other.url())
    room.server.answers["/"] = room.reply("direct", content_type="text/plain", set_cookie="a=b")
    assert room.request().text == "direct"
    assert room.request().text == "direct"
    assert not room.other.asked
    assert "cookie" not in room.server.asked[1].headers
