"""Calls outside a run: the scope of a step without a plan, with a journal in memory."""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from strands_cli.engine.effects.budget import Budget
from strands_cli.engine.effects.effect import Effect, EffectSpec
from strands_cli.engine.effects.provider_limits import UNLIMITED
from strands_cli.engine.effects.spending import Spending
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.engine.journal.journal_rows import Answer, Clock, Human, Journal, Question, Row, RowKind
from strands_cli.engine.plan_execution import execute
from strands_cli.engine.ports import AgentRequest, Ports, SystemClock
from strands_cli.errors import FileAtFault, RunFailed, RunRecordError, StrandsCliError, WaitingForPerson
from strands_cli.events import Event, RunWarning
from strands_cli.workflow.sections import Budgets

if TYPE_CHECKING:
    from strands_cli.engine.corrected_workflow import Correction
    from strands_cli.engine.effects.step_scope import StepScope
    from strands_cli.planning.plan_values import PlannedTool


class MemoryJournal:
    """A journal that lasts as long as the process.

    As every journal, it stores copies: everything goes through JSON.
    """

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._facts: dict[str, Any] = {}

    def row(self, key: str) -> Row | None:
        """Return the newest row of this key, or None."""
        row = self._rows.get(key)
        return _copied(row) if row is not None else None

    def rows(self, kind: RowKind | None = None, below: str = "") -> Iterator[Row]:
        """Yield rows in the order in which their effects first started; with `below` those whose keys are below it."""
        start = f"{below}/" if below else ""
        rows = [row for row in self._rows.values() if kind in (None, row.kind) and row.key.startswith(start)]
        return map(_copied, rows)

    async def begin(self, row: Row) -> None:
        """Store that an effect begins."""
        self.note(row)

    async def write(self, row: Row) -> None:
        """Store a row; raise `RunRecordError` where it is not JSON."""
        self._rows[row.key] = _copied(row)

    def note(self, row: Row) -> None:
        """Store a row; raise `RunRecordError` where it is not JSON."""
        self._rows[row.key] = _copied(row)

    def get(self, name: str) -> Any:
        """Return one fact, or None."""
        return _json_copy(self._facts.get(name))

    def put(self, **facts: Any) -> None:
        """Store facts."""
        self._facts |= _json_copy(facts)

    async def store(self, **facts: Any) -> None:
        """Store facts about the run; this journal waits for no other process."""
        self.put(**facts)

    def close(self) -> None:
        """Keep the rows: there is nothing to release."""


def _copied(row: Row) -> Row:
    return dataclasses.replace(row, output=_json_copy(row.output), detail=_json_copy(dict(row.detail)))


def _json_copy(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise RunRecordError(f"the journal can only store JSON: {error}") from error


class StandaloneRun:
    """The context of calls outside a run: nothing can wait, and the journal is forgotten.

    Args:
        person: Answers the questions of the tool itself, and those of a managed policy file.
        emit: Receives the events of the call.
    """

    def __init__(self, person: Human | None = None, emit: Callable[[Event], None] | None = None) -> None:
        self.clock: Clock = SystemClock()
        self.human: Human = self
        self._person = person
        self._emit = emit
        self.journal = MemoryJournal()
        self.budgets: Sequence[Budget] = (Budget(Budgets(), self.clock),)
        self.provider_limits = UNLIMITED
        self.spending = Spending(self.clock)
        self.grants: set[str] = set()

    def scope(self) -> StepScope:
        """Return the scope for one call."""
        return StepScope(self, "call", "you")

    def emit(self, event: Event) -> None:
        """Send an event to the listener, if there is one."""
        if self._emit is not None:
            self._emit(event)

    def warn(self, message: str) -> None:
        """Send a warning to the listener."""
        self.emit(RunWarning(self.clock.now(), message))

    def effect(self, spec: EffectSpec) -> Effect:
        """Open an effect in a journal, forgotten afterwards."""
        return Effect(self.journal, self.clock, spec)

    def count_step(self) -> None:
        """Count a step, of which nothing limits the number."""

    def offered_answer(self, key: str) -> Answer | None:
        """Return nothing: no other process sees these questions."""
        return None

    def rows_below(self, key: str, kind: RowKind | None = None) -> list[Row]:
        """Return nothing: outside a run no tool consists of others."""
        return []

    async def ask(self, question: Question) -> Answer:
        """Return the answer to a question; without one a call is denied.

        Raises:
            RunFailed: The tool's own question has no answer, and outside a run it cannot wait.
        """
        answer = await self._person.ask(question) if self._person is not None else Answer("nobody", by="")
        if answer.outcome == "answered":
            return answer
        if question.kind != "interrupt":
            return Answer("nobody", by="")
        raise RunFailed(
            f"{question.prompt}; there is no answer, and outside a run a call cannot wait for one",
            fix="call it at a terminal, or in a workflow: its run waits for the answer",
        )


# Tries a corrected workflow on the effects of a run, without a call, a question or a change of the journal.


class _Copy(MemoryJournal):
    """The present journal of a run; rows written here are forgotten."""

    def __init__(self, journal: Journal) -> None:
        super().__init__()
        self._journal = journal
        for row in journal.rows():
            self.note(row)

    def get(self, name: str) -> Any:
        """Return one fact of the run."""
        return super().get(name) if name in self._facts else self._journal.get(name)


class _NothingNew:
    """In the place of models, tools and people: whatever the journal does not have is not done."""

    def __init__(self, journal: Journal, copy: Journal, correction: Correction) -> None:
        self._journal, self._copy, self._before = journal, copy, correction.before

    async def run_agent(self, request: AgentRequest, scope: StepScope) -> NoReturn:
        """Check a step that was cut off: the requests that it has made would be repeated from the journal."""
        done_row = next((row for row in self._journal.rows("model", scope.key) if row.status == "done"), None)
        stored_row, now = self._journal.row(scope.key), self._copy.row(scope.key)
        agent = self._before.agents.get(request.agent.id)
        is_same = (
            stored_row and now and stored_row.digest == now.digest and agent and agent.model == request.agent.model
        )
        if done_row is not None and not is_same:
            raise RunRecordError(f"the input of {done_row.key} is not the one that the run recorded")
        raise WaitingForPerson(scope.key)

    async def call_tool(self, tool: PlannedTool, arguments: Mapping[str, Any], scope: StepScope) -> NoReturn:
        """Call nothing."""
        raise WaitingForPerson(scope.key)

    async def ask(self, question: Question) -> Answer:
        """Ask no person."""
        return Answer("waiting")


def _write_nothing(_texts: Any) -> NoReturn:
    raise WaitingForPerson("artifacts")


async def require_rehearsed(journal: Journal, correction: Correction) -> None:
    """Check that the effects of a run fit its corrected workflow, as far as known without a new call.

    Raises:
        RunRecordError: A finished step would have another input; the message names its key.
        FileAtFault: A template of the corrected workflow cannot be rendered.
    """
    copy = _Copy(journal)
    others = _NothingNew(journal, copy, correction)
    ports = Ports(copy, others, others, others, SystemClock())
    plan, run_id = correction.after, journal.get("id")
    try:
        await execute(plan, ports, run_id, lambda _event: None, _write_nothing)
    except FileAtFault:
        raise
    except RunRecordError as error:
        fix = f"leave that as it was, or do it in a new run: strands run {shlex.quote(plan.file)}"
        raise RunRecordError(f"{error.message}: {plan.file} changes what is done already", fix=fix) from error
    except StrandsCliError:  # an error that stops the run here stops it again when it continues
        return
