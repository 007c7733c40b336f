"""The person where there is none: questions wait, a default is taken after a short time, and calls may be denied."""

from __future__ import annotations

from collections.abc import Callable

from strands_cli.engine.journal.journal_rows import Answer, Question
from strands_cli.events import DENY

# How long a gate with a default is waited for at most; a run with a longer one ends, and a later `resume` answers it.
MOST_WAIT_S = 30.0


class NoPerson:
    """Answers for a person who is absent, as the engine's port `Human`.

    Args:
        denies: Whether calls that would ask are denied; gates and the questions of tools wait still.
        stays: Whether the run waits here for the default of a gate whose time is short.
        tell: Takes a line about that.
    """

    def __init__(
        self,
        *,
        denies: bool = False,
        stays: bool = True,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._denies = denies
        self._stays = stays
        self._tell = tell

    async def ask(self, question: Question) -> Answer:
        """Return that the question waits, that the run stays for its default, or that its call is denied."""
        if question.kind == "approval" and self._denies:
            return Answer("nobody", by=DENY)
        if not question.may_wait:
            return Answer("nobody", by="")
        wait_s, default = question.timeout_s, question.default
        if not self._stays or default is None or wait_s is None or wait_s > MOST_WAIT_S:
            return Answer("waiting")
        if self._tell is not None:
            self._tell(f"  waits {wait_s:g} s for {question.key}, where no person can answer; then: {default}")
        return Answer("stays")
