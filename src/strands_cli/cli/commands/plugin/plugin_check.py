"""The command `plugin check`: check a plugin before others install it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.output import print_json, print_result, say_findings
from strands_cli.errors import ExitCode, InvalidInput
from strands_cli.phrases import counted

if TYPE_CHECKING:
    from strands_cli.plugins.check import PluginCheck, PluginProject


def check(
    plugin: Annotated[
        str, typer.Argument(metavar="DIST|DIRECTORY", help="An installed distribution, or a project directory.")
    ] = ".",
    load: Annotated[bool, typer.Option("--import", help="Also import it, in a child process.")] = False,
    seconds: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="Time limit for each import.")] = 20,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 3 for warnings also.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Check a plugin: metadata, entry points, manifest, schemas, words, safety, packaging; exit 3 if it has errors.

    Nothing is imported without --import, and no tool is called.

    Example: strands plugin check packages/strands-tool-foo --import
    """
    from strands_cli.plugins.check import check_plugin  # `--help` needs none of it

    try:
        done = check_plugin(find_plugin(plugin), seconds if load else None)
    except InvalidInput as error:
        if as_json:
            print_json(_document(plugin, [], [finding.as_dict() for finding in error.findings]))
        raise
    errors = sum(finding.severity == "error" for finding in done.findings)
    if as_json:
        found = [finding.as_dict() for finding in done.findings]
        print_json(_document(done.project.name, done.tools, found))
    else:
        say_findings(done.findings)
        if not errors:
            print_result(_verdict(done))
    return ExitCode.INVALID if errors or (strict and done.findings) else ExitCode.OK


def find_plugin(plugin: str) -> PluginProject:
    """Return the project in a directory, or the installed distribution of that name.

    Raises:
        InvalidInput: Neither exists.
    """
    from strands_cli.plugins.check import find_installed, read_project

    directory = Path(plugin)
    named = "/" not in plugin and "\\" not in plugin and plugin not in (".", "..")
    if named and not (directory / "pyproject.toml").is_file():
        return find_installed(plugin)
    return read_project(directory)


def _document(name: str, tools: list[str], findings: list[dict[str, Any]]) -> dict[str, Any]:
    ok = not any(finding["severity"] == "error" for finding in findings)
    return {"distribution": name, "tools": tools, "ok": ok, "findings": findings}


def _verdict(done: PluginCheck) -> str:
    tools, warnings = len(done.tools), len(done.findings)
    checked = f"{counted(tools, 'tool')} checked"
    rest = counted(warnings, "warning") if warnings else "no problems"
    return f"{done.project.name}: {checked}, {rest}"
