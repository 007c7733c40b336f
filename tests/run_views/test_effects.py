"""One effect of a stored run: what is read for it, and what it has."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.errors import RunRecordError
from strands_cli.events import Usage
from strands_cli.run_views.whole_effect import CalledTool, effect_of

LARGE = "x" * 100_000
CALLS = [("look", '{"at": "a"}'), ("look", '{"at": "b"}')]


def turn(text: str, *calls: tuple[str, str]) -> dict[str, Any]:
    """Return the output of a model turn."""
    events: list[Any] = [{"contentBlockDelta": {"delta": {"text": text}}}]
    for name, written in calls:
        events.append({"contentBlockStart": {"start": {"toolUse": {"name": name, "toolUseId": name}}}})
        events.append({"contentBlockDelta": {"delta": {"toolUse": {"input": written}}}})
    return {"events": events, "model_state": {}}


def answered(text: str, **more: Any) -> dict[str, Any]:
    return {"status": "success", "content": [{"text": text}, {"json": more}]}


ASKED = {"agent": "writer", "model": "replay", "request": "Write."}
ALLOWED = {"decision": "allow", "rule": "it reads", "distribution": "looks", "arguments": {"at": "c"}}
DENIED = {"code": "denied", "message": "no", "retryable": False, "details": {}}
ROWS = [
    Row("steps.0", "step", "done", "d", output={"response": "Done.", "agent": "writer", "output": {"n": 1}}),
    Row("steps.0/model.0", "model", "done", "d", output=turn("", *CALLS), usage=Usage(5, 2), cost=0.5, detail=ASKED),
    Row("steps.0/tool.0.look", "tool", "done", "d", output=answered(LARGE), detail={"decision": "allow"}),
    Row("steps.0/tool.1.look", "tool", "done", "d", output=answered("b", n=2), detail={"decision": "allow"}),
    Row("steps.0/model.1", "model", "done", "d", output=turn("More."), usage=Usage(1, 1), cost=0.25, detail=ASKED),
    Row("steps.1", "step", "failed", "d", detail={"error": "it broke", "agent": "writer"}),
    Row("steps.1/model.0", "model", "failed", "d", detail={"error": "no answer"}),
    Row("steps.1/tool.0.look", "tool", "done", "d", output=answered("c"), detail=ALLOWED),
    Row(
        "steps.1/tool.1.look",
        "tool",
        "done",
        "d",
        output={"status": "error", "content": [{"text": "denied: no"}, {"json": {"error": DENIED}}]},
        detail={**ALLOWED, "decision": "deny", "error_code": "denied", "called_with": {"at": 1}},
    ),
    Row("steps.2", "human", "waiting", "d", detail={"kind": "gate", "prompt": "Good?", "words": ["yes", "no"]}),
    Row("steps.3", "human", "done", "d", output={"text": "yes", "by": "person"}, detail={"prompt": "Sure?"}),
    Row("artifacts", "artifacts", "done", "d", output=[{"path": "a", "digest": "d", "size": 1}]),
]


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[SqliteJournal]:
    with contextlib.closing(SqliteJournal.create(tmp_path / "run")) as journal:

        async def fill() -> None:
            for row in ROWS:
                journal.note(row)

        asyncio.run(fill())
        journal.put(status="waiting", started_at=1.0)
        yield journal


class Watched(SqliteJournal):
    """A journal that knows which rows were read from it."""

    read: ClassVar[list[str]] = []

    def row(self, key: str) -> Row | None:
        self.read.append(key)
        return super().row(key)

    def rows(self, *kind: Any, **limits: Any) -> Iterator[Row]:
        for row in super().rows(*kind, **limits):
            self.read.append(row.key)
            yield row


@pytest.fixture
def watched(journal: SqliteJournal) -> Iterator[Watched]:
    Watched.read.clear()
    with contextlib.closing(Watched.open(journal.directory, hold=False)) as opened:
        assert isinstance(opened, Watched)
        yield opened


@pytest.mark.parametrize("key", [row.key for row in ROWS[3:] if row.kind != "step"])
def test_no_other_row_is_read(watched: Watched, key: str) -> None:
    assert effect_of(watched, key).key == key
    assert watched.read == [key]


def test_a_step_has_its_totals_and_what_is_below_it(watched: Watched) -> None:
    step = effect_of(watched, "steps.0")
    assert {key.partition("/")[0] for key in watched.read} == {"steps.0"}
    assert (step.kind, step.who, step.model, step.request) == ("step", "writer", "replay", "Write.")
    assert (step.answer, step.value, step.usage, step.cost) == ("Done.", {"n": 1}, Usage(6, 3), 0.75)
    assert step.below == tuple(f"steps.0/{name}" for name in ("model.0", "tool.0.look", "tool.1.look", "model.1"))


def test_each_kind_has_what_was_asked_and_answered(journal: SqliteJournal) -> None:
    model = effect_of(journal, "steps.0/model.0")
    assert (model.request, model.calls) == ("Write.", tuple(CalledTool("look", {"at": at}) for at in "ab"))
    assert effect_of(journal, "steps.0/model.1").answer == "More."
    failed = effect_of(journal, "steps.1")
    assert (failed.status, failed.who, failed.error) == ("failed", "writer", "it broke")
    waiting, done = (effect_of(journal, key).question for key in ("steps.2", "steps.3"))
    assert waiting is not None
    assert (waiting.prompt, waiting.words, waiting.answer) == ("Good?", ("yes", "no"), None)
    assert done is not None
    assert (done.prompt, done.answer, done.by) == ("Sure?", "yes", "person")
    assert effect_of(journal, "artifacts").result_json == ROWS[-1].output


def test_a_call_has_its_arguments_its_decision_and_its_error(journal: SqliteJournal) -> None:
    call = effect_of(journal, "steps.1/tool.0.look")
    assert (call.decision, call.rule, call.distribution) == ("allow", "it reads", "looks")
    assert (call.arguments, call.called_with, call.result, call.status) == ({"at": "c"}, None, "c", "done")
    denied = effect_of(journal, "steps.1/tool.1.look")
    assert (denied.status, denied.error_code, denied.error, denied.called_with) == ("failed", "denied", "no", {"at": 1})


def test_a_key_that_the_run_does_not_have_is_an_error_with_the_one_meant(journal: SqliteJournal) -> None:
    with pytest.raises(RunRecordError) as caught:
        effect_of(journal, "steps.0/tool.0.lok")
    assert "steps.0/tool.0.look" in str(caught.value.fix)


def test_a_key_like_no_other_is_an_error_with_a_command_that_finds_the_run(journal: SqliteJournal) -> None:
    with pytest.raises(RunRecordError) as caught:
        effect_of(journal, "zzz")
    assert f"--runs-dir {journal.directory.parent}" in str(caught.value.fix)
