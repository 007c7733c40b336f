"""The command `plugin new`: make a starter distribution, of a tool or a workflow, whose tests pass without changes."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from strands_cli.api import Finding, print_json, print_result, say, say_findings


class Form(enum.StrEnum):
    """The target of a new plugin's entry point: a form of a tool, or a folder with a workflow."""

    module = "module"
    function = "function"
    agent_tool = "agent_tool"
    class_ = "class"
    provider = "provider"
    workflow = "workflow"


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name, such as your_words.")],
    form: Annotated[Form, typer.Option(help="A tool's form in Python, or a workflow.")] = Form.module,
    directory: Annotated[Path, typer.Option(metavar="DIR", help="Where the project's directory is made.")] = Path(),
    author: Annotated[str | None, typer.Option(metavar="TEXT", help="The author, for the metadata.")] = None,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="What it does, in a sentence.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Make a plugin project, strands-tool-NAME: a working tool, its manifest, an example, and passing tests.

    A module depends on strands-tool-kit alone; the other forms of a tool depend on the SDK too. With --form workflow it
    is strands-flow-NAME: a workflow, its agent and their recordings, as data that is never imported.

    Example: strands plugin new your_words
    """
    if form is Form.workflow:
        _new_flow(name, directory, author, description, as_json=as_json)
        return
    import shlex  # `--help` needs neither this nor the next imports

    from strands_cli_dev.plugin_check.plugin_project import read_project
    from strands_cli_dev.plugin_check.whole_plugin import check_installed
    from strands_cli_dev.plugin_new.new_plugin import SAMPLE, NewPlugin, make_plugin
    from strands_cli_dev.plugin_new.plugin_name import name_plugin

    plugin = NewPlugin(name_plugin(name), form.value, author, description)
    folder = make_plugin(plugin, directory)
    if plugin.name.tool not in (name, name.removeprefix("strands-tool-")):
        say(f"the tool is called '{plugin.name.tool}'")
    findings = [*check_installed(folder.name), *read_project(folder).source.twins()]
    example, quoted_folder = json.dumps(SAMPLE), shlex.quote(str(folder))
    commands = [
        f"python -m pip install -e {quoted_folder}",
        f"strands tools run {plugin.ref} --input '{example}'",
        f"python -m pytest {quoted_folder}",
    ]
    _print_made(folder, {"tool": plugin.name.tool}, findings, commands, as_json=as_json)


def _new_flow(name: str, directory: Path, author: str | None, description: str | None, *, as_json: bool) -> None:
    """Make the package of a workflow."""
    import shlex

    from strands_cli_dev.plugin_new.new_flow import NewFlow, make_flow, name_flow

    new_flow = NewFlow(name_flow(name), author, description)
    folder = make_flow(new_flow, directory)
    if new_flow.name not in (name, name.removeprefix("strands-flow-")):
        say(f"the workflow is called '{new_flow.name}'")
    quoted_folder = shlex.quote(str(folder))
    commands = [
        f"strands run {shlex.quote(str(folder / new_flow.file))}",
        f"strands plugin check {quoted_folder}",
        f"python -m pip install -e {quoted_folder}",
        f"strands run {new_flow.reference}",
    ]
    _print_made(folder, {"workflow": new_flow.name}, [], commands, as_json=as_json)


def _print_made(
    folder: Path, names: Mapping[str, str], findings: Sequence[Finding], commands: Iterable[str], *, as_json: bool
) -> None:
    """Print the project that was made: its files and names as JSON, or its findings and the commands to go on with."""
    if as_json:
        files = sorted(str(path) for path in folder.rglob("*") if path.is_file())
        finding_documents = [finding.as_dict() for finding in findings]
        print_json({"made": files, "distribution": folder.name, **names, "findings": finding_documents})
        return
    say_findings(findings)
    print_result("\n".join([f"made {folder}", "next:", *(f"  {command}" for command in commands)]))
