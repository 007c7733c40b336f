"""The questions that a tool raises in the middle of its work (`ToolContext.interrupt`), put to a person one by one."""

from __future__ import annotations

import json
from typing import Any

from strands.interrupt import Interrupt

from strands_cli.engine.effects.effect import Effect
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.engine.journal.journal_rows import Question
from strands_cli.secrets.redactor import Redactor
from strands_cli.texts.canonical_json import digest_of
from strands_cli.texts.phrases import shortened
from strands_cli.tools.forms.manifest_check import LoadedTool
from strands_cli.tools.tool_results import storable_value

MAX_PROMPT = 1000


class Asking:
    """One call's questions; while one is open the call's row waits, and the tool is entered again with its answer.

    Attributes:
        answers: What was answered so far, by the question's name.
    """

    def __init__(self, tool: LoadedTool, arguments: Any, scope: StepScope, effect: Effect, redactor: Redactor) -> None:
        self.answers: dict[str, Any] = {}
        self._tool = tool.planned
        self._arguments = arguments
        self._scope = scope
        self._effect = effect
        self._redactor = redactor
        self._asked: list[dict[str, Any]] = []
        self._handed: dict[str, Interrupt] = {}

    async def recall(self) -> str | None:
        """Take up the questions that the call had raised when an earlier process left it waiting.

        Returns:
            Why the call ends here, or None: then all of them are answered.

        Raises:
            WaitingForPerson: one of them still waits.
        """
        for asked in self._effect.waits_for.get("asked", ()):
            if (refusal := await self._put(asked)) is not None:
                return refusal
        return None

    async def ask(self, interrupt: Interrupt) -> str | None:
        """Put a question that the tool has raised; the row of the call waits meanwhile, however the process ends.

        Returns:
            Why the call ends here, or None: then the tool is called again.

        Raises:
            WaitingForPerson: it has no answer yet.
        """
        name = str(interrupt.name)
        if name in self.answers:
            return self._hand(interrupt)
        reason = self._redactor.json(storable_value(interrupt.reason))
        await self._effect.wait({"asked": [*self._asked, {"name": name, "reason": reason}]})
        refusal = await self._put({"name": name, "reason": reason})
        return self._hand(interrupt) if refusal is None else refusal

    def _hand(self, interrupt: Interrupt) -> str | None:
        """Leave the answer also where a context that is not ours looks for it: on the question itself, once."""
        name = str(interrupt.name)
        if name in self._handed:
            return f"it asks {name!r} again, which has been answered"
        interrupt.response = self.answers[name]
        self._handed[name] = interrupt
        return None

    def forget(self) -> None:
        """Take back what was handed: another call, even of the same id, is to ask for itself."""
        for interrupt in self._handed.values():
            interrupt.response = None

    async def _put(self, asked: dict[str, Any]) -> str | None:
        name = asked["name"]
        question = self._question(asked)
        self._asked.append(asked)
        bound_to = {"tool": self._tool.name, "arguments": digest_of(self._arguments), "asks": name}
        answer = await self._scope.ask(question, bound_to)
        if answer.reason is not None:
            return f"refused by {answer.by}" + (f": {answer.reason}" if answer.reason else "")
        self.answers[name] = answer.text
        return None

    def _question(self, asked: dict[str, Any]) -> Question:
        name, reason = asked["name"], asked["reason"]
        prompt = reason if isinstance(reason, str) and reason else name
        more = "" if reason is None or isinstance(reason, str) else json.dumps(reason, ensure_ascii=False, indent=2)
        who = f"{self._tool.name} of {self._tool.distribution}, called by {self._scope.who}, asks"
        return Question(
            key=f"{self._effect.key}/interrupt.{len(self._asked)}",
            kind="interrupt",
            prompt=shortened(self._redactor.text(f"{who}: {prompt}"), MAX_PROMPT),
            context=more,
        )
