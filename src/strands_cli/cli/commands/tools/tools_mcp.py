"""MCP servers on the command line: the tools of a file's servers, and servers from another client's file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.running.trust_command import require_trust_in
from strands_cli.cli.commands.tools.tool_list import flat_line
from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.cli.text_layout import one_line
from strands_cli.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from strands_cli.planning.plan.plan_values import Plan


def list_server_tools(spec: str, *, as_json: bool = False) -> None:
    """Start the servers of a workflow, print the tools of each, and stop them.

    Raises:
        StrandsCliError: A server cannot be started, or must not be.
    """
    from strands_cli import app
    from strands_cli.agents.mcp_definitions import ask_servers
    from strands_cli.cli.foreign_output import captured_logs
    from strands_cli.cli.process import run_to_end
    from strands_cli.planning.folders.single_call import call_workflow
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.workflow.parts.client_servers import has_client_servers
    from strands_cli.yaml_files.document_reader import read_document

    is_client_file = has_client_servers(read_document(spec))
    require_trust_in(spec)
    plan = app.plan(call_workflow("mcp:all", declared_in=spec) if is_client_file else spec, RunRequest(tell=say))
    with captured_logs(say):
        found = run_to_end(lambda: ask_servers(plan))
    rows = list(_rows(plan, found))
    if as_json:
        print_json({"tools": rows, "findings": []})
        return
    if not rows:
        say("no tools: the workflow has no MCP servers, or they have none")
    width = max((len(row["ref"]) for row in rows), default=0)
    for row in rows:
        summary = flat_line(str(row["description"] or ""))
        print_result(one_line(f"{row['ref'].ljust(width)}  {row['status']}  {summary}"))


def _rows(plan: Plan, found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Iterator[dict[str, Any]]:
    from strands_cli.planning.planned_tools.tool_config import reached_by
    from strands_cli.planning.resolve.mcp_servers import is_offered, model_name

    for server in plan.spec.tools.mcp:
        for name, definition in found[server.id].items():
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
    as_json: Annotated[bool, typer.Option("--json", help="Print the sections as JSON.")] = False,
) -> int:
    """Print the MCP servers of another client's file as sections of a workflow; variables and keys become secrets.

    The exit code is 3 if something is left to do before the sections are valid, which stderr names.

    Example: strands tools import claude_desktop_config.json > servers.yaml
    """
    import yaml

    from strands_cli.workflow.parts.client_servers import has_client_servers, imported_servers
    from strands_cli.yaml_files.document_reader import read_document

    document = read_document(file)
    if not has_client_servers(document):
        raise UsageError(f"{file} has no `mcpServers`", fix="name a file of MCP servers of another client")
    found = imported_servers(document)
    if as_json:
        print_json(found.sections)
    else:
        dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # for files with thousands of servers
        print_result(yaml.dump(dict(found.sections), Dumper=dumper, sort_keys=False, allow_unicode=True))
    for name, place in found.hidden.items():
        say(one_line(f"warning: {place} looks like a secret and is not copied; ${{secrets.{name}}} takes its place"))
    for secret in found.sections.get("env", {}).get("secrets", ()):
        say(one_line(f"the secret {secret['key']} comes from the environment: export {secret['key']}=..."))
    for note in found.notes:
        say(one_line(note))
    for what in found.to_do:
        say(one_line(f"to do: {what}"))
    return ExitCode.INVALID if found.to_do else ExitCode.OK
