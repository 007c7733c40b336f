"""The commands under `atomic`: list, describe, check, run and make single agents; `test` has a module of its own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.atomic.atomic_test import run_tests
from strands_cli.cli.commands.command_options import JSON, Chosen, RunFlags, with_run_options
from strands_cli.cli.commands.file_check import Format, check_agent_file, report_checked
from strands_cli.cli.commands.help_group import group
from strands_cli.cli.commands.running.run_execution import execute, json_on_failure, print_outcome, result_document
from strands_cli.cli.output.messages import say, say_findings
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.cli.terminal_text import table
from strands_cli.cli.text_layout import one_line
from strands_cli.errors import ExitCode, Finding, StrandsCliError, UsageError
from strands_cli.yaml_files.document_reader import SUFFIXES

if TYPE_CHECKING:
    from strands_cli.workflow.parts.agent_file import Atomic

FILE = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="File with one agent, or DIST/NAME.", autocompletion=completions.agent_files),
]
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

    Example: strands atomic list agents
    """
    if not directory.is_dir():
        raise UsageError(f"{directory} is not a directory", fix="name a directory with agent files")
    found, findings = _agents_below(directory)
    if as_json:
        print_json({"agents": [_row(one) for one in found], "findings": [one.as_dict() for one in findings]})
        return
    say_findings(findings)
    if not found:
        say(f"no file below {directory} holds one agent")
        return
    rows = [(one.name, str(len(one.tests)), one.document.file, _first_line(one.description)) for one in found]
    print_result("\n".join(table([("AGENT", "TESTS", "FILE", "DESCRIPTION"), *rows])))


def _agents_below(directory: Path) -> tuple[list[Atomic], list[Finding]]:
    from strands_cli.workflow.parts.agent_file import is_agent_file, is_single_step, read_atomic
    from strands_cli.yaml_files.document_reader import read_document

    found: list[Atomic] = []
    findings: list[Finding] = []
    for path in _files_below(directory):
        try:
            document = read_document(path)
        except StrandsCliError:
            continue  # a file that is not YAML is not an agent
        value = document.value
        if is_agent_file(value) or (isinstance(value, dict) and "agents" in value and is_single_step(value)):
            found.append(read_atomic(document))
            findings += found[-1].findings
    return found, findings


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


def _row(one: Atomic) -> dict[str, Any]:
    return {
        "name": one.name,
        "description": one.description,
        "version": one.version,
        "file": one.document.file,
        "form": "workflow" if one.is_workflow else "agent",
        "tests": [test.name for test in one.tests],
    }


def describe(file: FILE, as_json: JSON = False) -> None:
    """Show one agent: its purpose, its input and output, its model and its tools.

    Example: strands atomic describe agents/summary.yaml
    """
    from strands_cli.agent_files.agent_checks import load_valid

    atomic = _read(file)
    spec, agent = load_valid(atomic)
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
    yield from (one_line(f"{name + ':':7} {text}") for name, text in lines.items())
    yield from ("", *(f"  {line}" for line in (facts["prompt"] or "").rstrip().splitlines()))


def _schema_line(schema: Any) -> str:
    return "any text" if schema is None else json.dumps(schema, ensure_ascii=False)


def validate(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files with one agent each.")],
    output: Annotated[Format, typer.Option("--format", help="How findings are written.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> int:
    """Check agent files: structure, templates, schemas, and whether their tests fit their contract.

    Example: strands atomic validate agents/*.yaml
    """
    checked = [check_agent_file(name) for name in dict.fromkeys(files)]
    return report_checked(checked, "json" if as_json else output)


def _read(file: Path, *, with_tests: bool = True) -> Atomic:
    from strands_cli.workflow.parts.agent_file import open_atomic

    return open_atomic(file, with_tests=with_tests)


@with_run_options()
def run(
    *,
    file: FILE,
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

    It is a run like any other: it has a journal and limits, and can be resumed.

    Example: strands atomic run agents/summary.yaml --input @report.txt
    """
    from strands_cli import app
    from strands_cli.agent_files.agent_runs import plan_atomic

    known: dict[str, Any] = {"run": None, "status": "failed"}
    with json_on_failure(known if flags.as_json else None):
        flags.require_one_result()
        request = chosen.request()
        planned = plan_atomic(_read(file, with_tests=False), _input_of(typed, input_file), request)
        ended = execute(
            planned,
            request,
            known,
            flags,
            lambda human, emit, run_id: app.run(planned, request, human, emit, run_id=run_id),
        )
        if flags.as_json:
            structured = any(agent.output_schema is not None for agent in planned.agents.values())
            output = json.loads(ended.result.response) if structured else None
            print_json({**result_document(planned, ended.result), "output": output})
        else:
            print_outcome(planned, ended, flags)
    return ExitCode.OK


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
    """Write the file of a new agent: a contract, a test that passes, and the line that shows editors its schema.

    Example: strands atomic new agents/summary
    """
    import shlex

    from strands_cli.plugins.scaffold.new_agent import make_agent

    if path.suffix not in ("", ".yaml"):
        raise UsageError(f"{path} is not the name of a YAML file", fix=f"write {path.with_suffix('.yaml')}")
    made = make_agent(path.stem if path.suffix else path.name, path.parent, force=force)
    if as_json:
        print_json({"made": [str(file) for file in made]})
        return
    lines = [*(f"made {file}" for file in made), "next:", f"  strands atomic test {shlex.quote(str(made[0]))}"]
    print_result("\n".join(lines))


atomic_app = group(
    "Run, test and describe single agents that workflows use by $ref.\n\nExample: strands atomic test agents/*.yaml",
    {"list": list_agents, "describe": describe, "validate": validate, "run": run, "test": run_tests, "new": new},
)
atomic_app.command("init", hidden=True)(new)
