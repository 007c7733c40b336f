"""Personal data by its form: what is found, what only looks like it, and that neither pieces nor size change that."""

from __future__ import annotations

import json
import time
import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_cli.secrets.redactor import HIDE_NOTHING, MARK, Redactor, without_personal
from strands_cli.tools.messages.message_json import without_secrets

PERSONAL = Redactor(personal=True)
BOTH = Redactor(["s3cr3t-value"], personal=True)
FOUND = {
    "bob@example.com": "[e-mail]",
    "Mail bob.o'neil+x@mail.example.co.uk, please": "Mail [e-mail], please",
    "bob%40example.com": "[e-mail]",
    r"CORP\bob@example.com": r"CORP\b[e-mail]",
    r"CORP\user@example.com": r"CORP\[e-mail]",
    "müller@bücher.example": "[e-mail]",
    "to: a@b.example;c@d.example": "to: [e-mail];[e-mail]",
    "DE89 3704 0044 0532 0130 00 EUR": "[account number] EUR",
    "gb82west12345698765432": "[account number]",
    "FR76 3000 6000 0112 3456 7890 189": "[account number]",
    "MT84MALT011000012345MTLCAST001S": "[account number]",
    "SSN 123-45-6789.": "SSN [social security number].",
    "card 4111 1111 1111 1111": "card [card number]",
    "card:4111111111111111": "card:[card number]",
    "card-5555-5555-5555-4444 ok": "card-[card number] ok",
    "3782 822463 10005": "[card number]",
    "+49 30 1234567": "[phone number]",
    "+49 (0)30 / 123 45-67": "[phone number]",
    "+1 (555) 234-5678": "[phone number]",
    "tel:+442079460958": "tel:[phone number]",
    "(555) 234-5678": "[phone number]",
    "1-800-555-0199": "[phone number]",
    "0171/1234567": "[phone number]",
    "(0171) 1234567": "[phone number]",
    "020 7946 0958": "[phone number]",
    "06 12 34 56 78": "[phone number]",
    "0049 30 1234567": "[phone number]",
    "phone: 5551234567": "phone: [phone number]",
    "Phone number 5551234": "Phone number [phone number]",
    "0171/1234567 020 7946 0958 Mail": "[phone number] Mail",
    "+49 30 1234567 0171 1234567, then": "[phone number], then",
    "4111 1111 1111 1111 5555 5555 5555 4444": "[card number] [card number]",
    '"mobile": "5551234567"': '"mobile": "[phone number]"',
}
LET_BE = [
    "order 4500012345",
    "order 0012345678",
    "order 0123-4567",
    "invoice 2026-000123",
    "1 000 000 000",
    "1,234,567.89",
    "2026-11-21",
    "2026-11-21T10:15:00.123456+02:00",
    "2026-11-21T10:15:00+0200",
    "01-02-2026",
    "01.02.2026 10:15",
    "1.2.3",
    "10.0.19045.3570",
    "192.168.10.12:8080",
    "pkg@1.2.3",
    "native:foo@>=1.2,<2",
    "x = a@b.dot(c)",
    "550e8400-e29b-41d4-a716-446655440000",
    "12345678-1234-1234-1234-123456789012",
    "1234567a-0123-4456-8789-abcdef012345",
    "4111111111111112",
    "0000000000000000",
    "1795293234123",
    "1795293234.123456",
    "0.4111111111111111",
    "1795293234123456789",
    "ISBN 978-3-16-148410-0",
    "ISBN 9783161484100",
    "git@github.com:org/repo.git",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "20261121-203354-abcdef",
    "DE12345678901234567890",
    "hotel 1234567",
    "--- a/x.py +1,7 -1,7",
    "2e487cf8-fa0c-573e-ba02-ca4a62808f0c",
    "49.0123456, 8.1234567",
    "flow.yaml:12:3",
    "[phone number] and [e-mail]",
    "steps.0/tools/1",
]


@pytest.mark.parametrize("text", FOUND)
def test_personal_data_is_named_by_its_kind(text: str) -> None:
    assert PERSONAL.text(text) == FOUND[text]
    assert PERSONAL.json({"a": [text]}) == {"a": [FOUND[text]]}
    assert PERSONAL.may_hide_in(json.dumps(f"first\n{text}"))
    assert HIDE_NOTHING.text(text) == text


@pytest.mark.parametrize("text", LET_BE)
def test_what_only_looks_like_it_stays(text: str) -> None:
    assert PERSONAL.text(text) == text


@settings(deadline=None)
@given(
    st.uuids(),
    st.datetimes(),
    st.integers(0, 10**11),
    st.floats(allow_nan=False),
    st.lists(st.integers(0, 999), max_size=4),
)
def test_identifiers_stamps_numbers_and_versions_stay(
    identifier: uuid.UUID, stamp: Any, number: int, fraction: float, version: list[int]
) -> None:
    dotted = ".".join(map(str, version))
    told = f"{identifier} {stamp.isoformat()} {stamp.date()} #{number} {fraction} v{dotted} {identifier.hex}"
    assert PERSONAL.text(told) == told
    document = {"id": str(identifier), "at": stamp.timestamp() if stamp.year > 1970 else 0, "n": number}
    assert PERSONAL.json(document) == document


def test_keys_numbers_and_fields_of_a_document_count() -> None:
    document = {
        "bob@example.com": 1,
        "phone": "5551234567",
        "home_phone": [5551234567],
        "card": 4111111111111111,
        "id": 5551234567,
        "deep": [{"Mobile No": "555 1234"}],
        "fax": True,
        "tel": None,
        "telemetry": 12345678,
    }
    assert PERSONAL.json(document) == {
        "[e-mail]": 1,
        "phone": "[phone number]",
        "home_phone": ["[phone number]"],
        "card": "[card number]",
        "id": 5551234567,
        "deep": [{"Mobile No": "[phone number]"}],
        "fax": True,
        "tel": None,
        "telemetry": 12345678,
    }


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([*FOUND, *LET_BE, 'a "quoted" \\ word']), max_size=4),
    st.sampled_from('\n\t\r\b\fé ☃/\\"d'),
    st.booleans(),
)
def test_a_text_that_is_json_stays_json_and_loses_the_same(parts: list[str], between: str, ascii_only: bool) -> None:
    document = {"note": " ".join(between + part for part in parts)}
    text = json.dumps(document, ensure_ascii=ascii_only)
    cleaned = json.loads(PERSONAL.text(text))["note"]
    for part in parts:
        for form in part.split():
            # Escaped letters hide an address in the text of a document, not in the document.
            if (form.isascii() or not ascii_only) and "@" in form and "[e-mail]" in PERSONAL.text(form):
                assert form not in cleaned


def turn_of(given: str, size: int) -> list[dict[str, Any]]:
    pieces = [given[start : start + size] for start in range(0, len(given), size)]
    start = {"contentBlockStart": {"start": {"toolUse": {"name": "send", "toolUseId": "1"}}}}
    deltas = [{"contentBlockDelta": {"delta": {"toolUse": {"input": piece}}}} for piece in pieces]
    return [start, *deltas, {"contentBlockStop": {}}]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_the_arguments_of_a_tool_use_stay_json(size: int) -> None:
    given = {
        "card": 4111111111111111,
        "to": "\nbob@example.com",
        "phone": "5551234567",
        "n": 12.50,
        "key": "s3cr3t-value",
    }
    events = turn_of(json.dumps(given), size)
    cleaned = without_secrets(events, BOTH)
    said = "".join(event["contentBlockDelta"]["delta"]["toolUse"]["input"] for event in cleaned[1:-1])
    assert json.loads(said) == {
        "card": "[card number]",
        "to": "\n[e-mail]",
        "phone": "[phone number]",
        "n": 12.5,
        "key": MARK,
    }
    assert events == turn_of(json.dumps(given), size), "what was given is not changed"
    broken = without_secrets(turn_of('{"to": "bob@example.com', size), PERSONAL)
    said = "".join(event["contentBlockDelta"]["delta"]["toolUse"]["input"] for event in broken[1:-1])
    assert said == '{"to": "[e-mail]'


def test_secrets_and_personal_data_go_together() -> None:
    assert BOTH.text("s3cr3t-value of bob@example.com") == f"{MARK} of [e-mail]"
    assert BOTH.without_personal_data.text("s3cr3t-value of bob@example.com") == f"{MARK} of bob@example.com"


pieces = st.lists(
    st.sampled_from([*FOUND, *LET_BE, "and then, as they say,", "Phone", "\n", "s3cr3t-value", "+49", "GB82 WEST"]),
    max_size=5,
)


@settings(deadline=None, max_examples=200)
@given(pieces, st.integers(1, 40))
def test_text_in_pieces_is_judged_as_a_whole(parts: list[str], size: int) -> None:
    text = " ".join(parts)
    stream = BOTH.stream()
    said = [stream.feed(text[start : start + size]) for start in range(0, len(text), size)]
    assert "".join([*said, stream.rest()]) == BOTH.text(text)


def test_plain_words_are_let_through_at_once() -> None:
    stream = PERSONAL.stream()
    said = [stream.feed(piece) for piece in ("Hello ", "wor", "ld, this ", "is plain. ")]
    assert said == ["Hello ", "", "world, this ", "is plain. "]


@pytest.mark.parametrize(
    "text",
    ["a" * 10, "a.b ", "1 ", "1234567890 ", "+1 2 3 4 ", "a@", "0171 ", "%40a.", "tel ", "(", "AB12 ", "1-", "a@a-"],
)
def test_a_hostile_text_costs_time_in_proportion_to_its_length(text: str) -> None:
    def seconds(length: int) -> float:
        long = text * (length // len(text))
        started = time.process_time()
        without_personal(long)
        return time.process_time() - started

    assert seconds(200_000) < 40 * max(seconds(20_000), 0.002)
