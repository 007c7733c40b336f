"""The port to a tracer of runs and steps, so that the engine does not depend on OpenTelemetry."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from strands_cli.errors import StrandsCliError, WaitingForPerson

if TYPE_CHECKING:
    from strands_cli.engine.effects.step_scope import StepScope
    from strands_cli.events import RunStatus, StepKind, Usage


class Traced(Protocol):
    """The span of a run or of a step while it is open."""

    def ended(self, status: RunStatus, usage: Usage, reason: str | None = None, **attributes: Any) -> None:
        """Write how it ended, without attributes that are None."""


class Tracing(Protocol):
    """Opens spans of runs and steps; each is the current span while its context is open."""

    def run(self, run_id: str, workflow: str, pattern: str) -> AbstractContextManager[Traced]:
        """Open the span of a run."""

    def step(self, key: str, kind: StepKind, who: str) -> AbstractContextManager[Traced]:
        """Open the span of a step that is executed, not taken from the journal."""


class Untraced:
    """Traces nothing."""

    def run(self, run_id: str, workflow: str, pattern: str) -> AbstractContextManager[Traced]:
        """Open nothing."""
        return contextlib.nullcontext(self)

    def step(self, key: str, kind: StepKind, who: str) -> AbstractContextManager[Traced]:
        """Open nothing."""
        return contextlib.nullcontext(self)

    def ended(self, status: RunStatus, usage: Usage, reason: str | None = None, **attributes: Any) -> None:
        """Write nothing."""


UNTRACED = Untraced()

# The tracer provider of the run around the caller, None outside of a traced run. It is not a global variable: a program
# may have a provider of its own, and several runs at the same time.
provider_here: ContextVar[Any] = ContextVar("provider_here", default=None)


@contextlib.contextmanager
def traced_step(tracing: Tracing, scope: StepScope, kind: StepKind, who: str) -> Iterator[None]:
    """Open the span of a step during its work, and write how that ended."""
    with tracing.step(scope.key, kind, who) as span:
        try:
            yield
        except WaitingForPerson as error:
            span.ended("waiting", scope.usage, error.message)
            raise
        except StrandsCliError as error:
            span.ended("failed", scope.usage, error.message, cost_usd=scope.cost_usd)
            raise
        except BaseException as error:
            span.ended("interrupted", scope.usage, type(error).__name__)
            raise
        span.ended("completed", scope.usage, cost_usd=scope.cost_usd)
