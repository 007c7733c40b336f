"""The trace of a run: a tree of its steps, model calls and tool calls with times and results, without texts."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from strands_cli.events import (
    Event,
    HumanAnswered,
    HumanAsked,
    ModelCallFinished,
    ModelCallStarted,
    ModelRetried,
    RunFinished,
    RunStarted,
    RunWarning,
    StepFailed,
    StepFinished,
    StepStarted,
    ToolCallDecided,
    ToolCallFinished,
    Usage,
)
from strands_cli.outputs.artifacts import PRIVATE, write_artifact

Node = dict[str, Any]


class RunTrace:
    """Builds the tree of a run from its events.

    The key of a step, a model call or a tool call begins with the key of its parent. The status is `running` until the
    event of the end arrives.
    """

    def __init__(self) -> None:
        self.root: Node = {"status": "running", "children": []}
        self._nodes: dict[str, Node] = {}

    def __call__(self, event: Event) -> None:
        """Add one event."""
        match event:
            case RunStarted():
                facts = {"workflow": event.workflow, "pattern": event.pattern, "resumed": event.resumed}
                self.root = {"run": event.run_id, **facts, "started_at": event.at, **self.root}
            case RunFinished():
                self._end_run(event)
            case RunWarning():
                self.root.setdefault("warnings", []).append(event.message)
            case StepStarted() | StepFinished() | StepFailed():
                self._step(event)
            case ModelCallStarted() | ModelRetried() | ModelCallFinished():
                self._model(event)
            case ToolCallDecided() | ToolCallFinished():
                self._tool(event)
            case HumanAsked():
                self._node(event.key, event.at)["asked_at"] = event.at
            case HumanAnswered():
                self._node(event.key, event.at)["answered"] = {"at": event.at, "by": event.by}

    def _end_run(self, event: RunFinished) -> None:
        calls = {"model_calls": event.model_calls, "tool_calls": event.tool_calls, "cost_usd": event.cost_usd}
        ended = {"status": event.status, "seconds": _rounded(event.seconds), "usage": _counted(event.usage), **calls}
        reason = {"reason": event.reason} if event.reason else {}
        # The children are last, so that a reader sees the result of the run first.
        self.root = {**self.root, **ended, **reason, "children": self.root.pop("children")}

    def _step(self, event: StepStarted | StepFinished | StepFailed) -> None:
        node = self._node(event.key, event.at)
        node |= {"kind": event.kind, "who": event.who}
        if isinstance(event, StepFinished):
            ended = {"status": "completed", "seconds": _rounded(event.seconds), "usage": _counted(event.usage)}
            node |= {**ended, "replayed": event.replayed}
        elif isinstance(event, StepFailed):
            node |= {"status": "failed", "seconds": _rounded(event.at - node["started_at"]), "error": event.error}

    def _model(self, event: ModelCallStarted | ModelRetried | ModelCallFinished) -> None:
        node = self._node(event.key, event.at)
        node |= {"kind": "model", "agent": event.agent, "model": event.model}
        if isinstance(event, ModelRetried):
            retry = {"attempt": event.attempt, "wait_s": event.wait_s, "reason": event.reason}
            retry |= {"next_model": event.next_model} if event.next_model else {}
            node.setdefault("retries", []).append(retry)
        elif isinstance(event, ModelCallFinished):
            ended = {"status": "completed", "seconds": _rounded(event.seconds), "usage": _counted(event.usage)}
            node |= {**ended, "calls": list(event.calls), "replayed": event.replayed}

    def _tool(self, event: ToolCallDecided | ToolCallFinished) -> None:
        node = self._node(event.key, event.at)
        node |= {"kind": "tool", "tool": event.tool}
        if isinstance(event, ToolCallDecided):
            node["decision"] = {"effect": event.effect, "rule": event.rule, "distribution": event.distribution}
            return
        ended = {"status": event.status, "seconds": _rounded(event.seconds), "error_code": event.error_code}
        ended |= {"reason": event.reason} if event.reason else {}
        node |= {**ended, "truncated": event.truncated, "replayed": event.replayed}

    def _node(self, key: str, at: float) -> Node:
        """Return the node of a key; a new one becomes a child of the nearest node above it."""
        if key not in self._nodes:
            self._nodes[key] = {"key": key, "status": "running", "started_at": at, "children": []}
            self._above(key)["children"].append(self._nodes[key])
        return self._nodes[key]

    def _above(self, key: str) -> Node:
        while "/" in key:
            key = key.rpartition("/")[0]
            if key in self._nodes:
                return self._nodes[key]
        return self.root


def write_trace(trace: RunTrace, folder: Path) -> Path | None:
    """Write the trace of a begun run to `RUN.trace.json`; a resumed run overwrites its file.

    Raises:
        ArtifactError: The file cannot be written.
    """
    if "run" not in trace.root:
        return None
    path = folder / f"{trace.root['run']}.trace.json"
    write_artifact(
        path, json.dumps(_without_empty(trace.root), ensure_ascii=False, indent=2) + "\n", force=True, mode=PRIVATE
    )
    return path


def _without_empty(node: Node) -> Node:
    """Return a node with its children last, and without the key `children` if it has none."""
    children = [_without_empty(child) for child in node["children"]]
    facts = {name: value for name, value in node.items() if name != "children"}
    return {**facts, "children": children} if children else facts


def _counted(usage: Usage) -> dict[str, int]:
    return {name: value for name, value in dataclasses.asdict(usage).items() if value}


def _rounded(seconds: float) -> float:
    return round(seconds, 3)
