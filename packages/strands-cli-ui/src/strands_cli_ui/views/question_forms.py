"""Forms for the questions of runs: approve, reject, answer; and redo, skip or fail for a call that was cut off."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from strands_cli_ui.frame.ui_forms import choice, form, section
from strands_cli_ui.pages.html_text import anchor_of, escape, isolated, preformatted

if TYPE_CHECKING:
    from strands_cli_ui.pages.run_page import RunPage


def question_forms(page: RunPage, request: Any) -> str:
    """Return a form for each question of a run; empty where none waits."""
    if not page.questions or page.summary.run.status == "running":
        return ""
    address = f"/runs/{quote(page.summary.run.id)}/answer"
    questions = "".join(
        f'<li id="q-{anchor_of(str(question["key"]))}">{_question(question)}'
        f"{''.join(form(request, address, way, hidden={'key': str(question['key'])}) for way in _ways(question))}</li>"
        for question in page.questions
    )
    return section("It waits for you", f'<ul class="plain">{questions}</ul>')


def _question(question: Mapping[str, Any]) -> str:
    """Return the question, and the call that it is about."""
    context, call = question.get("context"), question.get("call")
    return (
        f"<h3><code>{isolated(question['key'])}</code></h3>{preformatted(str(question.get('prompt') or ''))}"
        f"{preformatted(str(context)) if context else ''}{_call(call) if isinstance(call, Mapping) else ''}"
    )


def _call(call: Mapping[str, Any]) -> str:
    text = json.dumps(call, ensure_ascii=False, indent=2, default=str)
    return f"<p>The call:</p>{preformatted(text)}"


def _ways(question: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields and buttons of each form of a question.

    Enter in a field of one line presses the first button of its form, so a reason has only the button that it is for.
    """
    if question.get("kind") == "decision":
        result = '<label>Its result, as JSON <textarea name="result" rows="2" placeholder="null"></textarea></label>'
        return (f"{choice('do', 'redo', 'Redo')}{result}{choice('do', 'skip', 'Skip')}{choice('do', 'fail', 'Fail')}",)
    reason = '<label>Reason <input name="reason" autocomplete="off"></label>'
    refuse = f"{reason}{choice('do', 'reject', 'Reject')}"
    if question.get("kind") == "approval":
        return choice("do", "approve", "Approve"), *_edit(question), refuse
    return _answers(question), refuse


def _edit(question: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the form with the arguments of a call that a person may change; the command checks them."""
    call = question.get("call")
    if not isinstance(call, Mapping):
        return ()
    shown = question.get("tried") or call.get("arguments")
    text = escape(json.dumps(shown, ensure_ascii=False, indent=2, default=str))
    field = f'<label>Arguments <textarea name="arguments" rows="6">{text}</textarea></label>'
    return (f"{field}{choice('do', 'edit', 'Approve with these arguments')}",)


def _answers(question: Mapping[str, Any]) -> str:
    """Return a button for each word that the workflow knows, and a field for another text."""
    natural = question.get("approve_answers")
    words = [str(word) for word in question.get("words") or ()]
    buttons = "".join(choice("word", word, word) for word in words)
    if natural and natural not in words:
        buttons = choice("word", str(natural), "Approve") + buttons
    if words and question.get("only_words"):
        return buttons
    default = escape(question.get("default") or "")
    text = f'<label>Answer <textarea name="text" rows="3">{default}</textarea></label>'
    return f"{buttons}{text}{choice('do', 'answer', 'Answer')}"
