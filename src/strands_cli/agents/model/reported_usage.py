"""The tokens that a server has reported before its answer failed: they are paid for, and no client passes them on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from strands_cli.events import Usage

# The names of the counts in the protocols of OpenAI, Anthropic, Gemini and Ollama, which often come more than once.
_READ = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count")
_WRITTEN = ("completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count")
_PLACES = ("usage", "usageMetadata")
_REPORTED: ContextVar[dict[str, int] | None] = ContextVar("reported", default=None)


def hear_usage() -> None:
    """Forget what was reported, and let `reported_usage` know what servers report from now on."""
    _REPORTED.set({})


def tell_usage(event: Mapping[str, Any]) -> None:
    """Take an event, or a whole answer, as a server has sent it."""
    if (reported := _REPORTED.get()) is None:
        return
    for counts in _counts_in(event):
        for kind, names in (("read", _READ), ("written", _WRITTEN)):
            found = [value for name in names if type(value := counts.get(name)) is int]
            reported[kind] = max([reported.get(kind, 0), *found])


def reported_usage() -> Usage:
    """Return the tokens that were reported since `hear_usage`."""
    reported = _REPORTED.get() or {}
    return Usage(input_tokens=reported.get("read", 0), output_tokens=reported.get("written", 0))


def _counts_in(event: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for part in (event, event.get("message"), event.get("response")):
        if isinstance(part, Mapping):
            yield part
            yield from (part[name] for name in _PLACES if isinstance(part.get(name), Mapping))
