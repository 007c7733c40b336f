"""The values of a host for a call besides its input."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from strands_tool_kit._result import ToolError

# Left before the host's deadline, so that the tool itself can say that the time is over.
_MARGIN_S = 0.25
_LEAST_S = 0.05


@dataclass(frozen=True, slots=True)
class CallContext:
    """The values of a host besides the input (calling contract 1); all of them may be absent.

    Attributes:
        config: The operator's configuration of the tool.
        secrets: The values of the secrets that the tool declares, by name.
        workspace: Where the tool may read and write, as the host describes it.
        deadline: A moment of `time.monotonic()`, in seconds.
        cancel: Has an `is_set()` like `threading.Event`.
        run_id: The run, or None outside a run.
        idempotency_key: The same for each attempt at this call, and for no other call; None outside a run.
        context: Values of the program that started the run for its tools, such as a user's id.
        connection_refusal: Takes an address that a call goes on to by itself, such as that of a redirect, and returns
            why policy refuses that; None if it does not. A host without policy passes nothing.
    """

    config: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    workspace: Any = None
    deadline: float | None = None
    cancel: Any = None
    run_id: str | None = None
    idempotency_key: str | None = None
    context: Mapping[str, Any] = field(default_factory=dict, repr=False)
    connection_refusal: Callable[[str], str | None] | None = None

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> CallContext:
        """Read the `strands_cli` keyword of a tool call."""
        fields = keywords.get("strands_cli") or {}
        return cls(
            config=fields.get("config") or {},
            secrets=fields.get("secrets") or {},
            workspace=fields.get("workspace"),
            deadline=fields.get("deadline"),
            cancel=fields.get("cancel"),
            run_id=fields.get("run_id"),
            idempotency_key=fields.get("idempotency_key"),
            context=fields.get("context") or {},
            connection_refusal=fields.get("connection_refusal"),
        )

    def require_time(self) -> None:
        """Continue only while the call has time.

        Raises:
            ToolError: `cancelled` or `timeout`.
        """
        if self.cancel is not None and self.cancel.is_set():
            raise ToolError("cancelled", "the call was cancelled", reason="cancelled")
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise ToolError("timeout", "the time for this call is over", retryable=True, reason="deadline")

    def seconds(self, limit: float) -> float:
        """Return how many seconds work may take: `limit`, or less where the deadline is nearer.

        Raises:
            ToolError: `cancelled` or `timeout`; the call has no time left.
        """
        self.require_time()
        if self.deadline is None:
            return limit
        return max(min(limit, self.deadline - time.monotonic() - _MARGIN_S), _LEAST_S)
