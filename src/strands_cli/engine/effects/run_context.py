"""The parts of a run and of its agent that the scope of a step needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from strands_cli.engine.effects.effect import Effect, EffectSpec
from strands_cli.events import Event

if TYPE_CHECKING:
    from strands_cli.engine.effects.budget import Budget
    from strands_cli.engine.effects.provider_limits import ProviderLimits
    from strands_cli.engine.effects.spending import Spending
    from strands_cli.engine.journal.journal_rows import Answer, Clock, Human, Row, RowKind


class RunContext(Protocol):
    """The parts of a run that a scope needs."""

    clock: Clock
    human: Human
    budgets: Sequence[Budget]
    provider_limits: ProviderLimits
    spending: Spending

    def emit(self, event: Event) -> None:
        """Send an event to the listeners."""

    def effect(self, spec: EffectSpec) -> Effect:
        """Look an effect up, or check that it may begin."""

    def count_step(self) -> None:
        """Count a step that begins."""

    @property
    def grants(self) -> set[str]:
        """The tools that a person has allowed for all calls of the run."""

    def offered_answer(self, key: str) -> Answer | None:
        """Return the answer that another process has stored for a question which this one waits for."""

    def rows_below(self, key: str, kind: RowKind | None = None) -> Iterable[Row]:
        """Return the rows below the key of a step or a call; all of the run without a key."""


class Repetitions(Protocol):
    """The repeated calls of a step's agent."""

    def ended(self, tool_use_id: str, output: Mapping[str, Any], *, hinted: bool = False) -> tuple[str, int] | None:
        """Take the result of a call; return the hint to the model that is due with it, and how often it was made."""


class Changes(Protocol):
    """The changes of calls in their agent besides the conversation."""

    def now(self) -> Any:
        """Return the present values in the agent."""

    def since(self, before: Any, by: str) -> Mapping[str, Any]:
        """Return the changes by a call of the tool `by` as JSON."""

    def restore(self, changes: Mapping[str, Any]) -> None:
        """Make changes again that an earlier process has stored."""

    @property
    def unstored(self) -> Mapping[str, Any]:
        """For the detail of a request's row: the changes outside of calls since the one before."""
