"""Commands on tools: list-tools, tools list, tools show."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.command_options import Chosen, with_run_options
from strands_cli.cli.commands.running.trust_command import require_trust_in
from strands_cli.cli.commands.tool_list import (
    MOST_OF_A_REASON,
    flat_line,
    list_installed,
    read_this_installation,
    source_lines,
    summary,
    tool_source,
)
from strands_cli.cli.commands.watch_option import WATCH
from strands_cli.cli.output.messages import say, say_findings
from strands_cli.cli.output.results import json_text, print_json, print_response, print_result
from strands_cli.cli.terminal_text import one_line
from strands_cli.errors import ExitCode, Finding, StrandsCliError, UsageError, Where, did_you_mean, has_errors
from strands_cli.events import Event, RunWarning, ToolCallDecided, ToolProgress
from strands_cli.texts.canonical_json import json_object, strict_json

if TYPE_CHECKING:
    from collections.abc import Mapping

    from strands_cli.catalog.catalog import Catalog
    from strands_cli.catalog.tool_record import ToolRecord
    from strands_cli.cli.terminal.terminal_human import TerminalHuman
    from strands_cli.planning.plan_values import Plan
    from strands_cli.planning.run_request import RunRequest


# The command `tools run`: one tool call by hand, with the same permission check as a run's calls.


_STEP_INPUT = "/pattern/config/steps/0/input"
_EXAMPLE = 'write --input \'{"name": "value"}\''


class InputRefused(UsageError):
    """The input of a call does not fit the tool's schema; `result` is the result of the call, which was not made."""

    def __init__(self, message: str, fix: str, result: Mapping[str, Any]) -> None:
        super().__init__(message, fix=fix)
        self.result = result


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """The options of a tool besides its name: settings, and a file that declares it."""

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
    declaration: ToolDeclaration,
    chosen: Chosen,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    _watch: WATCH = False,
) -> int:
    """Call one installed tool. The command itself is the approval: a tool that asks is called, a denied one is not.

    Example: strands tools run calculator --input '{"expression": "6 * 7"}'
    """
    if name.endswith((".yaml", ".yml")):
        raise UsageError(f"{name} is a file, not a tool", fix=f"strands run {shlex.quote(name)}")
    try:
        result = call(name, typed, chosen.request(), declaration)
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


def call(name: str, typed: str, request: RunRequest, declaration: ToolDeclaration | None = None) -> Mapping[str, Any]:
    """Make the call with stdin and stdout reserved from the tool.

    Raises:
        StrandsCliError: There is no such tool, it cannot be called here, or the input does not fit it.
    """
    arguments = read_arguments(sys.stdin.read() if typed == "-" else typed)
    if declaration is not None and not declaration.is_empty():
        return _call_declared(name, arguments, request, declaration)
    from strands_cli import app
    from strands_cli.cli.foreign_output import run_to_end
    from strands_cli.planning.machine.installation import read_installation

    installation = read_installation(request, Path.cwd())
    say_findings(installation.warnings())
    tool = app.plan_tool(name, installation, locked=request.locked)
    say_findings(tool.record.deprecations)
    is_locked = installation.policy.lock_required_by(is_asked=request.locked) is not None
    progress = Progress()
    with typed_call() as person:
        result = run_to_end(lambda: app.run_tool(tool, arguments, installation, person, progress, is_locked=is_locked))
    _require_fit(result, progress, f"strands tools show {shlex.quote(name)}", arguments, tool.record.input_schema)
    return result


def _call_declared(
    name: str, arguments: Mapping[str, Any], request: RunRequest, declaration: ToolDeclaration
) -> Mapping[str, Any]:
    """Make the call with settings, or with the declaration in a file."""
    settings = read_arguments(declaration.config, "--config") if declaration.config is not None else None
    from strands_cli import app
    from strands_cli.cli.commands.running.trust_command import require_trust_in
    from strands_cli.cli.foreign_output import run_to_end
    from strands_cli.planning.single_call import call_workflow

    if declaration.declared_in is not None:
        require_trust_in(declaration.declared_in)
    planned = app.plan(call_workflow(name, settings, declaration.declared_in), request)
    # The input of the planned step is empty, see `call_workflow`; the typed one is checked by the call.
    findings = [
        finding for finding in planned.findings if not (finding.where and finding.where.pointer.startswith(_STEP_INPUT))
    ]
    planned = replace(planned, findings=tuple(_in_file(finding, declaration.declared_in) for finding in findings))
    if not has_errors(planned.findings):  # with errors, all of them are part of the error
        say_findings(planned.findings)
    from strands_cli.agents.execution import call_declared

    progress = Progress()
    with typed_call() as person:
        result = run_to_end(lambda: call_declared(planned, arguments, person, progress))
    file = declaration.declared_in
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
        progress: Whether policy was asked about the call, after its input was accepted.
        schema: The tool's schema, where it is known.
    """
    error = json_object(result_document(result).get("error"))
    if progress.is_decided or error.get("code") != "invalid_input":
        return
    shape = json_object(schema)
    properties = json_object(shape.get("properties"))
    names_given = {*arguments, *(name for name, part in properties.items() if "default" in json_object(part))}
    missing = [f"'{name}' is missing" for name in shape.get("required", ()) if name not in names_given]
    unknown = [name for name in arguments if shape.get("additionalProperties") is False and name not in properties]
    left = [name for name in properties if name not in arguments]
    guesses = [f"'{guess}'" for name in unknown if (guess := did_you_mean(name, left))]
    faults = "; ".join([*missing, *(f"there is no key '{name}'" for name in unknown)]) or error["message"]
    question = f"did you mean {' and '.join(guesses)}? " if guesses else ""
    raise InputRefused(f"the input does not fit the tool: {faults}", f"{question}see its input: {shows}", result)


@contextlib.contextmanager
def typed_call() -> Iterator[TerminalHuman]:
    """Reserve stdin and stdout from the tool, and give the person who can be asked."""
    from strands_cli.cli.foreign_output import reserved_streams
    from strands_cli.cli.terminal.terminal_human import Keyboard, choose_human

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


# MCP servers on the command line: the tools of a file's servers, and servers from another client's file.


def list_server_tools(spec: str, *, as_json: bool = False) -> None:
    """Start the servers of a workflow, print the tools of each, and stop them.

    Raises:
        StrandsCliError: A server cannot be started, or must not be.
    """
    from strands_cli import app
    from strands_cli.agents.mcp_definitions import ask_servers
    from strands_cli.cli.foreign_output import captured_logs, run_to_end
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.planning.single_call import call_workflow
    from strands_cli.workflow.parts.client_servers import has_client_servers
    from strands_cli.yaml_files.document_reader import read_document

    is_client_file = has_client_servers(read_document(spec))
    require_trust_in(spec)
    plan = app.plan(call_workflow("mcp:all", declared_in=spec) if is_client_file else spec, RunRequest(tell=say))
    with captured_logs(say):
        run = run_to_end(lambda: ask_servers(plan))
    rows = list(_rows(plan, run))
    if as_json:
        print_json({"tools": rows, "findings": []})
        return
    if not rows:
        say("no tools: the workflow has no MCP servers, or they have none")
    width = max((len(row["ref"]) for row in rows), default=0)
    for row in rows:
        summary = flat_line(str(row["description"] or ""))
        print_result(one_line(f"{row['ref'].ljust(width)}  {row['status']}  {summary}"))


def _rows(plan: Plan, definitions: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[dict[str, Any]]:
    from strands_cli.planning.planned_tool import reached_by
    from strands_cli.planning.resolve.mcp_servers import is_offered, model_name

    for server in plan.spec.tools.mcp:
        for name, definition in definitions[server.id].items():
            yield {
                "name": model_name(server, name),
                "ref": f"mcp:{server.id}/{name}",
                "status": "available" if is_offered(server, name) else "filtered",
                "description": definition.get("description"),
                "distribution": f"mcp:{server.id}",
                "version": None,
                "source": {"server": server.id, "reached_by": reached_by(server)},
                "input_schema": definition.get("input_schema"),
                "output_schema": definition.get("output_schema"),
                "annotations": definition.get("annotations") or {},
            }


def import_servers(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="JSON with `mcpServers`, as other MCP clients have it.",
            autocompletion=completions.json_files,
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Print the MCP servers of another client's file as sections of a workflow; variables and keys become secrets.

    Exit code 3: stderr names what is left to do.

    Example: strands tools import claude_desktop_config.json > servers.yaml
    """
    import yaml

    from strands_cli.workflow.parts.client_servers import has_client_servers, imported_servers
    from strands_cli.yaml_files.document_reader import read_document

    document = read_document(file)
    if not has_client_servers(document):
        raise UsageError(f"{file} has no `mcpServers`", fix="name a file of MCP servers of another client")
    servers = imported_servers(document)
    if as_json:
        print_json(servers.sections)
    else:
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # for files with thousands of servers
        print_result(yaml.dump(dict(servers.sections), Dumper=dumper, sort_keys=False, allow_unicode=True))
    for name, position in servers.hidden.items():
        say(one_line(f"warning: {position} looks like a secret and is not copied; ${{secrets.{name}}} takes its place"))
    for secret in servers.sections.get("env", {}).get("secrets", ()):
        say(one_line(f"the secret {secret['key']} comes from the environment: export {secret['key']}=..."))
    for note in servers.notes:
        say(one_line(note))
    for step in servers.to_do:
        say(one_line(f"to do: {step}"))
    return ExitCode.INVALID if servers.to_do else ExitCode.OK


@dataclass(frozen=True, slots=True)
class ListFlags:
    """Which tools are listed, and how."""

    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False
    source: Annotated[bool, typer.Option("--source", help="Show where each tool comes from.")] = False
    check: Annotated[bool, typer.Option("--check", help="Exit 3 if there are findings about installed tools.")] = False
    family: Annotated[
        str | None,
        typer.Option("--family", metavar="F", help="Only tools of this family.", autocompletion=completions.families),
    ] = None
    category: Annotated[
        str | None,
        typer.Option(
            "--category", metavar="C", help="Only tools of this category.", autocompletion=completions.categories
        ),
    ] = None
    mcp: Annotated[
        str | None,
        typer.Option(
            "--mcp",
            metavar="FILE",
            help="Start the MCP servers of a workflow, or of another client's JSON file, and list their tools.",
            autocompletion=completions.server_files,
        ),
    ] = None


@with_run_options(only=("no_plugins", "trace_hooks"))
def list_tools(*, shows: ListFlags, chosen: Chosen) -> int:
    """List the installed tools without importing any of them.

    Example: strands list-tools --source
    """
    if shows.mcp is not None:
        list_server_tools(shows.mcp, as_json=shows.as_json)
        return 0
    only = {"family": shows.family, "category": shows.category}
    return list_installed(as_json=shows.as_json, source=shows.source, check=shows.check, only=only, **chosen.typed)


def show_tool(
    name: Annotated[
        str,
        typer.Argument(
            help="A tool: 'db.query' for a part, 'native:files.*' for a family, or any reference.",
            autocompletion=completions.tools,
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show one tool, or each of a family: input and output schema, annotations, requirements, examples.

    Example: strands tools show calculator
    """
    catalog = read_this_installation().catalog
    family = _family(catalog, name)
    records = family or _named(catalog, name)
    if as_json:
        documents = [{**record.as_dict(), "source": tool_source(record, catalog)} for record in records]
        several = {"tools" if family else "conflict": documents}
        print_json(several if family or len(documents) > 1 else documents[0])
        return
    print_result("\n\n".join("\n".join(_page(record, catalog)) for record in records))


def _family(catalog: Catalog, name: str) -> Sequence[ToolRecord]:
    """Return the tools of a family; none if the name is another one."""
    from strands_cli.planning.resolve.single_tool import require_family
    from strands_cli.toolref import FAMILY, ToolRef, ToolRefError

    try:
        ref = ToolRef.parse(name)
    except ToolRefError:  # the catalog says so
        return ()
    return require_family(ref, catalog) if ref.kind == "native" and ref.member == FAMILY else ()


def _named(catalog: Catalog, name: str) -> list[ToolRecord]:
    from strands_cli.catalog.tool_record import ToolRecord

    match = catalog.lookup(catalog.typed(name))
    if isinstance(match, ToolRecord):
        return [match]
    claimants = catalog.by_name.get(name.removeprefix("native:"), [])
    # An installed tool can be shown even if it cannot be used; the page shows why.
    return claimants or [catalog.resolve(name)]


def _page(record: ToolRecord, catalog: Catalog) -> Iterable[str]:
    import json

    yield f"{record.ref_name}  ({record.kind}, {record.status})"
    yield f"  from {record.distribution} {record.version or '?'}: {record.entry}"
    if record.reason:
        yield f"  {record.status}: {flat_line(record.reason, MOST_OF_A_REASON)}"
    if record.description:
        yield from ("", *(f"  {line}" for line in record.description.strip().splitlines()))
    for title, value in _sections(record):
        yield from ("", f"  {title}:")
        yield from (f"    {line}" for line in json.dumps(value, ensure_ascii=False, indent=2).splitlines())
    for member in record.members or ():
        yield from ("", f"  {member.ref_name}  {summary(member)}".rstrip())
    yield from ("", *(f"  {line}" for line in source_lines(tool_source(record, catalog))))


def _sections(record: ToolRecord) -> Iterable[tuple[str, Any]]:
    single = record.members == ()
    if single:
        yield "input", record.input_schema if record.input_schema is not None else "unknown until it is loaded"
        yield "annotations", dict(record.annotations) or "none: every call asks"
    for title, value in (
        ("output", record.output_schema),
        ("strands_cli", record.strands_cli),
        ("requires", record.requires),
        ("config", record.config_schema),
        ("family", record.family),
        ("category", record.category),
        ("deprecated", record.deprecated),
        ("examples", list(record.examples)),
    ):
        if value:
            yield title, value
