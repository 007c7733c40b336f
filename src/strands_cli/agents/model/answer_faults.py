"""Faulty answers: cut off, refused, empty, or from something else than the provider's interface."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any

from strands_cli.tools.messages.message_json import text_in

MALFORMED = "the model wrote a call of a tool that cannot be read"
FILTERED = "the provider withheld the answer"
FAILED = "the provider could not finish the answer"
# The meanings of all providers' stop reasons that end a turn without an answer, by a part of their names, and whether
# the same request may succeed. The first match counts. https://ai.google.dev/api/generate-content#FinishReason
# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html
# https://openrouter.ai/docs/api-reference/overview, https://api-docs.deepseek.com/api/create-chat-completion
_STOPS: tuple[tuple[str, str, bool], ...] = (
    ("malformed", MALFORMED, True),
    ("unexpected_tool", MALFORMED, True),
    ("too_many_tool", MALFORMED, True),
    ("missing_thought", FAILED, True),
    ("context_window", "the conversation is longer than the model reads", False),
    ("recitation", FILTERED, True),
    ("refus", "the model refused", False),
    ("safety", FILTERED, False),
    ("filter", FILTERED, False),
    ("guardrail", FILTERED, False),
    ("blocklist", FILTERED, False),
    ("blocked", FILTERED, False),
    ("prohibited", FILTERED, False),
    ("sensitive", FILTERED, False),
    ("spii", FILTERED, False),
    ("error", FAILED, True),
    ("insufficient_system", FAILED, True),
    ("abort", FAILED, True),
    ("cancel", FAILED, True),
    ("fail", FAILED, True),
    ("timeout", FAILED, True),
    ("time_limit", FAILED, True),
    ("overload", FAILED, True),
    ("unavailable", FAILED, True),
    ("other", FAILED, True),
    ("language", "the model does not answer in this language", False),
)
DESCRIBE = "change the prompt, or choose another model"
EMPTY = "the model's answer is empty"
# A turn may end so without a word of its own: names of the SDK and of services.
_ENDS = frozenset(
    {"end_turn", "stop_sequence", "stop", "STOP", "tool_use", "tool_calls", "max_tokens", "MAX_TOKENS", "length", "eos"}
)
# Those and other reasons of services that end a turn as it should, in small letters.
_ORDINARY = frozenset(one.lower() for one in _ENDS) | frozenset(
    {"stopsequence", "function_call", "max_output_tokens", "model_length", "eos_token", "complete", "completed"}
    | {"done", "load", "unload", "pause_turn", "finish_reason_stop", "incomplete", "finish_reason_max_tokens"}
)
_HEARD: ContextVar[list[str] | None] = ContextVar("heard", default=None)


class AnswerFault(Exception):
    """A provider's server answered, and the answer cannot be used.

    Attributes:
        message: The fault, in one sentence without the model's name.
        fix: The remedy.
        is_temporary: Whether the same request may soon succeed.
        is_of_model: Whether the model, and not its server, is the cause.
    """

    def __init__(
        self, message: str, fix: str | None = None, *, is_temporary: bool = False, is_of_model: bool = False
    ) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.is_temporary = is_temporary
        self.is_of_model = is_of_model


def cut_off(where: str = "") -> AnswerFault:
    """Return the fault of a stream that ended before the answer did."""
    subject = f"the answer of {where} ended" if where else "the answer ended"
    fix = "run again: the connection or a proxy in between cut the answer off"
    return AnswerFault(f"{subject} before it was complete", fix, is_temporary=True)


def unfinished(reason: str) -> AnswerFault:
    """Return the fault of an answer that its server calls unfinished."""
    return AnswerFault(f"{FAILED} ({reason})", "run again, or choose another model", is_temporary=True)


def fault_of_stop(reason: str, text: str = "") -> AnswerFault | None:
    """Return the fault that a provider's stop reason names, or None for an ordinary end.

    Args:
        reason: As the provider or the SDK writes it.
        text: The words of the provider or the model about it.
    """
    normal = reason.lower().replace("-", "_")
    stop = next((candidate for candidate in _STOPS if candidate[0] in normal), None)
    if stop is None:
        return None
    _, meaning, is_temporary = stop
    fix = "run again, or choose another model" if is_temporary else DESCRIBE
    message, is_of_model = f"{meaning} ({reason})" + (f": {text}" if text else ""), meaning != FAILED
    return AnswerFault(message, fix, is_temporary=is_temporary, is_of_model=is_of_model)


def fault_of_turn(events: Sequence[Mapping[str, Any]], *, may_be_empty: bool) -> AnswerFault | None:
    """Return why the events of a whole turn are not an answer, or None.

    Args:
        events: The SDK's stream events in the journal's form.
        may_be_empty: Whether the turn may have neither text nor a call.
    """
    stop = next((event["messageStop"].get("stopReason") for event in events if "messageStop" in event), None)
    if stop is None or _has_open_call(events):
        return cut_off()
    if (fault := fault_of_stop(str(stop))) is not None:
        return fault
    if may_be_empty or stop == "max_tokens" or _has_content(events):
        return None
    reasons_heard = _HEARD.get()
    reason = next((stop_reason for stop_reason in (stop, *(reasons_heard or ())) if stop_reason not in _ENDS), None)
    if reason is not None:
        message = f"the model ended without an answer ({reason})"
        return AnswerFault(message, DESCRIBE, is_temporary=True, is_of_model=True)
    if any("reasoningContent" in event.get("contentBlockDelta", {}).get("delta", {}) for event in events):
        fix = "lower its effort of reasoning, or run again"
        return AnswerFault(f"{EMPTY}: it has only thoughts", fix, is_temporary=True, is_of_model=True)
    fix = "describe the answer in its prompt, or choose another model"
    return AnswerFault(EMPTY, fix, is_temporary=True, is_of_model=True)


def unknown_end(events: Sequence[Mapping[str, Any]]) -> str | None:
    """Return a server's reason for the end of a used turn, if it is an unknown one."""
    stops = [str(event["messageStop"].get("stopReason")) for event in events if "messageStop" in event]
    return next((stop for stop in (*stops, *(_HEARD.get() or ())) if stop.lower() not in _ORDINARY), None)


def hear_reasons() -> None:
    """Let `fault_of_turn` know the reasons with which servers end the answers read from now on.

    The SDK's classes make an ordinary end of a reason that they do not know.
    """
    _HEARD.set([])


def tell_reason(reason: str) -> None:
    """Take the reason with which a server has ended an answer."""
    if (reasons := _HEARD.get()) is not None:
        reasons.append(reason)


def is_unfinished(events: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a turn that an earlier process recorded made its step fail, or can only do so."""
    stop = next((event["messageStop"].get("stopReason") for event in events if "messageStop" in event), None)
    return stop == "max_tokens" or fault_of_turn(events, may_be_empty=True) is not None


def _has_open_call(events: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a call of a tool began and did not end."""
    is_open = False
    for event in events:
        if "contentBlockStart" in event:
            is_open = bool(event["contentBlockStart"].get("start", {}).get("toolUse"))
        elif "contentBlockStop" in event:
            is_open = False
    return is_open


def _has_content(events: Sequence[Mapping[str, Any]]) -> bool:
    return any(_calls(events)) or bool("".join(map(text_in, events)).strip())


def _calls(events: Sequence[Mapping[str, Any]]) -> Iterator[Any]:
    return (event for event in events if event.get("contentBlockStart", {}).get("start", {}).get("toolUse"))
