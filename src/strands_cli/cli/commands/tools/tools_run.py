"""The command `tools run`: one tool call by hand, with the same permission check as a run's calls."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.command_options import Chosen, with_run_options
from strands_cli.cli.commands.watch_option import WATCH
from strands_cli.cli.output.messages import say, say_findings
from strands_cli.cli.output.results import json_text, print_json, print_response
from strands_cli.errors import ExitCode, Finding, StrandsCliError, UsageError, Where, did_you_mean, has_errors
from strands_cli.events import Event, RunWarning, ToolCallDecided, ToolProgress
from strands_cli.texts.canonical_json import json_object, strict_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strands_cli.cli.terminal.terminal_human import TerminalHuman
    from strands_cli.planning.run_request import RunRequest

_STEP_INPUT = "/pattern/config/steps/0/input"
_EXAMPLE = 'write --input \'{"name": "value"}\''


class InputRefused(UsageError):
    """The input of a call does not fit the tool's schema; `result` is what the call returned without being made."""

    def __init__(self, message: str, fix: str, result: Mapping[str, Any]) -> None:
        super().__init__(message, fix=fix)
        self.result = result


@dataclass(frozen=True, slots=True)
class Declared:
    """What the tool has besides its name: settings, and a file that declares it."""

    config: Annotated[
        str | None, typer.Option("--config", metavar="JSON", help="The tool's settings, as a workflow has them.")
    ] = None
    declared_in: Annotated[
        str | None,
        typer.Option(
            "--of",
            metavar="FILE",
            help="A workflow that declares the tool (its servers, executors, settings, secrets), or a JSON file of MCP "
            "servers of another client.",
            autocompletion=completions.server_files,
        ),
    ] = None

    def is_empty(self) -> bool:
        """Return whether the tool is an installed one as it is."""
        return self.config is None and self.declared_in is None


@with_run_options(only=("policy", "locked", "no_plugins", "trace_hooks"))
def run_tool(
    *,
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="The tool: short name or reference.", autocompletion=completions.tools),
    ],
    typed: Annotated[str, typer.Option("--input", metavar="JSON", help="The input; `-` reads standard input.")] = "{}",
    declared: Declared,
    chosen: Chosen,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result as JSON.")] = False,
    _watch: WATCH = False,
) -> int:
    """Call one installed tool. The command itself is the approval: a tool that asks is called, a denied one is not.

    Example: strands tools run calculator --input '{"expression": "6 * 7"}'
    """
    if name.endswith((".yaml", ".yml")):
        raise UsageError(f"{name} is a file, not a tool", fix=f"strands run {shlex.quote(name)}")
    try:
        result = call(name, typed, chosen.request(), declared)
    except StrandsCliError as error:
        if as_json:
            print_json(failure_document(error))
        raise
    document = result_document(result)
    failed = result["status"] != "success" or "error" in document
    if as_json:
        print_json(document)
    elif failed:
        say(shown(result))
    else:
        print_response(shown(result))
    return ExitCode.RUN_FAILED if failed else ExitCode.OK


def call(name: str, typed: str, request: RunRequest, declared: Declared | None = None) -> Mapping[str, Any]:
    """Make the call with stdin and stdout reserved from the tool.

    Raises:
        StrandsCliError: There is no such tool, it cannot be called here, or the input does not fit it.
    """
    arguments = read_arguments(sys.stdin.read() if typed == "-" else typed)
    if declared is not None and not declared.is_empty():
        return _call_declared(name, arguments, request, declared)
    from strands_cli import app
    from strands_cli.cli.process import run_to_end
    from strands_cli.planning.machine.installation import read_installation

    installation = read_installation(request, Path.cwd())
    say_findings(installation.warnings())
    planned = app.plan_tool(name, installation, locked=request.locked)
    say_findings(planned.record.deprecations)
    is_locked = installation.policy.lock_required_by(asked=request.locked) is not None
    progress = Progress()
    with typed_call() as person:
        result = run_to_end(
            lambda: app.run_tool(planned, arguments, installation, person, progress, is_locked=is_locked)
        )
    _require_fit(result, progress, f"strands tools show {shlex.quote(name)}", arguments, planned.record.input_schema)
    return result


def _call_declared(
    name: str, arguments: Mapping[str, Any], request: RunRequest, declared: Declared
) -> Mapping[str, Any]:
    """Make the call with settings, or with what a file declares."""
    settings = read_arguments(declared.config, "--config") if declared.config is not None else None
    from strands_cli import app
    from strands_cli.cli.commands.running.trust_command import require_trust_in
    from strands_cli.cli.process import run_to_end
    from strands_cli.planning.folders.single_call import call_workflow

    if declared.declared_in is not None:
        require_trust_in(declared.declared_in)
    planned = app.plan(call_workflow(name, settings, declared.declared_in), request)
    # The input of the planned step is empty, see `call_workflow`; the typed one is checked by the call.
    findings = [one for one in planned.findings if not (one.where and one.where.pointer.startswith(_STEP_INPUT))]
    planned = replace(planned, findings=tuple(_in_file(one, declared.declared_in) for one in findings))
    if not has_errors(planned.findings):  # with errors, all of them are part of the error
        say_findings(planned.findings)
    from strands_cli.agents.typed_calls import call_declared

    progress = Progress()
    with typed_call() as person:
        result = run_to_end(lambda: call_declared(planned, arguments, person, progress))
    file = declared.declared_in
    shows = f"tools list --json --mcp {shlex.quote(file)}" if file is not None else f"tools show {shlex.quote(name)}"
    _require_fit(result, progress, f"strands {shows}", arguments, planned.call_tools[name].record.input_schema)
    return result


def _in_file(finding: Finding, file: str | None) -> Finding:
    """Return a finding about the workflow that was made for a call at a place which a person has: the file, or none."""
    if finding.where is None or Path(finding.where.file).name != "tools run":
        return finding
    return replace(finding, where=Where(file) if file is not None else None)


class Progress:
    """Shows intermediate values of the tool, and warnings; `is_decided` once its input was accepted."""

    def __init__(self) -> None:
        self.is_decided = False

    def __call__(self, event: Event) -> None:
        """Take one event of the call."""
        from strands_cli.cli.terminal.live_view import View

        self.is_decided |= isinstance(event, ToolCallDecided)
        if isinstance(event, (ToolProgress, RunWarning)):
            View(verbose=True)(event)


def _require_fit(
    result: Mapping[str, Any], progress: Progress, shows: str, arguments: Mapping[str, Any], schema: Any = None
) -> None:
    """Check that the call was not refused for its input; a tool that was called may report its input itself.

    Args:
        progress: Whether policy was asked about the call, which is after its input was accepted.
        schema: The tool's schema, where it is known.
    """
    error = json_object(result_document(result).get("error"))
    if progress.is_decided or error.get("code") != "invalid_input":
        return
    shape = json_object(schema)
    known = json_object(shape.get("properties"))
    given = {*arguments, *(name for name, part in known.items() if "default" in json_object(part))}
    missing = [f"'{name}' is missing" for name in shape.get("required", ()) if name not in given]
    unknown = [name for name in arguments if shape.get("additionalProperties") is False and name not in known]
    left = [name for name in known if name not in arguments]
    guesses = [f"'{guess}'" for name in unknown if (guess := did_you_mean(name, left))]
    faults = "; ".join([*missing, *(f"there is no key '{name}'" for name in unknown)]) or error["message"]
    meant = f"did you mean {' and '.join(guesses)}? " if guesses else ""
    raise InputRefused(f"the input does not fit the tool: {faults}", f"{meant}see its input: {shows}", result)


@contextlib.contextmanager
def typed_call() -> Iterator[TerminalHuman]:
    """Reserve stdin and stdout from the tool, and give the person who can be asked."""
    from strands_cli.cli.foreign_output import reserved_streams
    from strands_cli.cli.terminal.keyboard import Keyboard
    from strands_cli.cli.terminal.terminal_human import choose_human

    person = choose_human()
    with reserved_streams(lambda line: say(f"  | {line}")) as streams:
        person.keyboard = Keyboard(streams.stdin)
        yield person


def read_arguments(text: str, flag: str = "--input") -> Any:
    """Read the input of a call, or the settings of its tool.

    Raises:
        UsageError: It is not a JSON object.
    """
    try:
        arguments = strict_json(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{flag} is not JSON: {error}", fix=_EXAMPLE.replace("--input", flag)) from error
    if not isinstance(arguments, dict):
        raise UsageError(f"{flag} is not a JSON object", fix=_EXAMPLE.replace("--input", flag))
    return arguments


def shown(result: Mapping[str, Any]) -> str:
    """Return a result as text: its text blocks, or else its JSON and the kinds of its other blocks."""
    texts = [block["text"] for block in result["content"] if "text" in block]
    if texts:
        return "\n".join(texts)
    return "\n".join(
        json_text(block["json"], indent=2) if "json" in block else f"[{', '.join(sorted(block))}]"
        for block in result["content"]
    )


def result_document(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole result `{"status", "content"}`, with `error` if it reports one.

    A success may: code that was run and raised, a service that answered with HTTP 500. A step of a workflow fails then.
    """
    document: dict[str, Any] = {"status": result["status"], "content": result["content"]}
    for block in result["content"]:
        error = json_object(block.get("json")).get("error")
        if error and isinstance(error, (str, dict)):
            document["error"] = error
    return document


def failure_document(error: StrandsCliError) -> dict[str, Any]:
    """Return the same document for a call that was not made; its code is that of the first finding."""
    if isinstance(error, InputRefused):
        return result_document(error.result)
    findings = error.findings
    code = findings[0].code if findings else "denied" if error.exit_code == ExitCode.DENIED else "unavailable"
    message = findings[0].message if findings else error.message
    details = {"exit_code": int(error.exit_code), "findings": [finding.as_dict() for finding in findings]}
    failure = {"code": code, "message": message, "retryable": False, "details": details}
    return {"status": "error", "content": [{"text": f"{code}: {message}"}], "error": failure}
