"""Tools of the older collection: their consent prompts never appear, since the permission check decides before."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from strands.interrupt import Interrupt

from strands_cli.toolref import LEGACY_PACKAGE
from strands_cli.tools.forms.tool_forms import RawTool
from strands_cli.tools.invocation import NO_ANSWERS, Answers, AsksPersonError, Progress

PROMPTS = f"{LEGACY_PACKAGE}.utils.user_input"
# Its prompts are its work; those of all others ask for consent.
_QUESTIONERS = (f"{LEGACY_PACKAGE}.handoff_to_user",)
_FUNCTIONS = ("get_user_input", "get_user_input_async")
_MARKUP = re.compile(r"</?[a-z_]+>")
# An agent inside a tool calls others past our permission check; no person has approved those calls.
REFUSAL = "n: a call from inside another tool has no approval"


@dataclass(slots=True)
class _Call:
    """The current call: the module that may continue without a question, and the answers of a person in it."""

    module: str
    answers: Answers
    asked: int = field(default=0)


class _InterruptedCall(BaseException):
    """Leaves a tool that catches every `Exception`, so that it can be entered again with the answer."""

    def __init__(self, name: str, prompt: str) -> None:
        super().__init__(prompt)
        self.name = name
        self.prompt = prompt


_under_way: ContextVar[_Call | None] = ContextVar("legacy_call", default=None)


def is_legacy(module: str) -> bool:
    """Return whether a module belongs to the older collection."""
    return module.partition(".")[0] == LEGACY_PACKAGE


@contextmanager
def replaced_prompts(module: str) -> Iterator[None]:
    """Import a module of the collection with its prompts in our hands; others are imported as they are."""
    if not is_legacy(module):
        yield
        return
    if PROMPTS not in sys.modules:
        # In place of the real one, which would import a whole terminal library.
        stand_in = ModuleType(PROMPTS)
        vars(stand_in).update({name: _prompt(name, None) for name in _FUNCTIONS})
        sys.modules[PROMPTS] = stand_in
    yield
    for loaded in [one for name, one in sys.modules.items() if is_legacy(name)]:
        _take(loaded)


def _take(module: ModuleType) -> None:
    """Take the prompts of a module that a program had imported before us; outside our calls they stay as they were."""
    for name in _FUNCTIONS:
        theirs = vars(module).get(name)
        if theirs is not None and not hasattr(theirs, "of_strands_cli"):
            setattr(module, name, _prompt(name, theirs))


def _prompt(name: str, original: Callable[..., Any] | None) -> Callable[..., Any]:
    async def later(answer: str) -> str:
        return answer

    def prompt(prompt: str = "", *args: Any, **kwargs: Any) -> Any:
        if _under_way.get() is None and original is not None:
            return original(prompt, *args, **kwargs)
        answer = _answer(str(sys._getframe(1).f_globals.get("__name__")), prompt)
        return later(answer) if name.endswith("_async") else answer

    prompt.of_strands_cli = True  # type: ignore[attr-defined]
    return prompt


def _answer(module: str, prompt: str) -> str:
    """Return what a prompt gets: a yes for the very tool that the permission check let through, a no for any other."""
    call = _under_way.get()
    if call is None or not f"{module}.".startswith(f"{call.module}."):
        return REFUSAL
    if module not in _QUESTIONERS:
        return "y"
    call.asked += 1
    name = f"prompt {call.asked}"
    if name in call.answers:
        return str(call.answers[name])
    raise _InterruptedCall(name, _MARKUP.sub("", prompt).strip())


def adapted(tools: Sequence[RawTool], module: str) -> list[RawTool]:
    """Return tools whose calls answer their own prompts; those of other modules are returned as they are."""
    return [_adapted(raw, module) for raw in tools] if is_legacy(module) else list(tools)


def _adapted(raw: RawTool, module: str) -> RawTool:
    async def invoke(
        tool_use: Mapping[str, Any], state: Mapping[str, Any], progress: Progress, answers: Answers = NO_ANSWERS, /
    ) -> Any:
        token = _under_way.set(_Call(module, answers))
        try:
            return await raw.invoke(tool_use, state, progress, answers)
        except _InterruptedCall as asked:
            question = Interrupt(f"{tool_use['toolUseId']}/{asked.name}", asked.name, asked.prompt)
            raise AsksPersonError(question) from None
        finally:
            _under_way.reset(token)

    return replace(raw, invoke=invoke)
