"""Calls of the tools that a workflow makes: each part passes the same permission check, below the call's key."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from strands_cli.engine.effects.effect import Effect
from strands_cli.engine.nested_runs import render, run_agent, run_workflow
from strands_cli.engine.ports import AgentRunner, ToolCaller, provider_here
from strands_cli.engine.step_results import StepResult, failure_of
from strands_cli.errors import InvalidAnswer, RunFailed, has_errors, suggest
from strands_cli.planning.plan_values import (
    AgentAsTool,
    Composite,
    InnerCall,
    PlannedTool,
    Skills,
    WorkflowAsTool,
    WorkflowTool,
)
from strands_cli.planning.row_planner import resolve_inputs
from strands_cli.policy.decision import Decision
from strands_cli.secrets.redactor import Redactor
from strands_cli.texts.phrases import first_of, shortened
from strands_cli.tools.manifest_check import LoadedTool
from strands_cli.tools.tool_results import Result, error_of, error_result, size_of, well_formed
from strands_cli.workflow.skill_folders import ENTRY, SkillFolder
from strands_cli.yaml_files.yaml_events import without_front_matter

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer, TracerProvider

    from strands_cli.engine.effects.step_scope import StepScope
    from strands_cli.planning.plan_values import PlannedAgent
    from strands_cli.tools.calls.execution import Attempt
    from strands_cli.tools.tool_loading import Toolbox


# A call in a trace: attributes of the SDK's own span, or of a span of ours where no agent opens one.


MAX_WORD = 200
MAX_LAYERS = 32


@dataclass(frozen=True, slots=True)
class ToolSpan:
    """The span of one call; `is_ours` says that the SDK writes no result on it."""

    span: Span
    is_ours: bool

    def write_arguments(self, arguments: Any, redactor: Redactor) -> None:
        """Write the arguments of the call, and their size."""
        if self.span.is_recording():
            text = _json(redactor.json(arguments))
            self.span.set_attribute("strands_cli.input_bytes", len(text.encode()))
            self._write("gen_ai.tool.call.arguments", "gen_ai.tool.message", "content", text)

    def decided(self, decision: Decision) -> None:
        """Write who allowed or refused it; the rule comes without secrets."""
        self.span.set_attributes({"strands_cli.decision": decision.effect, "strands_cli.rule": decision.rule})

    def finished(self, effect: Effect, result: Result) -> dict[str, Any]:
        """Write how it ended.

        Returns:
            In which engine the tool says that it ran, for the row; empty where it says nothing.
        """
        engine = _engine_in(result)
        if self.span.is_recording():
            self._end(effect, result)
            self.span.set_attributes({f"strands_cli.{word}": value for word, value in engine.items()})
        return engine

    def replayed(self, effect: Effect, result: Result) -> None:
        """Write that the journal answered."""
        if self.span.is_recording():
            self._end(effect, result)
            self.span.set_attribute("strands_cli.replayed", True)

    def _end(self, effect: Effect, result: Result) -> None:
        from opentelemetry.trace import Status, StatusCode

        self.span.set_attribute("strands_cli.key", effect.key)
        self.span.set_attribute("strands_cli.output_bytes", sum(map(size_of, result["content"])))
        self._write("gen_ai.tool.call.result", "gen_ai.choice", "message", _json(result["content"]))
        error = error_of(result)
        if error is not None:
            self.span.set_attribute("strands_cli.error_code", str(error["code"]))
        if self.is_ours:
            self.span.set_attribute("gen_ai.tool.status", result["status"])
            self.span.set_status(Status(StatusCode.OK if error is None else StatusCode.ERROR))

    def _write(self, attribute: str, event: str, field: str, text: str) -> None:
        """Write an input or output where the SDK has it on a span of its own, if its switch removes none."""
        chosen = os.environ.get("OTEL_SEMCONV_STABILITY_OPT_IN", "")
        if not self.is_ours or "gen_ai_unredacted_attributes" in chosen:
            return
        if "gen_ai_latest_experimental" in chosen:
            self.span.set_attribute(attribute, text)
        else:
            self.span.add_event(event, {field: text})


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=lambda _: "<replaced>")


@contextlib.contextmanager
def tool_span(tool: PlannedTool, tool_use_id: str) -> Iterator[ToolSpan]:
    """Give the span of one call: the one that the SDK has opened for it, else one named `tool:<name>`.

    Args:
        tool_use_id: The call's id, which distinguishes the span of another call: a tool may call tools.
    """
    from opentelemetry import trace

    origin = _origin_of(tool)
    current = trace.get_current_span()
    attributes = getattr(current, "attributes", None)
    call = {"gen_ai.tool.name": tool.name, "gen_ai.tool.call.id": tool_use_id}
    if isinstance(attributes, Mapping) and call.items() <= dict(attributes).items():
        current.set_attributes(origin)
        yield ToolSpan(current, is_ours=False)
        return
    span = _tracer_of(provider_here.get() or trace.get_tracer_provider()).start_span(f"tool:{tool.name}")
    if not span.is_recording():
        yield ToolSpan(span, is_ours=True)
        return
    span.set_attributes({"gen_ai.operation.name": "execute_tool", **call, **origin})
    # An exception of a call ends the run and may hold secrets; the end of the run reports it.
    with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        yield ToolSpan(span, is_ours=True)


@functools.lru_cache(maxsize=4)
def _tracer_of(provider: TracerProvider) -> Tracer:
    return provider.get_tracer("strands_cli")


def _origin_of(tool: PlannedTool) -> dict[str, str]:
    version = tool.record.version
    return {"strands_cli.distribution": tool.distribution, **({"strands_cli.version": version} if version else {})}


def _engine_in(result: Result) -> dict[str, Any]:
    """Return the engine that a tool says it ran in, and the layers that were in force."""
    value = next((block["json"] for block in result["content"] if "json" in block), None)
    if not isinstance(value, Mapping) or not isinstance(value.get("engine"), str):
        return {}
    reported: dict[str, Any] = {"engine": shortened(value["engine"], MAX_WORD)}
    layers = value.get("layers")
    if isinstance(layers, Mapping):
        words = [shortened(f"{name}={word}", MAX_WORD) for name, word in layers.items()]
        reported["layers"] = words[:MAX_LAYERS]
    return reported


_SHOWN = 100


class PermissionGate(Protocol):
    """The permission check."""

    async def call(
        self, tool: LoadedTool, tool_use: Mapping[str, Any], scope: StepScope, state: Mapping[str, Any]
    ) -> Result:
        """Make one call."""


@dataclass(frozen=True, slots=True)
class LoadedToolParts:
    """The loaded parts of a workflow's own tools: its tools, and who runs the workflows among them, by file."""

    toolbox: Toolbox
    workflows: Mapping[str, tuple[AgentRunner, ToolCaller]] = field(default_factory=dict)

    async def call(self, attempt: Attempt, check: PermissionGate) -> Result:
        """Make one call that the permission check has let through.

        A failing part ends the call with an error; errors that must stop the run do so. The calls in it are recorded
        below its key.

        Raises:
            StrandsCliError: why the run stops here.
        """
        planned, scope, key = attempt.tool.planned, attempt.scope, attempt.effect.key
        if not isinstance(planned, WorkflowTool):
            raise TypeError(f"{planned.name} is not made in the workflow")
        definition, identity, arguments = planned.definition, str(attempt.tool_use["toolUseId"]), attempt.arguments
        try:
            if isinstance(definition, Composite):
                answer = await self._composite(definition, attempt, check)
            elif isinstance(definition, AgentAsTool):
                answer = await _agent(definition.agent, arguments, scope, key)
            elif isinstance(definition, WorkflowAsTool):
                answer = await self._workflow(definition, arguments, scope, key)
            else:
                answer = load_skill(definition, arguments, identity)
        except InvalidAnswer as error:
            return error_result(identity, "invalid_output", error.message)
        except RunFailed as error:
            return error_result(identity, "tool_failed", error.message)
        return well_formed(answer, identity)

    async def _composite(self, definition: Composite, attempt: Attempt, check: PermissionGate) -> Mapping[str, Any]:
        arguments, scope, key = attempt.arguments, attempt.scope, attempt.effect.key
        inner, result = scope.within(key), dict[str, Any]()
        inner.changes = scope.changes
        names: dict[str, Any] = {"input": arguments, **arguments, "steps": []}
        for number, call in enumerate(definition.calls, 1):
            where = f"step {number} of the tool '{definition.id}'"
            call_input = render(scope, call.input, names, where=where)
            tool_use = {"toolUseId": f"{key}.{number}", "name": call.tool.name, "input": call_input}
            result = await check.call(self.toolbox.single_tool(call.tool), tool_use, inner, attempt.state)
            if inner.stopped is not None:
                raise inner.stopped
            if result["status"] != "success":
                return _stopped_at(where, call, result)
            done = StepResult.of_call(result, call.tool.name, number - 1)
            names |= {"steps": [*names["steps"], done], "last_response": done.response}
            if call.save_as is not None:
                names[call.save_as] = done.response if done.output is None else done.output
        if definition.output is None:
            return result
        return _success(render(scope, definition.output, names, where=f"the output of the tool '{definition.id}'"))

    async def _workflow(
        self, definition: WorkflowAsTool, arguments: Mapping[str, Any], scope: StepScope, key: str
    ) -> Mapping[str, Any]:
        inputs, findings = resolve_inputs(definition.plan.spec.inputs, {}, arguments, definition.document)
        if has_errors(findings):
            return error_result("", "invalid_input", "; ".join(finding.message for finding in findings))
        agents, tools = self.workflows[definition.plan.file]
        names = await run_workflow(scope, key, replace(definition.plan, inputs=inputs), agents, tools)
        response = str(names["last_response"])
        content: list[dict[str, Any]] = [{"text": response or "(no answer)"}]
        value = _json_in(response)
        return {"status": "success", "content": content if value is None else [*content, {"json": value}]}


async def _agent(agent: PlannedAgent, arguments: Mapping[str, Any], scope: StepScope, key: str) -> Mapping[str, Any]:
    answer = await run_agent(scope, key, agent.id, prompt_of(agent, arguments))
    return _success(answer.response if answer.output is None else answer.output)


def prompt_of(agent: PlannedAgent, arguments: Mapping[str, Any]) -> str:
    """Return the prompt of a call of an agent: the object that its `input_schema` describes, else the text `input`."""
    schema = agent.input_schema
    is_object = schema is not None and (schema.get("type") == "object" or "properties" in schema)
    value = arguments if is_object else arguments["input"]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _stopped_at(where: str, call: InnerCall, result: Mapping[str, Any]) -> Result:
    failure = failure_of(result)
    message = failure.reason if failure else ""
    error = error_of(result) or {"code": "tool_failed", "message": message, "retryable": False}
    details = {"tool": call.tool.name, "error": dict(error)}
    message = f"{where}, {call.tool.name}, failed: {error['message']}"
    return error_result("", error["code"], message, retryable=error.get("retryable") is True, details=details)


def _success(value: Any) -> dict[str, Any]:
    """Return a value as a result: text as text, anything else as JSON."""
    return {"status": "success", "content": [{"text": value} if isinstance(value, str) else {"json": value}]}


def _json_in(text: str) -> Any:
    """Return the JSON object or list that a text is, or None."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value if isinstance(value, (dict, list)) else None


def load_skill(skills: Skills, arguments: Mapping[str, Any], identity: str) -> Result:
    """Return a text of a skill, or in an error which there are; nothing is opened, so no path leads anywhere else.

    Args:
        arguments: `skill_id`, and perhaps `file`, a path inside the folder.
    """
    folder = next(folder for folder in skills.folders if folder.id == arguments["skill_id"])
    name = posixpath.normpath(str(arguments.get("file", ENTRY)).replace("\\", "/"))
    if name.startswith(("/", "..")):
        message = f"the files of the skill '{folder.id}' are named by paths inside its folder, without '..'"
        return error_result(identity, "invalid_input", message, details={"reason": "outside"})
    if name not in folder.texts:
        others = suggest(name, folder.texts, f"it has: {_listed(folder)}")
        message = f"the skill '{folder.id}' has no text {name!r}; {others}"
        return error_result(identity, "invalid_input", message, details={"reason": "unknown-file"})
    text = folder.texts[name]
    if name == ENTRY:
        text = without_front_matter(text).strip("\n")
        if len(folder.texts) > 1:
            text += f"\n\nFiles of this skill, which `file` names: {_listed(folder)}"
    return {"toolUseId": identity, "status": "success", "content": [{"text": text or "(empty)"}]}


def _listed(folder: SkillFolder) -> str:
    names = [name for name in folder.texts if name != ENTRY]
    return first_of(names, _SHOWN) or ENTRY
