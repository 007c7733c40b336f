"""The parts of a TOOL_SPEC in few words: the schemas, their properties, and the claims of a tool.

A literal TOOL_SPEC is readable without an import of its module; one made of these parts is not. Commit the manifest
that `strands plugin manifest --write` makes, and a listing or a plan needs no import again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Rule = dict[str, Any]
Bounds = tuple[float | None, float | None]


def string(description: str | None = None, *, length: Bounds = (None, None), **rules: Any) -> Rule:
    """Return the rule of a text.

    Args:
        description: The description of the value for a model.
        length: The fewest and the most characters; None for no bound.
        **rules: Further keywords of JSON Schema, such as `default` or `pattern`.
    """
    return _rule("string", {"minLength": length[0], "maxLength": length[1], **rules, "description": description})


def choice(values: Sequence[str], description: str | None = None, **rules: Any) -> Rule:
    """Return the rule of a text among these values."""
    return _rule("string", {"enum": list(values), **rules, "description": description})


def integer(description: str | None = None, *, between: Bounds = (None, None), **rules: Any) -> Rule:
    """Return the rule of a whole number; `between` has the least and the greatest value, None for no bound."""
    return _rule("integer", {"minimum": between[0], "maximum": between[1], **rules, "description": description})


def number(description: str | None = None, *, between: Bounds = (None, None), **rules: Any) -> Rule:
    """Return the rule of a number; `between` has the least and the greatest value, None for no bound."""
    return {**integer(description, between=between, **rules), "type": "number"}


def boolean(description: str | None = None, **rules: Any) -> Rule:
    """Return the rule of true or false."""
    return _rule("boolean", {**rules, "description": description})


def array(items: Rule, description: str | None = None, **rules: Any) -> Rule:
    """Return the rule of a list, each item of which fits one rule."""
    return _rule("array", {"items": items, **rules, "description": description})


def mapping(values: Rule, description: str | None = None, **rules: Any) -> Rule:
    """Return the rule of an object with keys of any name, each value of which fits one rule."""
    return _rule("object", {**rules, "additionalProperties": values, "description": description})


def record(
    properties: Mapping[str, Rule], description: str | None = None, *, optional: Iterable[str] = (), **rules: Any
) -> Rule:
    """Return the rule of an object with these properties, all of them required but the optional ones."""
    left_out = set(optional)
    required = [name for name in properties if name not in left_out]
    return _rule("object", {"properties": dict(properties), "required": required, **rules, "description": description})


def inputs(properties: Mapping[str, Rule], required: Iterable[str] = ()) -> Rule:
    """Return an `inputSchema` that takes these properties and no others."""
    optional = properties.keys() - set(required)
    return {"json": record(properties, optional=optional, additionalProperties=False)}


def outputs(properties: Mapping[str, Rule], optional: Iterable[str] = (), **rules: Any) -> Rule:
    """Return an `outputSchema`: the JSON block of a result, with all of these properties but the optional ones."""
    return {"json": record(properties, optional=optional, **rules)}


def for_programs(**properties: Rule) -> dict[str, Rule]:
    """Return properties of an output that a model does not read: its text says them, or only programs need them.

    The core sends them to no model; steps and templates have them.
    """
    return {name: {**rule, "x-for-programs": True} for name, rule in properties.items()}


def hints(
    title: str, *, reads_only: bool, destructive: bool = False, idempotent: bool = True, open_world: bool = False
) -> Rule:
    """Return the annotations of MCP: the title for people, and the effects of a call.

    Args:
        title: The name of the tool for people.
        reads_only: Whether no call changes anything.
        destructive: Whether a call may delete or overwrite something.
        idempotent: Whether a second call with the same input changes nothing further.
        open_world: Whether a call reaches something beyond this machine.
    """
    return {
        "title": title,
        "readOnlyHint": reads_only,
        "destructiveHint": destructive,
        "idempotentHint": idempotent,
        "openWorldHint": open_world,
    }


def capabilities(
    *,
    network: Sequence[str] = (),
    filesystem: str | None = None,
    subprocess: bool = False,
    env: Sequence[str] = (),
    secrets: Sequence[str] = (),
) -> Rule:
    """Return the capabilities that a tool asks for in `strands_cli`.

    Args:
        network: The hosts it reaches; `*` for any.
        filesystem: `read` or `write`: its access to the workspace; None for nothing.
        subprocess: Whether it starts processes.
        env: The environment variables it reads.
        secrets: The names of the secrets it takes.
    """
    return {
        "network": list(network),
        "filesystem": [] if filesystem is None else [{"path": ".", "mode": filesystem}],
        "subprocess": subprocess,
        "env": list(env),
        "secrets": list(secrets),
    }


def _rule(kind: str, rules: Mapping[str, Any]) -> Rule:
    return {"type": kind, **{name: value for name, value in rules.items() if value is not None}}
