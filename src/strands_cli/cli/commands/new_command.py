"""The command `new`: write a starter workflow that runs without changes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.default_parts import DEFAULTS, PATTERNS
from strands_cli.errors import UsageError


def new(
    path: Annotated[Path, typer.Argument(metavar="NAME", help="The workflow's name, or the path of its file.")],
    pattern: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"The order of its steps: {', '.join(DEFAULTS[PATTERNS])}, or a pattern of an installed distribution.",
            autocompletion=completions.patterns,
        ),
    ] = "chain",
    provider: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The model provider; default: play a recording.",
            autocompletion=completions.providers,
        ),
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="The model, as the provider names it.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write a new workflow of a pattern.

    Without a provider it plays a recording written beside it, so it runs at once and offline.

    Example: strands new overview --pattern parallel
    """
    import shlex  # `--help` needs neither this nor the next import

    from strands_cli.plugins.new_workflow import NewWorkflow, make_workflow

    if path.suffix not in ("", ".yaml", ".yml"):
        raise UsageError(f"{path} is not the name of a YAML file", fix=f"write {path.with_suffix('.yaml')}")
    name = path.stem if path.suffix else path.name
    files = make_workflow(NewWorkflow(name, pattern, provider, model), path.parent, force=force)
    if as_json:
        print_json({"made": [str(file) for file in files]})
        return
    lines = [*(f"made {file}" for file in files), "next:", f"  strands run {shlex.quote(str(files[0]))}"]
    print_result("\n".join(lines))
