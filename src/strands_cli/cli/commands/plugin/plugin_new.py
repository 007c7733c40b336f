"""The command `plugin new`: make a starter distribution whose tests pass without changes."""

from __future__ import annotations

import enum
import json
from pathlib import Path
from typing import Annotated

import typer

from strands_cli.cli.commands.command_options import JSON
from strands_cli.cli.output import print_json, print_result, say, say_findings


class Form(enum.StrEnum):
    """What the entry point of a new plugin refers to."""

    module = "module"
    function = "function"
    agent_tool = "agent_tool"
    class_ = "class"
    provider = "provider"


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tool's name, such as word_count.")],
    form: Annotated[Form, typer.Option(help="The tool's form in Python.")] = Form.module,
    directory: Annotated[Path, typer.Option(metavar="DIR", help="Where the project's directory is made.")] = Path(),
    author: Annotated[str | None, typer.Option(metavar="TEXT", help="The author, for the metadata.")] = None,
    description: Annotated[str | None, typer.Option(metavar="TEXT", help="What the tool does, in a sentence.")] = None,
    as_json: JSON = False,
) -> None:
    """Make a plugin project, strands-tool-NAME: a working tool, its manifest, an example, and passing tests.

    A module depends on strands-tool-kit alone; the other forms depend on the SDK too.

    Example: strands plugin new word_count
    """
    import shlex  # `--help` needs neither this nor what follows

    from strands_cli.plugins.check import check_twins, read_project
    from strands_cli.plugins.scaffold import SAMPLE, NewPlugin, make_plugin, name_plugin

    wanted = NewPlugin(name_plugin(name), form.value, author, description)
    made = make_plugin(wanted, directory)
    if wanted.name.tool not in (name, name.removeprefix("strands-tool-")):
        say(f"the tool is called '{wanted.name.tool}'")
    findings = list(check_twins(read_project(made)))
    if as_json:
        files = sorted(str(path) for path in made.rglob("*") if path.is_file())
        found = [finding.as_dict() for finding in findings]
        print_json({"made": files, "distribution": made.name, "tool": wanted.name.tool, "findings": found})
        return
    say_findings(findings)
    example = json.dumps(SAMPLE)
    place = shlex.quote(str(made))
    lines = [
        f"made {made}",
        "next:",
        f"  python -m pip install -e {place}",
        f"  strands tools run {wanted.ref} --input '{example}'",
        f"  python -m pytest {place}",
    ]
    print_result("\n".join(lines))
