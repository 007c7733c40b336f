"""A call put to a person: the question with its arguments shown, and what the answer means for policy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from strands_cli.canonical_json import digest_of
from strands_cli.engine.effects import StepScope
from strands_cli.engine.journal import Question
from strands_cli.planning.plan import PlannedTool
from strands_cli.policy import Decision, PermissionQuestion, is_managed
from strands_cli.secrets import Redactor

MAX_SHOWN = 1000
MAX_SHOWN_ITEMS = 50


async def approved(
    planned: PlannedTool, arguments: Any, asked: Decision, scope: StepScope, key: str, redactor: Redactor
) -> Decision:
    """Put a call to a person; the approval is bound to the digest of these very arguments.

    Args:
        planned: The tool.
        arguments: What it would be called with.
        asked: Why policy asks.
        scope: The step in which the call happens.
        key: The call's path in the run.
        redactor: Hides secrets in the question.

    Returns:
        What the answer means: allow or deny.

    Raises:
        WaitingForPerson: the question was stored and waits.
    """
    call = _question_about(planned, redactor.json(arguments), digest_of(arguments), asked, scope.who)
    question = Question(
        key=f"{key}/approval",
        kind="approval",
        prompt=call.prompt,
        context=shown(call.arguments),
        pattern="yes|no",
        call=call,
    )
    answer = await scope.ask(question, {"tool": call.tool, "arguments": call.digest})
    if answer.outcome == "nobody":
        only_a_person = asked.plugin is not None or call.needs_terminal
        fix = "" if only_a_person else f"; allow it with --allow {planned.own_name} or --yes"
        return Decision("deny", f"{asked.rule}, and no person can be asked{fix}", no_person=True)
    if answer.text == "yes" and call.needs_terminal and not answer.is_typed:
        return Decision("deny", f"{asked.rule}, and only a person at a terminal can answer, not a program or a script")
    if answer.text == "yes":
        return Decision("allow", f"approved by {answer.by}")
    return Decision("deny", f"refused by {answer.by}" + (f": {answer.reason}" if answer.reason else ""))


def _question_about(planned: PlannedTool, arguments: Any, digest: str, asked: Decision, who: str) -> PermissionQuestion:
    return PermissionQuestion(
        tool=planned.name,
        arguments=arguments,
        reason=asked.rule,
        agent=who,
        digest=digest,
        reference="" if planned.own_name == planned.name else planned.reference,
        distribution=planned.distribution,
        needs_terminal=is_managed(asked),
    )


def shown(arguments: Any) -> str:
    """Return the arguments for a person; each long text is cut by itself, so that none pushes another out of sight."""
    return json.dumps(_cut(arguments), ensure_ascii=False, indent=2, default=str)


def _cut(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _cut(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        cut = [_cut(item) for item in value[:MAX_SHOWN_ITEMS]]
        return cut if len(value) <= MAX_SHOWN_ITEMS else [*cut, f"... ({len(value)} items in all)"]
    if isinstance(value, str) and len(value) > MAX_SHOWN:
        return f"{value[:MAX_SHOWN]}... ({len(value)} characters in all)"
    return value
