"""What is wrong with a file of rows: the first findings whole, the others only counted."""

from __future__ import annotations

from strands_cli.errors import Finding, InvalidInput
from strands_cli.phrases import counted

MOST_SHOWN = 20


class RowFindings:
    """Takes the findings about one file of rows; a file of a million bad rows does not fill the memory."""

    def __init__(self) -> None:
        self.shown: list[Finding] = []
        self.count = 0

    def add(self, finding: Finding) -> None:
        """Take a finding."""
        self.count += 1
        if len(self.shown) < MOST_SHOWN:
            self.shown.append(finding)

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
        further = f"; the first {MOST_SHOWN} are above, {rest} more are like them or follow" if rest else ""
        raise InvalidInput(
            f"the rows in {name} cannot be used: {counted(self.count, 'problem')}{further}",
            findings=self.shown,
            fix="nothing was sent or stored; correct the file and run the command again",
        )
