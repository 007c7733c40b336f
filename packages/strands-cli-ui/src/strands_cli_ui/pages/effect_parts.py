"""One whole effect as HTML: its request, calls, answer and cost, and the decision on it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from strands_cli.api import WholeEffect, duration
from strands_cli_ui.pages.html_text import badge, cut, escape, facts, moment, money, preformatted

# A text inside a page of many effects; the page of one effect shows more.
SHORT = 4000


def effect_html(whole: WholeEffect, *, limit: int = 200_000, show_command: str = "") -> str:
    """Return the inside of one effect, without secrets.

    Args:
        limit: The most characters of each of its texts.
        show_command: The command line that shows the whole texts.
    """
    damage = f'<p class="error">Damaged: {escape(whole.damage)}</p>' if whole.damage else ""
    texts = (_part(title, text, limit) for title, text in _texts(whole) if text)
    parts = [damage, _facts(whole), _question(whole, limit), *texts]
    if show_command and any(' class="cut"' in part for part in parts):
        parts.append(f'<p class="cut">All of it: <code>{escape(show_command)}</code></p>')
    return "".join(parts)


def _facts(whole: WholeEffect) -> str:
    usage = whole.usage
    tokens = f"{usage.input_tokens:,} in, {usage.output_tokens:,} out" if usage.total_tokens else ""
    decision = f"{escape(whole.decision)}: <bdi>{escape(whole.rule or '')}</bdi>" if whole.decision else ""
    values = {
        "status": badge(whole.status) + (" (in another run, which has paid for it)" if whole.reused else ""),
        "who": escape(whole.who),
        "model": escape(whole.model or "") + (f" in place of {escape(whole.instead_of)}" if whole.instead_of else ""),
        "decision": decision,
        "started": moment(whole.started_at),
        "took": duration(whole.seconds),
        "attempt": str(whole.attempt) if whole.attempt > 1 else "",
        "tokens": tokens,
        "cost": money(whole.cost) if whole.usage.total_tokens or whole.kind == "model" else "",
        "distribution": escape(whole.distribution or ""),
        "engine": escape(whole.engine or ""),
        "in force": escape(", ".join(whole.layers)),
        "waits for": escape(whole.waits_for or ""),
    }
    return facts(values.items())


def _texts(whole: WholeEffect) -> Iterator[tuple[str, str]]:
    """Yield the texts of an effect with their titles, in the order in which they came to be."""
    yield "Request", whole.request or ""
    yield "Arguments" + (" (stored in part)" if whole.arguments_cut else ""), _json(whole.arguments)
    yield "Called with", _json(whole.called_with)
    for failure in whole.failures:
        yield "Failed attempt", str(failure)
    yield "Answer", whole.answer or ""
    for call in whole.calls:
        yield f"Called {call.tool}", _json(call.arguments)
    yield "Result", whole.result or ""
    as_json = _json(whole.result_json if whole.result_json is not None else whole.value)
    yield "JSON", "" if as_json.strip('"') == (whole.result or whole.answer) else as_json
    yield "Error" + (f" ({whole.error_code})" if whole.error_code else ""), whole.error or ""


def _part(title: str, text: str, limit: int) -> str:
    kind = ' class="error"' if title.startswith("Error") else ""
    return f"<div{kind}><p class=part>{escape(title)}</p>{preformatted(text, limit)}</div>"


def _question(whole: WholeEffect, limit: int) -> str:
    question = whole.question
    if question is None:
        return ""
    answer = escape(question.answer) if question.answer is not None else badge("waiting")
    values = {
        "asked": f"<bdi>{escape(cut(question.prompt, limit)[0])}</bdi>",
        "known answers": escape(", ".join(question.words)),
        "answer": f"<bdi>{answer}</bdi>",
        "by": escape(question.by or ""),
        "reason": escape(question.reason or ""),
    }
    context = preformatted(question.context, limit) if question.context else ""
    return facts(values.items()) + context


def _json(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, indent=2, default=str)
