"""The hooks that plugins may implement: what their authors import, and how the program asks them."""

from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.hooks.hook_values import Check, HookContext, Proceed, ToolCall, Wrapper
from strands_cli.hooks.hookspecs import hookimpl
from strands_cli.policy import Decision

__all__ = ["Check", "Decision", "HookContext", "Proceed", "ToolCall", "ToolRecord", "Wrapper", "hookimpl"]
