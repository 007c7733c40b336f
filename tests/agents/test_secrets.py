"""Secrets are taken out of texts in every form in which they usually travel."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.secrets import MARK, MIN_LENGTH, known_secrets, redact, redact_json

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
