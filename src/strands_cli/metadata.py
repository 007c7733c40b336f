"""`@tool_metadata`: what plain Python authors say about a tool's safety, importing no SDK."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import FunctionType, MethodType
from typing import Any, TypeVar

ATTRIBUTE = "__strands_tool_metadata__"

# Our words for what the SDK and MCP call hints.
HINTS = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}

Target = TypeVar("Target")


@dataclass(frozen=True, slots=True)
class ToolMetadata:
    """What a decorated tool says of itself, in the two shapes that `TOOL_SPEC` and the manifest use.

    Attributes:
        annotations: The MCP words (`readOnlyHint`, ...); an absent one is unknown, and unknown is never safe.
        strands_cli: Our own words (`requires_confirmation`, `capabilities`, ...).
    """

    annotations: Mapping[str, Any] = field(default_factory=dict)
    strands_cli: Mapping[str, Any] = field(default_factory=dict)


def tool_metadata(
    *,
    read_only: bool | None = None,
    destructive: bool | None = None,
    idempotent: bool | None = None,
    open_world: bool | None = None,
    title: str | None = None,
    requires_confirmation: bool | None = None,
    read_only_when: Mapping[str, Any] | None = None,
    capabilities: Mapping[str, Any] | None = None,
    resources: Mapping[str, Sequence[str]] | None = None,
    timeout_s: float | None = None,
    max_output_bytes: int | None = None,
) -> Callable[[Target], Target]:
    """Say what a tool may do, on a function, a method, a `@tool` object or an `AgentTool` class.

    Above or below `@tool` makes no difference. Applied twice, the outer one wins field by field.

    Args:
        read_only: It changes nothing.
        destructive: It may delete or overwrite.
        idempotent: Calling it again with the same input changes nothing more.
        open_world: It talks to things outside this machine or workspace.
        title: A name for people.
        requires_confirmation: A person must agree to every call.
        read_only_when: JSON Schema over the input; a call that matches counts as read-only.
        capabilities: `network`, `filesystem`, `subprocess`, `env`, `secrets`, as in the manifest.
        resources: `reads` and `writes`: what calls are ordered by.
        timeout_s: Seconds after which a call is ended.
        max_output_bytes: Bytes of output after which it is cut.

    Returns:
        A decorator that gives back the very object it got.

    Raises:
        TypeError: For a value of another type, at decoration, or a target that cannot carry attributes.
        ValueError: For a limit that is not positive.
    """
    flags = {"read_only": read_only, "destructive": destructive, "idempotent": idempotent, "open_world": open_world}
    _require_types({**flags, "requires_confirmation": requires_confirmation}, bool)
    _require_types({"title": title}, str)
    mappings = {"read_only_when": read_only_when, "capabilities": capabilities, "resources": resources}
    _require_types(mappings, Mapping)
    limits = {"timeout_s": timeout_s, "max_output_bytes": max_output_bytes}
    _require_limits(limits)
    words = {"requires_confirmation": requires_confirmation, **mappings, **limits}
    hints = {"title": title, **{HINTS[word]: value for word, value in flags.items()}}
    said = ToolMetadata(annotations=_present(hints), strands_cli=_present(words))

    def attach(target: Target) -> Target:
        known = metadata_of(target) or ToolMetadata()
        merged = ToolMetadata({**known.annotations, **said.annotations}, {**known.strands_cli, **said.strands_cli})
        for carrier in _carriers(target):
            setattr(carrier, ATTRIBUTE, merged)
        return target

    return attach


def metadata_of(target: object) -> ToolMetadata | None:
    """Return what `@tool_metadata` said about this function, method, `@tool` object, class or instance of one.

    A subclass does not inherit it: it may well do more than its parent said.
    """
    if isinstance(target, type):
        return _own(target)
    for carrier in (target, getattr(target, "__func__", None), getattr(target, "__wrapped__", None)):
        said = _own(carrier)
        if said is not None:
            return said
    return _own(type(target))


def _carriers(target: object) -> list[object]:
    # A `@tool` method makes a new object for each instance, from the function underneath: that one must know too.
    underneath = getattr(target, "__wrapped__", None)
    wrapped_by_sdk = underneath is not None and not isinstance(target, (type, FunctionType, MethodType))
    return [target, underneath] if wrapped_by_sdk else [target]


def _own(carrier: object) -> ToolMetadata | None:
    # vars() and not getattr(): attributes of parents and of proxies must not speak for this object.
    said = getattr(carrier, "__dict__", {}).get(ATTRIBUTE)
    return said if isinstance(said, ToolMetadata) else None


def _present(words: Mapping[str, Any]) -> dict[str, Any]:
    return {
        word: dict(value) if isinstance(value, Mapping) else value for word, value in words.items() if value is not None
    }


def _require_types(words: Mapping[str, object], kind: type) -> None:
    for word, value in words.items():
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"tool_metadata: {word} must be a {kind.__name__.lower()}, not {type(value).__name__}")


def _require_limits(limits: Mapping[str, float | None]) -> None:
    for word, value in limits.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int if word == "max_output_bytes" else (int, float)):
            raise TypeError(f"tool_metadata: {word} must be a number, not {type(value).__name__}")
        if not value > 0:
            raise ValueError(f"tool_metadata: {word} must be greater than 0, not {value}")
