"""`@tool_metadata`: declare a tool's safety in Python, without the SDK."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from types import FunctionType, MethodType
from typing import Any, TypedDict, TypeVar, Unpack

from strands_cli.quick_dataclass import dataclass

ATTRIBUTE = "__strands_tool_metadata__"

# The parameters of `tool_metadata` for the hints of the SDK and MCP.
HINTS = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}

_TYPES: Mapping[type, tuple[str, ...]] = {
    bool: (*HINTS, "requires_confirmation", "polls"),
    str: ("title", "family", "category"),
    Mapping: ("read_only_when", "capabilities", "resources", "requires", "deprecated", "config_schema", "earlier"),
    Sequence: ("examples",),
}
_LIMITS = ("timeout_s", "max_output_bytes")

Target = TypeVar("Target")


@dataclass(frozen=True, slots=True)
class ToolMetadata:
    """The declarations of a decorated tool, in the two forms of `TOOL_SPEC` and the manifest.

    Attributes:
        annotations: The MCP hints (`readOnlyHint`, ...); an absent one is unknown, and unknown is never safe.
        strands_cli: The fields of this program (`requires_confirmation`, `capabilities`, ...).
    """

    annotations: Mapping[str, Any] = field(default_factory=dict)
    strands_cli: Mapping[str, Any] = field(default_factory=dict)


class ToolMetadataFields(TypedDict, total=False):
    """The keyword arguments of `tool_metadata`; None is the same as an absent field.

    Attributes:
        read_only: It changes nothing.
        destructive: It may delete or overwrite.
        idempotent: Another call with the same input changes nothing more.
        open_world: It reaches things outside this machine or workspace.
        title: A name for people.
        requires_confirmation: A person must approve every call.
        read_only_when: JSON Schema over the input; a call that matches counts as read-only.
        capabilities: `network`, `filesystem`, `subprocess`, `env`, `secrets`, as in the manifest.
        resources: `reads`, `writes` and `connects`, which decide the order of calls, and for which policy has rules.
        timeout_s: Seconds after which a call is ended.
        max_output_bytes: Bytes of output after which it is cut.
        family: A group of tools, of one or several distributions.
        category: Its purpose.
        requires: Its requirements: `distributions`, `modules`, `python`, `os`, `env`, as in the manifest.
        deprecated: `since` and `replacement`.
        config_schema: JSON Schema of its configuration.
        examples: Inputs, each `{"input": {...}}`.
        earlier: Earlier names of inputs, with their names now.
        polls: It is called again to wait for something; the same result again is expected then.
    """

    read_only: bool | None
    destructive: bool | None
    idempotent: bool | None
    open_world: bool | None
    title: str | None
    requires_confirmation: bool | None
    read_only_when: Mapping[str, Any] | None
    capabilities: Mapping[str, Any] | None
    resources: Mapping[str, Sequence[str]] | None
    timeout_s: float | None
    max_output_bytes: int | None
    family: str | None
    category: str | None
    requires: Mapping[str, Any] | None
    deprecated: Mapping[str, str] | None
    config_schema: Mapping[str, Any] | None
    examples: Sequence[Mapping[str, Any]] | None
    earlier: Mapping[str, str] | None
    polls: bool | None


def tool_metadata(**fields: Unpack[ToolMetadataFields]) -> Callable[[Target], Target]:
    """Declare a tool's hints and capabilities, on a function, a method, a `@tool` object or an `AgentTool` class.

    It may be above or below `@tool`. If it is applied twice, each field of the outer one takes precedence.

    Args:
        **fields: Those of `ToolMetadataFields`.

    Returns:
        A decorator that returns the decorated object itself.

    Raises:
        TypeError: A field is unknown or has another type, or the target cannot have attributes.
        ValueError: A limit is not positive.
    """
    declared = _declared(fields)

    def attach(target: Target) -> Target:
        metadata = metadata_of(target) or ToolMetadata()
        annotations = {**metadata.annotations, **declared.annotations}
        merged = ToolMetadata(annotations, {**metadata.strands_cli, **declared.strands_cli})
        for carrier in _carriers(target):
            setattr(carrier, ATTRIBUTE, merged)
        return target

    return attach


def _declared(fields: Mapping[str, Any]) -> ToolMetadata:
    if unknown := sorted(fields.keys() - ToolMetadataFields.__annotations__.keys()):
        raise TypeError(f"tool_metadata() got an unexpected keyword argument {unknown[0]!r}")
    values: dict[str, Any] = {name: fields.get(name) for name in ToolMetadataFields.__annotations__}
    for kind, names in _TYPES.items():
        _require_types({name: values[name] for name in names}, kind)
    _require_limits({name: values[name] for name in _LIMITS})
    hints = {"title": values.pop("title"), **{hint: values.pop(name) for name, hint in HINTS.items()}}
    return ToolMetadata(annotations=_present(hints), strands_cli=_present(values))


def metadata_of(target: object) -> ToolMetadata | None:
    """Return the metadata that `@tool_metadata` attached to a function, method, `@tool` object, class or instance.

    A subclass does not inherit it, because it may do more than its parent.
    """
    if isinstance(target, type):
        return _metadata_on(target)
    for carrier in (target, getattr(target, "__func__", None), getattr(target, "__wrapped__", None)):
        metadata = _metadata_on(carrier)
        if metadata is not None:
            return metadata
    return _metadata_on(type(target))


def _carriers(target: object) -> list[object]:
    # A `@tool` method makes a new object for each instance, from the underlying function, which needs the metadata too.
    underlying = getattr(target, "__wrapped__", None)
    wrapped_by_sdk = underlying is not None and not isinstance(target, (type, FunctionType, MethodType))
    return [target, underlying] if wrapped_by_sdk else [target]


def _metadata_on(carrier: object) -> ToolMetadata | None:
    # vars() and not getattr(): attributes of parents and proxies do not apply to this object.
    metadata = getattr(carrier, "__dict__", {}).get(ATTRIBUTE)
    if isinstance(metadata, Mapping):  # the decorator of strands-tool-kit, or a dictionary that an author has set
        return _declared(metadata)
    return metadata if isinstance(metadata, ToolMetadata) else None


def _present(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: dict(value) if isinstance(value, Mapping) else value
        for name, value in fields.items()
        if value is not None
    }


def _require_types(fields: Mapping[str, object], kind: type) -> None:
    for name, value in fields.items():
        if value is not None and not isinstance(value, kind):
            raise TypeError(f"tool_metadata: {name} must be a {kind.__name__.lower()}, not {type(value).__name__}")


def _require_limits(limits: Mapping[str, float | None]) -> None:
    for name, value in limits.items():
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int if name == "max_output_bytes" else (int, float)):
            raise TypeError(f"tool_metadata: {name} must be a number, not {type(value).__name__}")
        if not value > 0:
            raise ValueError(f"tool_metadata: {name} must be greater than 0, not {value}")
