"""The answers about a text for an editor; places in them are lines and columns from 0, in characters."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from strands_cli.api import FileChecks, Finding
from strands_cli_lsp.fixed_text import CheckedText, Correction, check_text, corrected
from strands_cli_lsp.names import complete, definition, hover, kind_of
from strands_cli_lsp.text_edits import EditableText

_MOST_QUICK = 3


def check(path: str, text: str, buffers: dict[str, str]) -> list[dict[str, Any]]:
    """Return the findings about a text in place of a file, each with its range and its corrections."""
    checked = _checked(path, text, buffers)
    if checked is None:
        return []
    editable = EditableText(text)
    ways: dict[Finding, list[dict[str, Any]]] = {}
    for finding, alternatives in checked.alternatives(path):
        if finding.edits[0].kind not in ("syntax", "indent"):  # of those, most are wrong: `fix_all` tries them
            for edits in alternatives[:_MOST_QUICK]:
                new = " ".join(line.strip() or "(removed)" for _, _, line in Correction(finding, text, edits).lines)
                places = [[*place_of(text, edit.start), *place_of(text, edit.end), edit.text] for edit in edits]
                ways.setdefault(finding, []).append({"title": f"Write: {new[:80]}", "edits": places})
    return [_described(finding, path, editable, ways.get(finding, [])) for finding in checked.findings]


def fix_all(path: str, text: str, buffers: dict[str, str]) -> list[list[Any]]:
    """Return the edits of all certain corrections: the range of each, and its text."""
    kind = kind_of(text)
    if kind is None:
        return []
    checks, (file,) = FileChecks(buffers), FileChecks.named([path], of_agents=kind == "agent")
    new = corrected(text, path, lambda changed: checks.findings(file, changed)).text
    old_lines, new_lines = text.splitlines(keepends=True), new.splitlines(keepends=True)
    changes = difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_opcodes()
    return [
        [begin, 0, end, 0, "".join(new_lines[first:last])] for tag, begin, end, first, last in changes if tag != "equal"
    ]


def _checked(path: str, text: str, buffers: dict[str, str]) -> CheckedText | None:
    kind = kind_of(text)
    if kind is None:
        return None
    checks, (file,) = FileChecks(buffers), FileChecks.named([path], of_agents=kind == "agent")
    return check_text(text, lambda changed: checks.findings(file, changed))


def _described(finding: Finding, path: str, editable: EditableText, fixes: list[dict[str, Any]]) -> dict[str, Any]:
    where = finding.where
    begin, end, prefix = 0, 0, ""
    if where is not None and where.file == path:
        begin, end = editable.range_of(where)
    elif where is not None:
        prefix = f"{where.file}:{where.line}: "
    return {
        "range": [*place_of(editable.text, begin), *place_of(editable.text, end)],
        "severity": finding.severity,
        "code": finding.code,
        "message": f"{prefix}{finding.message}\nfix: {finding.fix}",
        "fixes": fixes,
    }


def place_of(text: str, offset: int) -> tuple[int, int]:
    """Return the line and the column of an offset, both from 0."""
    return text.count("\n", 0, offset), offset - text.rfind("\n", 0, offset) - 1


FUNCTIONS: tuple[Callable[..., Any], ...] = (check, fix_all, complete, hover, definition)
