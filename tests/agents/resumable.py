"""Runs workflows against the loopback model server with a journal on disk, as often as a test wants to go on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from strands_cli import app
from strands_cli.agents.assembly import SharedRuns, assemble
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.config import Settings
from strands_cli.engine.journal.journal_rows import Row
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.plan_execution import RunResult, execute
from strands_cli.engine.ports import Ports, SystemClock
from strands_cli.engine.standalone import StandaloneRun
from strands_cli.events import Event
from strands_cli.outputs.artifacts import ArtifactWriter
from strands_cli.planning.environment import workspace_of
from strands_cli.planning.plan_builder import require_runnable
from strands_cli.planning.run_request import RunRequest
from tests.agents.kit import SCHEMA, Site

ECHO = (
    f"TOOL_SPEC = {{'name': 'echo', 'description': 'E.', 'inputSchema': {{'json': {SCHEMA!r}}},"
    " 'annotations': {'readOnlyHint': True}}\n"
    "def echo(tool, **kwargs):\n"
    "    return {'status': 'success', 'content': [{'text': 'said ' + tool['input']['text']}]}\n"
)
RECORD = Path("record")


def workflow(host: str, steps: str, *, agents: str, rest: str = "") -> str:
    runtime = f"{{provider: openai, model_id: m, host: '{host}', failure_policy: {{retries: 0}}}}"
    return (
        f"version: 2\nname: t\nruntime: {runtime}\nagents: {agents}\n{rest}\n"
        f"pattern: {{type: chain, config: {{steps: [{steps}]}}}}\n"
    )


def going(site: Site, text: str, *, options: RunRequest | None = None, events: list[Event] | None = None) -> RunResult:
    """Start the workflow, or go on with the run that an earlier call left in `RECORD`."""
    options = options or RunRequest(out_dir=Path("out"))
    planned = app.plan(
        "flow.yaml",
        options,
        text=text,
        catalog=discover_catalog([str(site.directory)]),
        settings=Settings(Path("runs")),
    )
    require_runnable(planned)

    async def work() -> RunResult:
        shared = SharedRuns()
        workers = await assemble(planned, workspace_of(planned), shared)
        journal = SqliteJournal.open(RECORD) if RECORD.exists() else SqliteJournal.create(RECORD)
        ports = Ports(journal, workers.agents, workers.tools, StandaloneRun(), SystemClock())
        emit: Any = (lambda event: None) if events is None else events.append
        try:
            return await execute(planned, ports, "r", emit, ArtifactWriter(options.out_dir, force=False))
        finally:
            journal.close()
            assert [*await workers.close(), *await shared.close()] == []

    return asyncio.run(work())


def rows() -> dict[str, Row]:
    journal = SqliteJournal.open(RECORD, hold=False)
    try:
        return {row.key: row for row in journal.rows()}
    finally:
        journal.close()


def lines_of(request: dict[str, Any]) -> list[str]:
    """Return the conversation of a request, one line a message: `user: hi`, `assistant calls echo`, `tool: hi`."""
    return [_line(message) for message in request["messages"] if message["role"] != "system"]


def system(request: dict[str, Any]) -> str:
    return "\n".join(_text(message) for message in request["messages"] if message["role"] == "system")


def _line(message: dict[str, Any]) -> str:
    if calls := message.get("tool_calls"):
        return "assistant calls " + ", ".join(call["function"]["name"] for call in calls)
    return f"{message['role']}: {_text(message)}"


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)
