"""One effect on the world: looked up in the journal before it happens, written there when it has."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from strands_cli.canonical_json import digest_of
from strands_cli.engine.journal_rows import Clock, Journal, Row, RowKind, RowStatus
from strands_cli.errors import RunRecordError, WaitingForPerson
from strands_cli.events import Usage

# The mark in the detail of a row that only a person can decide on.
UNDECIDED = "undecided"


class NeedsDecision(WaitingForPerson):
    """An effect may or may not have happened; only a person can find out whether to do it again."""


class Effect:
    """The life of one row: `recorded` from an earlier process, or `start`, then `finish`, `fail` or `wait`.

    `begun` is what an earlier process gave to `start` without reaching the end; `waiting_since` when it began to wait
    and `waits_for` what it wrote about that; `failure` why it failed with the same input before, if it did.

    Args:
        journal: The run's record.
        clock: Time.
        key: The effect's path in the workflow.
        kind: What sort of effect it is.
        given: Its input as JSON; the digest of it tells whether the journal's answer is still the answer.
        repeatable: Whether it may be executed again when a process died inside it (model calls, read-only tools).
        retried: Whether it is made again where the journal holds an error result.

    Raises:
        RunRecordError: the journal holds an answer to another input.
        NeedsDecision: an earlier process died inside it and it must not be repeated unasked.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        *,
        key: str,
        kind: RowKind,
        given: Any,
        repeatable: bool,
        retried: bool = False,
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._repeatable = repeatable
        known = journal.row(key)
        self._row = Row(
            key=key, kind=kind, status="started", digest=digest_of(given), attempt=known.attempt + 1 if known else 1
        )
        self.recorded: Row | None = None
        self.begun: Any = None
        self.waiting_since: float | None = None
        self.waits_for: Mapping[str, Any] = {}
        self.failure: str | None = None
        if known is not None and not (retried and _is_error(known)):
            self._compare(known)

    def _compare(self, known: Row) -> None:
        if known.status == "done":
            if known.digest != self._row.digest:
                raise RunRecordError(
                    f"the input of {known.key} is no longer what the run recorded",
                    fix=f"what comes before it can be used again: strands rerun RUN --from {known.key}",
                )
            self.recorded = known
        elif known.status == "waiting" and known.digest == self._row.digest:
            self.waiting_since, self.waits_for = known.started_at, known.detail
        elif known.status == "failed" and known.digest == self._row.digest:
            self.failure = known.detail.get("error")
        elif known.status == "started" and self._repeatable:
            self.begun = known.output if known.digest == self._row.digest else None
        elif known.status == "started":
            # Whoever lists what waits for a person must not take a call that is merely under way for one of these.
            self._journal.note(dataclasses.replace(known, detail={**known.detail, UNDECIDED: True}))
            raise NeedsDecision(
                f"{known.key} had started when the process ended, and doing it twice could do harm",
                fix=f"find out whether it was done, then: strands resume RUN --redo {known.key}, or --skip, or --fail",
            )

    @property
    def key(self) -> str:
        """The effect's path in the workflow."""
        return self._row.key

    async def start(self, given: Any = None) -> None:
        """Note that it begins; what must not happen twice, or comes with `given` to begin from, is durable first."""
        self._row = dataclasses.replace(self._row, started_at=self.waiting_since or self._clock.now(), output=given)
        if self._repeatable and given is None:
            self._journal.note(self._row)
        else:
            await self._journal.write(self._row)

    def again(self) -> None:
        """Note that an attempt failed and that the next one begins."""
        self._row = dataclasses.replace(self._row, attempt=self._row.attempt + 1)
        self._journal.note(self._row)

    async def finish(
        self,
        output: Any,
        *,
        usage: Usage | None = None,
        cost: float | None = None,
        detail: Mapping[str, Any] | None = None,
    ) -> Row:
        """Write what came of it; nothing that depends on it may happen before this returns."""
        self._row = dataclasses.replace(
            self._row,
            status="done",
            output=output,
            usage=usage or Usage(),
            cost=cost,
            detail=detail or {},
            ended_at=self._now(),
        )
        await self._journal.write(self._row)
        return self._row

    async def fail(self, error: str) -> None:
        """Write that it failed, and why; a resumed run tries again."""
        await self._end("failed", {"error": error})

    async def wait(self, detail: Mapping[str, Any]) -> None:
        """Write that it waits for a person."""
        await self._end("waiting", detail)

    async def _end(self, status: RowStatus, detail: Mapping[str, Any]) -> None:
        self._row = dataclasses.replace(self._row, status=status, detail=detail, ended_at=self._now())
        await self._journal.write(self._row)

    def _now(self) -> float:
        """Return the time, not before the effect began: since then the machine's clock may have been set back."""
        return max(self._clock.now(), self._row.started_at)


def _is_error(row: Row) -> bool:
    """Return whether a row holds the error result of a tool."""
    return row.status == "done" and isinstance(row.output, Mapping) and row.output.get("status") == "error"
