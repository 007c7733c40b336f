"""The tools and answers of a plugin loaded by itself, as values without the SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from strands_cli.texts.canonical_json import json_object
from strands_cli.tools.calls.call_arguments import reads_only_now
from strands_cli.tools.calls.calling_contract import output_bytes_of, timeout_of

# The name of a tool, and its input.
Call = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class PluginTool:
    """One tool of a loaded plugin, as a run reads it.

    Attributes:
        name: Its own name.
        spec: Its tool spec: `name`, `description`, `inputSchema`, `annotations`, `strands_cli`, as far as stated.
        input_schema: The JSON Schema of its input.
        output_schema: The JSON Schema of its answer; None where it promises nothing.
    """

    name: str
    spec: Mapping[str, Any]
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None

    @property
    def claims(self) -> Mapping[str, Any]:
        """Its claims under `strands_cli`: limits, confirmation, capabilities."""
        return json_object(self.spec.get("strands_cli"))

    @property
    def hints(self) -> Mapping[str, Any]:
        """Its annotations: `readOnlyHint`, `destructiveHint` and so on."""
        return json_object(self.spec.get("annotations"))

    @property
    def timeout_s(self) -> float:
        """The seconds that a call may take."""
        return timeout_of(self.claims)

    @property
    def max_output_bytes(self) -> int:
        """The bytes of text and JSON that an answer may have."""
        return output_bytes_of(self.claims)

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the secrets that it declares: a call gets these and no others."""
        names = json_object(self.claims.get("capabilities")).get("secrets")
        return tuple(str(name).removesuffix("?") for name in names) if isinstance(names, (list, tuple)) else ()

    @property
    def is_repeatable(self) -> bool:
        """Whether it declares that repeating a call changes nothing further."""
        return self.hints.get("readOnlyHint") is True or self.hints.get("idempotentHint") is True

    def reads_only(self, tool_input: Mapping[str, Any]) -> bool:
        """Return whether it declares that a call with this input changes nothing."""
        condition = self.claims.get("read_only_when")
        if isinstance(condition, Mapping):
            return reads_only_now(condition, tool_input)
        return self.hints.get("readOnlyHint") is True


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of one direct call: a value, an exception, or no answer in time (`late`)."""

    value: Any = None
    raised: BaseException | None = None
    late: bool = False
    seconds: float = 0.0

    @property
    def answered(self) -> bool:
        """Whether it returned a value in time."""
        return self.raised is None and not self.late

    @property
    def in_shape(self) -> bool:
        """Whether the value has the form of a result, with any id."""
        value = self.value
        sound = self.answered and isinstance(value, Mapping) and value.get("status") in ("success", "error")
        blocks = value.get("content") if sound else None
        return isinstance(blocks, list) and bool(blocks) and all(map(_is_block, blocks))


def _is_block(block: Any) -> bool:
    if not isinstance(block, Mapping) or len(block) != 1:
        return False
    kind, value = next(iter(block.items()))
    return isinstance(value, str) if kind == "text" else kind in ("json", "image", "document", "video")
