"""The hook plugin that sends the messages; `notify` in the user's config file switches it on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strands_cli.hooks import Check, HookContext, RunEnded, WaitingQuestion, hookimpl
from strands_cli_notify.delivery import deliver
from strands_cli_notify.message import message_of, trial_message
from strands_cli_notify.targets import read_targets

NAME = "notifications"


class Notify:
    """Notifies the targets of the user's config file of runs that wait or have ended.

    Raises:
        InvalidInput: The config file is not valid.
    """

    def __init__(self) -> None:
        self._targets = read_targets()
        self._questions: dict[str | None, Sequence[WaitingQuestion]] = {}

    @hookimpl
    def strands_question_waiting(self, questions: Sequence[WaitingQuestion], context: HookContext) -> None:
        """Keep the questions of a run for the message about it."""
        self._questions[context.run] = questions

    @hookimpl
    def strands_run_ended(self, run: RunEnded) -> list[str]:
        """Send the message about a run, and return a line for each target that did not get it."""
        ways = [target.way for target in self._targets if target.wants(run.status, watched=run.watched)]
        questions = self._questions.pop(run.id, ())
        if not ways:
            return []
        outcomes = deliver(message_of(run, questions), ways)
        return [_warning(f"{outcome.way}: {outcome.problem}", outcome.fix) for outcome in outcomes if outcome.problem]

    @hookimpl
    def strands_doctor_checks(self) -> Iterator[Check]:
        """Yield a line for each target."""
        yield from (Check(NAME, "ok", str(target)) for target in self._targets)


def _warning(problem: str, fix: str | None = None) -> str:
    line = " ".join(f"warning: not notified: {problem}".split())
    return f"{line}\n  fix: {fix or 'strands runs notify --test'}"


def send_test() -> Iterator[Check]:
    """Send a test message to each target of the user's config file, and yield the results.

    Raises:
        InvalidInput: The config file is not valid.
    """
    for outcome in deliver(trial_message(), [target.way for target in read_targets()]):
        if outcome.problem is None:
            yield Check(NAME, "ok", f"{outcome.way} got a test message")
        else:
            fix = outcome.fix or "correct the target, or what it names"
            yield Check(NAME, "failed", f"{outcome.way}: {outcome.problem}", fix)
