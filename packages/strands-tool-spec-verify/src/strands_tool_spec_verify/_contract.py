"""The calling contract of a module tool: read a call's input and context, give a well-formed result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

_JSON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (Mapping,),
}


class Refusal(Exception):
    """A call that cannot be served, with the words the model and the engine need.

    Attributes:
        code: One of the shared vocabulary: `invalid_input`, `denied`, `timeout`, `cancelled`, `unavailable`,
            `tool_failed`, `sandbox_violation`.
        retryable: Whether the very same call may succeed later.
        details: JSON values; `reason` names the exact cause in one kebab-case word.
    """

    def __init__(self, code: str, message: str, *, retryable: bool = False, **details: Any) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable
        self.details = details


@dataclass(frozen=True, slots=True)
class Context:
    """What a host passes besides the input (calling contract 1); all of it may be absent.

    `deadline` is a moment of `time.monotonic()` in seconds; `cancel` has an `is_set()` like `threading.Event`.
    """

    config: Mapping[str, Any] = field(default_factory=dict)
    workspace: Any = None
    deadline: float | None = None
    cancel: Any = None

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> Context:
        """Read the `strands_cli` keyword of a tool call."""
        given = keywords.get("strands_cli") or {}
        return cls(
            config=given.get("config") or {},
            workspace=given.get("workspace"),
            deadline=given.get("deadline"),
            cancel=given.get("cancel"),
        )

    def require_time(self) -> None:
        """Raise `Refusal` when the call was cancelled or its deadline has passed."""
        if self.cancel is not None and self.cancel.is_set():
            raise Refusal("cancelled", "the call was cancelled", reason="cancelled")
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise Refusal("timeout", "the time for this call is over", retryable=True, reason="deadline")


def read_input(tool: Mapping[str, Any], spec: Mapping[str, Any]) -> dict[str, Any]:
    """Check a call's input against the tool's own flat schema and fill in the defaults.

    A plain Strands agent does not validate the input of a module tool, so the tool does. A null stands for an
    absent optional value, because models send it so.

    Raises:
        Refusal: `invalid_input`, naming the first field that does not fit.
    """
    schema = spec["inputSchema"]["json"]
    rules: Mapping[str, Mapping[str, Any]] = schema["properties"]
    required = schema.get("required", ())
    given = tool.get("input")
    if not isinstance(given, Mapping):
        raise Refusal("invalid_input", f"the input must be an object with: {', '.join(rules)}", reason="type")
    values = {name: value for name, value in given.items() if value is not None or name in required}
    for name in values:
        if name not in rules:
            raise _bad_field(str(name), f"is not an input of {spec['name']}; its inputs: {', '.join(rules)}", "unknown")
    for name in required:
        if name not in values:
            raise _bad_field(name, "is required", "missing")
    for name, value in values.items():
        _require_fits(name, value, rules[name])
    return {name: values.get(name, rule.get("default")) for name, rule in rules.items()}


def _require_fits(name: str, value: Any, rule: Mapping[str, Any]) -> None:
    """Raise unless a value has the type, bounds and choices its schema states."""
    kind = rule["type"]
    if not isinstance(value, _JSON_TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        raise _bad_field(name, f"must be a JSON {kind}, not {type(value).__name__}", "type")
    if "enum" in rule and value not in rule["enum"]:
        raise _bad_field(name, f"must be one of: {', '.join(map(str, rule['enum']))}", "enum")
    if kind in ("integer", "number"):
        if not rule.get("minimum", -math.inf) <= value <= rule.get("maximum", math.inf):
            bounds = f"{rule.get('minimum', 'any')} to {rule.get('maximum', 'any')}"
            raise _bad_field(name, f"must lie in {bounds}", "range")
    elif isinstance(value, str) and not rule.get("minLength", 0) <= len(value) <= rule.get("maxLength", math.inf):
        bounds = f"{rule.get('minLength', 0)} to {rule.get('maxLength', 'any')}"
        raise _bad_field(name, f"must have {bounds} characters, not {len(value)}", "length")


def _bad_field(name: str, problem: str, reason: str) -> Refusal:
    return Refusal("invalid_input", f"'{name}' {problem}", reason=reason, field=name)


def answer(tool: Mapping[str, Any], work: Callable[[], tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Run the tool's work and wrap its text and JSON, or its refusal, as a Strands tool result.

    An empty text is left out: some providers refuse an empty text block.
    """
    try:
        text, value = work()
    except Refusal as refusal:
        error = {
            "code": refusal.code,
            "message": str(refusal),
            "retryable": refusal.retryable,
            "details": refusal.details,
        }
        return _result(tool, "error", [{"text": f"{refusal.code}: {refusal}"}, {"json": {"error": error}}])
    content: list[dict[str, Any]] = [{"text": text}] if text else []
    return _result(tool, "success", [*content, {"json": value}])


def _result(tool: Mapping[str, Any], status: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"toolUseId": tool.get("toolUseId", ""), "status": status, "content": content}
