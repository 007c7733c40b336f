"""The core's own implementations: the scan registers tools, and policy decides."""

from __future__ import annotations

from collections.abc import Sequence

from strands_cli.catalog import Scan, ToolRecord, scan_tools
from strands_cli.hooks.hook_values import HookContext
from strands_cli.hooks.hookspecs import hookimpl
from strands_cli.policy import Decision, decide

NAME = "core"


class Core:
    """The first plugin of the hooks.

    Attributes:
        seen: The scan behind the tools it registered; empty before it was asked.
    """

    def __init__(self, path: Sequence[str] | None = None) -> None:
        self.seen = Scan()
        self._path = path

    @hookimpl
    def strands_register_tools(self) -> Sequence[ToolRecord]:
        """Give what the installed distributions declare."""
        records, self.seen = scan_tools(self._path)
        return records

    @hookimpl
    def strands_allow_tool(self, context: HookContext) -> Decision | None:
        """Answer by the rules, before any argument is known."""
        return decide(context.rules, context.request) if context.request is not None else None

    @hookimpl
    def strands_decide_call(self, context: HookContext) -> Decision | None:
        """Answer by the rules and these very arguments."""
        return decide(context.rules, context.request) if context.request is not None else None
