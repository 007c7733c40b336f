"""What the permission check asks policy about: the arguments as the tool will get them, and who may answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from strands_cli.engine.journal.journal_rows import Answer
from strands_cli.errors import WaitingForPerson
from strands_cli.events import ToolCallDecided
from strands_cli.policy.rule import Rule
from tests.agents.kit import YES, RunContext, Site, calling, error
from tests.tools.test_permission_check import calls, install
from tests.wordings import Wording

PATHS = {"type": "object", "properties": {"text": {"type": "string"}, "path": {"default": "secrets/a"}}}
DENY = Rule("deny", "echo", "user", "p.yaml:3", arguments=(("path", "secrets/**"),))


@pytest.mark.parametrize(("given", "denied"), [({}, True), ({"path": "x/../secrets/b"}, True), ({"path": "a"}, False)])
def test_a_rule_on_an_argument_sees_its_default(given: dict[str, Any], denied: bool, site: Site) -> None:
    result = calling(install(site, input_schema=PATHS), {"text": "hi", **given}, rules=(YES, DENY))
    assert (result["status"] == "error") == denied
    assert (calls() == []) == denied
    if denied:
        assert "p.yaml:3" in error(result)["message"]


def test_an_allow_rule_on_an_argument_answers_the_tool_for_that_argument_only(site: Site) -> None:
    allow = Rule("allow", "echo", "project", "p.yaml:4", arguments=(("path", "docs/*"),))
    planned = install(site, input_schema=PATHS)
    assert calling(planned, {"text": "hi", "path": "docs/a"}, rules=(allow,))["status"] == "success"
    for path in ("docs/a/b", "docs/..", "other"):
        assert calling(planned, {"text": "hi", "path": path}, rules=(allow,))["status"] == "error"


def test_what_the_operator_wants_asked_names_no_flag_that_would_not_help(site: Site, wording: Wording) -> None:
    host = RunContext()
    asked = Rule("ask", "echo", "managed", "m.yaml:3", reason="a person looks")
    result = calling(install(site), {"text": "hi"}, host=host, rules=(YES, asked))
    wording(error(result)["message"])
    assert "--allow" not in error(result)["message"]
    assert [event.effect for event in host.events if isinstance(event, ToolCallDecided)] == ["deny"]


def test_a_question_shows_the_own_reference_of_a_tool_with_another_name(site: Site, wording: Wording) -> None:
    host = RunContext([Answer("answered", "no")])
    calling(replace(install(site), name="calculator"), {"text": "hi"}, host=host, rules=())
    (question,) = host.questions
    assert question.call is not None
    assert (question.call.tool, question.call.reference) == ("calculator", "native:strands-tool-echo/echo")
    wording(question.prompt)


def test_a_question_and_its_row_have_the_whole_arguments(site: Site) -> None:
    host = RunContext([Answer("waiting")])
    text = "a" * 100_000
    with pytest.raises(WaitingForPerson):
        calling(install(site), {"text": text}, host=host, rules=())
    (question,) = host.questions
    assert question.call is not None
    assert question.call.arguments == {"text": text}
    assert (question.call.reference, question.call.needs_terminal) == ("", False)
    assert host.rows("human")[question.key].detail["call"]["arguments"] == {"text": text}


def test_a_question_of_a_managed_file_says_that_it_needs_a_terminal(site: Site) -> None:
    host = RunContext([Answer("answered", "no")])
    calling(install(site), {"text": "hi"}, host=host, rules=(Rule("ask", "echo", "managed", "m.yaml:3"),))
    assert [question.call is not None and question.call.needs_terminal for question in host.questions] == [True]
