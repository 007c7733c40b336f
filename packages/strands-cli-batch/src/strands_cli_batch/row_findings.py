"""The faults of a file of rows: the first findings whole, the others only counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from strands_cli.api import Code, Finding, InvalidInput, Where, counted

MOST_SHOWN = 20

Rest = tuple[Where, str | None]


class RowFindings:
    """Takes the findings about one file of rows; a file of a million bad rows does not fill the memory."""

    def __init__(self, *, skips: bool = False) -> None:
        """Begin without findings.

        Args:
            skips: Whether an unusable row is left out; faults of the file still count.
        """
        self.skips = skips
        self.shown: list[Finding] = []
        self.count = 0
        self.of_rows: list[Finding] = []
        self._in_rows = 0
        self.left_out: dict[int, dict[str, Any]] = {}

    def add_made(self, code: Code, message: str, rest: Callable[[], Rest], row: tuple[int, int] | None = None) -> None:
        """Take a finding whose place and fix are looked for only if it is shown; that can cost much.

        Args:
            code: The fault.
            message: The fault in words.
            rest: Returns place and fix.
            row: Number and line of its row, which is left out if such rows are skipped; None for a fault of the file.
        """
        findings_so_far = self.of_rows if self.skips and row is not None else self.shown
        if len(findings_so_far) < MOST_SHOWN:
            findings_so_far.append(Finding(code, message, *rest()))
        if row is None or not self.skips:
            self.count += 1
            self._in_rows += row is not None
        elif row[0] not in self.left_out:
            error = {"code": str(code), "message": message}
            self.left_out[row[0]] = {"row": row[0], "line": row[1], "status": "left-out", "error": error}

    def add(self, finding: Finding) -> None:
        """Take a finding."""
        self.count += 1
        if len(self.shown) < MOST_SHOWN:
            self.shown.append(finding)

    def add_all(self, findings: list[Finding], count: int) -> None:
        """Take the first findings of so many rows, of which none is left."""
        self.shown, self.count = [*self.shown, *findings], self.count + max(count, len(findings))

    def require_none(self, name: str) -> None:
        """Check that there are none.

        Args:
            name: The file of rows.

        Raises:
            InvalidInput: There are findings; the message has the number of those that it does not list.
        """
        if not self.count:
            return
        rest = self.count - len(self.shown)
        skip = ", or leave out the rows that cannot be used: --skip-bad-rows" if self._in_rows == self.count else ""
        further = f"; the first {MOST_SHOWN} are above, {rest} more are like them or follow" if rest else ""
        raise InvalidInput(
            f"the rows in {name} cannot be used: {counted(self.count, 'problem')}{further}",
            findings=self.shown,
            fix=f"nothing was sent or stored; correct the file and run the command again{skip}",
        )
