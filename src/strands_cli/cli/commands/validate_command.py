"""Commands on workflow files that run nothing: validate and schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import typer

from strands_cli.errors import ExitCode, Finding, StrandsCliError, has_errors

Format = Literal["text", "json", "github", "sarif"]


def register(program: typer.Typer) -> None:
    """Add these commands to the program."""
    program.command()(validate)
    program.command()(schema)


def validate(
    specs: Annotated[list[str], typer.Argument(metavar="SPEC...", help="Workflow files; - is standard input.")],
    output: Annotated[Format, typer.Option("--format", help="How findings are written.")] = "text",
) -> int:
    """Check workflow files and report everything that is wrong in them.

    `github` marks the lines in a run of GitHub Actions, `sarif` is for whatever reads SARIF 2.1.0.

    Example: strands validate flows/*.yaml
    """
    return report_checked([(name, *_check(name)) for name in dict.fromkeys(specs)], output)


def report_checked(checked: Sequence[tuple[str, tuple[Finding, ...], ExitCode]], output: Format) -> int:
    """Report what was found in each file, and return the exit code of all together."""
    from strands_cli.cli.terminal.output import print_json, print_result, say, say_findings

    findings = [finding for _, found, _ in checked for finding in found]
    if output in ("github", "sarif"):
        _print_annotations(findings, output)
    elif output == "json":
        files = [{"file": name, "valid": not has_errors(found)} for name, found, _ in checked]
        print_json({"files": files, "findings": [finding.as_dict() for finding in findings]})
    else:
        for name, found, _ in checked:
            say_findings(found)
            if has_errors(found):
                say(f"{name}: {_count(found)}")
            else:
                print_result(f"{name}: ok" + (f", {_count(found)}" if found else ""))
    return max((code for _, _, code in checked), default=ExitCode.OK)


def _print_annotations(findings: list[Finding], form: Format) -> None:
    from strands_cli import __version__
    from strands_cli.cli.terminal.annotations import github_line, sarif_document
    from strands_cli.cli.terminal.output import print_json, print_result

    if form == "sarif":
        print_json(sarif_document(findings, __version__))
    elif findings:
        print_result("\n".join(map(github_line, findings)))


def schema(
    plain: Annotated[bool, typer.Option("--plain", help="The format alone, without the installed tools.")] = False,
    agent: Annotated[bool, typer.Option("--agent", help="The schema of files with one agent.")] = False,
) -> None:
    """Print the JSON Schema of the workflow format with the installed tools filled in, for editors.

    Example: strands schema > workflow.schema.json
    """
    from strands_cli.cli.terminal.output import print_json
    from strands_cli.workflow.format_schema import agent_schema, offer_tools, workflow_schema

    whole = agent_schema() if agent else workflow_schema()
    print_json(whole if plain else offer_tools(whole, _installed_tools()))


def _installed_tools() -> dict[str, Any]:
    """Return the schema of each installed tool's config by the reference that names the tool."""
    from strands_cli.catalog import discover_catalog

    catalog = discover_catalog()
    return {ref: catalog.resolve(ref).config_schema for ref in catalog.allowed_refs}


def _check(name: str) -> tuple[tuple[Finding, ...], ExitCode]:
    """Return the findings of one file and the exit code it alone would give."""
    from strands_cli.workflow.document_reader import read_document
    from strands_cli.workflow.loader import load_spec

    try:
        findings = load_spec(read_document(name)).findings
    except StrandsCliError as error:
        return error.findings, error.exit_code
    return findings, ExitCode.INVALID if has_errors(findings) else ExitCode.OK


def _count(findings: Any) -> str:
    errors = sum(finding.severity == "error" for finding in findings)
    counts = [(errors, "error"), (len(findings) - errors, "warning")]
    return ", ".join(f"{number} {word}{'' if number == 1 else 's'}" for number, word in counts if number)
