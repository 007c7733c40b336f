"""The command `plugin check`: check a plugin before others install it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.output.messages import say_findings
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.errors import ExitCode, InvalidInput
from strands_cli.texts.phrases import counted

if TYPE_CHECKING:
    from strands_cli.plugins.check.project import PluginProject
    from strands_cli.plugins.check.whole_plugin import PluginCheck


def check(
    plugin: Annotated[
        str, typer.Argument(metavar="DIST|DIRECTORY", help="An installed distribution, or a project directory.")
    ] = ".",
    load: Annotated[bool, typer.Option("--import", help="Also import it, in a child process.")] = False,
    seconds: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="Time limit for each import.")] = 20,
    tests: Annotated[
        bool, typer.Option("--tests/--no-tests", help="Run the tests of its workflows and agents.")
    ] = True,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 3 for warnings also.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Check a plugin: metadata, entry points, manifest, schemas, words, safety, packaging; exit 3 if it has errors.

    Nothing is imported without --import, and no tool is called. Workflows, agents and skills are found, validated and
    planned, and their recordings are played in child processes; a test that calls tools needs --import. Commands,
    stores and other parts are checked too; a plugin may have nothing else.

    Example: strands plugin check packages/strands-tool-yours --import
    """
    from strands_cli.plugins.check.whole_plugin import check_plugin  # `--help` needs none of it

    try:
        done = check_plugin(find_plugin(plugin), seconds if load else None, tests=tests)
    except InvalidInput as error:
        if as_json:
            print_json(_document(plugin, None, [finding.as_dict() for finding in error.findings]))
        raise
    errors = sum(finding.severity == "error" for finding in done.findings)
    if as_json:
        found = [finding.as_dict() for finding in done.findings]
        print_json(_document(done.project.name, done, found))
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
    from strands_cli.plugins.check.project import find_installed, read_project

    directory = Path(plugin)
    named = "/" not in plugin and "\\" not in plugin and plugin not in (".", "..")
    if named and not (directory / "pyproject.toml").is_file():
        return find_installed(plugin)
    return read_project(directory)


def _document(name: str, done: PluginCheck | None, findings: list[dict[str, Any]]) -> dict[str, Any]:
    ok = not any(finding["severity"] == "error" for finding in findings)
    folders = done.folders if done else None
    return {
        "distribution": name,
        "tools": done.tools if done else [],
        "workflows": sorted(folders.workflows) if folders else [],
        "agents": sorted(folders.agents) if folders else [],
        "skills": sorted(folders.skills) if folders else [],
        "parts": [{"group": part.group, "name": part.name} for part in done.parts] if done else [],
        "tests": [one.as_dict() for one in done.tests] if done else [],
        "ok": ok,
        "findings": findings,
    }


def _verdict(done: PluginCheck) -> str:
    warnings, folders = len(done.findings), done.folders
    counts = [(len(done.tools), "tool")]
    if folders is not None:
        counts += [(len(folders.workflows), "workflow"), (len(folders.agents), "agent"), (len(folders.skills), "skill")]
    counts.append((len(done.parts), "part"))
    checked = ", ".join(counted(number, noun) for number, noun in counts if number) or "nothing"
    passed = sum(one.status == "passed" for one in done.tests)
    tests = f", {counted(passed, 'test')} passed" if done.tests else ""
    rest = counted(warnings, "warning") if warnings else "no problems"
    return f"{done.project.name}: {checked} checked{tests}, {rest}"
