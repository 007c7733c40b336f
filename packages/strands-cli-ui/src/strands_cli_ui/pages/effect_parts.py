"""One whole effect as HTML: its messages as a conversation, its values as trees, its cost, and the decision on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from strands_cli.api import WholeEffect, duration
from strands_cli_ui.pages.html_text import badge, cut, escape, facts, icon, isolated, moment, money, preformatted
from strands_cli_ui.pages.value_tree import ValueTree

# A text inside a page of many effects; the page of one effect shows more.
SHORT = 4000


def effect_html(
    whole: WholeEffect, *, limit: int = 200_000, show_command: str = "", below: Sequence[WholeEffect] = ()
) -> str:
    """Return the inside of one effect, without secrets.

    Args:
        limit: The most characters of each of its texts.
        show_command: The command line that shows the whole texts.
        below: The turns and calls of a step, which the conversation then has.
    """
    damage = f'<p class="error">Damaged: {escape(whole.damage)}</p>' if whole.damage else ""
    parts = [damage, *_errors(whole, limit), _facts(whole), *_conversation(whole, below, limit)]
    if show_command and any('class="cut"' in part for part in parts):
        parts.append(f'<p class="cut">All of it: <code>{escape(show_command)}</code></p>')
    return "".join(parts)


def _errors(whole: WholeEffect, limit: int) -> Iterator[str]:
    for failure in whole.failures:
        yield f'<div class="error"><p class="part">Failed attempt</p>{preformatted(str(failure), limit)}</div>'
    if whole.error:
        code = f" ({escape(whole.error_code)})" if whole.error_code else ""
        yield f'<div class="error"><p class="part">Error{code}</p>{preformatted(whole.error, limit)}</div>'


def _facts(whole: WholeEffect) -> str:
    usage = whole.usage
    tokens = f"{usage.input_tokens:,} in, {usage.output_tokens:,} out" if usage.total_tokens else ""
    values = {
        "status": badge(whole.status) + (" (in another run, which has paid for it)" if whole.reused else ""),
        "decision": f"{escape(whole.decision)}: {isolated(whole.rule or '')}" if whole.decision else "",
        "who": escape(whole.who),
        "model": escape(whole.model or "") + (f" in place of {escape(whole.instead_of)}" if whole.instead_of else ""),
        "took": duration(whole.seconds),
        "tokens": tokens,
        "cost": money(whole.cost) if whole.usage.total_tokens or whole.kind == "model" else "",
        "started": moment(whole.started_at),
        "attempt": str(whole.attempt) if whole.attempt > 1 else "",
        "distribution": escape(whole.distribution or ""),
        "engine": escape(whole.engine or ""),
        "in force": escape(", ".join(whole.layers)),
        "waits for": escape(whole.waits_for or ""),
    }
    return facts(values.items())


def _conversation(whole: WholeEffect, below: Sequence[WholeEffect], limit: int) -> Iterator[str]:
    """Yield what was written, in the order in which it came to be."""
    question = whole.question
    if question is not None:
        yield _words("model", "Question", question.prompt, limit)
        if question.context:
            yield _words("model", "Shown with it", question.context, limit)
        by = f" by {question.by}" if question.by else ""
        reason = f"\n{question.reason}" if question.reason else ""
        if question.answer is not None or question.reason:
            yield _words("person", f"Answer{by}", f"{question.answer or 'rejected'}{reason}", limit)
        return
    if whole.request:
        yield _words("person", "Request", whole.request, limit)
    for part in below:
        if part.answer and part.answer != whole.answer:
            yield _words("model", f"Answer of {part.who}", part.answer, limit)
        if part.kind == "tool":
            name = f'<p class="part">{icon("tools")}{isolated(part.who)}</p>'
            yield f'<div class="says tool">{name}{_call(part, limit)}</div>'
    if whole.kind == "tool":
        yield _call(whole, limit)
        return
    if whole.answer:
        yield _words("model", "Answer", whole.answer, limit)
    for call in whole.calls:
        yield _value("Calls", call.arguments, limit, f" {isolated(call.tool)}")
    value = whole.result_json if whole.result_json is not None else whole.value
    if value is not None and value != whole.answer:
        yield _value("As JSON", value, limit)


def _call(whole: WholeEffect, limit: int) -> str:
    """Return the arguments and the result of a call."""
    given = "Arguments" + (" (stored in part)" if whole.arguments_cut else "")
    parts = [_value(given, whole.arguments, limit) if whole.arguments is not None else ""]
    if whole.called_with is not None:
        parts.append(_value("Called with", whole.called_with, limit))
    if whole.result and (whole.result_json is None or not whole.result.lstrip().startswith(("{", "["))):
        parts.append(f'<p class="part">Result</p>{preformatted(whole.result, limit)}')
    if whole.result_json is not None:
        parts.append(_value("Result", whole.result_json, limit))
    return "".join(parts)


def _words(who: str, title: str, text: str, limit: int) -> str:
    beginning, note = cut(text, limit)
    more = f'<p class="cut">{note}</p>' if note else ""
    return (
        f'<div class="says {who}"><p class="part">{icon(who)}{escape(title)}</p>'
        f'<div class="words" dir="auto">{escape(beginning)}</div>{more}</div>'
    )


def _value(title: str, value: Any, limit: int, more: str = "") -> str:
    return f'<p class="part">{escape(title)}{more}</p>{ValueTree(limit).html(value)}'
