"""Typed answers of gates: their meaning by the schema, and the words of a gate that contradict each other."""

from __future__ import annotations

from typing import Any

import pytest

from strands_cli import Workflow
from strands_cli.engine.journal.answers import fitting
from strands_cli.engine.journal.journal_rows import Question
from strands_cli.workflow.builder import chain, gate
from strands_cli.workflow.gate_answers import UnfitAnswer, answer_words, read_answer
from tests.wordings import Wording

BOOLEAN, ENUM, INTEGER = {"type": "boolean"}, {"enum": ["Ship it", "reject"]}, {"type": "integer", "minimum": 1}
OBJECT = {
    "type": "object",
    "properties": {"size": INTEGER, "to": {"type": "string", "pattern": "^[a-z]+$"}},
    "required": ["size"],
}


@pytest.mark.parametrize(
    ("schema", "given", "text", "value"),
    [
        (BOOLEAN, " Y ", "yes", True),
        (BOOLEAN, "No", "no", False),
        (BOOLEAN, "FALSE", "no", False),
        (ENUM, "ship IT", "Ship it", "Ship it"),
        (ENUM, "n", "reject", "reject"),
        ({"enum": ["approve", "reject"]}, "yes", "approve", "approve"),
        (INTEGER, " 12 ", "12", 12),
        ({"type": "number", "maximum": 2}, "-1.5e0", "-1.5e0", -1.5),
        ({"type": "string", "minLength": 2}, "42", "42", "42"),
        ({"type": ["integer", "null"]}, "null", "null", None),
        ({"enum": [1, 2]}, "2", "2", 2),
        (OBJECT, '{"size": 3}\n', '{"size": 3}', {"size": 3}),
        ({"$ref": "#/$defs/a", "$defs": {"a": INTEGER}}, "1", "1", 1),
    ],
)
def test_a_text_means_a_value(schema: dict[str, Any], given: str, text: str, value: Any) -> None:
    read = read_answer(given, schema)
    assert read == (text, value)
    assert type(read[1]) is type(value)


@pytest.mark.parametrize(
    ("schema", "given"),
    [
        *((BOOLEAN, text) for text in ("sure", "", "yes no", "1", "approved")),
        *((ENUM, text) for text in ("yes", "ship", "")),
        *((INTEGER, text) for text in ("3.5", "0", "true", "1e999", "three", "NaN", "1,000")),
        *((OBJECT, text) for text in ('{"size": 0}', '{"size": 1, "to": "UP"}', "size: 1", "[" * 5000)),
        ({"type": "string", "maxLength": 2}, "abc"),
        ({"type": "string", "pattern": "^(a+)+$"}, "a" * 5000 + "b"),
        ({"$ref": "https://example.org/schema"}, "1"),
    ],
)
def test_a_text_that_does_not_fit_is_refused(schema: dict[str, Any], given: str) -> None:
    with pytest.raises(UnfitAnswer) as raised:
        read_answer(given, schema)
    assert str(raised.value)


@pytest.mark.parametrize(
    ("words", "given", "stored"),
    [
        (("approve", "reject"), " Y ", "approve"),
        (("approve", "reject"), "NO", "reject"),
        (("approve", "no"), "No", "No"),
        (("later",), "yes", "yes"),
        ((), "y", "y"),
        (("approve", "reject"), "perhaps", "perhaps"),
    ],
)
def test_a_plain_yes_or_no_is_the_word_that_the_workflow_knows(words: Any, given: str, stored: str) -> None:
    assert fitting(given, Question("steps.0", "gate", "Go?", words=words)) == stored


@pytest.mark.parametrize("given", ["maybe", "", "yes please", "ok", "nope", "0"])
def test_nothing_unclear_is_a_yes_to_a_call(given: str) -> None:
    with pytest.raises(UnfitAnswer):
        fitting(given, Question("steps.0", "approval", "Go?", pattern="yes|no"))


def test_the_only_texts_of_a_schema_are_words() -> None:
    assert [answer_words(schema) for schema in (None, BOOLEAN, ENUM, INTEGER, {"enum": [1]}, {"enum": []})] == [
        (),
        ("yes", "no"),
        ("Ship it", "reject"),
        (),
        (),
        (),
    ]


@pytest.mark.parametrize(
    "words",
    [
        {"answer": {"type": "bool"}},
        {"answer": INTEGER, "default": "many"},
        {"approvers": 2, "default": "yes"},
        {"expires": "2h", "timeout_seconds": 3, "default": "yes"},
        {"expires": "2h", "on_expiry": "default"},
        {"on_expiry": "fail"},
        {"expires": "soon"},
        {"approvers": 0},
    ],
)
def test_words_of_a_gate_that_contradict_each_other_are_findings(words: dict[str, Any], wording: Wording) -> None:
    findings = Workflow.build("flow", pattern=chain(gate("Go?", **words))).validate()
    wording([[finding.code, finding.message, finding.fix] for finding in findings])
    assert len(findings) == 1


def test_words_of_a_gate_that_agree_have_no_finding() -> None:
    words: dict[str, Any] = {"answer": BOOLEAN, "default": "no", "expires": "2h", "on_expiry": "default"}
    assert Workflow.build("flow", pattern=chain(gate("Go?", **words))).validate() == ()
