"""The work of `validate`: read workflow files and report their findings, without importing an option parser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from strands_cli.errors import ExitCode, Finding, StrandsCliError, has_errors
from strands_cli.phrases import counted

Format = Literal["text", "json", "github", "sarif"]


def check_files(specs: Sequence[str], output: Format = "text") -> int:
    """Check workflow files (`-` is standard input), report the findings, and return the exit code."""
    return report_checked([(name, *_check(name)) for name in dict.fromkeys(specs)], output)


def report_checked(checked: Sequence[tuple[str, tuple[Finding, ...], ExitCode]], output: Format) -> int:
    """Report the findings of each file, and return the highest of their exit codes."""
    from strands_cli.cli.output import print_json, print_result, say, say_findings

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
    from strands_cli.cli.output import print_json, print_result
    from strands_cli.cli.terminal import github_line, sarif_document

    if form == "sarif":
        print_json(sarif_document(findings, __version__))
    elif findings:
        print_result("\n".join(map(github_line, findings)))


def _check(name: str) -> tuple[tuple[Finding, ...], ExitCode]:
    """Return the findings of one file and its exit code."""
    from strands_cli import app

    try:
        findings = app.check(name)
    except StrandsCliError as error:
        return error.findings, error.exit_code
    return findings, ExitCode.INVALID if has_errors(findings) else ExitCode.OK


def _count(findings: Any) -> str:
    errors = sum(finding.severity == "error" for finding in findings)
    counts = [(errors, "error"), (len(findings) - errors, "warning")]
    return ", ".join(counted(number, noun) for number, noun in counts if number)
