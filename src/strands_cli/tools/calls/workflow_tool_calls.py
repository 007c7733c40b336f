"""Calls of the tools that a workflow makes: each part passes the same permission check, below the call's key."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from strands_cli.engine.nested_runs import render, run_agent, run_workflow
from strands_cli.engine.ports.engine_ports import AgentRunner, ToolCaller
from strands_cli.engine.step_results import StepResult, failure_of
from strands_cli.errors import InvalidAnswer, RunFailed, has_errors, suggest
from strands_cli.planning.plan.plan_values import (
    AgentAsTool,
    Composite,
    InnerCall,
    Skills,
    WorkflowAsTool,
    WorkflowTool,
)
from strands_cli.planning.run_inputs import resolve_inputs
from strands_cli.texts.phrases import first_of
from strands_cli.tools.forms.manifest_check import LoadedTool
from strands_cli.tools.tool_results import Result, error_of, error_result, well_formed
from strands_cli.workflow.files.project_files import ENTRY
from strands_cli.workflow.files.skill_folders import SkillFolder
from strands_cli.yaml_files.front_matter import without_front_matter

if TYPE_CHECKING:
    from strands_cli.engine.effects.step_scope import StepScope
    from strands_cli.planning.plan.plan_values import PlannedAgent
    from strands_cli.tools.calls.execution import Attempt
    from strands_cli.tools.loading.tool_loading import Toolbox

_SHOWN = 100


class Passes(Protocol):
    """The permission check."""

    async def call(
        self, tool: LoadedTool, tool_use: Mapping[str, Any], scope: StepScope, state: Mapping[str, Any]
    ) -> Result:
        """Make one call."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a workflow's own tools are made of, loaded: its tools, and who runs the workflows among them, by file."""

    toolbox: Toolbox
    workflows: Mapping[str, tuple[AgentRunner, ToolCaller]] = field(default_factory=dict)

    async def call(self, attempt: Attempt, check: Passes) -> Result:
        """Make one call that the permission check has let through.

        A part that fails ends the call with an error; what must stop the run does so. What happens in it is recorded
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

    async def _composite(self, definition: Composite, attempt: Attempt, check: Passes) -> Mapping[str, Any]:
        arguments, scope, key = attempt.arguments, attempt.scope, attempt.effect.key
        inner, result = scope.within(key), dict[str, Any]()
        inner.changes = scope.changes
        names: dict[str, Any] = {"input": arguments, **arguments, "steps": []}
        for number, call in enumerate(definition.calls, 1):
            where = f"step {number} of the tool '{definition.id}'"
            call_input = render(scope, call.input, names, where=where)
            tool_use = {"toolUseId": f"{key}.{number}", "name": call.tool.name, "input": call_input}
            result = await check.call(self.toolbox.one(call.tool), tool_use, inner, attempt.state)
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
    folder = next(one for one in skills.folders if one.id == arguments["skill_id"])
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
