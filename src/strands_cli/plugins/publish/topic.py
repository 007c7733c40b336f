"""One line of `plugin publish --check`: what was looked at, and what is wrong with it."""

from __future__ import annotations

from typing import Literal

from strands_cli.errors import Finding, has_errors
from strands_cli.quick_dataclass import dataclass

Status = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Topic:
    """Something that an index, or a person who installs from it, looks at.

    Attributes:
        name: One word or two: `readme`, `licence`.
        message: What it is, for a person; also where something is wrong with it.
        findings: What is wrong; errors block the publication.
    """

    name: str
    message: str
    findings: tuple[Finding, ...] = ()

    @property
    def status(self) -> Status:
        """Whether it blocks (`failed`), could be better (`warning`), or is right (`ok`)."""
        if not self.findings:
            return "ok"
        return "failed" if has_errors(self.findings) else "warning"
