"""Runs a workflow of the earlier format for real, and returns what it sent to the model, asked a person and wrote.

A case is one YAML file in `cases/`:

    workflow   its text; a line `runtime:` that omits provider, model and host gets those of the test's server
    place      its folder in the working directory; the default is that itself
    env        environment variables
    service    what an HTTP service at `<SERVICE>` answers, by path
    variables  the environment variables of an MCP program (`<PYTHON> <PROGRAM> SCRIPT <LOG>`) that `starts` has
    files      further files by their path beside it
    inputs     the values of its inputs
    turns      what the model answers: in order, or by the last message or the system prompt; each a text, or
               `{calls: [[TOOL, ARGUMENTS]]}`
    answers    what a person answers, in order
    asked_about  calls of tools that ask are asked about; without it they are allowed
    fresh      each question waits, and its answer goes to a run that is planned again from the journal
    any_order  steps run side by side, so the order of `sends` means nothing
    sends      each request: `{system, says: [ROLE: TEXT], tools, settings}`; the last two only where there are any
    asks       each question: `[PROMPT, CONTEXT]`
    writes     each artifact: its text by its path
    describes  the description of each of these tools, as the model gets it
    receives   each request of the service: method, path, headers, body
    starts     each start of an MCP program with its `variables`, and each call
    traces     the spans at `<COLLECTOR>`, by service and name
    ends       the exit code of a run that fails or stops
    warns      the codes of the plan's warnings, each with the line of the workflow
    refused    the codes of the errors, each with the line; then no request may have been sent
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from earlier_format.surroundings import Surroundings, around

from strands_cli import Workflow, discover_catalog
from strands_cli.app import load
from strands_cli.catalog.catalog import Catalog
from strands_cli.engine.journal.journal_rows import Question
from strands_cli.errors import ExitCode, Finding, StrandsCliError, WaitingForPerson, exit_code_of
from strands_cli.events import Event, RunStarted
from strands_cli_migrate.migrate_command import migrate
from tests.fakes.model_server import ModelServer, Turn

CASES = Path(__file__).parent / "cases"
KEYS = {
    "workflow",
    "place",
    "files",
    "inputs",
    "turns",
    "answers",
    "fresh",
    "any_order",
    "env",
    "service",
    "variables",
    "asked_about",
}
MODEL = "m"
_NOT_SETTINGS = ("messages", "tools", "model", "stream", "stream_options")
COMPARED = ("sends", "asks", "writes", "describes", "receives", "starts", "traces", "warns", "refused", "ends")


@dataclass
class Played:
    """What came of a case, in the words of its file."""

    sends: list[dict[str, Any]] = field(default_factory=list)
    asks: list[list[str]] = field(default_factory=list)
    writes: dict[str, str] = field(default_factory=dict)
    describes: dict[str, str] = field(default_factory=dict)
    receives: list[str] = field(default_factory=list)
    starts: list[Any] = field(default_factory=list)
    traces: list[str] = field(default_factory=list)
    ends: int = 0
    warns: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


@functools.cache
def read_case(name: str) -> dict[str, Any]:
    """Return a case; an unknown key would compare nothing."""
    case = read_yaml((CASES / f"{name}.yaml").read_text(encoding="utf-8"))
    assert case.keys() <= KEYS | set(COMPARED), case.keys()
    assert "sends" in case or "refused" in case, "a case says what is sent, or that nothing is"
    return case


@functools.cache
def read_yaml(text: str) -> Any:
    """Return what a text of YAML has; it is not changed."""
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def requests_of(case: Mapping[str, Any], folder: Path, *, is_migrated: bool) -> Played:
    """Run a case in an empty folder, which is the working directory, as it is or after it was migrated."""
    script = _Script(case.get("turns", []))
    played = Played()
    with around(case) as beside, ModelServer(script.turn) as server:
        file = _written(case, folder, server, beside)
        if is_migrated:
            _migrate(file)
        _run(file, case, played)
        played.sends = [sent(request) for request in server.model_requests]
        described = _described(server.model_requests, case.get("describes", ()))
        played.describes = {name: beside.emptied(text) for name, text in described.items()}
    if is_migrated:
        played.warns = [one.partition(":")[0] for one in played.warns]
        played.refused = [one.partition(":")[0] for one in played.refused]
    vars(played).update(beside.seen(case, folder))
    if case.get("any_order"):
        played.sends.sort(key=yaml.safe_dump)
    else:
        assert not script.left, f"the model was not asked for: {script.left}; {played}"
    out = folder / "artifacts"
    files = (path for path in sorted(out.rglob("*")) if path.is_file())
    played.writes = {path.relative_to(out).as_posix(): path.read_text(encoding="utf-8") for path in files}
    return played


def sent(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request as cases have it."""
    system = " ".join(_text(one) for one in request["messages"] if one["role"] == "system")
    # What ends each system prompt of the earlier format has tests of its own.
    system = system.partition("\n\n# Runtime Context\n")[0]
    says = [f"{one['role']}: {_text(one)}" for one in request["messages"] if one["role"] != "system"]
    tools = [tool["function"]["name"] for tool in request.get("tools", [])]
    others = {name: value for name, value in request.items() if name not in _NOT_SETTINGS}
    settings = {**({} if request["model"] == MODEL else {"model": request["model"]}), **others}
    parts = {"tools": tools, "settings": settings}
    return {"system": system, "says": says, **{name: part for name, part in parts.items() if part}}


def _described(requests: Sequence[Mapping[str, Any]], names: Collection[str]) -> dict[str, str]:
    tools = [tool["function"] for request in requests for tool in request.get("tools", [])]
    return {tool["name"]: tool["description"] for tool in tools if tool["name"] in names}


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content or ()]
    calls = [f"{call['function']['name']}({call['function']['arguments']})" for call in message.get("tool_calls", ())]
    return " ".join(filter(None, (*parts, *calls)))


class _Script:
    """The turns of the model, in one order or in one for each last message or system prompt."""

    def __init__(self, turns: list[Any] | Mapping[str, list[Any]]) -> None:
        self._turns = {name: list(each) for name, each in turns.items()} if isinstance(turns, Mapping) else list(turns)

    @property
    def left(self) -> list[Any]:
        turns = self._turns
        return turns if isinstance(turns, list) else [turn for each in turns.values() for turn in each]

    def turn(self, request: dict[str, Any]) -> Turn:
        turn = self._turns_for(sent(request)).pop(0)
        return Turn(calls=[tuple(call) for call in turn["calls"]]) if isinstance(turn, Mapping) else Turn(str(turn))

    def _turns_for(self, request: Mapping[str, Any]) -> list[Any]:
        if isinstance(self._turns, list):
            return self._turns
        last = request["says"][-1].partition(": ")[2]
        return self._turns[last if last in self._turns else request["system"]]


def _written(case: Mapping[str, Any], folder: Path, server: ModelServer, beside: Surroundings) -> Path:
    """Write the files of a case; the runtime is filled in on its own line, so that findings have the case's lines."""
    written = read_yaml(case["workflow"]).get("runtime") or {}
    base = {"provider": "openai", "model_id": MODEL, "host": server.url, "failure_policy": {"retries": 0}}
    filled = f"runtime: {json.dumps({**base, **written})}"
    lines = [filled if line.startswith("runtime:") else line for line in case["workflow"].splitlines()]
    folder /= case.get("place", "")
    for name, text in {"flow.yaml": "\n".join(lines) + "\n", **case.get("files", {})}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(beside.filled(text), encoding="utf-8")
    return (folder / "flow.yaml").relative_to(Path.cwd())


def _migrate(file: Path) -> None:
    """Write a file in the present format; it is the workflow that it was."""
    before = load(file).spec
    assert migrate([str(file)]) in (ExitCode.OK, ExitCode.INVALID)
    assert "version: 2" in file.read_text(encoding="utf-8")
    after = load(file).spec
    assert (after is None) is (before is None)
    assert dict(after or ()) == dict(before or ())


def _run(file: Path, case: Mapping[str, Any], played: Played) -> None:
    """Run to the end, or to the errors that refuse it."""
    person = _Person(case.get("answers", []), played)
    inputs, places = case.get("inputs"), {"runs_dir": file.parent / "runs", "catalog": _catalog()}
    flow = Workflow.from_file(file)
    try:
        played.warns = _lines(flow.plan(inputs, **places).findings, "warning")
        answer = None if case.get("fresh") else person.answer
        try:
            flow.run(inputs, answer=answer, on_event=person.listen, yes=not case.get("asked_about"), **places)
        except WaitingForPerson:
            person.answer_each_in_a_new_plan(places)
    except StrandsCliError as error:
        played.ends = 0 if error.findings else int(exit_code_of(error))
        played.refused = _lines(error.findings, "error")
    assert not person.answers, f"nothing asks for: {person.answers}"


@functools.cache
def _catalog() -> Catalog:
    return discover_catalog()


class _Person:
    """Answers questions in order, and writes down what was asked."""

    def __init__(self, answers: Sequence[str], played: Played) -> None:
        self.answers = list(answers)
        self._played = played
        self._run = ""
        self._may_answer = 1

    def listen(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._run = event.run_id

    def answer(self, question: Question) -> str:
        self._played.asks.append([question.prompt, question.context])
        return self.answers.pop(0)

    def answer_each_in_a_new_plan(self, places: Mapping[str, Any]) -> None:
        while self.answers:
            self._may_answer = 1
            with contextlib.suppress(WaitingForPerson):
                Workflow.resume(self._run, answer=self._answer_one, **places)

    def _answer_one(self, question: Question) -> str | None:
        self._may_answer -= 1
        return self.answer(question) if self._may_answer == 0 else None


def _lines(findings: Sequence[Finding], severity: str) -> list[str]:
    return [f"{one.code}:{one.where.line if one.where else '-'}" for one in findings if one.severity == severity]
