from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from strands_cli.errors import NotEquipped, has_errors
from strands_cli.planning.build import require_runnable
from strands_cli.spec.model import CallStep, Chain, WorkflowSpec
from tests.fakes.plans import chain_of, found, plan_of

# Every field that a chain may have, and what becomes of it. A field that is added to the format must be added here,
# to one of the three: that it acts, that it is for people, or an example for which planning says that it does not act.
ACTS = {
    "name", "runtime.provider", "runtime.model_id", "runtime.region", "runtime.host", "runtime.temperature",
    "runtime.top_p", "runtime.max_tokens", "runtime.options", "runtime.recording", "runtime.budgets.max_steps",
    "runtime.budgets.max_tokens", "runtime.budgets.max_model_calls", "runtime.budgets.max_tool_calls",
    "runtime.budgets.max_cost_usd", "runtime.failure_policy.retries", "runtime.failure_policy.backoff",
    "runtime.failure_policy.wait_min", "runtime.failure_policy.wait_max", "agents.limits.turns", "agents.limits.tokens",
    "agents.limits.tool_calls", "agents.limits.cost_usd", "agents.limits.duration_s",
    "agents.budgets.max_duration_s", "agents.budgets.max_steps", "agents.budgets.max_tokens",
    "agents.budgets.max_model_calls", "agents.budgets.max_tool_calls", "agents.budgets.max_cost_usd",
    "runtime.budgets.max_duration_s", "runtime.budgets.warn_threshold",
    "inputs.required.type", "inputs.required.default", "inputs.required.enum", "inputs.optional.type",
    "inputs.optional.default", "inputs.optional.enum", "inputs.values", "env.mounts", "env.secrets.key",
    "env.secrets.name", "env.secrets.path",
    "tools.python.tool", "tools.python.config", "tools.python.as_", "tools.python_path",
    "agents.prompt", "agents.ref", "agents.tools.tool", "agents.tools.config", "agents.tools.as_", "agents.provider",
    "agents.model_id", "agents.inference.temperature", "agents.inference.top_p", "agents.inference.max_tokens",
    "pattern.type", "pattern.config.steps.agent", "pattern.config.steps.input", "pattern.config.steps.vars",
    "pattern.config.steps.tool_overrides.tool", "pattern.config.steps.tool_overrides.config",
    "pattern.config.steps.tool_overrides.as_", "pattern.config.steps.type", "pattern.config.steps.prompt",
    "pattern.config.steps.context_display", "pattern.config.steps.default", "pattern.config.steps.timeout_seconds",
    "pattern.config.steps.validation.pattern", "pattern.config.steps.tool",
    "context_policy.compaction.enabled", "context_policy.compaction.when_tokens_over",
    "context_policy.compaction.summary_ratio", "context_policy.compaction.preserve_recent_messages",
    "context_policy.compaction.summarization_model", "context_policy.window.max_messages",
    "context_policy.notes.file", "context_policy.notes.include_last",
    "context_policy.notes.format", "agents.memory", "agents.input_schema", "agents.output_schema",
    "runtime.max_parallel",
    "outputs.artifacts.path", "outputs.artifacts.from_", "security.guardrails.allow_tools",
    "security.permissions.ask", "security.permissions.deny",
}  # fmt: skip
FOR_PEOPLE = {
    "version", "description", "tags", "metadata.name", "metadata.description", "metadata.labels",
    "inputs.required.description", "inputs.optional.description",
}  # fmt: skip
NOT_YET = {
    "env.secrets.source": ("env: {secrets: [{key: TOKEN, source: ssm}]}", "error"),
    "telemetry.otel": ("telemetry: {otel: {}}", "warning"),
    "telemetry.redact": ("telemetry: {redact: {tool_outputs: true}}", "warning"),
    "context_policy.retrieval": ("context_policy: {retrieval: {jit_tools: [x]}}", "warning"),
    "skills": ("skills: [{id: s, path: s}]", "error"),
    "tools.mcp": ("tools: {mcp: [{id: s, command: x}]}", "error"),
    "tools.http_executors": ("tools: {http_executors: [{id: h, base_url: 'https://x'}]}", "error"),
    "tools.composite": ("tools: {composite: [{id: c, description: d, steps: [{tool: x}]}]}", "error"),
    "security.guardrails.deny_network": ("security: {guardrails: {deny_network: true}}", "error"),
    "security.guardrails.pii_redaction": ("security: {guardrails: {pii_redaction: true}}", "error"),
}


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from models_in(part)


def fields_of(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """Yield the path of every field below a model; of the patterns only the chain, the one that can run."""
    for name, field in model.model_fields.items():
        path = f"{prefix}{name}"
        inner = [Chain] if path == "pattern" else list(models_in(field.annotation))
        inner += [found for data in field.metadata for found in models_in(data)]
        if not inner:
            yield path
        for one in inner:
            yield from fields_of(one, f"{path}.")


def test_every_field_of_the_format_acts_or_is_said_not_to() -> None:
    known = ACTS | FOR_PEOPLE
    fields = set(fields_of(WorkflowSpec))
    forgotten = {
        field for field in fields - known if not any(field == path or field.startswith(f"{path}.") for path in NOT_YET)
    }
    assert forgotten == set()
    assert known <= fields, "a field that is no longer there"
    assert {path for path in NOT_YET if not any(f == path or f.startswith(f"{path}.") for f in fields)} == set()


def test_the_walk_over_the_format_sees_all_of_it() -> None:
    assert set(CallStep.model_fields) == {"tool", "input"}
    assert len(set(fields_of(WorkflowSpec))) > 110


@pytest.mark.parametrize("path", NOT_YET)
def test_a_part_that_does_not_act_yet_is_found_where_it_stands(path: str) -> None:
    section, severity = NOT_YET[path]
    head = {
        "version": "1",
        "name": "n",
        "runtime": "{provider: openai, model_id: m}",
        "agents": "{writer: {prompt: w}}",
    }
    name, _, value = section.partition(": ")
    text = "".join(f"{key}: {part}\n" for key, part in {**head, name: value}.items())
    plan = plan_of(f"{text}pattern: {{type: chain, config: {{steps: [{{agent: writer, input: x}}]}}}}\n")
    (finding,) = found(plan, "not-yet")
    assert finding.severity == severity
    assert "is not done by this version yet" in finding.message
    assert finding.where is not None
    pointer = finding.where.pointer
    assert pointer.replace("/writer", "").replace("/0/", "/").startswith(f"/{path.replace('.', '/')}")
    assert finding.where.line == [*head, name].index(name) + 1
    assert has_errors(found(plan, "not-yet")) == (severity == "error")
    if severity == "error":
        with pytest.raises(NotEquipped) as raised:
            require_runnable(plan)
        assert raised.value.exit_code == 18
    else:
        require_runnable(plan)


def test_what_is_not_written_is_not_complained_about() -> None:
    assert found(chain_of("- {agent: writer, input: x}"), "not-yet") == []
