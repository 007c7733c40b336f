"""The commands `plugin check` and `plugin manifest`: check a plugin before others install it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.api import ExitCode, InvalidInput, UsageError, counted, print_json, print_result, say_findings

if TYPE_CHECKING:
    from strands_cli_dev.plugin_check.whole_plugin import PluginCheck


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
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Check a plugin: metadata, entry points, manifest, schemas, words, safety, packaging; exit 3 if it has errors.

    Nothing is imported without --import, and no tool is called. Workflows, agents and skills are found, validated and
    planned, and their recordings are played in child processes; a test that calls tools needs --import. Commands,
    stores and other parts are checked too; a plugin may have nothing else.

    Example: strands plugin check packages/strands-tool-yours --import
    """
    from strands_cli_dev.plugin_check.plugin_project import find_plugin  # `--help` needs none of it
    from strands_cli_dev.plugin_check.whole_plugin import check_plugin

    try:
        done = check_plugin(find_plugin(plugin), seconds if load else None, tests=tests)
    except InvalidInput as error:
        if as_json:
            print_json(_document(plugin, None, [finding.as_dict() for finding in error.findings]))
        raise
    errors = sum(finding.severity == "error" for finding in done.findings)
    if as_json:
        finding_documents = [finding.as_dict() for finding in done.findings]
        print_json(_document(done.project.name, done, finding_documents))
    else:
        say_findings(done.findings)
        if not errors:
            print_result(_verdict(done))
    return ExitCode.INVALID if errors or (strict and done.findings) else ExitCode.OK


def _document(name: str, done: PluginCheck | None, findings: list[dict[str, Any]]) -> dict[str, Any]:
    ok = not any(finding["severity"] == "error" for finding in findings)
    folders = done.folders if done else None
    return {
        "distribution": name,
        "tools": done.tools if done else [],
        "workflows": sorted(folders.workflows) if folders else [],
        "agents": sorted(folders.agents) if folders else [],
        "skills": sorted(folders.skills) if folders else [],
        "parts": [{"group": group, "name": part} for group, part, _ in done.project.source.parts] if done else [],
        "tests": [test.as_dict() for test in done.tests] if done else [],
        "ok": ok,
        "findings": findings,
    }


def _verdict(done: PluginCheck) -> str:
    warnings, folders = len(done.findings), done.folders
    counts = [(len(done.tools), "tool")]
    if folders is not None:
        counts += [(len(folders.workflows), "workflow"), (len(folders.agents), "agent"), (len(folders.skills), "skill")]
    counts.append((len(done.project.source.parts), "part"))
    checked = ", ".join(counted(number, noun) for number, noun in counts if number) or "nothing"
    passed_count = sum(test.status == "passed" for test in done.tests)
    tests = f", {counted(passed_count, 'test')} passed" if done.tests else ""
    rest = counted(warnings, "warning") if warnings else "no problems"
    return f"{done.project.name}: {checked} checked{tests}, {rest}"


def manifest(
    directory: Annotated[Path, typer.Argument(help="The plugin's project directory.")] = Path(),
    write: Annotated[bool, typer.Option("--write", help="Write strands_tools.json into the package.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Exit 3 if the committed manifest differs from the code.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Generate a plugin's manifest from its code; without an option, print it.

    A literal tool spec is read without an import; a computed one is imported, in a child process.

    Example: strands plugin manifest --check packages/strands-tool-yours
    """
    from strands_cli_dev.plugin_check.manifests import check_manifests, make_manifests, render, write_manifests
    from strands_cli_dev.plugin_check.plugin_project import read_project

    if write and check:
        raise UsageError("--write and --check cannot be combined", fix="check after writing, in a second command")
    project = read_project(directory)
    findings = check_manifests(project) if check else []
    documents = make_manifests(project) if as_json or not (write or check) else {}
    written = [str(file) for file in write_manifests(project)] if write else []
    if as_json:
        finding_documents = [finding.as_dict() for finding in findings]
        manifests = {str(file): document for file, document in documents.items()}
        print_json(
            {"distribution": project.name, "manifests": manifests, "written": written, "findings": finding_documents}
        )
    elif write:
        print_result("\n".join(written))
    elif check:
        say_findings(findings)
    else:
        print_result("".join(render(document) for document in documents.values()))
    if findings:
        raise typer.Exit(ExitCode.INVALID)
    if check and not as_json:
        print_result(f"{project.name}: the manifest matches the code")
