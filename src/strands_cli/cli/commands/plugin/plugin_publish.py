"""The command `plugin publish`: what is between a project and an index, and the file for CI that publishes it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.output import print_json, print_result, say
from strands_cli.cli.text_layout import one_line
from strands_cli.errors import ExitCode, UsageError
from strands_cli.phrases import counted

if TYPE_CHECKING:
    from strands_cli.errors import Finding
    from strands_cli.plugins.publish import CiFile, PublishCheck


def publish(
    directory: Annotated[Path, typer.Argument(metavar="[DIR]", help="The project's directory.")] = Path(),
    check: Annotated[bool, typer.Option("--check", help="Check it, and exit 3 if something blocks it.")] = False,
    ci: Annotated[
        bool, typer.Option("--ci", help="Print the file for GitHub Actions that publishes it, with attestations.")
    ] = False,
    wheel: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Its wheel, built already; else --check builds one.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 3 for warnings also.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> int:
    """Say what is between a plugin's project and an index: name, readme, licence, wheel, manifest, attestations.

    Nothing is uploaded: CI publishes, with the file that --ci prints. Without
    --wheel, --check runs the code of the project's build.

    Example: strands plugin publish --check strands-tool-foo
    """
    from strands_cli.plugins.publish import check_publishable, make_ci_file, read_source

    if check == ci:
        message = "--check and --ci cannot be combined" if check else "strands-cli uploads nothing: CI publishes"
        raise UsageError(message, fix="strands plugin publish --check, then: strands plugin publish --ci")
    source = read_source(directory)
    if ci:
        made = make_ci_file(source.directory, str(source.project.get("name") or source.directory.name))
        if as_json:
            print_json(_ci_document(made))
        else:
            print_result(made.text.rstrip("\n"))
        return ExitCode.OK
    if wheel is None:
        say(f"building the wheel of {directory} in a temporary folder, which runs the code of its build")
    done = check_publishable(source, wheel)
    if as_json:
        print_json(_document(done))
    else:
        _print_topics(done)
    blocking = [finding for finding in done.findings if strict or finding.severity == "error"]
    return ExitCode.INVALID if blocking else ExitCode.OK


def _print_topics(done: PublishCheck) -> None:
    width = max(len(topic.name) for topic in done.topics)
    for topic in done.topics:
        print_result(f"{topic.status:8} {topic.name:{width}}  {_flat(topic.message)}")
        for finding in topic.findings:
            _print_finding(finding, width)
    errors = sum(finding.severity == "error" for finding in done.findings)
    rest = counted(len(done.findings) - errors, "warning")
    verdict = f"{counted(errors, 'problem')} to solve before it is published" if errors else "nothing blocks it"
    print_result(f"{_flat(done.distribution)} {_flat(done.version or '?')}: {verdict}, {rest}")


def _print_finding(finding: Finding, width: int) -> None:
    margin = f"{'':8} {'':{width}}  "
    place = f"  --> {_flat(str(finding.where))}" if finding.where else ""
    print_result(f"{margin}{finding.severity}[{finding.code}]: {_flat(finding.message)}{place}")
    print_result(f"{margin}  fix: {_flat(finding.fix or '')}")


def _flat(text: str) -> str:
    return one_line(" ".join(text.split()))


def _document(done: PublishCheck) -> dict[str, Any]:
    topics = [
        {
            "name": topic.name,
            "status": topic.status,
            "message": topic.message,
            "findings": [finding.as_dict() for finding in topic.findings],
        }
        for topic in done.topics
    ]
    wheel = done.wheel and {"file": done.wheel.name, "sha256": done.wheel.sha256, "files": list(done.wheel.files)}
    return {
        "distribution": done.distribution,
        "version": done.version,
        "plugins": [{"kind": kind, "name": name} for kind, names in done.members.items() for name in names],
        "ok": not any(finding.severity == "error" for finding in done.findings),
        "topics": topics,
        "wheel": wheel,
        "ci": _ci_document(done.ci),
    }


def _ci_document(made: CiFile) -> dict[str, Any]:
    return {"file": made.path, "text": made.text, "repository": made.repository}
