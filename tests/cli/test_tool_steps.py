"""Steps that are one call of a tool: they fail when the tool reports an error, in either way."""

from __future__ import annotations

import pytest

from tests.cli.strands import Folder

LINE_OF = {"tool": "native:count", "input": {}}
# Both count their calls; the second is an answer for a model, as that of code that was run and raised.
BODIES = {
    "an error result": "{'status': 'error', 'content': [{'text': 'broken'}]}",
    "an error in its JSON": "{'status': 'success', 'content': [{'text': 'broken'}, {'json': {'error': {'at': 1}}}]}",
    "a text in its JSON": "{'status': 'success', 'content': [{'text': 'broken'}, {'json': {'error': 'HTTP 500'}}]}",
}
NO_ERROR = "{'status': 'success', 'content': [{'text': 'fine'}, {'json': {'error': None, 'error_rate': 0.5}}]}"


def counting(folder: Folder, result: str) -> None:
    body = f"with open({str(folder.work / 'calls')!r}, 'a') as file:\n    file.write('x')\nreturn {result}"
    folder.tool("count", body)


@pytest.mark.parametrize("result", BODIES.values(), ids=BODIES)
def test_a_step_fails_with_an_error_of_its_tool_and_is_tried_again(folder: Folder, result: str) -> None:
    counting(folder, result)
    folder.workflow([LINE_OF, {"agent": "writer", "input": "Go."}], {"steps.1": [{"text": "went"}]})
    ran = folder.strands("run", "flow.yaml")
    assert (ran.code, ran.out) == (10, "")
    assert "broken" in ran.err
    assert "on_error: continue" in ran.err
    assert folder.strands("resume", "last").code == 10
    assert (folder.work / "calls").read_text() == "xx"


def test_every_call_that_was_made_counts_also_one_whose_result_was_replaced(folder: Folder) -> None:
    counting(folder, BODIES["an error result"])
    folder.workflow([LINE_OF])
    assert folder.strands("run", "flow.yaml").code == 10
    assert folder.strands("resume", "last").code == 10
    counting(folder, NO_ERROR)
    ran = folder.strands("resume", "last", "--json").document
    shown = folder.strands("runs", "show", "last", "--json").document
    assert (folder.work / "calls").read_text() == "xxx"
    assert (ran["tool_calls"], shown["tool_calls"]) == (3, 3)


@pytest.mark.parametrize("result", BODIES.values(), ids=BODIES)
def test_a_step_passes_an_error_on_where_the_workflow_says_so(folder: Folder, result: str) -> None:
    counting(folder, result)
    later = {"agent": "writer", "input": "{{ steps[0].status }}: {{ last_response }}"}
    folder.workflow([{**LINE_OF, "on_error": "continue"}, later], {"steps.1": [{"text": "went"}]})
    ran = folder.strands("run", "flow.yaml", "--json")
    assert (ran.code, ran.document["response"]) == (0, "went")
    assert "warning: steps.0: the tool count failed: broken" in ran.err
    prompt = folder.strands("runs", "show", "last", "--json").document["effects"][0]
    assert prompt["status"] == "done"
    assert folder.strands("resume", "last").out == "went\n"
    assert (folder.work / "calls").read_text() == "x", "the error is final: a step has used it"


def test_an_empty_error_is_none(folder: Folder) -> None:
    counting(folder, NO_ERROR)
    folder.workflow([LINE_OF])
    assert folder.strands("run", "flow.yaml").out == "fine\n"


def test_a_task_that_depends_on_one_with_an_error_is_skipped(folder: Folder) -> None:
    counting(folder, BODIES["an error in its JSON"])
    tasks = [{"id": "a", **LINE_OF, "on_error": "continue"}, {"id": "b", "deps": ["a"], **LINE_OF}]
    folder.workflow([], pattern={"type": "workflow", "config": {"tasks": tasks}})
    assert folder.strands("run", "flow.yaml").code == 0
    assert (folder.work / "calls").read_text() == "x"


def test_code_that_raises_fails_its_step(folder: Folder) -> None:
    folder.workflow([{"tool": "native:python_exec", "input": {"code": "1/0"}}])
    ran = folder.strands("run", "flow.yaml")
    assert (ran.code, ran.out) == (10, ""), "also where there is no engine: then no code is run"
