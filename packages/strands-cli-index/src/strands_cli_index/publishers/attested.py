"""`PublisherAttestation`: whether the publisher of a file is known, and why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from strands_cli.api import Publisher

EXTRA = "install strands-cli[attestations]"
Status = Literal["verified", "unverified", "wrong"]


@dataclass(frozen=True, slots=True)
class PublisherAttestation:
    """The known facts of a file's publisher.

    Attributes:
        status: `verified`; `unverified` (nothing is offered, or nothing can be verified here); `wrong` (the offer does
            not fit the file, is damaged, or is signed by another).
        publisher: The publisher, of a verified file only.
        reason: Why it is not verified; empty if it is. It may have text of the index: print it as foreign text.
    """

    status: Status
    publisher: Publisher | None = None
    reason: str = ""

    def __str__(self) -> str:
        """Return the result for a person: `github:acme/tool (release.yml)`, or `unverified (REASON)`."""
        return str(self.publisher) if self.publisher is not None else f"{self.status} ({self.reason})"

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON shape, `{status, publisher, reason}`."""
        publisher = self.publisher.as_dict() if self.publisher is not None else None
        return {"status": self.status, "publisher": publisher, "reason": self.reason or None}


def unverified(reason: str) -> PublisherAttestation:
    """Return the result for a file about which nothing is known."""
    return PublisherAttestation("unverified", None, reason)


def wrong(reason: str) -> PublisherAttestation:
    """Return the result for a file whose attestations do not prove their claim."""
    return PublisherAttestation("wrong", None, reason)
