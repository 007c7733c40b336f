"""The commands under `workflows agent`: list, describe, check, run and make single agents."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from strands_cli.api import (
    AGENT,
    SUFFIXES,
    Chosen,
    RunFlags,
    UsageError,
    print_json,
    print_result,
    say,
    say_findings,
    with_run_options,
)
from strands_cli_migrate.atomic_test import run_tests

if TYPE_CHECKING:
    from strands_cli.api import Atomic, Finding, Plan, RunRequest, RunResult

JSON = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Format = Literal["text", "json", "github", "sarif"]
# Folders that hold no agents and take long to walk.
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "site-packages"})
_LARGEST = 1_000_000
_MAX_INPUT = 10 * 1024 * 1024


def list_agents(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where to look, folders in it included.")] = Path(),
    as_json: JSON = False,
    every: Annotated[bool, typer.Option("--all", hidden=True, help="Older option: every agent is listed.")] = False,
) -> None:
    """List the files that hold one agent.

    Example: strands workflows agent list agents
    """
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a directory", fix="name a directory with agent files")
    from strands_cli.api import table

    agents, findings = _agents_below(directory)
    if as_json:
        print_json(
            {"agents": [_row(agent) for agent in agents], "findings": [finding.as_dict() for finding in findings]}
        )
        return
    say_findings(findings)
    if not agents:
        say(f"no file below {directory} holds one agent")
        return
    rows = [
        (agent.name, str(len(agent.tests)), agent.document.file, _first_line(agent.description)) for agent in agents
    ]
    print_result("\n".join(table([("AGENT", "TESTS", "FILE", "DESCRIPTION"), *rows])))


def _agents_below(directory: Path) -> tuple[list[Atomic], list[Finding]]:
    from strands_cli.api import find_atomic

    agents = [agent for path in _files_below(directory) if (agent := find_atomic(path)) is not None]
    return agents, [finding for agent in agents for finding in agent.findings]


def _files_below(directory: Path) -> Iterator[Path]:
    """Yield files that could hold an agent, sorted; links to folders are not followed."""
    for folder, folders, names in os.walk(directory):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _LEFT_OUT)
        for name in sorted(names):
            path = Path(folder) / name
            if path.suffix in SUFFIXES and path.is_file() and path.stat().st_size <= _LARGEST:
                yield path


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


def _row(atomic: Atomic) -> dict[str, Any]:
    return {
        "name": atomic.name,
        "description": atomic.description,
        "version": atomic.version,
        "file": atomic.document.file,
        "form": "workflow" if atomic.is_workflow else "agent",
        "tests": [test.name for test in atomic.tests],
    }


def describe(file: AGENT, as_json: JSON = False) -> None:
    """Show one agent: its purpose, its input and output, its model and its tools.

    Example: strands workflows agent describe agents/summary.yaml
    """
    from strands_cli.api import load_agent, open_atomic

    atomic = open_atomic(file)
    spec, agent = load_agent(atomic)
    runtime = spec.runtime if atomic.is_workflow else None
    provider, model = agent.provider or (runtime and runtime.provider), agent.model_id or (runtime and runtime.model_id)
    tools = None if agent.tools is None else [entry.tool for entry in agent.tools]
    facts = {
        **_row(atomic),
        "provider": provider,
        "model_id": model,
        "tools": tools,
        "prompt": agent.prompt,
        "input_schema": agent.input_schema,
        "output_schema": agent.output_schema,
    }
    if as_json:
        print_json(facts)
        return
    print_result("\n".join(_described(facts)))


def _described(facts: dict[str, Any]) -> Iterator[str]:
    version = f" (version {facts['version']})" if facts["version"] else ""
    yield f"{facts['name']}{version}: {_first_line(facts['description']) or 'without a description'}"
    model = " ".join(filter(None, (facts["provider"], facts["model_id"]))) or "that of the workflow, or of --provider"
    listed = "those of the workflow" if facts["tools"] is None else ", ".join(facts["tools"]) or "none"
    lines = {
        "file": facts["file"],
        "model": model,
        "tools": listed,
        "takes": _schema_line(facts["input_schema"]),
        "gives": _schema_line(facts["output_schema"]),
        "tests": "; ".join(facts["tests"]) or "none",
    }
    yield from (f"{name + ':':7} {text}".replace("\n", "\\n") for name, text in lines.items())
    yield from ("", *(f"  {line}" for line in (facts["prompt"] or "").rstrip().splitlines()))


def _schema_line(schema: Any) -> str:
    return "any text" if schema is None else json.dumps(schema, ensure_ascii=False)


def validate(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files with one agent each.")],
    output: Annotated[Format, typer.Option("--format", help="Format of the findings.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> int:
    """Check agent files: structure, templates, schemas, and whether their tests fit their contract.

    Example: strands workflows agent validate agents/*.yaml
    """
    from strands_cli.api import FileChecks

    return FileChecks().report(FileChecks.named(files, of_agents=True), "json" if as_json else output)


@with_run_options()
def run(
    *,
    file: AGENT,
    typed: Annotated[
        str | None, typer.Option("--input", metavar="TEXT", help="Text or JSON; @FILE reads it, @- from stdin.")
    ] = None,
    input_file: Annotated[
        str | None, typer.Option("--input-file", metavar="FILE", hidden=True, help="Older form of --input @FILE.")
    ] = None,
    chosen: Chosen,
    flags: RunFlags,
) -> int:
    """Run one agent once; input and answer must fit its schemas.

    It is a run like any other, with a journal and limits.

    Example: strands workflows agent run agents/summary.yaml --input @report.txt
    """
    from strands_cli.api import open_atomic, plan_atomic, run_in_terminal

    def plan(request: RunRequest) -> Plan:
        return plan_atomic(open_atomic(file, with_tests=False), _input_of(typed, input_file), request)

    return run_in_terminal(plan, chosen, flags, _structured)


def _structured(plan: Plan, result: RunResult) -> dict[str, Any]:
    """Return the answer as JSON, where the agent has a schema for it."""
    is_json = any(agent.output_schema is not None for agent in plan.agents.values())
    return {"output": json.loads(result.response) if is_json else None}


def _input_of(typed: str | None, input_file: str | None) -> str:
    """Return the input as it was typed, or the content of the file that it names."""
    if input_file is not None:
        if typed is not None:
            raise UsageError("--input and --input-file both give the input", fix="remove one of them")
        typed = f"@{input_file}"
    if typed is None:
        raise UsageError("Missing option '--input'", fix="pass text, JSON, or @FILE")
    if not typed.startswith("@"):
        return typed
    try:
        raw = sys.stdin.buffer.read(_MAX_INPUT + 1) if typed == "@-" else _bytes_of(Path(typed[1:]))
        text = raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise UsageError(f"{typed[1:]} is not UTF-8", fix="save it as UTF-8") from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        message = f"{typed[1:]!r} cannot be read: {reason}"
        raise UsageError(message, fix="correct the path; a text needs no @ before it") from error
    if len(raw) > _MAX_INPUT:
        raise UsageError(f"{typed[1:]} is larger than 10 MB", fix="pass a shorter input")
    return text


def _bytes_of(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(_MAX_INPUT + 1)


def new(
    path: Annotated[Path, typer.Argument(metavar="NAME", help="The agent's name, or the path of its file.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that exists.")] = False,
    as_json: JSON = False,
) -> None:
    """Write the file of a new agent, with a contract and a test that passes.

    Example: strands workflows agent new agents/summary
    """
    import shlex

    from strands_cli.api import write_agent
    from strands_cli_migrate.new_agent import new_agent

    if path.suffix not in ("", ".yaml"):
        raise UsageError(f"{path} is not the name of a YAML file", fix=f"write {path.with_suffix('.yaml')}")
    name = path.stem if path.suffix else path.name
    files = write_agent(name, new_agent(name), path.parent, force=force)
    if as_json:
        print_json({"made": [str(file) for file in files]})
        return
    lines = [
        *(f"made {file}" for file in files),
        "next:",
        f"  strands workflows agent test {shlex.quote(str(files[0]))}",
    ]
    print_result("\n".join(lines))


atomic_app = typer.Typer(
    help="Run, test and describe single agents that workflows use by $ref.\n\n"
    "Example: strands workflows agent test agents/*.yaml"
)
atomic_app.command("list")(list_agents)
atomic_app.command("describe")(describe)
atomic_app.command("validate")(validate)
atomic_app.command("run")(run)
atomic_app.command("test")(run_tests)
atomic_app.command("new")(new)
atomic_app.command("init", hidden=True)(new)
