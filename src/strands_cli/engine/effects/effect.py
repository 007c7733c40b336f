"""One effect on the world: looked up in the journal before it happens, written there when it has."""

from __future__ import annotations

import asyncio
import dataclasses
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from strands_cli.engine.journal.journal_rows import Clock, Journal, Row, RowKind, RowStatus
from strands_cli.engine.step_results import reports_error
from strands_cli.errors import RunFailed, RunRecordError, WaitingForPerson
from strands_cli.events import Usage
from strands_cli.texts.canonical_json import digest_of

# The mark in the detail of a row that only a person can decide on.
UNDECIDED = "undecided"
# In the detail of a row that only a person can decide on: earlier calls, whose object is gone. The call has not begun.
LOST = "lost"
# In the detail of a row: the same calls, where a person has decided to make this one without their state.
WITHOUT = "without"
# The mark in the detail of a row made again after a failure, until it ends.
RETRIES = "retries"
# The mark in the detail of a call that must not be made twice, though the one that its model asked for could be.
ONCE = "once"


class NeedsDecision(WaitingForPerson):
    """An effect may or may not have happened; only a person can find out whether to do it again."""


@dataclass(frozen=True, slots=True)
class EffectSpec:
    """The description of an effect.

    Attributes:
        key: Its path in the workflow.
        kind: The kind of its row.
        input: Its input as JSON; a recorded result holds only for the same digest of it.
        repeatable: Whether it may be executed again when a process died during it (model calls, read-only tools).
        is_void: Returns whether it is executed again though the journal holds this result.
    """

    key: str
    kind: RowKind
    input: Any
    repeatable: bool = True
    is_void: Callable[[Row], bool] = lambda _row: False


class Effect:
    """The life of one row: `recorded` by an earlier process, or `start`, then `finish`, `fail` or `wait`.

    Attributes:
        is_repeated: Whether it was begun before.
        recorded: The row of a result that the journal already has.
        begun_with: The argument of `start` in an earlier process that did not reach the end.
        waiting_since: When an earlier process stored that it waits.
        waits_for: The detail of that row.
        failure: Why the effect failed earlier with the same input.
        retries: Whether it failed so, also where an attempt after that waits or was cut off.

    Raises:
        RunRecordError: The journal holds a result for another input.
        NeedsDecision: An earlier process died during the effect, and it must not be repeated without a decision; or
            its object is gone, and no person has decided.
    """

    def __init__(self, journal: Journal, clock: Clock, spec: EffectSpec) -> None:
        self._journal = journal
        self._clock = clock
        self._repeatable = spec.repeatable
        row = journal.row(spec.key)
        digest = digest_of(spec.input)
        self.is_repeated = row is not None
        self.recorded: Row | None = None
        self.begun_with: Any = None
        self.waiting_since: float | None = None
        self.waits_for: Mapping[str, Any] = {}
        self.failure: str | None = None
        self.retries = row is not None and _failed_before(row)
        if row is not None and not (row.status == "done" and spec.is_void(row)):
            self._compare(row, digest)
        attempt = row.attempt + 1 if row else 1
        self._kept: dict[str, Any] = row.as_replaced() if row is not None and self.recorded is None else {}
        if row is not None and self.recorded is None and WITHOUT in row.detail:
            self._kept[WITHOUT] = row.detail[WITHOUT]
        if self.retries and spec.kind == "step":
            self._kept[RETRIES] = True
        self._row = self.recorded or Row(spec.key, spec.kind, "started", digest, attempt, detail=self._kept)
        if row is not None and self._kept:
            self._row = dataclasses.replace(self._row, usage=row.usage, cost=row.cost)

    def _compare(self, row: Row, digest: str) -> None:
        if row.status == "done":
            if row.digest != digest:
                raise RunRecordError(
                    f"the input of {row.key} is not the one that the run recorded",
                    fix=f"a new run can use what comes before it: strands runs rerun RUN --from {shlex.quote(row.key)}",
                )
            self.recorded = row
        elif row.status == "waiting" and row.digest == digest:
            self.waiting_since, self.waits_for = row.started_at, row.detail
        elif row.status == "failed" and row.digest == digest:
            self.failure = row.detail.get("error")
        elif row.status == "started" and LOST in row.detail:
            raise _undecided(row)
        elif row.status == "started" and self._repeatable and not row.detail.get(ONCE):
            self.begun_with = row.output if row.digest == digest else None
        elif row.status == "started":
            # The mark tells this call from one that another process is making now.
            self._journal.note(dataclasses.replace(row, detail={**row.detail, UNDECIDED: True}))
            raise _undecided(row)

    @property
    def paid(self) -> Row | None:
        """The row, if earlier answers of the effect were paid for and not used."""
        return self._row if self.recorded is None and self._row.paid_calls else None

    @property
    def key(self) -> str:
        """The effect's path in the workflow."""
        return self._row.key

    def keep(self, **facts: Any) -> None:
        """Keep facts in its row from its start to its end, for those who look at the run; none is compared.

        A row that an earlier process has finished stays as it is.
        """
        if self.recorded is None:
            self._kept = {**facts, **self._kept}
            self._row = dataclasses.replace(self._row, detail=self._kept)

    def replace_facts(self, *, repeatable: bool, **facts: Any) -> None:
        """Keep facts in place of those of the same names, and no longer repeat the effect where it is not repeatable.

        Another process learns that from the row, before it knows what has changed.
        """
        self._repeatable = self._repeatable and repeatable
        self._kept = {**self._kept, **facts, **({} if repeatable else {ONCE: True})}
        self._row = dataclasses.replace(self._row, detail=self._kept)

    async def start(self, begin_with: Any = None, *, since: float | None = None) -> None:
        """Write that it begins, or has begun at `since`.

        The row is durable before this returns where the effect must not happen twice, or where `begin_with` has the
        data for another process to continue.
        """
        began = self.waiting_since or since or self._clock.now()
        self._row = dataclasses.replace(self._row, started_at=began, output=begin_with)
        if self._repeatable and begin_with is None:
            await self._journal.begin(self._row)
        else:
            await self._journal.write(self._row)

    async def decide_without(self, lost_names: Sequence[str]) -> None:
        """Write that only a person can decide whether it begins, since the state from earlier calls is lost.

        Args:
            lost_names: Those calls.

        Raises:
            NeedsDecision: Always.
        """
        detail = {**self._kept, UNDECIDED: True, LOST: list(lost_names)}
        self._row = dataclasses.replace(self._row, started_at=self._clock.now(), output=None, detail=detail)
        await self._journal.write(self._row)
        raise _undecided(self._row)

    def again(self) -> None:
        """Write that an attempt failed and that the next one begins."""
        self._row = dataclasses.replace(self._row, attempt=self._row.attempt + 1)
        self._journal.note(self._row)

    def spend(self, usage: Usage, cost: float | None) -> None:
        """Count an answer that was paid for and is not used; the row has the sum of all."""
        self._row = self._with(usage, cost)
        self._kept = {**self._kept, **self._row.as_replaced(1)}
        self._row = dataclasses.replace(self._row, detail=self._kept)

    def _with(self, usage: Usage, cost: float | None) -> Row:
        """Return the row with the tokens and the cost of one more answer."""
        row = self._row
        if row.paid_calls:
            cost = None if cost is None or row.cost is None else row.cost + cost
        return dataclasses.replace(row, usage=row.usage + usage, cost=cost)

    async def finish(
        self,
        output: Any,
        *,
        usage: Usage | None = None,
        cost: float | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> Row:
        """Write its result; nothing that depends on it may happen before this returns."""
        self._row = dataclasses.replace(
            self._with(usage or Usage(), cost),
            status="done",
            output=output,
            detail={**self._kept, **(detail or {})},
            ended_at=self._now(),
        )
        await self._journal.write(self._row)
        return self._row

    async def fail(self, error: str) -> None:
        """Write why it failed; a resumed run tries again."""
        await self._end("failed", {"error": error})

    async def reject(self, reason: str) -> None:
        """Write that a finished result made its step fail, so that a resumed run makes the effect again."""
        if self._row.status == "done":
            self._kept = {**self._row.detail, **self._row.as_replaced()}
            await self._end("failed", {"error": reason})

    async def wait(self, detail: Mapping[str, Any]) -> None:
        """Write that it waits for a person."""
        await self._end("waiting", detail)

    async def _end(self, status: RowStatus, detail: Mapping[str, Any]) -> None:
        detail = {**self._kept, **detail}
        self._row = dataclasses.replace(self._row, status=status, detail=detail, ended_at=self._now())
        await self._journal.write(self._row)

    def _now(self) -> float:
        """Return the time, at least the one at which the effect began: the machine's clock may have been set back."""
        return max(self._clock.now(), self._row.started_at)


def _undecided(row: Row) -> NeedsDecision:
    """Return the question about a call that had begun, or whose object is gone."""
    choose = f"strands resume RUN --redo {shlex.quote(row.key)}"
    if LOST in row.detail:
        message = f"{row.key} calls an object whose state is lost: it was in a process that has ended"
        fix = f"to make it with a new object: {choose}; or --skip, or --fail"
    else:
        message = f"{row.key} had started when the process ended, and doing it twice could do harm"
        fix = f"find out whether it was done, then: {choose}, or --skip, or --fail"
    return NeedsDecision(message, fix=fix)


def _failed_before(row: Row) -> bool:
    return row.status == "failed" or (row.status == "started" and bool(row.detail.get(RETRIES)))


def is_error_result(row: Row) -> bool:
    """Return whether a finished row holds the error result of a tool."""
    return isinstance(row.output, Mapping) and reports_error(row.output)


# Jobs with dependencies that run side by side; each completes, fails or waits for a person.


@dataclass(frozen=True, slots=True)
class Job:
    """Work that starts when the jobs it depends on are done; `stop_on_error` ends all others with it."""

    work: Callable[[], Awaitable[Any]]
    deps: tuple[str, ...] = ()
    stop_on_error: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended: its value, or the error."""

    status: Literal["completed", "failed", "skipped"]
    value: Any = None
    error: str = ""


@dataclass(slots=True)
class _Board:
    """Which jobs have not begun, run, have ended, and wait for a person."""

    jobs: Mapping[str, Job]
    report: Callable[[str, Outcome], None]
    order: dict[str, int] = field(init=False)
    missing: dict[str, set[str]] = field(init=False)
    followers: dict[str, list[str]] = field(init=False)
    ended: dict[str, Outcome] = field(default_factory=dict)
    running: dict[asyncio.Future[Any], str] = field(default_factory=dict)
    finished: asyncio.Queue[asyncio.Future[Any]] = field(default_factory=asyncio.Queue)
    waiting: dict[str, WaitingForPerson] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.order = {name: position for position, name in enumerate(self.jobs)}
        self.missing = {name: set(job.deps) for name, job in self.jobs.items()}
        self.followers = {name: [] for name in self.jobs}
        for name, job in self.jobs.items():
            for dep in set(job.deps):
                self.followers[dep].append(name)

    def start(self, names: list[str]) -> None:
        """Start jobs whose dependencies have ended; skip those that depend on a failure, directly or not."""
        waiting = list(names)
        while waiting:
            name = waiting.pop(0)
            job = self.jobs[name]
            if all(self.ended[dep].status == "completed" for dep in job.deps):
                task = asyncio.ensure_future(job.work())
                self.running[task] = name
                task.add_done_callback(self.finished.put_nowait)
            else:
                waiting += self.end(name, Outcome("skipped"))

    def end(self, name: str, outcome: Outcome) -> list[str]:
        """Record the end of a job; return the jobs that waited for it alone."""
        self.ended[name] = outcome
        self.report(name, outcome)
        for follower in self.followers[name]:
            self.missing[follower].discard(name)
        return [follower for follower in self.followers[name] if not self.missing[follower]]

    def take(self, task: asyncio.Future[Any]) -> list[str]:
        """Record the end of a task, and return the jobs that may start; raise an error that stops all jobs."""
        name = self.running.pop(task)
        try:
            return self.end(name, Outcome("completed", task.result()))
        except WaitingForPerson as error:
            self.waiting[name] = error
            return []
        except RunFailed as error:
            if self.jobs[name].stop_on_error:
                raise
            return self.end(name, Outcome("failed", error=error.message))

    async def next_finished(self) -> list[asyncio.Future[Any]]:
        """Wait until tasks have finished; return them in the order of the file."""
        tasks = [await self.finished.get()]
        while not self.finished.empty():
            tasks.append(self.finished.get_nowait())
        return sorted(tasks, key=lambda task: self.order[self.running[task]])


async def run_jobs(jobs: Mapping[str, Job], report: Callable[[str, Outcome], None]) -> None:
    """Run jobs, each as soon as its dependencies are done.

    A job that fails without stopping the others is `failed`, and those that depend on it are `skipped`. While a job
    waits for a person, the others continue as far as they can.

    Args:
        jobs: The jobs by name; their dependencies are names of others.
        report: Called with each job's outcome, before a job that depends on it starts.

    Raises:
        WaitingForPerson: A job waits, and no other job can continue.
        StrandsCliError: The first error of a job that stops the others; they are cancelled and can be resumed.
    """
    if len(jobs) == 1:
        # Nothing runs beside it, so it needs no task of its own.
        [(name, job)] = jobs.items()
        report(name, await _outcome_of(job))
        return
    board = _Board(jobs, report)
    board.start([name for name, job in jobs.items() if not job.deps])
    try:
        while board.running:
            for task in await board.next_finished():
                board.start(board.take(task))
    finally:
        for task in board.running:
            task.cancel()
        await asyncio.gather(*board.running, return_exceptions=True)
    if board.waiting:
        raise combined([board.waiting[name] for name in jobs if name in board.waiting])


async def _outcome_of(job: Job) -> Outcome:
    """Do the work of a job; raise the error that stops all jobs."""
    try:
        return Outcome("completed", await job.work())
    except RunFailed as error:
        if job.stop_on_error:
            raise
        return Outcome("failed", error=error.message)


def combined(waiting: list[WaitingForPerson]) -> WaitingForPerson:
    """Return one error for all questions; one that needs a decision decides its type."""
    first = next((error for error in waiting if isinstance(error, NeedsDecision)), waiting[0])
    if len(waiting) == 1:
        return first
    others = [error.message for error in waiting if error is not first]
    return type(first)("; ".join([first.message, *others]), fix=first.fix)
