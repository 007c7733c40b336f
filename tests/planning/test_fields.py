from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel

from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.patterns.chain import Chain
from strands_cli.workflow.steps import CallStep

# Every field that a chain may have. A field that is added to the format must be added to those that act, where
# `tests/covers` shows what it does, or to those that are there for people.
ACTS = {
    "name",
    "runtime.provider",
    "runtime.model_id",
    "runtime.region",
    "runtime.host",
    "runtime.temperature",
    "runtime.top_p",
    "runtime.max_tokens",
    "runtime.options",
    "runtime.recording",
    *(
        f"{section}.models.{name}"
        for section in ("runtime", "agents")
        for name in ("model", "provider", "model_id", "region", "host", "temperature", "top_p", "max_tokens", "options")
    ),
    "runtime.models.on",
    "agents.models.on",
    "runtime.budgets.max_steps",
    "runtime.budgets.max_tokens",
    "runtime.budgets.max_model_calls",
    "runtime.budgets.max_tool_calls",
    "runtime.budgets.max_cost_usd",
    "runtime.failure_policy.retries",
    "runtime.failure_policy.backoff",
    "runtime.failure_policy.wait_min",
    "runtime.failure_policy.wait_max",
    "agents.limits.turns",
    "agents.limits.tokens",
    "agents.limits.tool_calls",
    "agents.limits.cost_usd",
    "agents.limits.duration_s",
    *(f"{place}.{key}" for place in ("runtime", "agents") for key in ("loops.hint_after", "loops.stop_after")),
    *(f"{place}.tools_shown" for place in ("runtime", "agents")),
    "agents.budgets.max_duration_s",
    "agents.budgets.max_steps",
    "agents.budgets.max_tokens",
    "agents.budgets.max_model_calls",
    "agents.budgets.max_tool_calls",
    "agents.budgets.max_cost_usd",
    "runtime.budgets.max_duration_s",
    "runtime.budgets.warn_threshold",
    "inputs.required.type",
    "inputs.required.default",
    "inputs.required.enum",
    "inputs.optional.type",
    "inputs.optional.default",
    "inputs.optional.enum",
    "inputs.values",
    "inputs.keep_texts",
    "inputs.absent",
    "inputs.allow_undeclared",
    "env.take_variables",
    "context_policy.memory",
    "context_policy.prompt_end",
    "context_policy.skills_in_prompts",
    "context_policy.retrieval.replaces_tools",
    "tools.mcp_folder",
    "agents.input_schema_for",
    "outputs.plain_paths",
    "rendering.completed",
    "rendering.control_characters",
    "env.mounts",
    "env.secrets.key",
    "env.secrets.name",
    "env.secrets.path",
    "tools.http_executors.id",
    "tools.http_executors.base_url",
    "tools.http_executors.headers",
    "tools.http_executors.auth.type",
    "tools.http_executors.auth.token",
    "tools.http_executors.auth.username",
    "tools.http_executors.auth.password",
    "tools.http_executors.auth.name",
    "tools.http_executors.auth.value",
    "tools.http_executors.timeout_ms",
    "tools.http_executors.description",
    "tools.http_executors.examples",
    "tools.http_executors.common_endpoints",
    "tools.http_executors.response_format",
    "tools.http_executors.authentication_info",
    "tools.mcp.id",
    "tools.mcp.command",
    "tools.mcp.args",
    "tools.mcp.env",
    "tools.mcp.url",
    "tools.mcp.headers",
    "tools.mcp.prefix",
    "tools.mcp.proxy",
    "tools.mcp.allow_private",
    "tools.mcp.startup_timeout",
    "tools.mcp.tools.allow",
    "tools.mcp.tools.deny",
    "context_policy.retrieval.mcp_servers",
    "context_policy.retrieval.jit_tools",
    "env.secrets.source",
    "skills.id",
    "skills.path",
    "skills.description",
    "skills.preload_metadata",
    "tools.composite.id",
    "tools.composite.description",
    "tools.composite.input_schema",
    "tools.composite.steps.tool",
    "tools.composite.steps.input",
    "tools.composite.steps.save_as",
    "tools.composite.output",
    "tools.python.tool",
    "tools.python.config",
    "tools.python.as_",
    "tools.python_path",
    "agents.prompt",
    "agents.ref",
    "agents.tools.tool",
    "agents.tools.config",
    "agents.tools.as_",
    "agents.provider",
    "agents.model_id",
    "agents.inference.temperature",
    "agents.inference.top_p",
    "agents.inference.max_tokens",
    "pattern.type",
    "pattern.config.steps.agent",
    "pattern.config.steps.input",
    "pattern.config.steps.vars",
    "pattern.config.steps.attachments.path",
    "pattern.config.steps.attachments.type",
    "pattern.config.steps.tool_overrides.tool",
    "pattern.config.steps.tool_overrides.config",
    "pattern.config.steps.tool_overrides.as_",
    "pattern.config.steps.type",
    "pattern.config.steps.prompt",
    "pattern.config.steps.context_display",
    "pattern.config.steps.default",
    "pattern.config.steps.timeout_seconds",
    "pattern.config.steps.validation.pattern",
    *(f"pattern.config.steps.{name}" for name in ("answer", "approvers", "expires", "on_expiry", "delegate")),
    "pattern.config.steps.tool",
    "pattern.config.steps.on_error",
    "context_policy.compaction.enabled",
    "context_policy.compaction.when_tokens_over",
    "context_policy.compaction.summary_ratio",
    "context_policy.compaction.preserve_recent_messages",
    "context_policy.compaction.summarization_model",
    "context_policy.window.max_messages",
    "context_policy.notes.file",
    "context_policy.notes.include_last",
    "context_policy.notes.format",
    "agents.memory",
    "agents.skills",
    "agents.input_schema",
    "agents.output_schema",
    "runtime.max_parallel",
    "telemetry.otel.endpoint",
    "telemetry.otel.service_name",
    "telemetry.otel.sample_ratio",
    "telemetry.redact.tool_inputs",
    "telemetry.redact.pii",
    "telemetry.redact.custom_patterns",
    "telemetry.redact.tool_outputs",
    "outputs.overwrite",
    "outputs.artifacts.path",
    "outputs.artifacts.from_",
    "security.guardrails.allow_tools",
    "security.guardrails.deny_network",
    "security.guardrails.pii_redaction",
    "security.permissions.ask",
    "security.permissions.deny",
}
FOR_PEOPLE = {
    "version",
    "description",
    "tags",
    "metadata.name",
    "metadata.description",
    "metadata.labels",
    "inputs.required.description",
    "inputs.optional.description",
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


def test_every_field_of_the_format_acts() -> None:
    assert set(fields_of(WorkflowSpec)) == ACTS | FOR_PEOPLE


def test_the_walk_over_the_format_sees_all_of_it() -> None:
    assert set(CallStep.model_fields) == {"tool", "input", "on_error"}
    assert len(set(fields_of(WorkflowSpec))) > 110
