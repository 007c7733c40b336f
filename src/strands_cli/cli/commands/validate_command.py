"""Commands on workflow files that run nothing: validate and schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.commands.file_check import Format, check_files
from strands_cli.cli.commands.watch_option import WATCH
from strands_cli.errors import UsageError


def validate(
    context: typer.Context,
    specs: Annotated[
        list[str],
        typer.Argument(
            metavar="SPEC...",
            help="Workflow files, or folders; - is standard input.",
            autocompletion=completions.workflow_files,
        ),
    ],
    output: Annotated[Format, typer.Option("--format", help="Format of the findings.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Write the corrections of which only one is right.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Print what --fix would change, and write nothing.")] = False,
    _watch: WATCH = False,
) -> int:
    """Check workflow files and report every finding.

    Of a folder it checks all workflows and agents below it, but for hidden ones and environments.

    `--fix` keeps comments and layout, and never changes what decides the rights of a workflow.

    `github` marks the lines in a run of GitHub Actions; `sarif` writes SARIF 2.1.0.

    Example: strands validate flows/*.yaml
    """
    output = "json" if as_json else output
    return (
        _fix(context, ["--diff"] * diff + ["--format", output, "--", *specs])
        if fix or diff
        else check_files(specs, output)
    )


def _fix(context: typer.Context, words: list[str]) -> int:
    """Run the command that corrects files.

    Raises:
        NotEquipped: Its distribution is not installed.
    """
    from strands_cli.default_parts import COMMANDS, OURS
    from strands_cli.parts.named_parts import not_installed, part_named

    if part_named(COMMANDS, "workflows.lsp") is None:
        raise not_installed("--fix", OURS[COMMANDS]["workflows.lsp"])
    program: Any = context.find_root().command
    return int(program.main(args=["workflows", "lsp", "fix", *words], prog_name="strands", standalone_mode=False) or 0)


def schema(
    spec: Annotated[
        str | None,
        typer.Argument(
            metavar="SPEC",
            help="A workflow, or DIST/NAME: print the schema of its inputs instead.",
            autocompletion=completions.workflow_files,
        ),
    ] = None,
    plain: Annotated[bool, typer.Option("--plain", help="The format only, without the installed tools.")] = False,
    agent: Annotated[bool, typer.Option("--agent", help="The schema of files with one agent.")] = False,
    _as_json: Annotated[bool, typer.Option("--json", help="Changes nothing: a schema is JSON.")] = False,
) -> None:
    """Print the JSON Schema of the workflow format with the installed tools filled in, for editors.

    With a workflow it is the schema of that workflow's inputs, for programs.

    Example: strands workflows schema > workflow.schema.json
    """
    from strands_cli.cli.output.results import print_json
    from strands_cli.workflow.format_schema import agent_schema, offer_patterns, offer_tools, workflow_schema

    if spec is not None:
        if plain or agent:
            raise UsageError("--plain and --agent are about the format, not about one workflow", fix="leave them out")
        print_json(_schema_of_inputs(spec), is_ours=False)
        return
    whole = agent_schema() if agent else workflow_schema()
    if not plain:
        whole = offer_tools(whole, _installed_tools())
        whole = whole if agent else offer_patterns(whole, _installed_patterns())
    print_json(whole, is_ours=False)


def _installed_patterns() -> list[str]:
    """Return the names of the patterns of installed distributions, which are not imported."""
    from strands_cli.default_parts import DEFAULTS, PATTERNS
    from strands_cli.parts.named_parts import names_in

    return [name for name in names_in(PATTERNS) if name not in DEFAULTS[PATTERNS]]


def _schema_of_inputs(source: str) -> dict[str, Any]:
    """Return the JSON Schema of the inputs of one workflow."""
    from strands_cli import app
    from strands_cli.planning.plan_builder import require_valid
    from strands_cli.planning.plan_values import workflow_input_schema

    spec = require_valid(app.load(source))
    about = {"title": spec.name, "description": spec.description}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **{name: text for name, text in about.items() if text},
        **workflow_input_schema(spec),
    }


def _installed_tools() -> dict[str, Any]:
    """Return the schema of each installed tool's config by the reference that names the tool."""
    from strands_cli.catalog.catalog import discover_catalog

    catalog = discover_catalog(project=Path.cwd())
    return {ref: catalog.resolve(ref).config_schema for ref in catalog.allowed_refs}
