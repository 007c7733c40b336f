"""Shared code for authors of Strands tools: results and errors in the right shape, checks of arguments, limits."""

from __future__ import annotations

from strands_tool_kit._context import CallContext
from strands_tool_kit._input import bad_input, read_input
from strands_tool_kit._metadata import tool_metadata
from strands_tool_kit._result import ToolError, answer, answer_async, cut_text

__version__ = "0.1.0"
__all__ = ["CallContext", "ToolError", "answer", "answer_async", "bad_input", "cut_text", "read_input", "tool_metadata"]
