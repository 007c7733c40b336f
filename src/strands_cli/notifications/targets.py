"""Who is notified of what: the commands and webhooks of the user's config file."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, get_args

from strands_cli.events import RunStatus
from strands_cli.secrets.secret_sources import SecretReference

# What happened to a run; a run that waits for a decision on a call that was cut off waits too.
Occasion = Literal["waiting", "completed", "failed", "interrupted"]
OCCASIONS: tuple[Occasion, ...] = get_args(Occasion)
Which = Literal["detached", "all"]
WHICH: tuple[Which, ...] = get_args(Which)


@dataclass(frozen=True, slots=True)
class Command:
    """A program that gets the message on its standard input.

    Attributes:
        argv: The program and its arguments; no shell reads them.
        folder: Where it runs.
    """

    argv: tuple[str, ...]
    folder: Path

    def __str__(self) -> str:
        return f"the command {self.argv[0]}"


@dataclass(frozen=True, slots=True)
class Webhook:
    """An address that gets the message as a signed POST request.

    Attributes:
        url: `https`, or `http` to this machine.
        secret: Where the key of the signature is; never the key.
    """

    url: str
    secret: SecretReference

    def __str__(self) -> str:
        from urllib.parse import urlsplit

        # The path of an address can be a secret too.
        return f"the webhook at {urlsplit(self.url).netloc}"


@dataclass(frozen=True, slots=True)
class Target:
    """One entry of `notify:`, as far as it has one way to send.

    Attributes:
        on: What it is notified of.
        runs: Of which runs: only those that no person watches, or all.
    """

    way: Command | Webhook
    on: tuple[Occasion, ...] = OCCASIONS
    runs: Which = "detached"

    def wants(self, status: RunStatus, *, detached: bool) -> bool:
        """Return whether it is notified of a run that has this status now."""
        return (detached or self.runs == "all") and occasion_of(status) in self.on


def occasion_of(status: RunStatus) -> Occasion | None:
    """Return what a status means to people who do not watch; None where nothing has happened."""
    if status == "needs-decision":
        return "waiting"
    return next((one for one in OCCASIONS if one == status), None)


def is_loopback(host: str) -> bool:
    """Return whether a host of an address is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
