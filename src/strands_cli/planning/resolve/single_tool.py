"""One tool by its reference: planned outside any workflow, and the decision of policy on it before its import."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from strands_cli.catalog.catalog import Catalog
from strands_cli.catalog.resolution import UNKNOWN_TOOL
from strands_cli.catalog.tool_record import TOOL_CONFLICT, ToolRecord
from strands_cli.config import Settings
from strands_cli.errors import Code, Denied, Finding, InvalidInput, UsageError, Where, suggest
from strands_cli.hooks.hook_values import HookContext
from strands_cli.planning.planned_tool import AnyTool, InstalledTool, PythonTool, request_of, secrets_in
from strands_cli.policy.decision import conditional_rules, decide, grant_of
from strands_cli.policy.rule import Rule
from strands_cli.policy.tool_claims import names_custom
from strands_cli.toolref import FAMILY, ToolRef, ToolRefError

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.catalog.tool_record import ToolRecord
    from strands_cli.hooks.manager import Hooks
    from strands_cli.toolref import ToolRef
    from strands_cli.workflow.steps import ToolEntry


# From `native:files.*` to the installed tools of that family.


def family_of(ref: ToolRef, catalog: Catalog, where: Where | None = None) -> Sequence[ToolRecord] | Finding:
    """Return the usable tools of a family, which are of one distribution, or why there are none.

    A distribution installed later that claims a family must not add tools to agents that name it.
    """
    families_here = [record for record in catalog.tools if record.family and record.usable]
    records = [
        record
        for record in families_here
        if record.family == ref.name and ref.distribution in (None, record.distribution)
    ]
    owners = sorted({record.distribution for record in records})
    if len(owners) == 1:
        return records
    if owners:
        names = " or ".join(f"native:{owner}/{ref.name}.*" for owner in owners)
        message = f"tools of the family '{ref.name}' come from {len(owners)} distributions"
        return Finding(TOOL_CONFLICT, message, where, f"write {names}")
    families = sorted({str(record.family) for record in families_here})
    fix = suggest(ref.name, families, f"families here: {', '.join(families) or 'none'}")
    if elsewhere := sorted({record.distribution for record in families_here if record.family == ref.name}):
        names = " or ".join(f"'native:{owner}/{ref.name}.*'" for owner in elsewhere)
        fix = f"did you mean {names}?"
    elif any(tool.name == ref.name and tool.members for tool in catalog.tools):
        fix = f"{ref.name!r} is a tool that holds several, not a family: write {str(ref).removesuffix('.*')!r}"
    return Finding(UNKNOWN_TOOL, f"no installed tool has the family '{ref.name}' of '{ref}'", where, fix)


def require_family(ref: ToolRef, catalog: Catalog) -> Sequence[ToolRecord]:
    """Return the usable tools of a family.

    Raises:
        InvalidInput: There are none, or they are of several distributions.
    """
    family = family_of(ref, catalog)
    if isinstance(family, Finding):
        raise InvalidInput(family.message, findings=[family], fix=family.fix)
    return family


TOOL_DENIED = Code(
    "tool-denied",
    "The workflow names a tool that policy denies, or a step calls a tool that the workflow denies.",
    "Remove it, or have the rule changed: strands explain policy REF",
    21,
)

Kind = TypeVar("Kind", bound=AnyTool)


def plan_single_tool(
    name: str, catalog: Catalog, settings: Settings, rules: Sequence[Rule] = (), hooks: Hooks | None = None
) -> InstalledTool | PythonTool:
    """Resolve one reference outside any workflow.

    Raises:
        StrandsCliError: no usable tool has this name, it holds several tools, or a rule denies it.
    """
    planned = decided(find_single_tool(name, catalog), rules, hooks)
    if planned.decision.effect == "deny":
        finding = denial_of(planned, None)
        raise Denied(finding.message, findings=[finding], fix=finding.fix)
    if isinstance(planned, PythonTool) and not is_granted(planned, rules, settings):
        raise Denied(f"'{name}' is custom Python that is not allowed", fix=how_to_grant(planned))
    return planned


def find_single_tool(name: str, catalog: Catalog) -> InstalledTool | PythonTool:
    """Return the one tool that a reference names, before policy is asked.

    Raises:
        StrandsCliError: no usable tool has this name, or it holds several tools.
    """
    try:
        ref = ToolRef.parse(catalog.typed(name))
    except ToolRefError as error:
        raise UsageError(str(error), fix="see the names: strands list-tools") from error
    if ref.kind == "custom":
        return python_tool(ref, name)
    if ref.kind == "native" and ref.member == FAMILY:
        family = require_family(ref, catalog)
        names = ", ".join(record.ref_name for record in family)
        raise InvalidInput(f"'{name}' holds several tools: {names}", fix=f"name one: native:{family[0].ref_name}")
    record = catalog.resolve(ref)
    if record.members:
        names = ", ".join(member.ref_name for member in record.members)
        raise InvalidInput(
            f"'{name}' holds several tools: {names}", fix=f"name one: native:{record.members[0].ref_name}"
        )
    return installed_tool(record, catalog, name)


def installed_tool(record: ToolRecord, catalog: Catalog, ref: str) -> InstalledTool:
    """Return the tool of a record before policy is asked, under its own name and without a configuration."""
    from strands_cli.catalog.publisher_records import find_sources, publisher_of

    publisher = publisher_of(record.distribution, catalog.scan)
    return InstalledTool(
        name=record.name,
        ref=ref,
        record=record,
        sources=find_sources(record, catalog),
        member=record.name if record.parent else None,
        publisher=publisher.word if publisher is not None else None,
    )


def as_mentioned(tool: InstalledTool, ref: str, name: str | None, config: Mapping[str, Any]) -> InstalledTool:
    """Return a tool as a workflow mentions it: by a reference, under its own name or another, with a configuration."""
    named = secrets_in(config, tool.record.config_schema)
    claims = {"capabilities": {"secrets": list(named)}} if named else {}
    return replace(tool, name=name or tool.name, ref=ref, config=config, config_claims=claims)


def python_tool(ref: ToolRef, text: str, entry: ToolEntry | None = None) -> PythonTool:
    """Return custom Python as a tool before policy is asked; an entry may name and configure it."""
    name = (ref.attribute or str(ref.module)).rpartition(".")[2]
    record = ToolRecord(
        name=name,
        distribution="custom",
        version=None,
        entry=ref.canonical,
        entry_name=name,
        module=str(ref.module),
        attribute=ref.attribute,
        path="",
        kind="custom",
    )
    config = entry.config if entry is not None else None
    named = secrets_in(config)
    return PythonTool(
        name=(entry.as_ if entry is not None else None) or name,
        ref=text,
        record=record,
        config=config or {},
        config_claims={"capabilities": {"secrets": list(named)}} if named else {},
    )


def decided(tool: Kind, rules: Sequence[Rule], hooks: Hooks | None = None, workflow: str | None = None) -> Kind:
    """Return the tool with the answer of policy and of the hook plugins before any argument is known."""
    request = request_of(tool)
    if hooks is None:
        decision = decide(rules, request)
    else:
        context = HookContext(workflow, tuple(rules), request)
        decision = hooks.allow_tool(tool.declared, tool.ref, context)
    reading = None
    if "read_only_when" in tool.record.strands_cli and decision.effect == "ask" and decision.plugin is None:
        reading = decide(rules, replace(request, read_only_now=True))
    return replace(
        tool,
        decision=decision,
        conditional=tuple(conditional_rules(rules, request)),
        when_reading=reading if reading is not None and reading.effect == "allow" else None,
    )


def is_denied_by_policy(tool: AnyTool) -> bool:
    """Return whether more than the workflow denies the tool, so that it must not even be imported."""
    by = tool.decision.by
    return tool.decision.effect == "deny" and (by is None or by.level != "workflow")


def is_granted(tool: AnyTool, rules: Sequence[Rule], settings: Settings) -> bool:
    """Return whether a tool may be imported: custom Python needs the allowlist, a rule of a policy file, or a hook."""
    if not isinstance(tool, PythonTool):
        return True
    if tool.decision.grant is not None:
        return True
    if any(_is_listed(entry, tool) for entry in settings.custom_tools):
        return True
    return grant_of(rules, request_of(tool)) is not None


def with_place(tool: PythonTool, settings: Settings) -> PythonTool:
    """Return custom Python with the entry of the allowlist that names its folder too, so that nothing is asked."""
    entry = next(
        (
            listed_entry
            for listed_entry in settings.custom_tools
            if "@" in listed_entry and _is_listed(listed_entry, tool)
        ),
        None,
    )
    if entry is None or tool.decision.effect == "deny":
        return tool
    return replace(tool, decision=replace(tool.decision, grant=f"STRANDS_CUSTOM_TOOL_ALLOWLIST={entry}"))


def _is_listed(entry: str, tool: PythonTool) -> bool:
    """Return whether an entry of the allowlist, `REFERENCE` or `REFERENCE@FOLDER`, means this Python."""
    pattern, at, folder = entry.partition("@")
    if not names_custom(pattern, tool.reference):
        return False
    path = Path(folder).expanduser()
    return not at or (
        tool.folder is not None and path.is_absolute() and Path(tool.folder).is_relative_to(path.resolve())
    )


def denial_of(tool: AnyTool, where: Where | None) -> Finding:
    """Return the finding for a tool that policy denies."""
    subject = f"'{tool.ref}'" if tool.name in tool.ref else f"'{tool.name}' of '{tool.ref}'"
    message = f"{subject} ({tool.describe()}) is denied: {tool.decision.rule}"
    changed = f"have the rule changed; see: strands explain policy {shlex.quote(tool.ref)}"
    if tool.decision.plugin is not None:
        changed = f"ask the person who has switched the hook plugin {tool.decision.plugin} on"
    return Finding(TOOL_DENIED, message, where, f"leave the tool out, or {changed}")


def how_to_grant(tool: PythonTool, rules: Sequence[Rule] = ()) -> str:
    """Return the fix for custom Python without permission."""
    for rule in rules:
        if rule.effect == "allow" and rule.level in ("managed", "user") and names_custom(rule.tools, tool.reference):
            return f"read it, then say in {rule.origin} where it may be: `folder: {tool.folder}`"
    named = f"{tool.reference}@{tool.folder}" if tool.folder else tool.reference
    return f"read it, then allow it: export STRANDS_CUSTOM_TOOL_ALLOWLIST={shlex.quote(named)}"
