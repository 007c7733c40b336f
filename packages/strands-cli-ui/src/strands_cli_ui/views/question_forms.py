"""Forms for the questions of runs: approve, reject, answer; and redo, skip or fail for a call that was cut off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from strands_cli.api import duration
from strands_cli_ui.frame.ui_forms import choice, field_of, form
from strands_cli_ui.pages.html_text import anchor_of, escape, isolated, preformatted
from strands_cli_ui.pages.safe_markdown import markdown_html
from strands_cli_ui.pages.value_tree import ValueTree
from strands_cli_ui.views.argument_fields import argument_fields

if TYPE_CHECKING:
    from strands_cli.api import StoredRun

# The most characters of what is shown with a question.
LONG_CONTEXT = 20_000


def question_forms(
    run: StoredRun, questions: Sequence[Mapping[str, Any]], request: Any, next_steps: Mapping[str, str] = {}
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
    problem = f'<div class="error">{preformatted(str(question["problem"]))}</div>' if question.get("problem") else ""
    ways = "".join(
        f'<div class="way">{form(request, address, inner, hidden={"key": key})}<p class="soft">{escape(then)}</p></div>'
        for inner, then in _ways(question, next_step)
    )
    people = "".join(f'<p class="soft">{escape(line)}</p>' for line in _people(question))
    return (
        f'<div class="card ask" id="{name}"><h2>It waits for you '
        f'<code class="kind">{isolated(key)}</code></h2><p class="prompt" dir="auto">'
        f"{escape(question.get('prompt') or '')}</p>{problem}{about}{ways}{people}</div>"
    )


def _call(call: Mapping[str, Any]) -> str:
    """Return the arguments of a call; of one that changes a file also the difference."""
    diff = (
        f'<p class="part">It changes a file that exists:</p>{preformatted(str(call["diff"]))}'
        if call.get("diff")
        else ""
    )
    return f'<div class="about-call">{ValueTree(LONG_CONTEXT).html(call.get("arguments"))}</div>{diff}'


def _people(question: Mapping[str, Any]) -> Iterator[str]:
    """Yield who should answer, who has answered, and what happens without an answer."""
    if delegated := question.get("delegated"):
        yield f"It is for {delegated[-1]['to']} to answer."
    answers = [
        f"{answer.get('who') or answer.get('by')}: {answer.get('text')}" for answer in question.get("answers") or ()
    ]
    if (approvers := question.get("approvers") or 1) > 1:
        yield "; ".join([f"{len(answers)} of {approvers} people have answered", *answers])
    limit, expires, default = question.get("timeout_s"), question.get("on_expiry"), question.get("default")
    then = {"reject": "it is rejected", "fail": "it fails"}.get(
        expires or "", f"{default!r} is taken" if default else ""
    )
    if limit and then:
        yield f"After {duration(float(limit))} without an answer {then}."


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
        fields = argument_fields(question)
        is_open = " open" if question.get("problem") else ""
        edit = (
            f'<details class="edit"{is_open}><summary>Change the arguments</summary>{fields}</details>'
            if fields
            else ""
        )
        return [(edit + choice("do", "approve", "Approve", is_main=True), called), (refuse, refused)]
    return [(_answers(question), goes_on), (refuse, "The run ends as failed, with this reason.")]


def _answers(question: Mapping[str, Any]) -> str:
    """Return a button for each word that the workflow knows, and a field for another text."""
    natural, schema = question.get("approve_answers"), question.get("schema") or {}
    words = [str(word) for word in question.get("words") or schema.get("enum") or ()]
    if schema.get("type") == "boolean":
        return choice("word", "yes", "Yes", is_main=True) + choice("word", "no", "No")
    buttons = "".join(choice("word", word, word, is_main=number == 0) for number, word in enumerate(words))
    if natural and natural not in words:
        buttons = choice("word", str(natural), "Approve", is_main=True) + buttons
    if words and (question.get("only_words") or "enum" in schema):
        return buttons
    default = question.get("default") or None
    if schema:
        return field_of("text", "Answer", schema, is_required=True, value=default) + choice(
            "do", "answer", "Answer", is_main=True
        )
    text = f'<label>Answer <textarea name="text" rows="2">{escape(default or "")}</textarea></label>'
    return f"{buttons}{text}{choice('do', 'answer', 'Answer')}"
