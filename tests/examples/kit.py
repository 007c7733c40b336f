"""The examples in a working directory, with what they need beside them: words on the command line, keys, answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from strands_cli.cli.program import run_program
from tests.cli.strands import EXAMPLES, Folder, Ran


@cache
def document(path: Path) -> Any:
    """Return what a file of YAML says, read by the library's parser in C, in a tenth of the time."""
    return yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def is_workflow(path: Path) -> bool:
    return isinstance(document(path), dict) and bool(document(path).keys() & {"agents", "pattern"})


WORKFLOWS = sorted(path.relative_to(EXAMPLES).as_posix() for path in EXAMPLES.rglob("*.yaml") if is_workflow(path))
# Those that start a program or open a private network: their first lines say to trust them before.
TRUSTED = (
    "context/on-demand.yaml",
    "http-executor.yaml",
    "mcp/shelf.yaml",
    "mcp/shelf-over-http.yaml",
    "secrets/ledger.yaml",
)
# What the first lines of an example say to add to the command.
WORDS = {
    "approve-and-write.yaml": ["--allow", "file_write"],
    "batch/orders.yaml": ["--var", "town=Ghent", "--var", "crates=3"],
    "context/on-demand.yaml": ["--allow", "mcp:shelf"],
    "http-executor.yaml": ["--allow", "hives"],
    "mcp/shelf.yaml": ["--allow", "mcp:shelf/find_books"],
    "mcp/shelf-over-http.yaml": ["--allow", "mcp:shelf"],
    "secrets/ledger.yaml": ["--allow", "ledger:balance"],
    "security/rules.yaml": ["--detach"],
    "tools/own-python.yaml": ["--allow", "own:shout"],
}
ENVIRONMENT = {
    "HIVES_TOKEN": "a-key-for-the-hives",
    "LEDGER_USER": "ann-of-the-ledger",
    "SHELF_KEY": "a-key-for-the-shelf",
    "STRANDS_CUSTOM_TOOL_ALLOWLIST": "own:shout,ledger:balance",
}
WARNS = {"tool-names/legacy.yaml": ["legacy-tool"]}
REFUSES = {"security/rules.yaml"}  # and what it refuses is the example
# By the key of the question. What is not here takes its default; without one it is approved.
ANSWERS: dict[str, dict[str, str]] = {"gates/two-people.yaml": {"steps.2": "yes"}}


@dataclass
class Shop:
    """A copy of the examples in a folder of its own."""

    folder: Folder
    capture: pytest.CaptureFixture[str]
    asked: list[str] = field(default_factory=list)

    @property
    def work(self) -> Path:
        return self.folder.work

    def look(self, *arguments: str) -> Ran:
        """Run a command that runs no workflow, in this process: a hundred processes would take a minute."""
        self.capture.readouterr()
        code = run_program(list(arguments))
        told = self.capture.readouterr()
        return Ran(code, told.out, told.err)

    def run(self, name: str) -> Ran:
        """Run an example to its end, with an answer to each question; trust it first where it says so."""
        if name in TRUSTED:
            assert self.folder.strands("run", f"examples/{name}", *WORDS.get(name, [])).code == 21
            assert f"strands workflows trust examples/{name}" in (EXAMPLES / name).read_text("utf-8")
            assert self.look("workflows", "trust", f"examples/{name}").code == 0
        ran = self.folder.strands("run", f"examples/{name}", "--json", *WORDS.get(name, []))
        while ran.code == 19:
            question = ran.document["questions"][0]
            several = question.get("approvers") or 1
            assert self.asked.count(question["key"]) < several, "an answer that stands is asked for once"
            self.asked.append(question["key"])
            said = [ran.document["run"], question["key"], *words(name, question)]
            said += ["--as", f"person{len(self.asked)}"] if several > 1 else []
            ran = self.folder.strands("approve", *said, "--json")
        return ran


def words(name: str, question: dict[str, Any]) -> list[str]:
    """Return what answers a question of an example."""
    text = ANSWERS.get(name, {}).get(question["key"]) or question.get("default")
    return ["--answer", text] if text else []
