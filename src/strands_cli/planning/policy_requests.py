"""A planned tool, or a call of it, as policy sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from strands_cli.planning.plan import PlannedTool
from strands_cli.planning.resolve.tool_config import settled
from strands_cli.policy import Request

if TYPE_CHECKING:
    from strands_cli.catalog import Catalog, ToolRecord


def request_of(
    tool: PlannedTool,
    *,
    annotations: Mapping[str, Any] | None = None,
    claims: Mapping[str, Any] | None = None,
    arguments: Mapping[str, Any] | None = None,
    read_only_now: bool = False,
) -> Request:
    """Return what policy is asked about a tool.

    Args:
        tool: The tool.
        annotations: Its MCP hints as loaded; those of its record where it is not loaded.
        claims: Its `strands_cli` object as loaded, likewise.
        arguments: Those of a call, with defaults filled in; None before there is one.
        read_only_now: Whether these arguments only read.
    """
    record = tool.record
    return Request(
        names=tool.own_names,
        annotations=annotations if annotations is not None else record.annotations if record else {},
        claims=settled(claims if claims is not None else record.strands_cli if record else {}, tool.settles),
        read_only_now=read_only_now,
        distribution=record.distribution if record and not tool.is_given and tool.own is None else None,
        version=record.version if record else None,
        sources=tool.sources,
        arguments=arguments,
        custom=tool.custom,
        aliases=tuple(name for name in tool.names if name not in tool.own_names),
        composed=tool.is_composed,
    )


def sources_of(record: ToolRecord | None, catalog: Catalog) -> frozenset[str]:
    """Return where a tool comes from, in the words of a rule."""
    if record is None:
        return frozenset({"custom"})
    if record.kind == "object" and not record.path:
        return frozenset({"object"})
    from strands_cli.catalog.provenance import find_sources

    return find_sources(record, catalog)
