"""What a trace holds of a call: attributes of the SDK's own span, or a span of ours where no agent opens one."""

from __future__ import annotations

import contextlib
import functools
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strands_cli.engine.effects.effect import Effect
from strands_cli.engine.ports.tracing_port import provider_here
from strands_cli.planning.plan.plan_values import PlannedTool
from strands_cli.policy.decision import Decision
from strands_cli.secrets.redactor import Redactor
from strands_cli.texts.phrases import shortened
from strands_cli.tools.tool_results import Result, error_of, size_of

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer, TracerProvider

MAX_WORD = 200
MAX_LAYERS = 32


@dataclass(frozen=True, slots=True)
class ToolSpan:
    """The span of one call; `is_ours` says that the SDK writes no result on it."""

    span: Span
    is_ours: bool

    def asked(self, arguments: Any, redactor: Redactor) -> None:
        """Write what it is called with, and how much that is."""
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
def tool_span(planned: PlannedTool, tool_use_id: str) -> Iterator[ToolSpan]:
    """Give the span of one call: the one that the SDK has opened for it, else one named `tool:<name>`.

    Args:
        tool_use_id: The call's id, which distinguishes the span of another call: a tool may call tools.
    """
    from opentelemetry import trace

    origin = _origin_of(planned)
    current = trace.get_current_span()
    attributes = getattr(current, "attributes", None)
    call = {"gen_ai.tool.name": planned.name, "gen_ai.tool.call.id": tool_use_id}
    if isinstance(attributes, Mapping) and call.items() <= dict(attributes).items():
        current.set_attributes(origin)
        yield ToolSpan(current, is_ours=False)
        return
    span = _tracer_of(provider_here.get() or trace.get_tracer_provider()).start_span(f"tool:{planned.name}")
    if not span.is_recording():
        yield ToolSpan(span, is_ours=True)
        return
    span.set_attributes({"gen_ai.operation.name": "execute_tool", **call, **origin})
    # What a call raises ends the run and may hold anything; the end of the run reports it.
    with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        yield ToolSpan(span, is_ours=True)


@functools.lru_cache(maxsize=4)
def _tracer_of(provider: TracerProvider) -> Tracer:
    return provider.get_tracer("strands_cli")


def _origin_of(planned: PlannedTool) -> dict[str, str]:
    version = planned.record.version
    return {"strands_cli.distribution": planned.distribution, **({"strands_cli.version": version} if version else {})}


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
