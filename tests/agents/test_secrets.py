"""Secrets are taken out of texts in every form in which they usually travel."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.events import ModelText
from strands_cli.secrets import MARK, MIN_LENGTH, RedactedStream, known_secrets, redact, redact_json
from tests.agents.kit import RunContext, Script, Site, asking

SECRET = 'sk-Ab+/=?&"\\ é0123456789'


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        quote(SECRET),
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
    ],
)
def test_each_form_of_a_secret_is_found(form: str) -> None:
    assert redact(f"a {form} b {form}", [SECRET]) == f"a {MARK} b {MARK}"


@given(st.binary(max_size=5), st.text(min_size=MIN_LENGTH, max_size=60), st.binary(max_size=5))
def test_a_secret_is_found_inside_longer_base64(before: bytes, secret: str, after: bytes) -> None:
    if len(secret.encode("utf-8", "surrogatepass")) < MIN_LENGTH:
        return
    raw = before + secret.encode("utf-8", "surrogatepass") + after
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        assert MARK in redact(encode(raw).decode(), [secret])


def test_a_basic_authorization_header_is_redacted() -> None:
    header = "Basic " + base64.b64encode(f"user:{SECRET}".encode()).decode()
    assert base64.b64decode(redact(header, [SECRET]).partition(" ")[2].partition("[")[0] + "==")[:5] == b"user:"[:5]
    assert SECRET.encode() not in base64.b64decode(redact(header, [SECRET]).replace(MARK, "").partition(" ")[2] + "===")


@given(st.text(max_size=50), st.lists(st.text(min_size=MIN_LENGTH, max_size=20), max_size=3))
def test_no_secret_is_left(text: str, secrets: list[str]) -> None:
    redacted = redact("".join([text, *secrets, text]), secrets)
    assert all(secret not in redacted.replace(MARK, "\0") for secret in secrets)


def test_the_longer_of_two_secrets_goes_whole() -> None:
    assert redact("0123456789abcdef", ["0123456789", "0123456789abcdef"]) == MARK


@pytest.mark.parametrize("short", ["", "k", "key", "1234567"])
def test_a_short_value_would_be_found_by_chance_and_is_let_be(short: str) -> None:
    assert redact(f"the key k is {short}", [short]) == f"the key k is {short}"


def test_nothing_secret_changes_nothing() -> None:
    value = {"a": [1, "text", None]}
    assert redact_json(value, []) is value
    assert redact("text", []) == "text"


def test_json_is_redacted_in_texts_and_keys_at_any_depth() -> None:
    secret = "0123456789"
    value = {secret: [{"a": f"x{secret}"}, (secret, 5, None, True)]}
    assert redact_json(value, [secret]) == {MARK: [{"a": f"x{MARK}"}, [MARK, 5, None, True]]}


def test_the_providers_keys_in_the_environment_are_known() -> None:
    environ = {
        "OPENAI_API_KEY": "openai-key",
        "AWS_SECRET_ACCESS_KEY": "aws-key",
        "AWS_BEARER_TOKEN_BEDROCK": "bearer",
        "GROQ_API_KEY": "groq-key",
        "PATH": "/bin",
        "OPENAI_BASE_URL": "http://x",
    }
    assert known_secrets(environ) == {"openai-key", "aws-key", "bearer", "groq-key"}


# -- texts that come in pieces


@given(st.text(max_size=30), st.text(min_size=MIN_LENGTH, max_size=20), st.text(max_size=30), st.integers(1, 7))
def test_a_secret_in_pieces_is_not_let_through(before: str, secret: str, after: str, size: int) -> None:
    text = f"{before}{secret}{after}"
    stream = RedactedStream([secret])
    shown = "".join(stream.feed(text[start : start + size]) for start in range(0, len(text), size)) + stream.rest()
    assert shown == redact(text, [secret])


def test_only_what_may_be_the_beginning_of_a_secret_is_held_back() -> None:
    stream = RedactedStream(["0123456789"])
    assert [stream.feed(piece) for piece in ("so ", "01", "2x", "0123", "456789.")] == [
        "so ",
        "",
        "012x",
        "",
        f"{MARK}.",
    ]
    assert stream.rest() == ""


def test_without_secrets_every_piece_is_let_through_at_once() -> None:
    assert RedactedStream([]).feed("0123") == "0123"


def test_a_turn_is_kept_and_handed_on_without_a_secret_that_was_said_in_pieces(site: Site) -> None:
    secret = "sk-0123456789abcdef"
    half, rest = secret[:7], secret[7:]

    def split(_request: object) -> list[dict[str, object]]:
        deltas = [{"text": half}, {"text": rest}]
        told = [{"contentBlockDelta": {"delta": delta}} for delta in deltas]
        end = [{"contentBlockStop": {}}, {"messageStop": {"stopReason": "end_turn"}}]
        return [{"messageStart": {"role": "assistant"}}, *told, *end]

    def calls(_request: object) -> list[dict[str, object]]:
        start = {"contentBlockStart": {"start": {"toolUse": {"name": "echo", "toolUseId": "t1"}}}}
        deltas = [{"toolUse": {"input": '{"text": "' + half}}, {"toolUse": {"input": rest + '"}'}}]
        told = [{"contentBlockDelta": {"delta": delta}} for delta in deltas]
        end = [{"contentBlockStop": {}}, {"messageStop": {"stopReason": "tool_use"}}]
        return [{"messageStart": {"role": "assistant"}}, start, *told, *end]

    site.install("from strands import tool\n@tool\ndef echo(text: str) -> str:\n    return text\n", entry=":echo")
    host = RunContext()
    model = Script(calls, split)
    answer = asking(model, *site.plan("native:echo"), host=host, secrets=[secret], prompt=f"the key is {secret}")
    assert answer.text == MARK
    assert rest not in f"{host.events} {host.rows()} {model.requests}"
    assert f"the key is {MARK}" in str(model.requests[0])
    assert "".join(event.text for event in host.of(ModelText)) == MARK
