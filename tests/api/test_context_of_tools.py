"""What a program gives to the tools of one run, and the names by which a tool knows its call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from strands import ToolContext, tool

from strands_cli import Workflow
from strands_cli.errors import NotEquipped, RunFailed, WaitingForPerson
from strands_cli.events import RunStarted
from strands_cli.metadata import tool_metadata
from strands_cli.tools.calls.calling_contract import names_of_call
from strands_cli.workflow.builder import agent, call, chain, gate, step
from tests.wordings import Wording

SEEN: list[dict[str, Any]] = []


@tool(context=True)
@tool_metadata(read_only=True)
def whoami(tool_context: ToolContext) -> str:
    """Say for whom this runs."""
    state = tool_context.invocation_state
    SEEN.append(dict(state["strands_cli"]))
    return f"{state['user_id']} {state['strands_cli']['context']['user_id']}"


@tool(context=True)
@tool_metadata(read_only=True)
def fails_once(tool_context: ToolContext) -> dict[str, Any]:
    """Fail the first time."""
    SEEN.append(dict(tool_context.invocation_state["strands_cli"]))
    if len(SEEN) == 1:
        raise OSError("the service is away")
    return {"status": "success", "content": [{"text": "sent"}]}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STRANDS_RUNS_DIR", str(tmp_path / "runs"))
    SEEN.clear()


def asked(*steps: Any) -> Workflow:
    return Workflow.build("asked", pattern=chain(*steps))


def test_a_step_and_an_agent_give_the_context_to_a_tool_of_the_sdk(tmp_path: Path) -> None:
    turns = "recording: 1\nsteps:\n  steps.0:\n    - calls: [{whoami: {}}]\n    - {text: done}\n"
    (tmp_path / "r.yaml").write_text(turns)
    workflow = Workflow.build(
        "asked",
        runtime={"provider": "replay", "recording": "r.yaml"},
        agents={"a": agent("Ask.", tools=["whoami"])},
        pattern=chain(step("a", "go"), call("whoami")),
    )
    result = workflow.run(tools=[whoami], context={"user_id": "jo"})
    assert result.response == "jo jo"
    assert [one["run_id"] for one in SEEN] == [result.run_id] * 2
    keys = [one["call_key"] for one in SEEN]
    assert keys == ["steps.0/tool.0.whoami", "steps.1/tool.0.whoami"]
    assert [one["idempotency_key"] for one in SEEN] == [f"{result.run_id}/{key}" for key in keys]


def test_each_attempt_at_a_call_has_the_same_key() -> None:
    started: list[str] = []

    def note(event: Any) -> None:
        started.extend([event.run_id] if isinstance(event, RunStarted) else [])

    with pytest.raises(RunFailed):
        asked(call("fails_once")).run(tools=[fails_once], on_event=note)
    Workflow.resume(started[0], tools=[fails_once])
    assert len(SEEN) == 2
    assert SEEN[0]["idempotency_key"] == SEEN[1]["idempotency_key"] == f"{started[0]}/steps.0/tool.0.fails_once"


def test_a_resume_needs_the_context_again_and_nothing_of_it_is_stored(tmp_path: Path, wording: Wording) -> None:
    started: list[str] = []
    workflow = asked(gate("Go?"), call("whoami"))
    with pytest.raises(WaitingForPerson):
        workflow.run(
            tools=[whoami],
            context={"user_id": "not-stored-anywhere"},
            on_event=lambda event: started.extend([event.run_id] if isinstance(event, RunStarted) else []),
        )
    stored = b"".join(path.read_bytes() for path in (tmp_path / "runs").rglob("*") if path.is_file())
    assert b"not-stored-anywhere" not in stored
    with pytest.raises(NotEquipped) as raised:
        Workflow.resume(started[0], tools=[whoami], answer=lambda _: "yes")
    wording(str(raised.value).replace(started[0], "RUN"))
    with pytest.raises(NotEquipped):
        Workflow.rerun(started[0], "steps.0", tools=[whoami], answer=lambda _: "yes")
    result = Workflow.resume(started[0], tools=[whoami], context={"user_id": "jo"}, answer=lambda _: "yes")
    assert result.response == "jo jo"


@pytest.mark.parametrize("name", ["agent", "strands_cli", "no identifier"])
def test_a_name_that_has_a_meaning_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match=name):
        asked(call("whoami")).run(tools=[whoami], context={name: 1})


def test_a_call_outside_a_run_has_no_idempotency_key() -> None:
    assert names_of_call(None, "k") == {"run_id": None, "call_key": "k", "idempotency_key": None}
