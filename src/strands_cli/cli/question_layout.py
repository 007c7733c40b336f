"""A question to a person as lines: its text, the call with all of its arguments, the meaning of an answer."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from strands_cli.cli.terminal_text import one_line
from strands_cli.texts.phrases import duration

if TYPE_CHECKING:
    from strands_cli.engine.journal.journal_rows import Question

# The place of a text of several lines; no line of ours begins so.
_TEXT = "  | "


def document_of(question: Question) -> dict[str, Any]:
    """Return a question as a journal stores it, as far as its lines need it."""
    call = asdict(question.call) if question.call is not None else None
    names = ("prompt", "context", "words", "schema", "approvers", "answers", "delegated")
    return {**{name: getattr(question, name) for name in names}, "call": call}


def question_lines(question: Mapping[str, Any], *, details: bool = False) -> list[str]:
    """Return the lines of a question, as a journal stores it; `details` has a call as it is, without a diff.

    Every line after the first is indented, so that no text from a model can look like a question of ours.
    """
    first, *more = str(question.get("prompt") or "").splitlines() or [""]
    call = question.get("call")
    if isinstance(call, Mapping):
        lines = _details(call) if details else _arguments(call)
    else:
        texts = str(question.get("context") or "").splitlines()
        lines = itertools.chain(texts, _answers_line(question), _default(question))
    lines = itertools.chain(lines, _people(question))
    refused = [one_line(str(question["problem"]))] if question.get("problem") else []
    return [first, *(f"  {line}" for line in [*more, *lines, *refused])]


def _answers_line(question: Mapping[str, Any]) -> Iterator[str]:
    if words := question.get("words"):
        yield f"answers that the workflow knows: {one_line(', '.join(words))}"
    elif schema := question.get("schema"):
        yield f"the answer fits: {one_line(json.dumps(schema, ensure_ascii=False))}"


def _people(question: Mapping[str, Any]) -> Iterator[str]:
    """Yield the person who should answer, and who has answered already."""
    if delegated := question.get("delegated"):
        yield f"it is for {one_line(delegated[-1]['to'])} to answer"
    answers = [f"{answer.get('who') or answer['by']}: {answer['text']}" for answer in question.get("answers") or ()]
    if (approvers := question.get("approvers") or 1) > 1:
        yield one_line(f"{len(answers)} of {approvers} people have answered" + "".join(f"; {text}" for text in answers))


def _default(question: Mapping[str, Any]) -> Iterator[str]:
    seconds, default, expires = question.get("timeout_s"), question.get("default"), question.get("on_expiry")
    if expires in ("reject", "fail"):
        yield f"after {duration(seconds)} without an answer: {'it is rejected' if expires == 'reject' else 'it fails'}"
    elif default is not None and seconds is not None:
        yield f"after {seconds:g} s without an answer: {one_line(default)}"


def _arguments(call: Mapping[str, Any]) -> Iterator[str]:
    """Yield each argument; in place of a new content its difference."""
    diff = call.get("diff")
    if unseen := call.get("unseen"):
        yield f"it {unseen}"
    for name, value in call.get("arguments", {}).items():
        if diff and name == "content":
            yield f"{name}: changes a file that exists (d: the whole text)"
            yield from (_TEXT + line for line in diff.split("\n"))
        else:
            yield from _argument(one_line(str(name)), value)


def _argument(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, str) and "\n" in value.rstrip("\n"):
        yield f"{name}:"
        yield from (_TEXT + line for line in value.rstrip("\n").split("\n"))
        return
    if isinstance(value, str):
        yield f"{name}: {value if _is_plain(value) else json.dumps(value, ensure_ascii=False)}"
        return
    flat = json.dumps(value, ensure_ascii=False, default=str)
    if len(flat) <= 80 or not isinstance(value, (list, dict)):
        yield f"{name}: {flat}"
        return
    yield f"{name}:"
    yield from (_TEXT + line for line in json.dumps(value, ensure_ascii=False, indent=2, default=str).split("\n"))


def _is_plain(text: str) -> bool:
    """Return whether a text cannot be taken for a number, for JSON, or for nothing."""
    try:
        json.loads(text)
    except ValueError:
        return bool(text) and text == text.strip()
    return False


def _details(call: Mapping[str, Any]) -> Iterator[str]:
    """Yield the agent that asks, the true reference of the tool, the reason for asking, and the arguments as JSON."""
    named = {"tool": "tool", "reference": "it is", "distribution": "from", "agent": "called by", "reason": "asks since"}
    yield from (f"{title + ':':12}{one_line(str(call[name]))}" for name, title in named.items() if call.get(name))
    if call.get("needs_terminal"):
        yield "a managed policy file asks, so only a person at a terminal may say yes"
    yield f"arguments (digest {call.get('digest')}):"
    yield from (_TEXT + line for line in json.dumps(call.get("arguments"), ensure_ascii=False, indent=2).split("\n"))
