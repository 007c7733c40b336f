"""One allowed call carried through: within its time, inside the wrappers of plugins, again with each answer it asks."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from strands.interrupt import Interrupt

from strands_cli.engine.effects.effect import Effect
from strands_cli.engine.effects.step_scope import StepScope
from strands_cli.engine.journal.journal_rows import Question
from strands_cli.errors import RaisedException
from strands_cli.events import ToolProgress
from strands_cli.hooks.hook_values import ToolCall
from strands_cli.policy.decision import decide, speaking_rules
from strands_cli.policy.rule import Request, Rule, kinds_of_argument
from strands_cli.secrets.redactor import HIDE_NOTHING, Redactor
from strands_cli.texts.canonical_json import digest_of
from strands_cli.texts.phrases import shortened
from strands_cli.tools.calls.calling_contract import Contract, names_of_call, timeout_of
from strands_cli.tools.calls.inner_calls import OpenCall, for_call
from strands_cli.tools.invocation import Answers, AsksPersonError
from strands_cli.tools.manifest_check import LoadedTool
from strands_cli.tools.plugin_hooks import through_wrappers
from strands_cli.tools.timeouts import bounded
from strands_cli.tools.tool_forms import output_problem
from strands_cli.tools.tool_results import Result, error_result, printable_value, storable_value, well_formed
from strands_cli.workflow.gate_answers import answer_words, read_answer

# The questions that a tool raises in the middle of its work (`ToolContext.interrupt`), put to a person one by one.


MAX_PROMPT = 1000


class CallQuestions:
    """One call's questions; while one is open the call's row waits, and the tool is entered again with its answer.

    Attributes:
        answers: The answers so far, by the question's name.
    """

    def __init__(self, tool: LoadedTool, arguments: Any, scope: StepScope, effect: Effect, redactor: Redactor) -> None:
        self.answers: dict[str, Any] = {}
        self._tool = tool.planned
        self._arguments = arguments
        self._scope = scope
        self._effect = effect
        self._redactor = redactor
        self._questions: list[dict[str, Any]] = []
        self._handed: dict[str, Interrupt] = {}

    async def recall(self) -> str | None:
        """Take up the questions that the call had raised when an earlier process left it waiting.

        Returns:
            Why the call ends here, or None: then all of them are answered.

        Raises:
            WaitingForPerson: one of them still waits.
        """
        for question in self._effect.waits_for.get("asked", ()):
            if (refusal := await self._put(question)) is not None:
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
        await self._effect.wait({"asked": [*self._questions, {"name": name, "reason": reason}]})
        refusal = await self._put({"name": name, "reason": reason})
        return self._hand(interrupt) if refusal is None else refusal

    def _hand(self, interrupt: Interrupt) -> str | None:
        """Leave the answer also where a foreign context looks for it: on the question itself, once."""
        name = str(interrupt.name)
        if name in self._handed:
            return f"it asks {name!r} again, which has been answered"
        interrupt.response = self.answers[name]
        self._handed[name] = interrupt
        return None

    def forget(self) -> None:
        """Take the answers back: another call, even of the same id, is to ask for itself."""
        for interrupt in self._handed.values():
            interrupt.response = None

    async def _put(self, fields: dict[str, Any]) -> str | None:
        name = fields["name"]
        question = self._question(fields)
        self._questions.append(fields)
        bound_to = {"tool": self._tool.name, "arguments": digest_of(self._arguments), "asks": name}
        answer = await self._scope.ask(question, bound_to)
        if answer.reason is not None:
            return f"refused by {answer.by}" + (f": {answer.reason}" if answer.reason else "")
        self.answers[name] = answer.text if question.schema is None else read_answer(answer.text, question.schema)[1]
        return None

    def _question(self, fields: dict[str, Any]) -> Question:
        name, reason = fields["name"], fields["reason"]
        prompt = reason if isinstance(reason, str) and reason else name
        more = "" if reason is None or isinstance(reason, str) else json.dumps(reason, ensure_ascii=False, indent=2)
        who = f"{self._tool.name} of {self._tool.distribution}, called by {self._scope.who}, asks"
        schema = reason.get("answer") if isinstance(reason, Mapping) else None
        schema = schema if isinstance(schema, Mapping) and schema.keys() & {"type", "enum"} else None
        return Question(
            key=f"{self._effect.key}/interrupt.{len(self._questions)}",
            kind="interrupt",
            prompt=shortened(self._redactor.text(f"{who}: {prompt}"), MAX_PROMPT),
            context=more,
            schema=schema,
            words=answer_words(schema),
            only_words=bool(answer_words(schema)),
        )


# Policy on the addresses that a call goes on to by itself: the rules on its own address hold for each.


# Takes an address and returns why the call must not go on there; None if it may.
ConnectionRefusal = Callable[[str], str | None]


def connection_refusal(rules: Sequence[Rule], request: Request) -> ConnectionRefusal:
    """Return the check of a tool before it follows a redirect.

    A rule that asks refuses too, unless it has asked about the call itself: a person cannot be asked in the middle of
    a call, and the model can name the address in a call of its own.
    """
    asking_rules = speaking_rules(rules, request)

    def refusal(url: str) -> str | None:
        decision = decide(rules, _at(request, url))
        if decision.effect == "deny":
            return decision.rule
        if decision.effect == "ask" and decision.by is not None and decision.by not in asking_rules:
            return f"a person has to be asked first ({decision.rule})"
        return None

    return refusal


def _at(request: Request, url: str) -> Request:
    """Return a call as if it had named this address."""
    arguments = request.arguments or {}
    moved = {name: url for name in arguments if "url" in kinds_of_argument(request, name)}
    # In a declared resource, braces name an argument.
    address = url.replace("{", "%7B").replace("}", "%7D")
    declared = request.claims.get("resources")
    others = {key: value for key, value in declared.items() if key != "connects"} if isinstance(declared, dict) else {}
    claims = {**request.claims, "resources": {**others, "connects": [f"url:{address}"]}}
    return replace(request, arguments={**arguments, **moved}, claims=claims)


# In the detail of a row: how many calls a tool has made itself.
CALLS = "calls"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call that the permission check has let through.

    Attributes:
        tool_use: `{toolUseId, name, input}` with the validated arguments.
        effect: Its row in the journal.
        refusal: The check that the tool calls before it goes on to another address.
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
        """The arguments of the call."""
        return self.tool_use["input"]

    @property
    def _id(self) -> str:
        return str(self.tool_use["toolUseId"])

    def refused(self, code: str, message: str) -> Result:
        """Return the result of a refused call."""
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
        asking = CallQuestions(self.tool, self.arguments, self.scope, self.effect, self.redactor)
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
        """Run the tool, inside the wrappers of hook plugins."""
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
                progress_value = self.redactor.json(printable_value(value))
                self.scope.emit(ToolProgress(self.scope.now(), self.effect.key, self.name, progress_value))

        # A program's context is in the place where a tool of the SDK expects the arguments of `agent(prompt,
        # user_id=...)`.
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
        if isinstance(answer, RaisedException) and isinstance(answer.error, AsksPersonError):
            raise answer.error
        if isinstance(answer, RaisedException):
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
        """Return the result, or an error where it does not fit the tool's output schema."""
        problem = output_problem(self.tool.output_schema, result, self.redactor, structured)
        return result if problem is None else error_result(self._id, "invalid_output", problem)


def _raised(error: BaseException, tool_use_id: str) -> Result:
    """Return the error result for an exception of a tool."""
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - even __str__ is foreign code
        message = "(its message cannot be read)"
    return error_result(tool_use_id, "tool_failed", f"{type(error).__name__}: {message}".removesuffix(": "))
