"""Run workflows against a model server over HTTP, through the real client, loaded tools and a journal on disk."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strands_cli import app
from strands_cli.agents.assembly import assemble, opened_runs
from strands_cli.config import Settings
from strands_cli.engine.journal.journal_rows import Answer, Journal, Question
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.engine.plan_execution import RunResult, execute
from strands_cli.engine.ports import Ports, SystemClock
from strands_cli.events import Event
from strands_cli.outputs.artifacts import ArtifactWriter
from strands_cli.planning.plan_builder import require_runnable
from strands_cli.planning.plan_values import Plan
from strands_cli.planning.run_request import RunRequest
from tests.distributions import make_distribution, manifest_of, tool
from tests.fakes.model_server import Turn

COUNTING = """
import pathlib

TOOL_SPEC = {spec!r}


def {name}(tool, **kwargs):
    given = tool["input"]
    with pathlib.Path(given["file"]).open("a") as file:
        file.write(given["text"] + "\\n")
    return {{"status": "success", "content": [{{"text": given["text"]}}]}}
"""
TEXT_AND_FILE = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "file": {"type": "string"}},
    "required": ["text", "file"],
}


def install_counting_tool(site: Path, name: str = "mark") -> None:
    """Install a tool that leaves one line for each time it acts; it says that it may be repeated."""
    package, hints = f"strands_tool_{name}", {"readOnlyHint": True, "idempotentHint": True}
    described = tool(name, package, input_schema=TEXT_AND_FILE, annotations=hints)
    spec = {"name": name, "description": described["description"], "inputSchema": {"json": TEXT_AND_FILE}}
    make_distribution(
        site,
        "strands-tool-mark",
        "1.0",
        {name: package},
        {f"{package}/__init__.py": COUNTING.format(name=name, spec={**spec, "annotations": hints})},
        manifest_of("strands-tool-mark", described),
    )


@dataclass
class People:
    """A person who answers gates: the answer is a function of the question's key; no answer: the question waits."""

    answers: Mapping[str, str] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question.key)
        answer = self.answers.get(question.key)
        return Answer("waiting") if answer is None else Answer("answered", answer)


def plan_in(
    directory: Path, pattern: str, url: str, *, rest: str = "", agents: str = "", retries: int = 2, **inputs: Any
) -> Plan:
    """Plan a workflow of three agents and perhaps more over the model server; `inputs` are its variables."""
    values = json.dumps({**inputs, "marks": str(directory / "marks")})
    text = f"""
version: 2
name: live
{rest}
runtime: {{provider: openai, model_id: m, host: '{url}', max_parallel: 3, failure_policy: {{retries: {retries}}}}}
inputs: {{values: {values}}}
agents:
  writer: {{prompt: You write., tools: [mark]}}
  editor: {{prompt: You edit., tools: []}}
  judge: {{prompt: You judge., tools: []}}
{_indented(agents)}
pattern:
{_indented(pattern)}
"""
    options = RunRequest(yes=True, out_dir=directory / "out")
    plan = app.plan("live.yaml", options, text=text, settings=Settings(directory / "runs"))
    require_runnable(plan)
    return plan


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.strip("\n").splitlines())


def journal_in(directory: Path) -> SqliteJournal:
    """Open the run of a directory, or begin it."""
    run = directory / "run"
    return SqliteJournal.open(run) if run.exists() else SqliteJournal.create(run)


def run_in(
    directory: Path,
    plan: Plan,
    people: People | None = None,
    emit: Callable[[Event], None] = lambda event: None,
    wrap: Callable[[Journal], Journal] = lambda journal: journal,
) -> RunResult:
    """Run a plan, or go on with the run of this directory."""

    async def work() -> RunResult:
        async with contextlib.AsyncExitStack() as stack:
            shared = await stack.enter_async_context(opened_runs())
            workers = await assemble(plan, {"root": str(directory), "mounts": {}, "protected": []}, shared)
            stack.push_async_callback(workers.close)
            journal = journal_in(directory)
            stack.callback(journal.close)
            ports = Ports(wrap(journal), workers.agents, workers.tools, people or People(), SystemClock())
            return await execute(plan, ports, "run-1", emit, ArtifactWriter(directory / "out", force=True))

    return asyncio.run(work())


def marks_in(directory: Path) -> Counter[str]:
    """Return what the tool has done, by its text."""
    file = directory / "marks"
    return Counter(file.read_text().splitlines() if file.exists() else [])


def last_text(request: Mapping[str, Any]) -> str:
    """Return the text of a request's last message."""
    content = request["messages"][-1]["content"]
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


class Minding:
    """A model that answers by rules: the first whose pattern is found in a request's last message.

    A rule's answer is a turn or a function of the request's text; what no rule knows is echoed in `<>`.
    """

    def __init__(self, *rules: tuple[str, Turn | Callable[[str], Turn]]) -> None:
        self.rules = rules
        self.texts: list[str] = []

    def __call__(self, request: dict[str, Any]) -> Turn:
        text = last_text(request)
        self.texts.append(text)
        found = next((answer for pattern, answer in self.rules if re.search(pattern, text)), Turn(f"<{text}>"))
        return found(text) if callable(found) else found
