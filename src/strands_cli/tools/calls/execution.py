"""One allowed call carried through: within its time, inside the wrappers of plugins, again with each answer it asks."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from strands_cli.engine.effects.effect import Effect
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.errors import Raised
from strands_cli.events import ToolProgress
from strands_cli.hooks.hook_values import ToolCall
from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor
from strands_cli.tools.calls.agent_of_call import for_call
from strands_cli.tools.calls.calling_contract import Contract, names_of_call, timeout_of
from strands_cli.tools.calls.inner_calls import OpenCall
from strands_cli.tools.calls.interrupts import Asking
from strands_cli.tools.calls.redirects import ConnectionRefusal
from strands_cli.tools.forms.manifest_check import LoadedTool
from strands_cli.tools.forms.output_schema import output_problem
from strands_cli.tools.invocation import Answers, AsksPersonError
from strands_cli.tools.plugin_hooks import through_wrappers
from strands_cli.tools.timeouts import bounded
from strands_cli.tools.tool_results import Result, error_result, printable_value, well_formed

# In the detail of a row: how many calls a tool has made itself.
CALLS = "calls"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call that the permission check has let through.

    Attributes:
        tool_use: `{toolUseId, name, input}` with the arguments as they were validated.
        effect: Its row in the journal.
        refusal: What the tool asks before it goes on to another address.
    """

    tool: LoadedTool
    tool_use: Mapping[str, Any]
    scope: StepScope
    effect: Effect
    state: Mapping[str, Any]
    contract: Contract
    redactor: Redactor = HIDE_NOTHING
    refusal: ConnectionRefusal | None = None

    @property
    def name(self) -> str:
        """The tool's model-facing name."""
        return self.tool.planned.name

    @property
    def arguments(self) -> Any:
        """What the tool is called with."""
        return self.tool_use["input"]

    @property
    def _id(self) -> str:
        return str(self.tool_use["toolUseId"])

    def refused(self, code: str, message: str) -> Result:
        """Return the result of a call that is not made."""
        return error_result(self._id, code, message)

    @property
    def _timeout_s(self) -> float:
        return timeout_of(self.tool.claims)

    async def carry_through(self) -> tuple[Result, dict[str, Any]]:
        """Execute the tool, from its start again with each answer of a person that it asks for on the way.

        Returns:
            The result, and facts for the row: how many calls the tool has made.

        Raises:
            WaitingForPerson: the question has no answer yet.
        """
        asking = Asking(self.tool, self.arguments, self.scope, self.effect, self.redactor)
        refusal = await asking.recall()
        inner = OpenCall(self.scope, self.effect, self.state)
        try:
            while True:
                await self.effect.start()
                if refusal is not None:
                    message = f"{self.name} asked a person and ends here: {refusal}"
                    return self.refused("denied", message), {}
                try:
                    result = await self._carry_out(asking.answers, inner)
                except AsksPersonError as error:
                    refusal = await asking.ask(error.interrupt)
                    continue
                if inner.stopped is None:
                    return result, {CALLS: inner.made} if inner.made else {}
                # A resumed run enters the tool again: the calls that it has made are in the journal.
                await self.effect.wait({"stopped": "in a call that it makes"})
                raise inner.stopped
        finally:
            await inner.close()
            asking.forget()

    async def _carry_out(self, answers: Answers, inner: OpenCall) -> Result:
        """Run the tool, inside what hook plugins put around it."""
        invoke = partial(self._invoke, answers, inner)
        if not self.tool.wrappers:
            return await invoke()
        call = ToolCall(self.name, self.arguments, self.scope.who)
        # The wrappers around the call have as much time again.
        limit = 2 * self._timeout_s
        result = await through_wrappers(self.tool.wrappers, call, invoke, self._id, limit, inner.elsewhere)
        return self._fitting(result)

    async def _invoke(self, answers: Answers, inner: OpenCall) -> Result:
        """Run the tool within its time, and make its answer a well-formed result."""
        over = threading.Event()
        contract = self._keywords(over)

        def progress(value: Any) -> None:
            if not over.is_set():
                shown = self.redactor.json(printable_value(value))
                self.scope.emit(ToolProgress(self.scope.now(), self.effect.key, self.name, shown))

        # A program's context is where a tool of the SDK expects what `agent(prompt, user_id=...)` passes.
        state = for_call({**self.contract.context, **self.state, "strands_cli": contract}, inner)
        try:
            with inner.entered():
                answer = await bounded(
                    lambda: self.tool.raw.invoke(self.tool_use, state, progress, answers),
                    self._timeout_s,
                    inner.elsewhere,
                )
        except TimeoutError:
            return error_result(self._id, "timeout", f"no answer within {self._timeout_s:g} s", retryable=True)
        finally:
            over.set()
        if isinstance(answer, Raised) and isinstance(answer.error, AsksPersonError):
            raise answer.error
        if isinstance(answer, Raised):
            return _raised(answer.error, self._id)
        structured = answer.get("structuredContent") if isinstance(answer, Mapping) else None
        return self._fitting(well_formed(answer, self._id), structured)

    def _keywords(self, over: threading.Event) -> dict[str, Any]:
        planned = self.tool.planned
        declared = planned.secrets(self.tool.claims)
        deadline = self.scope.monotonic() + self._timeout_s
        call = {**names_of_call(self.scope.run_id, self.effect.key), "connection_refusal": self.refusal}
        return {**self.contract.keywords(planned.config, deadline, over, declared), **call}

    def _fitting(self, result: Result, structured: Any = None) -> Result:
        """Return the result, or an error where it is not what the tool's output schema promises."""
        problem = output_problem(self.tool.output_schema, result, self.redactor, structured)
        return result if problem is None else error_result(self._id, "invalid_output", problem)


def _raised(error: BaseException, tool_use_id: str) -> Result:
    """Return the error result for what a tool raised."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - even __str__ is foreign code
        message = "(its message cannot be read)"
    return error_result(tool_use_id, "tool_failed", f"{type(error).__name__}: {message}".removesuffix(": "))
