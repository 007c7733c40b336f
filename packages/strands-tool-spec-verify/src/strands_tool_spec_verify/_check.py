"""What strands-cli says of a text: the findings of `validate`, and of `plan` where they are asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_tool_kit import ToolError

if TYPE_CHECKING:
    from strands_cli.errors import Finding

NAME = "<spec_content>"
SHOWN = 100
# Whether a path that the text names is there, is nobody's business who may not read it.
_OF_PATHS = ("missing-mount",)
_NAMES_A_PROGRAM = re.compile(r"/tools/mcp/\d+/command")
_SECRET = re.compile(r"/env/secrets/(\d+)")


def check_text(text: str, workspace: Any, *, capability: bool) -> tuple[str, dict[str, Any]]:
    """Return what is wrong with a workflow, in words and as JSON.

    Files that it names (agents, schemas, recordings, skills) are not read: each is a warning.

    Args:
        text: The workflow.
        workspace: What the host says of the workspace, whose `root` is taken for the workflow's folder.
        capability: Whether to look for tools, providers and keys too.
    """
    findings = _findings(text, _folder(workspace), capability)
    errors = sum(finding.severity == "error" for finding in findings)
    shown = [_document(finding) for finding in findings[:SHOWN]]
    counted = {"valid": errors == 0, "errors": errors, "warnings": len(findings) - errors}
    return _words(counted, shown, len(findings), capability), {**counted, "findings": shown}


def _findings(text: str, folder: Path, capability: bool) -> list[Finding]:
    """Return all findings.

    Raises:
        ToolError: strands-cli is not there, or too old.
    """
    try:
        from strands_cli import app
        from strands_cli.errors import StrandsCliError, has_errors
        from strands_cli.planning.run_options import RunOptions
        from strands_cli.workflow.file_source import FileSnapshot

        kept, options = FileSnapshot(folder, is_all=True), RunOptions(as_written=True)
    except (ImportError, TypeError) as error:
        message = "strands-cli is not installed beside this tool, or is too old"
        raise ToolError("unavailable", message, reason="no-strands-cli") from error
    try:
        loaded = app.load(NAME, text, kept)
        if not capability or loaded.spec is None or has_errors(loaded.findings):
            return list(loaded.findings)
        planned = app.plan(NAME, options, text=text, kept=kept)
        return [found for found in planned.findings if _may_be_told(found, loaded.spec.env.secrets)]
    except StrandsCliError as error:
        return list(error.findings) or [_plain(error)]


def _plain(error: Any) -> Any:
    from strands_cli.errors import Finding

    return Finding("bad-value", error.message, None, error.fix)


def _folder(workspace: Any) -> Path:
    root = workspace.get("root") if isinstance(workspace, Mapping) else None
    return Path(root) if isinstance(root, str) and root else Path.cwd()


def _may_be_told(finding: Finding, secrets: Any) -> bool:
    """Return whether a finding says nothing of files and programs of this machine that only the text has named."""
    pointer = finding.where.pointer if finding.where and finding.where.pointer else ""
    if finding.code in _OF_PATHS:
        return False
    if finding.code == "tool-unmet" and _NAMES_A_PROGRAM.match(pointer):
        return False
    found = _SECRET.match(pointer)
    return not (finding.code == "missing-secret" and found and secrets[int(found[1])].source in ("file", "command"))


def _document(finding: Finding) -> dict[str, Any]:
    where = finding.where
    return {
        "code": finding.code,
        "severity": finding.severity,
        "message": finding.message,
        "line": where.line if where else None,
        "column": where.column if where else None,
        "pointer": where.pointer if where else None,
        "fix": finding.fix,
    }


def _words(counted: Mapping[str, Any], shown: Sequence[Mapping[str, Any]], total: int, capability: bool) -> str:
    checked = "valid, and nothing that it needs is missing here" if capability else "valid"
    unread = "; files that it names were not read" if any(one["code"] == "file-not-read" for one in shown) else ""
    head = f"The workflow is {checked if counted['valid'] else 'not valid'}{unread}"
    lines = [f"{head}: {counted['errors']} errors, {counted['warnings']} warnings."]
    for one in shown:
        place = f" line {one['line']}" if one["line"] else ""
        fix = f" (fix: {one['fix']})" if one["fix"] else ""
        lines.append(f"- {one['severity']} {one['code']}{place}: {one['message']}{fix}")
    if total > SHOWN:
        lines.append(f"... and {total - SHOWN} more")
    return "\n".join(lines)
