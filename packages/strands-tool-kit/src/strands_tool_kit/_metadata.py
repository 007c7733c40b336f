"""`@tool_metadata`: declare the effects of a `@tool` function; it needs neither strands-cli nor the SDK."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

ATTRIBUTE = "__strands_tool_metadata__"
Target = TypeVar("Target")


def tool_metadata(**fields: Any) -> Callable[[Target], Target]:
    """Declare hints, limits and catalogue fields (`read_only=True`, `timeout_s=10`, `family="text"`), above `@tool`.

    strands-cli reads them from the source, and compares them when it loads the tool; a plain agent ignores them.

    Args:
        **fields: Those of `strands_cli.metadata.tool_metadata`.
    """

    def attach(target: Target) -> Target:
        # A `@tool` method makes a new object for each instance, from the function below.
        for carrier in (target, getattr(target, "__wrapped__", None)):
            if carrier is not None:
                setattr(carrier, ATTRIBUTE, {**getattr(carrier, ATTRIBUTE, {}), **fields})
        return target

    return attach
