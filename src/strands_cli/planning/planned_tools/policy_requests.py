"""A planned tool, or a call of it, as policy sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strands_cli.planning.planned_tools.planned_tool import AnyTool, InstalledTool, McpTool, PythonTool
from strands_cli.planning.planned_tools.tool_config import configured_claims
from strands_cli.policy.rules.tool_request import Request


def request_of(
    tool: AnyTool,
    *,
    annotations: Mapping[str, Any] | None = None,
    claims: Mapping[str, Any] | None = None,
    arguments: Mapping[str, Any] | None = None,
    read_only_now: bool = False,
) -> Request:
    """Return what policy is asked about a tool.

    Args:
        annotations: Its MCP hints as loaded; those of its record where it is not loaded.
        claims: Its `strands_cli` object as loaded, likewise.
        arguments: Those of a call, with defaults filled in; None before there is one.
        read_only_now: Whether these arguments only read.
    """
    record = tool.record
    names = tool.names()
    return Request(
        names=names,
        annotations=annotations if annotations is not None else record.annotations,
        claims=configured_claims(claims if claims is not None else record.strands_cli, tool.config_claims),
        read_only_now=read_only_now,
        distribution=tool.distribution if isinstance(tool, (InstalledTool, McpTool)) else None,
        version=record.version,
        sources=tool.sources,
        arguments=arguments,
        custom=tool.reference if isinstance(tool, PythonTool) else None,
        custom_folder=tool.folder if isinstance(tool, PythonTool) else None,
        aliases=tuple(name for name in tool.all_names() if name not in names),
        typed_names=tool.typed_names,
        composed=tool.is_composed,
        publisher=tool.publisher,
    )
