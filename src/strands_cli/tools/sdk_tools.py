"""A tool of any Strands agent as policy sees it: an installed one, one of an MCP server, or the program's own."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from strands.types.tools import AgentTool

from strands_cli.catalog.catalog import Catalog
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.metadata import ToolMetadata, metadata_of
from strands_cli.planning.planned_tools.policy_requests import request_of
from strands_cli.planning.resolve.single_tool import installed_tool
from strands_cli.policy.claims.tool_claims import NO_CLAIMS, Claims, tightened
from strands_cli.policy.rules.tool_request import Request
from strands_cli.tools.calls.call_arguments import reads_only_now
from strands_cli.tools.forms.tool_forms import RawTool


def request_about(tool: AgentTool, raw: RawTool, arguments: Mapping[str, Any], catalog: Catalog) -> Request:
    """Return one call of an agent's tool as policy sees it.

    A tool whose code lies in an installed distribution that declares it is that tool, with all of its names. One of an
    MCP server is called `mcp:NAME`; the bare name, which the server chose, restricts and never loosens.

    Args:
        raw: The same, read.
        arguments: Those of the call, with defaults filled in.
    """
    function = getattr(tool, "_tool_func", None)
    claims = _claims_of(raw, metadata_of(function) if function is not None else None)
    module = str(getattr(function or tool, "__module__", None) or type(tool).__module__)
    if raw.is_remote:
        known = tightened(NO_CLAIMS, claims)
        original = getattr(getattr(tool, "mcp_tool", None), "name", raw.name)
        request = Request((f"mcp:{raw.name}",), aliases=tuple(dict.fromkeys((raw.name, str(original)))))
    elif (record := _record_of(raw.name, module, catalog)) is not None:
        known = tightened(Claims(record.annotations, record.strands_cli), claims)
        request = request_of(replace(installed_tool(record, catalog, f"native:{record.ref_name}"), name=raw.name))
    else:
        known = claims
        places = (f"{module}:{raw.name}", f"{module}.{raw.name}")
        request = Request((raw.name,), sources=frozenset({"object"}), aliases=places)
    now = reads_only_now(known.claims.get("read_only_when"), arguments)
    return replace(request, annotations=known.annotations, claims=known.claims, arguments=arguments, read_only_now=now)


def _claims_of(raw: RawTool, below: ToolMetadata | None) -> Claims:
    """Return what a tool says, with what `@tool_metadata` says on the function of a module tool."""
    claims = Claims(raw.spec.get("annotations") or {}, raw.spec.get("strands_cli") or {})
    if below is None:
        return claims
    return Claims({**below.annotations, **claims.annotations}, {**below.strands_cli, **claims.claims})


def _record_of(name: str, module: str, catalog: Catalog) -> ToolRecord | None:
    """Return the installed tool that a loaded one is: of its name, from its module, in its distribution's folder."""
    found = [record for record in _single(catalog) if record.name == name and _is_of(module, record)]
    return found[0] if len(found) == 1 else None


def _single(catalog: Catalog) -> Iterator[ToolRecord]:
    for record in catalog.tools:
        yield from record.members or (record,)


def _is_of(module: str, record: ToolRecord) -> bool:
    if record.location is None or module.partition(".")[0] != record.module.partition(".")[0]:
        return False
    # A file of the same name in another place is not what is installed.
    file = getattr(sys.modules.get(module), "__file__", None)
    return file is not None and Path(file).resolve().is_relative_to(Path(record.location).resolve())
