"""A call put to a person: the question with its arguments shown, and the meaning of the answer for policy."""

from __future__ import annotations

import difflib
import json
import os
import shlex
import stat
import weakref
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.engine.journal.journal_rows import Answer, Question
from strands_cli.engine.waiting.edited_arguments import changes_between
from strands_cli.events import DENY
from strands_cli.planning.planned_tool import LateTool
from strands_cli.policy.decision import Decision, PermissionQuestion, is_managed
from strands_cli.policy.file_places import Workspace
from strands_cli.policy.rule import Request
from strands_cli.texts.canonical_json import canonical_json, digest_of
from strands_cli.tools.calls.execution import Attempt

if TYPE_CHECKING:
    from strands import Agent


# Changes that calls leave in their agent: values in its state, and tools.


# The changes of a call in its agent, in the output of its row.
AGENT = "agent"
# The changes of hooks before a request to the model, in the detail of its row.
BY_HOOKS = "changed_by_hooks"


@dataclass(frozen=True, slots=True)
class LateSpecs:
    """How the tools that came during the run are read and put back.

    Attributes:
        take: Returns the data to make each again, by name; takes the tool whose call has just ended.
        put: Puts a tool in their place that reports its loss, or takes one out if it gets None.
    """

    take: Callable[[str], Mapping[str, Any]]
    put: Callable[[str, Any], None]


class AgentChanges:
    """Stores with each call its changes in the agent, and makes them again when the journal answers the call.

    Changes of hooks are stored with the next request to the model. A later change of the same name wins, in whatever
    order the calls are replayed.

    Attributes:
        unstored: For the detail of the request's row: the changes of hooks since the call or request before.
    """

    def __init__(self, agent: Agent, late: LateSpecs) -> None:
        self._agent = weakref.ref(agent)
        self._late = late
        self._number = 0
        self._latest: dict[tuple[str, str], int] = {}
        self._last_contents = self.now()
        self.unstored: Mapping[str, Any] = {}

    def before_request(self, stored: Mapping[str, Any] | None) -> None:
        """Make the stored changes of hooks at a request again, or note the new ones for its row."""
        if stored is None:
            changes = self.since(self._last_contents, "")
            self.unstored = {BY_HOOKS: changes} if changes else {}
        else:
            self.restore(stored)

    def now(self, by: str = "") -> Mapping[str, Mapping[str, Any]]:
        """Return the state and the tools of the agent; a call of the tool `by` has just ended."""
        agent = self._agent()
        return {"state": agent.state.get() if agent is not None else {}, "tools": self._late.take(by)}

    def since(self, before: Mapping[str, Mapping[str, Any]], by: str) -> Mapping[str, Any]:
        """Return the changes as JSON; empty where nothing has changed."""
        changes: dict[str, Any] = {}
        self._last_contents = self.now(by)
        for part, values in self._last_contents.items():
            old_values = before[part]
            new = {name: value for name, value in values.items() if not _is_same(old_values, name, value)}
            removed_names = [name for name in old_values if name not in values]
            if new or removed_names:
                changes[part] = {"set": new, "gone": removed_names}
        if changes:
            self._number += 1
            changes["number"] = self._number
        return changes

    def restore(self, changes: Mapping[str, Any]) -> None:
        """Make changes again that an earlier process has stored."""
        number, agent = changes["number"], self._agent()
        self._number = max(self._number, number)
        for part in ("state", "tools"):
            stored = changes.get(part) or {"set": {}, "gone": []}
            for name in (*stored["set"], *stored["gone"]):
                if agent is None or self._latest.get((part, name), 0) > number:
                    continue
                self._latest[part, name] = number
                if part == "tools":
                    self._late.put(name, stored["set"].get(name))
                elif name in stored["set"]:
                    agent.state.set(name, stored["set"][name])
                else:
                    agent.state.delete(name)
        self._last_contents = self.now()


def _is_same(values: Mapping[str, Any], name: str, value: Any) -> bool:
    return name in values and (values[name] is value or canonical_json(values[name]) == canonical_json(value))


# The change that a call would make in a text file, for the person who decides.


# A larger file is not compared; the content of the call is shown whole.
MAX_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Change:
    """The change of a call in an existing file: a unified diff, or in words the content that it replaces unseen."""

    diff: str = ""
    unseen: str = ""


def change_of(request: Request) -> Change:
    """Return a call's change of a file that exists; empty where it makes no such change.

    A tool does so that declares `file:{ARGUMENT}` as the one thing that it writes, and has the new text in `content`.
    """
    arguments = request.arguments or {}
    name, content = _written(request.claims), arguments.get("content")
    path = arguments.get(name) if name else None
    if not isinstance(content, str) or not isinstance(path, str) or arguments.get("mode") == "create":
        return Change()
    adds = arguments.get("mode") == "append"
    before = _content_of(path, request.workspace)
    if before is None or isinstance(before, _UnseenContent):
        return Change(unseen=f"{'adds to' if adds else 'replaces'} {before.words}" if before else "")
    return Change(diff="\n".join(_changed_lines(before, before + content if adds else content)))


def _changed_lines(before: str, after: str) -> Iterator[str]:
    """Yield the lines of a diff, without the names of the files."""
    lines = difflib.unified_diff(_lines(before), _lines(after), lineterm="")
    yield from (line for number, line in enumerate(lines) if number > 1)


def _lines(text: str) -> list[str]:
    """Return the lines of a text; a last line without an end says so."""
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else [*lines[:-1], f"{lines[-1]} (no line end)"]


def _written(claims: Mapping[str, Any]) -> str | None:
    """Return the argument with the path of the one file that a tool writes."""
    resources = claims.get("resources")
    writes = resources.get("writes") if isinstance(resources, Mapping) else None
    if not isinstance(writes, (list, tuple)) or len(writes) != 1 or not str(writes[0]).startswith("file:{"):
        return None
    return str(writes[0]).removeprefix("file:{").removesuffix("}")


@dataclass(frozen=True, slots=True)
class _UnseenContent:
    words: str


def _content_of(path: str, workspace: Workspace) -> str | _UnseenContent | None:
    """Return the text of a file of the workspace, or the reason why there is none; None for a missing file."""
    mount, _, rest = path.partition("/")
    base = workspace.mounts.get(mount[1:]) if mount.startswith("@") else None
    root = os.path.realpath(os.path.join(workspace.root, base or ""))  # noqa: PTH118
    realpath = os.path.realpath(os.path.join(root, rest if base else path))  # noqa: PTH118
    if not realpath.startswith(root.rstrip(os.sep) + os.sep):
        return None
    try:
        # Looked at first: a pipe would wait for a writer.
        file_stat = os.stat(realpath)  # noqa: PTH116
        if not stat.S_ISREG(file_stat.st_mode):
            return None
        if file_stat.st_size > MAX_BYTES:
            return _UnseenContent(f"a file of {file_stat.st_size} bytes, which is too large to compare")
        content = Path(realpath).read_bytes()
    except (OSError, ValueError):
        return None
    try:
        return content.decode()
    except UnicodeDecodeError:
        return _UnseenContent(f"a file of {file_stat.st_size} bytes, which is not text")


# A larger schema is not stored with the question, so that a change is only checked when the run goes on.
MAX_SCHEMA = 64 * 1024
MAX_SHOWN = 1000
MAX_SHOWN_ITEMS = 50


@dataclass(frozen=True, slots=True)
class EditedCall:
    """A call as a person has changed it, allowed like any other; or one with a note.

    Attributes:
        note: The changes and the note, for the model that asked for the call.
        who: The person who has changed it; empty where it is as proposed.
    """

    attempt: Attempt
    request: Request
    note: str
    who: str


# Checks a call with the changes of an answer in its arguments as they were shown; returns why it cannot be made.
CheckEdit = Callable[[Mapping[str, Any], Answer], Awaitable[EditedCall | str]]


async def approved(
    attempt: Attempt, request: Request, decision: Decision, check_edit: CheckEdit
) -> tuple[Decision, EditedCall | None]:
    """Put a call to a person; the approval is bound to the digest of these very arguments, or those that they wrote.

    A change that is refused is never made: the question is asked again, with the reason.

    Returns: The decision in the answer: allow or deny; and the call as the person has changed it.

    Raises:
        WaitingForPerson: the question was stored and waits.
    """
    call = _permission_question(attempt, request, decision)
    question = _question(attempt, call)
    bound_to = {"tool": call.tool, "arguments": call.digest}
    while True:
        answer = await attempt.scope.ask(question, bound_to)
        is_changed = answer.arguments is not None and any(changes_between(call.arguments, answer.arguments))
        if answer.text != "yes" or not is_changed:
            noted = EditedCall(attempt, request, note_of(answer), "") if answer.note else None
            return _decided(attempt, decision, call, answer), noted
        edited = await check_edit(call.arguments, answer)
        if not isinstance(edited, str):
            return Decision("allow", f"approved by {answer.by} with other arguments"), edited
        question = replace(question, problem=f"the changed call was not made: {edited}", tried=answer.arguments)
        await attempt.scope.refuse_answer(question, bound_to)


def is_asked_by_model(attempt: Attempt) -> bool:
    """Return whether a model reads the result of a call, not a template or the code of a tool."""
    messages = getattr(attempt.state.get("agent"), "messages", None) or [{}]
    uses = [block["toolUse"]["toolUseId"] for block in messages[-1].get("content", ()) if "toolUse" in block]
    return attempt.tool_use["toolUseId"] in uses


def note_of(answer: Answer) -> str:
    """Return the note of a person for a model."""
    return f"A note of the person who approved it: {answer.note}" if answer.note else ""


def _question(attempt: Attempt, call: PermissionQuestion) -> Question:
    schema = attempt.tool.schema
    return Question(
        key=question_about(attempt.effect.key),
        kind="approval",
        prompt=call.prompt,
        context=shown(call.arguments),
        pattern="yes|no",
        call=call,
        may_wait=not isinstance(attempt.tool.planned, LateTool),
        schema=schema if len(canonical_json(schema)) <= MAX_SCHEMA else None,
    )


def _decided(attempt: Attempt, decision: Decision, call: PermissionQuestion, answer: Answer) -> Decision:
    """Return the decision in an answer to the call as it was proposed."""
    planned = attempt.tool.planned
    if answer.outcome == "nobody":
        only_a_person = decision.plugin is not None or call.needs_terminal
        fix = "" if only_a_person else f"; allow it with --allow {shlex.quote(planned.own_name)} or --yes"
        why = f"{DENY} was chosen" if answer.by == DENY else "no person can be asked"
        name = None if only_a_person else planned.own_name
        return Decision("deny", f"{decision.rule}, and {why}{fix}", no_person=True, allowed_by=name)
    if answer.text == "yes" and call.needs_terminal and not answer.is_typed:
        return Decision(
            "deny", f"{decision.rule}, and only a person at a terminal can answer, not a program or a script"
        )
    if answer.text == "yes":
        return Decision("allow", f"approved by {answer.by}" + (" for every call of the run" if answer.grants else ""))
    return Decision("deny", f"refused by {answer.by}" + (f": {answer.reason}" if answer.reason else ""))


def question_about(call: str) -> str:
    """Return the key of the question about a call, by the key of that."""
    return f"{call}/approval"


def _permission_question(attempt: Attempt, request: Request, decision: Decision) -> PermissionQuestion:
    planned, redactor = attempt.tool.planned, attempt.redactor
    # A late tool may be another one at the next call.
    each = is_managed(decision) or decision.plugin is not None or isinstance(planned, LateTool)
    change = change_of(request)
    return PermissionQuestion(
        tool=planned.name,
        arguments=redactor.json(attempt.arguments),
        reason=decision.rule,
        agent=attempt.scope.who,
        digest=digest_of(attempt.arguments),
        reference="" if planned.own_name == planned.name else planned.reference,
        distribution=planned.distribution,
        needs_terminal=is_managed(decision),
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
