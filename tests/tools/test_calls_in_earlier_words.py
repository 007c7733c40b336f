"""A call in earlier words is decided on, asked about and made in present ones; the journal has what was written."""

from __future__ import annotations

from typing import Any

import pytest

from strands_cli.engine.journal.journal_rows import Answer
from strands_cli.policy.rule import make_rule
from strands_cli.texts.canonical_json import digest_of
from strands_cli.tools.calls.call_arguments import as_called
from tests.agents.kit import YES, RunContext, Site, calling, error

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "query": {"type": "object"},
        "method": {"type": "string", "default": "GET"},
        "days": {"type": "integer"},
    },
    "additionalProperties": False,
}
CLAIMS = {
    "earlier": {"verb": "method", "since": "days", "path": "?query"},
    "read_only_when": {"properties": {"method": {"enum": ["GET"]}}},
}
SOURCE = """
CALLS = []
TOOL_SPEC = {{"name": "echo", "description": "Echo.", "inputSchema": {{"json": {schema}}}, "strands_cli": {claims}}}
def echo(tool, **kwargs):
    CALLS.append(tool["input"])
    return {{"status": "success", "content": [{{"text": "done"}}]}}
"""


def installed(site: Site, schema: dict[str, Any]) -> Any:
    site.install(SOURCE.format(schema=schema, claims=CLAIMS), {"input_schema": schema, "strands_cli": CLAIMS})
    return site.plan("native:echo")[0]


@pytest.fixture
def planned(site: Site) -> Any:
    return installed(site, SCHEMA)


def calls() -> list[Any]:
    import strands_tool_echo  # type: ignore[import-not-found]

    found: list[Any] = strands_tool_echo.CALLS
    return found


def test_the_tool_the_question_and_the_row_have_present_words(planned: Any) -> None:
    host = RunContext([Answer("answered", "yes", by="a person")])
    written = {"verb": "POST", "since": "5", "path": "/a?b=1"}
    present = {"method": "POST", "days": 5, "path": "/a", "query": {"b": "1"}}
    calling(planned, written, host=host, rules=())
    assert calls() == [present]
    assert '"method": "POST"' in host.questions[0].context
    assert "verb" not in host.questions[0].context
    [row] = host.rows("tool").values()
    assert row.detail["called_with"] == present
    # With the default, as a call that was refused before there were earlier words is stored.
    assert row.digest == digest_of({"tool": "echo", "input": {**written, "method": "GET"}})
    calling(planned, written, host=RunContext(journal=host.journal), rules=())
    assert len(calls()) == 1


def test_an_earlier_word_does_not_make_a_call_one_that_only_reads(planned: Any) -> None:
    host = RunContext()
    assert error(calling(planned, {"verb": "DELETE"}, host=host, rules=()))["code"] == "denied"
    assert calls() == []
    calling(planned, {"verb": "GET"}, host=RunContext(), rules=())
    assert calls() == [{"method": "GET"}]


@pytest.mark.parametrize(
    ("rule", "written"),
    [
        ("echo(method=POST)", {"verb": "POST"}),
        ("echo(path=/admin)", {"path": "/admin?x=1"}),
        ("echo(days=5)", {"since": "5"}),
    ],
)
def test_a_rule_on_the_present_word_denies_the_earlier_one(planned: Any, rule: str, written: dict[str, Any]) -> None:
    result = calling(planned, written, host=RunContext(), rules=(make_rule("deny", rule, "user", "here"), YES))
    assert error(result)["code"] == "denied"
    assert calls() == []


@pytest.mark.parametrize("others", [False, True], ids=["no others", "others"])
def test_both_words_are_refused_before_anything_is_decided(site: Site, others: bool) -> None:
    """A tool that takes arguments that no schema lists must not get one that a rule has not seen."""
    host = RunContext()
    planned = installed(site, {**SCHEMA, "additionalProperties": others})
    result = calling(planned, {"verb": "POST", "method": "GET"}, host=host)
    assert error(result)["code"] == "invalid_input"
    assert (host.questions, calls()) == ([], [])


def test_policy_is_explained_in_present_words(planned: Any) -> None:
    assert as_called(planned, {"verb": "POST"}) == ({"method": "POST"}, False)
    assert as_called(planned, {"verb": "GET", "path": "/?a"}) == (
        {"method": "GET", "path": "/", "query": {"a": ""}},
        True,
    )


@pytest.mark.parametrize(
    ("known", "reads"),
    [({"verb": "POST"}, False), ({"verb": "GET"}, True), ({"verb": None}, None), ({}, True)],
)
def test_a_plan_knows_what_a_call_in_earlier_words_does(planned: Any, known: dict[str, Any], reads: Any) -> None:
    decision = planned.decision_for(known)
    assert (None if decision is None else decision.effect == "allow") is reads
