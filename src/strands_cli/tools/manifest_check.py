"""Loaded tools against the declarations of their distribution: the parts that matter for safety must be the same."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from strands_cli.catalog.manifest import MEMBER_NAME
from strands_cli.catalog.source.source_tool import normal_spec
from strands_cli.errors import Denied, NotEquipped, RunFailed, did_you_mean
from strands_cli.planning.plan_values import PlannedTool, WorkflowTool
from strands_cli.planning.planned_tool import InstalledTool, PythonTool, configured_claims
from strands_cli.texts.canonical_json import json_object
from strands_cli.tools.schema.schemas import SchemaFaultError, require_schema
from strands_cli.tools.tool_forms import RawTool, SpecifiedTool

if TYPE_CHECKING:
    from strands_cli.catalog.tool_record import ToolRecord
    from strands_cli.hooks.hook_values import Wrapper


# The SDK's rule, which it applies only when the model calls (strands.tools.tools.validate_tool_use_name).
_MISMATCH_FIX = "do not use it until its author has corrected it (for authors: strands plugin manifest --write)"


@dataclass(frozen=True, slots=True)
class LoadedTool(SpecifiedTool):
    """A tool ready to be called: `spec` is the description for the model, and the validated one.

    `wrappers` are those of hook plugins around each call, the outermost first, each with its plugin's name. `absent` is
    the error code and the message of every call where there is no code to call.
    """

    planned: PlannedTool
    spec: Mapping[str, Any]
    raw: RawTool
    wrappers: Sequence[tuple[str, Wrapper]] = ()
    absent: tuple[str, str] | None = None


def check_against_manifest(tool: PlannedTool, raw_tools: Sequence[RawTool]) -> list[LoadedTool]:
    """Return the planned tools among the loaded ones: one tool, or all of a holder named as a whole.

    Raises:
        Denied: a tool differs from its manifest.
        NotEquipped: it is not there, or cannot be offered to a model.
    """
    record = tool.record
    if not raw_tools:
        raise NotEquipped(f"{tool.ref} of {tool.distribution} holds no tools", fix=_MISMATCH_FIX)
    if isinstance(tool, PythonTool):
        if len(raw_tools) == 1:
            return [loaded_tool(tool, raw_tools[0], raw_tools[0].spec)]
        return [loaded_tool(replace(tool, name=raw.name), raw, raw.spec) for raw in raw_tools]
    if isinstance(tool, InstalledTool) and record.members is None:
        return [loaded_tool(replace(tool, name=raw.name, member=raw.name), raw, raw.spec) for raw in raw_tools]
    raw = _matching_tool(tool, raw_tools)
    if differing := differences(record, raw.spec):
        declared = "was adopted" if record.adopted else "its manifest says"
        raise Denied(
            f"manifest-mismatch: {tool.ref} of {tool.distribution} is not what {declared}; "
            f"differing: {', '.join(differing)}",
            fix=_adopt_imported(record) if record.adopted else _MISMATCH_FIX,
        )
    # Without a manifest only the source makes a promise, and the loaded spec knows more.
    return [loaded_tool(tool, raw, raw.spec if record.manifest is None else {**raw.spec, **declared_spec(record)})]


def _adopt_imported(record: ToolRecord) -> str:
    command = record.adopted.command(record.distribution, imports=True) if record.adopted else ""
    return f"adopt it again as it is once loaded: {command}"


def _matching_tool(planned: PlannedTool, raw_tools: Sequence[RawTool]) -> RawTool:
    record = planned.record
    member = planned.member if isinstance(planned, InstalledTool) else None
    # A tool that was adopted by another name still has its own.
    tool_name = member or (record.adopted.called if record.adopted else record.name)
    raw = next((tool for tool in raw_tools if tool.name == tool_name), None)
    if raw is not None:
        return raw
    names = [tool.name for tool in raw_tools]
    listed = ", ".join(names) or "nothing"
    if record.manifest is None and member:
        close = did_you_mean(tool_name, names)
        fix = f"did you mean 'native:{record.parent}.{close}'?" if close else None
        raise NotEquipped(f"{planned.ref}: {planned.distribution} has no '{tool_name}'; it has {listed}", fix=fix)
    raise Denied(
        f"manifest-mismatch: {planned.ref} of {planned.distribution} loaded to {listed}, not to {tool_name}",
        fix=_adopt_imported(record) if record.adopted else _MISMATCH_FIX,
    )


def loaded_tool(tool: PlannedTool, raw: RawTool, spec: Mapping[str, Any]) -> LoadedTool:
    """Make the tool under its model-facing name.

    Raises:
        NotEquipped: no provider would accept its name, or nothing could be validated against its schemas.
    """
    if not MEMBER_NAME.fullmatch(tool.name):
        raise NotEquipped(
            f"the tool {tool.ref} of {tool.distribution} calls itself {tool.name!r}, which models cannot call",
            fix="give it another name with `as:` (letters, digits, '_' and '-', at most 64)",
        )
    described_spec = _copied(tool, spec)
    description, hints = described_spec.get("description"), described_spec.get("annotations")
    # The SDK drops a tool without a description in silence. Invalid hints count as absent, which is never safe.
    described = {
        **described_spec,
        "name": tool.name,
        "description": description if isinstance(description, str) and description else tool.name,
        "annotations": json_object(hints),
    }
    if tool.config_claims:
        claims = described_spec.get("strands_cli")
        described["strands_cli"] = configured_claims(json_object(claims), tool.config_claims)
    loaded = LoadedTool(tool, described, raw)
    for kind, schema in (("input", loaded.schema), ("output", loaded.output_schema)):
        try:
            if schema is not None:
                require_schema(schema)
        except SchemaFaultError as fault:
            raise NotEquipped(
                f"the {kind} schema of {tool.ref} of {tool.distribution} cannot be used: {fault}",
                fix=f"upgrade {tool.distribution}, or tell its author",
            ) from fault
    return loaded


def _copied(tool: PlannedTool, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Return the present spec: later changes of the tool's code to its own have no effect."""
    try:
        return copy.deepcopy(dict(spec))
    except Exception as error:  # foreign objects raise anything while they are copied, RecursionError too
        raise NotEquipped(
            f"the spec of {tool.ref} of {tool.distribution} cannot be read: {type(error).__name__}: {error}",
            fix=f"upgrade {tool.distribution}, or tell its author",
        ) from error


def declared_spec(record: ToolRecord) -> dict[str, Any]:
    """Return the tool spec that a record declares, without unknown parts."""
    spec = {
        "name": record.name,
        "description": record.description,
        "inputSchema": record.input_schema and {"json": record.input_schema},
        "outputSchema": record.output_schema,
        "annotations": dict(record.annotations or {}),
        "strands_cli": dict(record.strands_cli or {}),
    }
    return {name: value for name, value in spec.items() if value is not None}


def workflow_tool(planned: WorkflowTool) -> LoadedTool:
    """Return a tool that the workflow makes; nothing is imported for it.

    Raises:
        NotEquipped: no provider would accept its name, or its schema cannot be used.
    """
    raw = RawTool(planned.record.name, declared_spec(planned.record), _refuse)
    return check_against_manifest(planned, [raw])[0]


async def _refuse(tool_use: Mapping[str, Any], *_others: Any) -> Any:
    raise RunFailed(f"{tool_use['name']} is made of other tools; only the permission check of its workflow can call it")


def differences(record: ToolRecord, loaded: Mapping[str, Any]) -> list[str]:
    """Return where a loaded tool differs from its declaration in the parts that matter for safety.

    A manifest is complete: a word that it leaves out must be absent. Source is read without being run, so there only
    the words that it has are compared.
    """
    compared: dict[str, tuple[Any, Any]] = {}
    if record.input_schema is not None:
        ours, theirs = record.input_schema, loaded["inputSchema"]["json"]
        for word in ("properties", "required"):
            compared[word] = (_names(ours.get(word)), _names(theirs.get(word)))
    # A manifest may have, under `strands_cli`, catalogue fields and older words as they are in the code.
    claims = json_object(normal_spec({"strands_cli": record.strands_cli}).get("strands_cli"))
    for word, declared in (("annotations", record.annotations), ("strands_cli", claims)):
        loaded_words = loaded.get(word) or {}
        if record.manifest is None:
            loaded_words = {name: value for name, value in loaded_words.items() if name in declared}
        compared[word] = (dict(declared), dict(loaded_words))
    return [word for word, (left, right) in compared.items() if left != right]


def _names(words: Any) -> list[str]:
    return sorted(map(str, words or ()))
