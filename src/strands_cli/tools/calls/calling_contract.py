"""Calling contract 1: the values for a tool besides its input, and the limits that it states for itself."""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from strands_cli.policy.file_places import Workspace

DEFAULT_TIMEOUT_S = 120.0
DEFAULT_OUTPUT_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Contract:
    """Calling contract 1: the values for a tool besides its input, under the key `strands_cli`.

    `secrets` are all of the run; each tool gets those that it declares. `context` has the values of a program for the
    tools of one run.
    """

    workspace: Mapping[str, Any]
    secrets: Mapping[str, str] = field(repr=False)
    context: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def places(self) -> Workspace:
        """The places where paths of a call begin, for policy."""
        workspace = self.workspace
        return Workspace(
            str(workspace.get("root") or ""), workspace.get("mounts") or {}, workspace.get("written_mounts") or {}
        )

    def keywords(
        self, config: Mapping[str, Any], deadline: float, cancel: threading.Event, declared: Sequence[str] = ()
    ) -> dict[str, Any]:
        """Return the contract of one call; a tool may keep or change its copy.

        Args:
            deadline: The moment of `time.monotonic()` by which it must answer.
            cancel: Is set when the answer is no longer awaited.
        """
        return {
            "config": copy.deepcopy(dict(config)),
            "workspace": copy.deepcopy({name: it for name, it in self.workspace.items() if name != "written_mounts"}),
            "secrets": {name: self.secrets[name] for name in declared if name in self.secrets},
            "deadline": deadline,
            "cancel": cancel,
            "context": dict(self.context),
            "run_id": None,
            "call_key": None,
            "idempotency_key": None,
            "connection_refusal": None,
        }


def names_of_call(run_id: str | None, key: str) -> dict[str, str | None]:
    """Return the names of one call; the idempotency key is the same for each attempt at it, and for no other call."""
    return {"run_id": run_id, "call_key": key, "idempotency_key": f"{run_id}/{key}" if run_id else None}


def timeout_of(claims: Mapping[str, Any]) -> float:
    """Return the seconds that a tool may take, by its claims."""
    return _limit(claims.get("timeout_s"), DEFAULT_TIMEOUT_S)


def output_bytes_of(claims: Mapping[str, Any]) -> int:
    """Return the bytes of text and JSON that a tool may answer, by its claims."""
    return int(_limit(claims.get("max_output_bytes"), DEFAULT_OUTPUT_BYTES))


def _limit(stated: Any, default: float) -> float:
    sound = isinstance(stated, (int, float)) and not isinstance(stated, bool) and 0 < stated < float("inf")
    return stated if sound and stated is not None else default
