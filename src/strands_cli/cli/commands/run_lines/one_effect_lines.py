"""One whole effect of a stored run for `runs show RUN KEY`: as lines and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from strands_cli.cli.commands.run_lines.summary_lines import moment, text_lines
from strands_cli.cli.commands.run_lines.tree_lines import money
from strands_cli.cli.terminal_text import one_line
from strands_cli.texts.phrases import duration, joined

if TYPE_CHECKING:
    from strands_cli.run_views.whole_effect import AnsweredQuestion, WholeEffect

# Facts with the same word in the text and in `WholeEffect`; absent ones are left out.
_FACTS = ("model", "instead_of", "decision", "rule", "distribution", "engine", "layers", "waits_for", "loop")
_FACTS_TOO = ("error_code", "damage")
_PLAIN = ("who", "attempt", "model", "reused", "decision", "rule", "distribution", "engine", "waits_for", "error")
_PLAIN_TOO = ("error_code", "loop", "damage", "request", "arguments", "arguments_cut", "called_with", "edited_by")


def whole_effect_document(run: str, effect: WholeEffect) -> dict[str, Any]:
    """Return an effect as JSON; absent parts are null or empty."""
    is_step = effect.kind == "step"
    return {
        "run": run,
        "key": effect.key,
        "role": effect.kind,
        "state": effect.status,
        "parent": effect.key.rpartition("/")[0] or None,
        "below": list(effect.below),
        "started_at": moment(effect.started_at),
        "ended_at": moment(effect.ended_at) if effect.ended_at is not None else None,
        "seconds": effect.seconds,
        "usage": effect.usage.counts(),
        "cost_usd": effect.cost,
        **{name: getattr(effect, name) for name in (*_PLAIN, "instead_of", *_PLAIN_TOO)},
        "layers": list(effect.layers),
        "failures": list(effect.failures),
        "calls": [{"tool": call.tool, "arguments": call.arguments} for call in effect.calls],
        "response": effect.answer if is_step else None,
        "output": effect.value,
        "text": effect.result if is_step or effect.answer is None else effect.answer,
        "json": effect.result_json,
        "question": _question_document(effect.question) if effect.question else None,
    }


def _question_document(question: AnsweredQuestion) -> dict[str, Any]:
    names = ("prompt", "context", "answer", "by", "reason", "who", "arguments", "note")
    lists = {"words": list(question.words), "answers": list(question.answers)}
    return {**{name: getattr(question, name) for name in names}, **lists}


def effect_lines(effect: WholeEffect) -> Iterator[str]:
    """Yield the lines of an effect: its facts, then each of its texts, whole."""
    for name, value in _facts(effect):
        yield one_line(f"{name + ':':13} {value}")
    for title, text in _texts(effect):
        yield from ["", *text_lines(title, text)]
    if effect.below:
        yield from ["", "below it:", *(f"  {one_line(key)}" for key in effect.below)]


def _facts(effect: WholeEffect) -> Iterator[tuple[str, str]]:
    yield "effect", effect.key
    yield "kind", effect.kind
    yield "status", f"{effect.status}, taken from the run that this one continues" if effect.reused else effect.status
    if effect.who:
        yield {"step": "agent", "model": "agent", "tool": "tool"}.get(effect.kind, "who"), effect.who
    for name in (*_FACTS, *_FACTS_TOO):
        if value := getattr(effect, name):
            yield name.replace("_", " "), joined(value)
    if effect.edited_by:
        yield "changed by", effect.edited_by
    if effect.attempt > 1:
        yield "attempt", str(effect.attempt)
    yield "started", moment(effect.started_at)
    if effect.seconds is not None:
        yield "ended", f"{moment(effect.ended_at or 0.0)}, after {duration(effect.seconds)}"
    if not effect.usage.is_unknown:
        yield "tokens", _tokens(effect)
    if cost := money(effect.cost):
        yield "cost", "not known" if cost == "?" else cost


def _tokens(effect: WholeEffect) -> str:
    usage = effect.usage
    cached = [
        (usage.cache_read_tokens, "read from a cache"),
        (usage.cache_write_tokens, "written to a cache"),
        (usage.estimated_tokens, "of them estimated"),
    ]
    more = "".join(f", {number} {label}" for number, label in cached if number)
    return f"{usage.input_tokens} in, {usage.output_tokens} out{more}"


def _texts(effect: WholeEffect) -> Iterator[tuple[str, str]]:
    """Yield each text with its title, in the order in which it came about."""
    if effect.question:
        yield from _question(effect.question)
    if effect.request is not None:
        yield "asked:", effect.request
    if effect.arguments is not None:
        remark = " (cut; the model turn that requested it has all of them)" if effect.arguments_cut else ""
        yield f"arguments{remark}:", _shown(effect.arguments)
    if effect.called_with is not None:
        yield "called with:", _shown(effect.called_with)
    for number, failure in enumerate(effect.failures, start=1):
        yield f"attempt {number} failed:", failure
    if effect.answer is not None:
        yield "answered:", effect.answer
    for call in effect.calls:
        yield f"called {call.tool}:", _shown(call.arguments)
    if effect.result is not None:
        yield "result:", effect.result
    if effect.value is not None:
        yield "output:", _shown(effect.value)
    if effect.result_json is not None:
        yield "json:", _shown(effect.result_json)
    if effect.error:
        yield "error:", effect.error


def _question(question: AnsweredQuestion) -> Iterator[tuple[str, str]]:
    before = [
        (f"answer of {answer.get('who') or answer.get('by')}:", answer.get("text")) for answer in question.answers
    ]
    parts: Sequence[tuple[str, str | None]] = (
        ("question:", question.prompt),
        ("shown with it:", question.context),
        ("answers that the workflow knows:", ", ".join(question.words)),
        *before,
        (f"answer of {question.who or question.by or 'a person'}:", question.answer),
        ("with the arguments:", None if question.arguments is None else _shown(question.arguments)),
        ("reason:", question.reason),
        ("note:", question.note),
    )
    yield from ((title, text) for title, text in parts if text)


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)
