"""A call put to a person: the question with its arguments shown, and what the answer means for policy."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from strands_cli.engine.journal.journal_rows import Question
from strands_cli.events import DENY
from strands_cli.planning.planned_tools.planned_tool import LateTool
from strands_cli.policy.decision import Decision, is_managed
from strands_cli.policy.permission_question import PermissionQuestion
from strands_cli.policy.rules.tool_request import Request
from strands_cli.texts.canonical_json import digest_of
from strands_cli.tools.calls.execution import Attempt
from strands_cli.tools.calls.file_changes import change_of

MAX_SHOWN = 1000
MAX_SHOWN_ITEMS = 50


async def approved(attempt: Attempt, request: Request, asked: Decision) -> Decision:
    """Put a call to a person; the approval is bound to the digest of these very arguments.

    Returns:
        What the answer means: allow or deny.

    Raises:
        WaitingForPerson: the question was stored and waits.
    """
    planned, scope = attempt.tool.planned, attempt.scope
    call = _permission_question(attempt, request, asked)
    question = Question(
        key=question_about(attempt.effect.key),
        kind="approval",
        prompt=call.prompt,
        context=shown(call.arguments),
        pattern="yes|no",
        call=call,
        may_wait=not isinstance(planned, LateTool),
    )
    answer = await scope.ask(question, {"tool": call.tool, "arguments": call.digest})
    if answer.outcome == "nobody":
        only_a_person = asked.plugin is not None or call.needs_terminal
        fix = "" if only_a_person else f"; allow it with --allow {shlex.quote(planned.own_name)} or --yes"
        why = f"{DENY} was chosen" if answer.by == DENY else "no person can be asked"
        name = None if only_a_person else planned.own_name
        return Decision("deny", f"{asked.rule}, and {why}{fix}", no_person=True, allowed_by=name)
    if answer.text == "yes" and call.needs_terminal and not answer.is_typed:
        return Decision("deny", f"{asked.rule}, and only a person at a terminal can answer, not a program or a script")
    if answer.text == "yes":
        return Decision("allow", f"approved by {answer.by}" + (" for every call of the run" if answer.grants else ""))
    return Decision("deny", f"refused by {answer.by}" + (f": {answer.reason}" if answer.reason else ""))


def question_about(call: str) -> str:
    """Return the key of the question about a call, by the key of that."""
    return f"{call}/approval"


def _permission_question(attempt: Attempt, request: Request, asked: Decision) -> PermissionQuestion:
    planned, redactor = attempt.tool.planned, attempt.redactor
    # A late tool may be another one at the next call.
    each = is_managed(asked) or asked.plugin is not None or isinstance(planned, LateTool)
    change = change_of(request)
    return PermissionQuestion(
        tool=planned.name,
        arguments=redactor.json(attempt.arguments),
        reason=asked.rule,
        agent=attempt.scope.who,
        digest=digest_of(attempt.arguments),
        reference="" if planned.own_name == planned.name else planned.reference,
        distribution=planned.distribution,
        needs_terminal=is_managed(asked),
        diff=redactor.text(change.diff),
        unseen=change.unseen,
        # Not a rule: a rule fits names, and a workflow can give a name to another tool.
        grant="" if each else f"{planned.reference} {digest_of(list(planned.identity))}",
    )


def shown(arguments: Any) -> str:
    """Return the arguments for a person; each long text is cut by itself, so that none pushes another out of sight."""
    return json.dumps(cut(arguments), ensure_ascii=False, indent=2, default=str)


def cut(value: Any) -> Any:
    """Return a value with long texts and lists cut, each by itself and with a mark."""
    if isinstance(value, Mapping):
        return {name: cut(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        first = [cut(item) for item in value[:MAX_SHOWN_ITEMS]]
        return first if len(value) <= MAX_SHOWN_ITEMS else [*first, f"... ({len(value)} items in all)"]
    if isinstance(value, str) and len(value) > MAX_SHOWN:
        return f"{value[:MAX_SHOWN]}... ({len(value)} characters in all)"
    return value
