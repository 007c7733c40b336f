from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.plan_execution import execute
from strands_cli.engine.ports import Ports
from strands_cli.engine.run_facts import new_run_id, recorded_calls, run_facts, stored_request
from strands_cli.engine.standalone import MemoryJournal
from strands_cli.errors import ArtifactError, CannotStore, RunFailed, RunRecordError
from strands_cli.events import ArtifactWritten, Event, RunFinished
from strands_cli.outputs.artifacts import ArtifactWriter
from strands_cli.planning.plan_values import Plan
from strands_cli.planning.run_request import RunRequest
from tests.fakes.plans import chain_of
from tests.fakes.ports import FakeClock, Say, ScriptedAgents, ScriptedHuman, ScriptedTools
from tests.wordings import Wording

TURNS = {"steps.0": [Say("one")]}


def ports_of(journal: Any, turns: Any = TURNS, clock: FakeClock | None = None) -> Ports:
    tools = ScriptedTools()
    return Ports(journal, ScriptedAgents(turns, tools), tools, ScriptedHuman(), clock or FakeClock())


def plan_with(artifacts: str, rest: str = "", **given: Any) -> Plan:
    return chain_of("- {agent: writer, input: go}", rest=f"outputs:\n  artifacts: {artifacts}\n{rest}", **given)


def run(plan: Plan, ports: Ports, write: Any) -> list[Event]:
    events: list[Event] = []
    asyncio.run(execute(plan, ports, "run-1", events.append, write))
    return events


def test_artifacts_may_use_the_names_of_the_run(tmp_path: Path) -> None:
    names = [
        "name",
        "runtime.model_id",
        "runtime.options",
        "run.id",
        "run.duration_s",
        "run.usage.total_tokens",
        "run.cost_usd",
        "last_response",
        "steps[0].agent",
        "hitl_response",
        "execution_context.last_response",
    ]
    text = "|".join(f"{{{{ {name} }}}}" for name in names)
    plan = plan_with(f"[{{path: 'sub/{{{{ name }}}}.txt', from: '{text}'}}, {{path: trace, from: $TRACE}}]")
    clock = FakeClock()
    events = run(plan, ports_of(MemoryJournal(), clock=clock), ArtifactWriter(tmp_path / "out", force=False))
    assert (tmp_path / "out" / "sub" / "test.txt").read_text() == "test|m|{}|run-1|0.0|15|None|one|writer||one"
    assert json.loads((tmp_path / "out" / "trace").read_text()) == [
        {"key": "steps.0", "kind": "step", "status": "done", "attempt": 1, "seconds": 0.0, "tokens": 0},
        {"key": "steps.0/model.0", "kind": "model", "status": "done", "attempt": 1, "seconds": 0.0, "tokens": 15},
    ]
    written = [event for event in events if isinstance(event, ArtifactWritten)]
    assert [Path(event.path).name for event in written] == ["test.txt", "trace"]


def test_an_input_called_name_is_what_artifacts_mean_by_it(tmp_path: Path) -> None:
    plan = plan_with("[{path: a, from: '{{ name }}'}]", "inputs: {values: {name: Ada}}")
    run(plan, ports_of(MemoryJournal()), ArtifactWriter(tmp_path, force=False))
    assert (tmp_path / "a").read_text() == "Ada"


def test_the_runtime_of_an_artifact_is_the_model_that_really_ran(tmp_path: Path) -> None:
    options = RunRequest(provider="ollama", model="other")
    plan = plan_with("[{path: a, from: '{{ runtime.provider }}/{{ runtime.model_id }}'}]", options=options)
    run(plan, ports_of(MemoryJournal()), ArtifactWriter(tmp_path, force=False))
    assert (tmp_path / "a").read_text() == "ollama/other"


def test_an_artifact_that_cannot_be_rendered_fails_the_run_and_is_named(tmp_path: Path) -> None:
    plan = plan_with("[{path: a, from: '{{ nothing }}'}]")
    with pytest.raises(RunFailed, match=r"outputs\.artifacts\[0\]\.from.*'nothing'"):
        run(plan, ports_of(MemoryJournal()), ArtifactWriter(tmp_path, force=False))


@pytest.mark.parametrize(("text", "can_ask"), [('{{ run["no" ~ "thing"] }}', True), ("{{ 1 / 0 }}", False)])
def test_the_fix_of_a_failed_template_can_help(text: str, can_ask: bool, tmp_path: Path) -> None:
    plan = plan_with(f"[{{path: a, from: '{text}'}}]")
    with pytest.raises(RunFailed) as raised:
        run(plan, ports_of(MemoryJournal()), ArtifactWriter(tmp_path, force=False))
    assert ("is defined" in (raised.value.fix or "")) == can_ask
    assert "default(" not in (raised.value.fix or "")


def test_the_fix_of_a_field_of_a_text_names_the_output(tmp_path: Path) -> None:
    plan = plan_with("""[{path: a, from: '{{ steps[0].response["la" ~ "bel"] }}'}]""")
    with pytest.raises(RunFailed) as raised:
        run(plan, ports_of(MemoryJournal()), ArtifactWriter(tmp_path, force=False))
    assert "`.output.label`" in (raised.value.fix or "")
    assert "is defined" not in (raised.value.fix or "")


def test_a_refused_artifact_is_a_failed_effect_that_a_later_process_tries_again(tmp_path: Path) -> None:
    text = "{{ timestamp }} {{ total_steps }} {{ execution_context.history[0].response }}"
    plan, journal, clock = plan_with(f"[{{path: a, from: '{text}'}}]"), MemoryJournal(), FakeClock()
    (tmp_path / "a").write_text("mine")
    with pytest.raises(ArtifactError):
        run(plan, ports_of(journal, clock=clock), ArtifactWriter(tmp_path, force=False))
    clock.advance(99)
    row = journal.row("artifacts")
    assert row is not None
    assert row.status == "failed"
    # Who looks at the run later has no findings beside it.
    assert str(tmp_path / "a") in row.detail["error"]
    assert str(tmp_path / "a") in journal.get("reason")
    run(plan, ports_of(journal, {}, clock), ArtifactWriter(tmp_path, force=True))
    assert (tmp_path / "a").read_text() == "2023-11-14T22:13:20Z 1 one", "it is when the step ended"


@dataclass
class DiesAfter:
    """Writes the files and then dies before the journal hears of it."""

    writer: ArtifactWriter

    def __call__(self, texts: Any) -> list[dict[str, Any]]:
        self.writer(texts)
        raise SystemExit("died")


def test_a_run_that_died_between_its_files_and_its_record_finds_the_files_its_own(tmp_path: Path) -> None:
    plan = plan_with("[{path: a, from: 'took {{ run.duration_s }} s'}, {path: b, from: '{{ TRACE }}'}]")
    writer = ArtifactWriter(tmp_path / "out", force=False)
    journal, clock = SqliteJournal.create(tmp_path / "r"), FakeClock()
    with pytest.raises(SystemExit):
        run(plan, ports_of(journal, clock=clock), DiesAfter(writer))
    journal.close()
    clock.advance(99)
    journal = SqliteJournal.open(tmp_path / "r")
    run(plan, ports_of(journal, {}, clock), writer)
    row = journal.row("artifacts")
    assert row is not None
    assert (row.status, row.attempt) == ("done", 2)
    assert (tmp_path / "out" / "a").read_text() == "took 0.0 s"
    journal.close()


@pytest.mark.parametrize(
    ("error", "status", "named"),
    [
        (RunFailed("no"), "failed", "no"),
        (asyncio.CancelledError(), "interrupted", None),
        (KeyboardInterrupt(), "interrupted", None),
        (CannotStore("no space"), "interrupted", "no space"),
        (ZeroDivisionError("oh"), "failed", "ZeroDivisionError: oh"),
    ],
)
def test_every_ending_is_recorded_and_reported(
    error: BaseException, status: str, named: str | None, wording: Wording
) -> None:
    class Ends(ScriptedAgents):
        async def run_agent(self, request: Any, scope: Any) -> Any:
            clock.advance(3)
            raise error

    journal, clock, events = MemoryJournal(), FakeClock(), []
    tools = ScriptedTools()
    ports = Ports(journal, Ends({}, tools), tools, ScriptedHuman(), clock)
    with pytest.raises(type(error)):
        asyncio.run(execute(chain_of("- {agent: writer, input: go}"), ports, "r", events.append, lambda texts: []))
    facts = [journal.get(name) for name in ("status", "ended_at", "worked_s", "session_started_at")]
    assert facts == [status, clock.now(), 3.0, None]
    assert isinstance(events[-1], RunFinished)
    assert (events[-1].status, events[-1].seconds) == (status, 3.0)
    assert events[-1].reason == journal.get("reason")
    assert named is None or named in str(events[-1].reason)
    wording(events[-1].reason)


class FullDisk(MemoryJournal):
    """A journal that takes the first facts and nothing more."""

    async def write(self, row: Row) -> None:
        self.put = self._refuse  # type: ignore[method-assign]
        raise RunRecordError("the disk is full")

    def _refuse(self, **facts: Any) -> None:
        raise RunRecordError("no facts either")


def test_a_record_that_fails_ends_the_run_with_its_own_error_and_the_end_is_reported() -> None:
    events: list[Event] = []
    with pytest.raises(RunRecordError, match="the disk is full"):
        asyncio.run(
            execute(
                chain_of("- {agent: writer, input: go}"), ports_of(FullDisk()), "r", events.append, lambda texts: []
            )
        )
    assert isinstance(events[-1], RunFinished)
    assert events[-1].reason == "the disk is full"


def test_time_in_which_a_run_waited_is_not_counted() -> None:
    plan, journal, clock = chain_of("- {agent: writer, input: go}"), MemoryJournal(), FakeClock()

    def failing_after(seconds: float) -> Callable[[str, str], None]:
        def moment(name: str, key: str) -> None:
            clock.advance(seconds)
            raise RunFailed("away")

        return moment

    tools = ScriptedTools()
    for _ in range(2):
        agents = ScriptedAgents(TURNS, tools, failing_after(10))
        with pytest.raises(RunFailed):
            run(plan, Ports(journal, agents, tools, ScriptedHuman(), clock), None)
        clock.advance(1000)
    events = run(plan, ports_of(journal, clock=clock), None)
    assert isinstance(events[-1], RunFinished)
    assert events[-1].seconds == 20.0


def test_the_facts_of_a_run_are_enough_to_go_on_without_the_file() -> None:
    plan = chain_of("- {agent: writer, input: go}", rest="inputs: {values: {topic: bees}}")
    clock = FakeClock()
    options = RunRequest(variables={"topic": "bees"}, model="m", allow=("file_*",), out_dir=Path("there"), force=True)
    facts = run_facts(plan, options, "r1", clock)
    assert facts.pop("user")
    assert facts == {
        "id": "r1",
        "format_version": 2,
        "workflow": "test",
        "pattern": "chain",
        "file": "flow.yaml",
        "base_dir": str(Path.cwd()),
        "text": plan.text,
        "files": {},
        "directory": str(Path.cwd()),
        "inputs": {"topic": "bees"},
        "options": {
            "provider": None,
            "model": "m",
            "host": None,
            "max_tokens": None,
            "max_cost": None,
            "allow": ["file_*"],
            "yes": False,
            "deny": False,
            "fail_on_denied": False,
            "detach": False,
            "out_dir": "there",
            "force": True,
            "locked": False,
            "policy": None,
        },
        "models": {"writer": "openai/m", "editor": "openai/m"},
        "tools": {"writer": [], "editor": []},
        "plan_digest": plan.digest,
        "started_at": clock.now(),
        "status": "running",
    }
    json.dumps(facts)
    journal = MemoryJournal()
    journal.put(**facts)
    assert stored_request(journal, {}) == replace(options, variables={}, values={"topic": "bees"})


def test_run_ids_sort_by_time_and_differ() -> None:
    clock = FakeClock()
    first = {new_run_id(clock) for _ in range(20)}
    assert len(first) == 20
    clock.advance(1)
    assert max(first) < new_run_id(clock)
    assert all(one.startswith("20231114-221320-") for one in first)


def test_a_recording_is_made_of_the_calls_that_were_answered() -> None:
    rows = [
        Row("steps.0/model.0", "model", "done", "d", output={"events": []}, detail={"request": "go"}),
        Row("steps.0/model.1", "model", "failed", "d", detail={"error": "x"}),
    ]
    assert recorded_calls(rows) == [("steps.0/model.0", {"events": []}, "go")]


def test_a_journal_that_keeps_the_texts_of_artifacts_has_the_row_that_they_began_with(tmp_path: Path) -> None:
    journal = MemoryJournal()
    write = ArtifactWriter(tmp_path, force=False)
    plan = plan_with("[{path: a, from: '{{ last_response }}'}]")

    events = run(plan, replace(ports_of(journal), keeps_texts=True), write)

    row = journal.row("artifacts")
    assert row is not None
    assert [list(one) for one in row.output] == [["a", "one"]]
    (written,) = row.detail["written"]
    assert written == {"path": str(tmp_path / "a"), "digest": hashlib.sha256(b"one").hexdigest(), "size": 3}
    again = asyncio.run(execute(plan, replace(ports_of(journal), keeps_texts=True), "run-1", events.append, write))
    assert again.artifacts == (written,)


def test_a_journal_that_does_not_keep_the_texts_has_what_was_written(tmp_path: Path) -> None:
    journal = MemoryJournal()

    run(plan_with("[{path: a, from: '{{ last_response }}'}]"), ports_of(journal), ArtifactWriter(tmp_path, force=False))

    row = journal.row("artifacts")
    assert row is not None
    assert [sorted(one) for one in row.output] == [["digest", "path", "size"]]
