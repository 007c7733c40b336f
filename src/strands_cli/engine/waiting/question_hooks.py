"""Call the hook plugins that observe the questions of a run which stops to wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strands_cli.engine.run_hooks import SECONDS, call_in_time
from strands_cli.engine.waiting.sendable_questions import waiting_questions
from strands_cli.hooks.hook_values import HookContext

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import StoredJournal
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.secrets.redactor import Redactor

HOOK = "strands_question_waiting"


async def tell_of_questions(
    planned: Plan, journal: StoredJournal, redactor: Redactor, seconds: float = SECONDS
) -> None:
    """Tell the plugins what a run waits for; one that fails or takes long is a warning, and changes nothing.

    Args:
        seconds: How long all of them may take together.
    """
    hooks = planned.hooks
    if hooks is None or not hooks.implementers(HOOK):
        return
    questions = waiting_questions(journal, redactor.text)
    context = HookContext(planned.file, tuple(planned.rules), run=journal.run_id)
    await call_in_time(hooks, HOOK, lambda: hooks.question_waiting(questions, context), seconds)
