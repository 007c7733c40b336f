"""The hooks that plugins may implement: what their authors import, and how the program asks them."""

from strands_cli.catalog.records import ToolRecord
from strands_cli.hooks.specs import hookimpl
from strands_cli.hooks.values import Check, HookContext, Proceed, ToolCall, Wrapper
from strands_cli.policy import Decision

__all__ = ["Check", "Decision", "HookContext", "Proceed", "ToolCall", "ToolRecord", "Wrapper", "hookimpl"]
