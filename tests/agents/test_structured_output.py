from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest

from strands_cli.agents.agent_runner import SdkAgentRunner
from strands_cli.agents.model.structured_output import (
    ANSWER,
    TOOL,
    answer_in,
    answered_in_text,
    require_input,
    unwrap,
    wrap,
)
from strands_cli.engine.patterns.read_answers import ReadSchema
from strands_cli.engine.ports import AgentAnswer, AgentRequest
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import InvalidAnswer, RunFailed
from tests.agents.kit import RunContext, Script, agent_of, gate_of, run, turn_events
from tests.wordings import Wording

SCORE: dict[str, Any] = {
    "type": "object",
    "properties": {"score": {"type": "number", "maximum": 100}},
    "required": ["score"],
}
LIST = {"type": "array", "items": {"type": "object", "required": ["task"]}}
WITH_SCORE = ReadSchema(SCORE)
FIT = {"score": 7, "more": ["kept"]}


def answering(model: Script, schema: Mapping[str, Any] = SCORE, host: RunContext | None = None) -> AgentAnswer:
    """Run one agent that must answer in a form, with no tools of its own."""
    host = host or RunContext()

    async def work() -> AgentAnswer:
        from strands_cli.tools.tool_loading import load_tools

        toolbox = await load_tools(())
        runner = SdkAgentRunner(lambda _agent, _key: model, toolbox, gate_of())
        return await runner.run_agent(AgentRequest(agent_of(), "go", "be brief", (), schema), host.scope())

    return run(work())


FORMS: dict[str, Any] = {
    "bare JSON": json.dumps(FIT),
    "fenced JSON": f"Here it is:\n```json\n{json.dumps(FIT, indent=1)}\n```\nGood luck!",
    "fenced without a language": f"```\n{json.dumps(FIT)}\n```",
    "a call of the tool": [(TOOL, FIT)],
}


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_that_fits_is_taken_at_once(form: str) -> None:
    model = Script(FORMS[form])
    answer = answering(model)
    assert answer.output == FIT
    assert json.loads(answer.text) == FIT
    assert len(model.requests) == 1


@pytest.mark.parametrize("text", ["I would say seven.", '{"score": "seven"}', "```json\n{broken\n```", "[1]", "null"])
def test_prose_and_text_that_does_not_fit_is_asked_for_again_in_form(text: str) -> None:
    model = Script(text, [(TOOL, FIT)])
    assert answering(model).output == FIT
    assert len(model.requests) == 2
    assert model.requests[1]["tool_choice"], "the second time it must call the tool"


def test_a_model_without_tool_calling_may_answer_the_second_request_in_text() -> None:
    assert answering(Script("Seven!", json.dumps(FIT))).output == FIT


def test_a_wrong_call_is_given_back_once_with_what_is_wrong() -> None:
    model = Script([(TOOL, {"score": 700})], [(TOOL, FIT)])
    assert answering(model).output == FIT
    assert "700 is greater than the maximum of 100" in json.dumps(model.results)


def test_an_agent_that_stays_wrong_fails_clearly_and_is_not_asked_for_ever(wording: Wording) -> None:
    model = Script(*[[(TOOL, {"score": 700})]] * 9)
    with pytest.raises(InvalidAnswer) as raised:
        answering(model)
    wording(raised.value)
    assert len(model.requests) == 2


def test_an_agent_that_only_talks_fails_clearly(wording: Wording) -> None:
    model = Script(*["Let us talk about it."] * 9)
    with pytest.raises(InvalidAnswer) as raised:
        answering(model)
    wording(raised.value)
    assert len(model.requests) == 2


@pytest.mark.parametrize(
    "said", ['[{"task": "x"}]', '{"answer": [{"task": "x"}]}', [(TOOL, {ANSWER: [{"task": "x"}]})]]
)
def test_a_form_that_is_not_an_object_comes_back_as_it_was_asked_for(said: Any) -> None:
    assert answering(Script(said), LIST).output == [{"task": "x"}]


def test_the_form_is_offered_as_the_workflow_wrote_it() -> None:
    model = Script(json.dumps(FIT))
    answering(model)
    (spec,) = model.requests[0]["tools"]
    assert spec["name"] == TOOL
    assert spec["inputSchema"]["json"]["properties"]["score"].items() >= SCORE["properties"]["score"].items()


@pytest.mark.parametrize(
    "turns", [[json.dumps(FIT)], ["prose", [(TOOL, FIT)]], [[(TOOL, {"score": 700})], [(TOOL, FIT)]]]
)
def test_a_finished_answer_is_taken_from_the_record_without_a_request(turns: list[Any]) -> None:
    journal = MemoryJournal()
    first = answering(Script(*turns), host=RunContext(journal=journal))
    silent = Script()
    assert answering(silent, host=RunContext(journal=journal)) == first
    assert silent.requests == []


def test_the_id_of_a_text_taken_as_a_call_suits_every_provider() -> None:
    """Bedrock and Anthropic take only letters, digits, `_` and `-` in ids that come back to them."""

    async def collect() -> list[Any]:
        async def stream() -> AsyncIterator[Any]:
            for event in turn_events(json.dumps(FIT), 1):
                yield event

        return [event async for event in answered_in_text(stream(), SCORE, "tasks.a/model.0")]

    (start,) = [event for event in run(collect()) if "contentBlockStart" in event]
    assert re.fullmatch("[A-Za-z0-9_-]+", start["contentBlockStart"]["start"]["toolUse"]["toolUseId"])


def test_a_text_is_the_answer_of_an_agent_only_when_it_is_all_json() -> None:
    assert answer_in('Sure: {"score": 1}', SCORE) is None
    assert answer_in(' {"score": 1}\n', SCORE) == {"score": 1}
    assert answer_in('```json\n{"score": "x"}\n```\nor\n```json\n{"score": 2}\n```', SCORE) == {"score": 2}
    assert answer_in("[]", LIST) == {ANSWER: []}


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('Here it is: {"score": 90}. Better now!', {"score": 90}),
        ('I think ```{"score": 7}``` is right', {"score": 7}),
        ('With {"note": "x"} in mind: {"score": 5, "why": "a } b"}', {"score": 5, "why": "a } b"}),
        ('{"score": 5} so {"score": 5}', {"score": 5}),
        ('{"score": 5} or {"score": 6}', None),
        ('not {"score": "x"} and [1, {2}', None),
        ("[{" * 100_000, None),
        ('It [says] {draft}: {"score": 5}', {"score": 5}),
        ('Cut: {"before": [{"score": 20}], "score": 9', None),
        ('Damaged: {"before": {"score": 20}, }', None),
        ('{"score": 5}, no: {"sco', None),
    ],
)
def test_the_answer_to_a_pattern_may_be_in_a_sentence(text: str, read: Any) -> None:
    assert answer_in(text, WITH_SCORE) == read
    assert answer_in(text, SCORE) is None


@pytest.mark.parametrize("text", ["None of them [] fits.", "See [1].", "No JSON"])
def test_an_empty_list_in_a_sentence_does_not_count(text: str) -> None:
    assert answer_in(text, ReadSchema(LIST)) is None


@pytest.mark.parametrize("schema", [SCORE, LIST, {"properties": {}}, {"enum": [1, 2]}])
def test_unwrapping_undoes_wrapping(schema: dict[str, Any]) -> None:
    value = {"any": 1}
    assert unwrap(schema, value if wrap(schema) is schema else {ANSWER: value}) == value


def asked(prompt: str, schema: dict[str, Any] | None) -> AgentRequest:
    return AgentRequest(dataclasses.replace(agent_of(), input_schema=schema), prompt, "", ())


@pytest.mark.parametrize(
    ("prompt", "schema"),
    [
        ("anything", None),
        ('{"score": 3}', SCORE),
        ("some words", {"type": "string", "maxLength": 20}),
        ("[1, 2]", {"type": "array"}),
    ],
)
def test_an_input_that_fits_its_schema_passes(prompt: str, schema: dict[str, Any] | None) -> None:
    require_input(asked(prompt, schema))


@pytest.mark.parametrize(
    "prompt",
    [
        "some words",
        '{"score": 300}',
        "{",
    ],
)
def test_an_input_that_does_not_fit_fails_before_a_model_is_asked(prompt: str, wording: Wording) -> None:
    with pytest.raises(RunFailed) as raised:
        require_input(asked(prompt, SCORE))
    wording(raised.value)
    wording(raised.value.message)
    assert "tojson" in str(raised.value.fix)
