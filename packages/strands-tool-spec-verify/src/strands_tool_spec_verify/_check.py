"""The findings of strands-cli about a text: those of `validate`, and of `plan` where they are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_tool_kit import ToolError

if TYPE_CHECKING:
    from strands_cli.api import Finding

NAME = "spec_content"
SHOWN = 100


def check_text(text: str, workspace: Any, *, capability: bool) -> tuple[str, dict[str, Any]]:
    """Return the faults of a workflow, in words and as JSON.

    Files that it names (agents, schemas, recordings, skills) are not read: each is a warning.

    Args:
        text: The workflow.
        workspace: The workspace as the host describes it; its `root` is taken for the workflow's folder.
        capability: Whether to look for tools, providers and keys too.
    """
    findings = _findings(text, _folder(workspace), capability)
    errors = sum(finding.count for finding in findings if finding.severity == "error")
    warnings = sum(finding.count for finding in findings if finding.severity != "error")
    finding_documents = [_document(finding) for finding in findings[:SHOWN]]
    totals = {"valid": errors == 0, "errors": errors, "warnings": warnings}
    left = sum(finding.count for finding in findings[SHOWN:])
    return _words(totals, finding_documents, left, capability), {**totals, "findings": finding_documents}


def _findings(text: str, folder: Path, capability: bool) -> tuple[Finding, ...]:
    """Return all findings."""
    try:
        from strands_cli.api import check_text as check
    except ImportError as error:
        message = "strands-cli is not installed beside this tool, or is too old"
        raise ToolError("unavailable", message, reason="no-strands-cli") from error
    return check(text, base_dir=folder, name=NAME, machine=capability)


def _folder(workspace: Any) -> Path:
    root = workspace.get("root") if isinstance(workspace, Mapping) else None
    return Path(root) if isinstance(root, str) and root else Path.cwd()


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


def _words(
    totals: Mapping[str, Any], finding_documents: Sequence[Mapping[str, Any]], left: int, capability: bool
) -> str:
    checked = "valid, and nothing that it needs is missing here" if capability else "valid"
    unread = (
        "; files that it names were not read"
        if any(finding["code"] == "file-not-read" for finding in finding_documents)
        else ""
    )
    head = f"The workflow is {checked if totals['valid'] else 'not valid'}{unread}"
    lines = [f"{head}: {totals['errors']} errors, {totals['warnings']} warnings."]
    for finding in finding_documents:
        line = f" line {finding['line']}" if finding["line"] else ""
        fix = f" (fix: {finding['fix']})" if finding["fix"] else ""
        lines.append(f"- {finding['severity']} {finding['code']}{line}: {finding['message']}{fix}")
    if left:
        lines.append(f"... and {left} more")
    return "\n".join(lines)
