"""The person where there is none: questions wait, a default is taken after a short time, and calls may be denied."""

from __future__ import annotations

from collections.abc import Callable

from strands_cli.engine.journal import Answer, Clock, Question
from strands_cli.engine.ports import SystemClock
from strands_cli.events import DENY

# How long a gate with a default is waited for at most; a run with a longer one ends, and a later `resume` answers it.
MOST_WAIT_S = 30.0


class NoPerson:
    """Answers for a person who is absent, as the engine's port `Human`.

    Args:
        denies: Whether calls that would ask are denied; gates and the questions of tools wait still.
        stays: Whether the run waits here for the default of a gate whose time is short.
        tell: Takes a line about that.
        clock: The clock by which it waits.
    """

    def __init__(
        self,
        *,
        denies: bool = False,
        stays: bool = True,
        tell: Callable[[str], None] | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._denies = denies
        self._stays = stays
        self._tell = tell
        self._clock = clock or SystemClock()

    async def ask(self, question: Question) -> Answer:
        """Return that the question waits, its default after the time that it has, or that its call is denied."""
        if question.kind == "approval" and self._denies:
            return Answer("nobody", by=DENY)
        if not question.may_wait:
            return Answer("nobody", by="")
        wait_s, default = question.timeout_s, question.default
        if not self._stays or default is None or wait_s is None or wait_s > MOST_WAIT_S:
            return Answer("waiting")
        if self._tell is not None:
            self._tell(f"  waits {wait_s:g} s for {question.key}, where no person can answer; then: {default}")
        await self._clock.sleep(wait_s)
        return Answer("answered", default, by="default")
