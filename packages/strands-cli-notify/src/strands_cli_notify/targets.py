"""The targets of `notify` in the user's config file, with their events, and every mistake in them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Literal, cast, get_args
from urllib.parse import urlsplit

from strands_cli.api import ConfigPart

# The event of a run; a run that waits for a decision on a call that was cut off waits too.
Occasion = Literal["waiting", "completed", "failed", "interrupted"]
OCCASIONS: tuple[Occasion, ...] = get_args(Occasion)
Which = Literal["detached", "all"]
WHICH: tuple[Which, ...] = get_args(Which)
TARGET_KEYS = ("command", "webhook", "on", "runs")
WEBHOOK_KEYS = ("url", "secret")


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
        secret: Reads the secret of the signature; it raises `UsageError` without a value.
    """

    url: str
    secret: Callable[[], str]

    def __str__(self) -> str:
        # The path of an address can be a secret too.
        return f"the webhook at {urlsplit(self.url).netloc}"


@dataclass(frozen=True, slots=True)
class Target:
    """One entry of `notify:`, as far as it has one way to send.

    Attributes:
        on: The events that it is notified of.
        runs: Of which runs: only those that no person watches, or all.
    """

    way: Command | Webhook
    on: tuple[Occasion, ...] = OCCASIONS
    runs: Which = "detached"

    def wants(self, status: str, *, watched: bool) -> bool:
        """Return whether it is notified of a run with this status."""
        return (self.runs == "all" or not watched) and occasion_of(status) in self.on

    def __str__(self) -> str:
        return f"{self.way} on {', '.join(self.on)} of {self.runs} runs"


def occasion_of(status: str) -> Occasion | None:
    """Return the meaning of a status for people who do not watch; None where nothing has happened."""
    if status == "needs-decision":
        return "waiting"
    return next((occasion for occasion in OCCASIONS if occasion == status), None)


def is_loopback(host: str) -> bool:
    """Return whether a host of an address is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def read_targets(path: Path | None = None) -> tuple[Target, ...]:
    """Return the targets of a config file, by default that of this user; none without a file.

    Raises:
        InvalidInput: It cannot be read, anything in it is wrong, or others can change it.
    """
    part = ConfigPart.read("notify", "notifications", path)
    if part is None:
        return ()
    targets = tuple(_targets(part))
    part.require_valid()
    return targets


def _targets(part: ConfigPart) -> Iterator[Target]:
    if isinstance(part.value, dict):
        yield from _targets_in(part, "/notify", part.value)
    elif isinstance(part.value, list):
        for index, value in enumerate(part.value):
            yield from _targets_in(part, f"/notify/{index}", value)
    elif part.value is not None:
        part.report("/notify", "`notify` is a target or a list of targets, such as `command: [notify-me]`")


def _targets_in(part: ConfigPart, pointer: str, value: Any) -> Iterator[Target]:
    """Yield the targets of one entry: one for each way to send that it has."""
    if not isinstance(value, dict):
        part.report(pointer, "a target is a mapping such as `command: [notify-me]`")
        return
    part.check_keys(pointer, value, TARGET_KEYS, "a target")
    on = _occasions(part, f"{pointer}/on", value.get("on", list(OCCASIONS)))
    runs = cast(Which, part.word(f"{pointer}/runs", value.get("runs", "detached"), WHICH))
    ways = [
        _command(part, f"{pointer}/command", value["command"]) if "command" in value else None,
        _webhook(part, f"{pointer}/webhook", value["webhook"]) if "webhook" in value else None,
    ]
    if "command" not in value and "webhook" not in value and set(value) <= set(TARGET_KEYS):
        part.report(pointer, "a target needs a `command` or a `webhook`")
    yield from (Target(way, on, runs) for way in ways if way is not None)


def _occasions(part: ConfigPart, pointer: str, value: Any) -> tuple[Occasion, ...]:
    if not isinstance(value, list) or not value:
        part.report(pointer, f"`on` is a list of one or several of {', '.join(OCCASIONS)}")
        return ()
    return tuple(cast(Occasion, part.word(f"{pointer}/{index}", word, OCCASIONS)) for index, word in enumerate(value))


def _command(part: ConfigPart, pointer: str, value: Any) -> Command | None:
    if not isinstance(value, list) or not value:
        words = _words_of(value)
        fix = f"write it as a list: {json.dumps(words)}" if words else None
        part.report(pointer, "`command` is a list of the program and its arguments; no shell reads it", fix)
        return None
    bad = [index for index, word in enumerate(value) if not isinstance(word, str) or "\0" in word]
    for index in bad:
        part.report(f"{pointer}/{index}", f"{value[index]!r} is not a text", "put it in quotes")
    if not bad and not value[0].strip():
        part.report(f"{pointer}/0", "the program has no name")
    return None if bad or not value[0].strip() else Command(tuple(value), part.folder)


def _webhook(part: ConfigPart, pointer: str, value: Any) -> Webhook | None:
    if not isinstance(value, dict):
        part.report(pointer, "`webhook` is a mapping with `url` and `secret`")
        return None
    part.check_keys(pointer, value, WEBHOOK_KEYS, "a webhook")
    url, secret = value.get("url"), part.secret(f"{pointer}/secret", value.get("secret"), "webhook")
    if problem := fault_of_url(url):
        part.report(f"{pointer}/url", *problem)
        return None
    return Webhook(cast(str, url), secret) if secret is not None else None


def _words_of(value: Any) -> list[str]:
    try:
        return shlex.split(value) if isinstance(value, str) else []
    except ValueError:
        return []


def fault_of_url(url: Any) -> tuple[str, str] | None:
    """Return the fault of a webhook's address and the correction; None without a fault."""
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        host = (parts.hostname or "") if parts else ""
        _ = parts.port if parts else None
    except ValueError:
        parts, host = None, ""
    if parts is None or not host or not url.isascii() or not url.isprintable() or " " in url:
        return "`url` is a whole address", "write it like https://hooks.example.org/strands"
    if parts.username is not None or parts.password is not None:
        return "`url` contains credentials", "remove them; the signature shows who sends"
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(host)):
        return "a message leaves this machine only by https", "write https://"
    return None
