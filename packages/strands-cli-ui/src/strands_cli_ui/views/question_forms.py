"""Forms for the questions of runs: approve, reject, answer; and redo, skip or fail for a call that was cut off."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from strands_cli.api import duration
from strands_cli_ui.frame.ui_forms import choice, form
from strands_cli_ui.frame.ui_state import Ui
from strands_cli_ui.pages.html_text import anchor_of, escape, isolated
from strands_cli_ui.pages.safe_markdown import markdown_html
from strands_cli_ui.pages.value_tree import ValueTree

if TYPE_CHECKING:
    from strands_cli.api import StoredRun

# The most characters of what is shown with a question.
LONG_CONTEXT = 20_000


def question_forms(
    ui: Ui, run: StoredRun, questions: Sequence[Mapping[str, Any]], request: Any, next_steps: Mapping[str, str] = {}
) -> str:
    """Return a form for each question of a run; empty where none waits.

    Args:
        next_steps: The steps that follow each step, in words.
    """
    if not questions or run.status == "running":
        return ""
    return "".join(
        _question(run, question, request, next_steps.get(str(question["key"]), "")) for question in questions
    )


def _question(run: StoredRun, question: Mapping[str, Any], request: Any, next_step: str) -> str:
    """Return a question, what it is about, and for each way to answer it what happens then."""
    key = str(question["key"])
    name, address = f"q-{anchor_of(f'{run.id} {key}')}", f"/runs/{quote(run.id)}/answer"
    context, call = question.get("context"), question.get("call")
    about = _call(call) if isinstance(call, Mapping) else markdown_html(str(context)[:LONG_CONTEXT]) if context else ""
    ways = "".join(
        f'<div class="way">{form(request, address, inner, hidden={"key": key})}<p class="soft">{escape(then)}</p></div>'
        for inner, then in _ways(question, next_step)
    )
    limit = question.get("timeout_s")
    facts = "".join(f'<p class="soft">{escape(text)}</p>' for text in _facts(question))
    ends = {"reject": "Without an answer it is rejected", "fail": "Without an answer it fails"}
    default = f"Without an answer it takes {question['default']!r}" if question.get("default") is not None else ""
    default = ends.get(question.get("on_expiry") or "", default)
    due = f'<p class="soft">{escape(default)} after {duration(float(limit))}.</p>' if default and limit else ""
    return (
        f'<div class="card ask" id="{name}"><h2>It waits for you '
        f'<code class="kind">{isolated(key)}</code></h2><p class="prompt" dir="auto">'
        f"{escape(question.get('prompt') or '')}</p>{facts}{about}{ways}{due}</div>"
    )


def _call(call: Mapping[str, Any]) -> str:
    return f'<div class="about-call">{ValueTree(LONG_CONTEXT).html(call.get("arguments"))}</div>'


def _ways(question: Mapping[str, Any], next_step: str) -> list[tuple[str, str]]:
    """Return the fields and buttons of each form of a question, with what happens then.

    Enter in a field of one line presses the first button of its form, so a reason has only the button that it is for.
    """
    goes_on = f"The run goes on with {next_step}." if next_step else "The run goes on."
    if question.get("kind") == "decision":
        result = '<label>Its result, as JSON <textarea name="result" rows="2" placeholder="null"></textarea></label>'
        redo = f"{choice('do', 'redo', 'Redo')}{result}{choice('do', 'skip', 'Skip')}{choice('do', 'fail', 'Fail')}"
        return [(redo, "Redo makes the call again, Skip takes the result above for it, Fail ends the run.")]
    reason = '<label><span class="hidden">Reason</span><input name="reason" autocomplete="off" placeholder="Reason">'
    refuse = f"{reason}</label>{choice('do', 'reject', 'Reject')}"
    if question.get("kind") == "approval":
        called = "The call is made with these arguments, and the run goes on."
        refused = "The call is not made; the agent reads the reason and goes on."
        approve = (choice("do", "approve", "Approve", is_main=True), called)
        return [approve, *_changes(question), (refuse, refused)]
    return [(_answers(question), goes_on), (refuse, "The run ends as failed, with this reason.")]


def _changes(question: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the form with the arguments of a call that a person may change; the command checks them."""
    call = question.get("call")
    if not isinstance(call, Mapping):
        return []
    shown = call.get("arguments") if question.get("tried") is None else question["tried"]
    text = escape(json.dumps(shown, ensure_ascii=False, indent=2, default=str))
    field = f'<label>Arguments <textarea name="arguments" rows="6">{text}</textarea></label>'
    inner = f"{field}{choice('do', 'edit', 'Approve with these arguments')}"
    then = "The changed call is checked like any other; where it is refused, you are asked again."
    return [(f"<details><summary>Change the arguments</summary>{inner}</details>", then)]


def _facts(question: Mapping[str, Any]) -> list[str]:
    """Return why the last change was refused, who should answer, and how many people have."""
    delegated, approvers = question.get("delegated") or (), question.get("approvers") or 1
    people = f"{len(question.get('answers') or ())} of {approvers} people have answered." if approvers > 1 else ""
    person = f"It is for {delegated[-1]['to']} to answer." if delegated else ""
    return [text for text in (str(question.get("problem") or ""), person, people) if text]


def _answers(question: Mapping[str, Any]) -> str:
    """Return a button for each word that the workflow knows, and a field for another text."""
    natural = question.get("approve_answers")
    words = [str(word) for word in question.get("words") or ()]
    buttons = "".join(choice("word", word, word, is_main=number == 0) for number, word in enumerate(words))
    if natural and natural not in words:
        buttons = choice("word", str(natural), "Approve", is_main=True) + buttons
    if words and question.get("only_words"):
        return buttons
    default = escape(question.get("default") or "")
    text = f'<label>Answer <textarea name="text" rows="2">{default}</textarea></label>'
    return f"{buttons}{text}{choice('do', 'answer', 'Answer')}"
