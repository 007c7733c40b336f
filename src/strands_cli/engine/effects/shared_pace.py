"""The pace of the requests to one model with one key, for all runs of this machine: what its server says, in a file."""

from __future__ import annotations

import json
import math
import os
import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path

from strands_cli.config import user_cache_dir
from strands_cli.engine.journal.journal_rows import Clock
from strands_cli.errors import Code
from strands_cli.system.atomic_file import own_users, who_else_writes

VARIABLE = "STRANDS_SHARED_RATES"
RATES_NOT_SHARED = Code(
    "rates-not-shared",
    "Processes of this machine cannot share what they know of the rate limits of a model.",
    "Make the folder that the message names writable for you alone.",
)
# https://platform.openai.com/docs/guides/rate-limits, https://platform.claude.com/docs/en/api/rate-limits
_NAME = re.compile(
    r"(?:x-|anthropic-)?ratelimit-(?:(?P<kind>requests|tokens|input-tokens)-)?"
    r"(?P<part>limit|remaining|reset)(?:-(?P<of>requests|tokens))?"
)
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[dhms]))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[dhms])")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
# When a server answers, it has counted each request that was sent so long before the answered one.
_COUNTED_S = 10.0
# After a reset one request asks what the server takes now; after so long without an answer another one does.
_ASKS_S = 2.0
_ROUNDED_S = 0.002
# One that waits looks again so often: a server may say in between that it takes more.
_LOOK_S = 0.25
# A holder of the lock needs a millisecond, more where the machine is busy; one that was stopped stops none for long.
_LOCK_S, _TRIES, _APART_S = 0.2, 10, 10.0

_NOT_SHARED = "rate limits are not shared with other processes, since {} cannot be used: {}"

Report = tuple[float, float, float]


def reports_in(headers: Mapping[str, str], now: float) -> dict[str, Report]:
    """Return for each kind that headers tell of: the limit, what remains of it, and the seconds until its reset.

    Args:
        now: Seconds since the epoch.
    """
    kinds: dict[str, dict[str, float | None]] = {}
    for name, text in headers.items():
        if match := _NAME.fullmatch(name.lower()):
            kinds.setdefault(match["kind"] or match["of"] or "requests", {})[match["part"]] = _seconds(text, now)
    reports = {}
    for kind, parts in kinds.items():
        most, left, reset = (parts.get(part) for part in ("limit", "remaining", "reset"))
        if most and left is not None and reset is not None:
            reports[kind] = most, left, reset
    return reports


def _seconds(text: str, now: float) -> float | None:
    """Return a number, or the seconds of `6m0s` or until a moment of RFC 3339; None for anything else."""
    if _DURATION.fullmatch(text):
        return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    try:
        if "T" in text:  # whole seconds may be rounded down
            return max(0.0, datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp() - now + ("." not in text))
        value = float(text)
    except (ValueError, OverflowError):
        return None
    return value if 0 <= value < math.inf else None


@dataclass(slots=True)
class Limit:
    """How much a server takes until a moment of the clock that never jumps: requests or tokens.

    Attributes:
        most: How much in a period.
        left: What remained by its last report.
        until: The first moment of a reset that it reported; or, if a request asks it, when another one may.
        full: The last one: where all comes back little by little, each request moves it.
        period: The longest time until a reset that it reported.
        sent: When the request was sent that was answered last.
        asks: Whether a request asks it, since the moment has passed.
    """

    most: float
    left: float
    until: float
    full: float
    period: float
    sent: float
    asks: bool = False


@dataclass(slots=True)
class Pace:
    """All that is known of the limits of one model.

    Attributes:
        at: When it was stored; a time that is yet to come is of before a restart of the machine.
        blocked: Until when the server refuses requests.
        limits: Its limits by their kinds.
        sent: Requests without an answer by their names: when they were sent, and their tokens.
    """

    at: float = 0.0
    blocked: float = 0.0
    limits: dict[str, Limit] = field(default_factory=dict)
    sent: dict[str, tuple[float, float]] = field(default_factory=dict)

    def wait(self, now: float, tokens: float) -> float:
        """Return the seconds until the server takes a request, beside those that it may not have counted."""
        wait = self.blocked - now
        for kind, limit in self.limits.items():
            sent = sum(_cost(kind, other) for at, other in self.sent.values() if at > limit.sent - _COUNTED_S)
            if limit.left - sent < min(_cost(kind, tokens), limit.most):
                wait = max(wait, limit.until - now)
        return max(0.0, wait)

    def send(self, name: str, now: float, tokens: float) -> None:
        """Count a request that is sent; after a quiet period the server takes all."""
        for limit in self.limits.values():
            if now >= limit.until:
                is_quiet = now >= limit.full + limit.period
                limit.left, limit.asks = (limit.most if is_quiet else 0.0), True
                limit.until = now + (limit.period if is_quiet else _ASKS_S)
                limit.full = max(limit.full, limit.until)
        self.sent = {key: sent for key, sent in self.sent.items() if sent[0] > now - 60 * _COUNTED_S}
        self.sent[name] = now, tokens

    def hear(self, name: str, reports: Mapping[str, Report], now: float) -> None:
        """Take the reports at the beginning of an answer; answers may overtake each other."""
        sent = self.sent.pop(name, (now, 0.0))[0]
        for kind, (most, left, reset) in reports.items():
            until, before = now + reset + _ROUNDED_S, self.limits.get(kind)
            limit = self.limits[kind] = Limit(most, left, until, until, reset, sent)
            if before is not None and before.most == most:
                limit.period, limit.sent = max(reset, before.period), max(sent, before.sent)
                if now < before.until and not before.asks:
                    limit.left, limit.until = min(left, before.left), min(until, before.until)
                    limit.full = max(until, before.full)

    def end(self, name: str) -> None:
        """Take the end of a request; one that brought no report counts all the same."""
        if (sent := self.sent.pop(name, None)) is not None:
            for kind, limit in self.limits.items():
                limit.left -= _cost(kind, sent[1])

    @classmethod
    def read(cls, text: bytes, now: float) -> Pace:
        """Return it from JSON; nothing is known where that is damaged, or of another start of the machine."""
        try:
            stored = json.loads(text, parse_constant=int)  # which refuses Infinity and NaN
            limits = {str(kind): Limit(**limit) for kind, limit in stored["limits"].items()}
            sent = {str(name): (at + 0.0, tokens + 0.0) for name, (at, tokens) in stored["sent"].items()}
            pace = cls(stored["at"] + 0.0, stored["blocked"] + 0.0, limits, sent)
            pace.wait(now, 1)
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
            return cls()
        return pace if pace.at <= now + _COUNTED_S else cls()


def _cost(kind: str, tokens: float) -> float:
    """Return how much of a limit one request takes; the length of its answer is not known."""
    return 1.0 if kind == "requests" else tokens


def folder_of_paces(environ: Mapping[str, str]) -> Path | None:
    """Return the folder of the files; None for a user without a home directory, and where the variable says `off`."""
    cache = user_cache_dir(environ)
    return None if cache is None or environ.get(VARIABLE) == "off" else cache / "rates"


class SharedPace:
    """Lets requests be sent as fast as their server takes them, and learns from what it reports.

    Nothing is stored before it reports something. The lock is held for moments, never while a request waits.

    Args:
        folder: Where processes share what they know; None for this process alone.
        account: A digest of the provider, its address, the model and the key.
        clock: The time; its moments that never jump are the same for all processes of the machine.

    Attributes:
        fault: Why nothing can be shared.
    """

    def __init__(self, folder: Path | None, account: str, clock: Clock) -> None:
        self._file = folder / f"{account}.json" if folder is not None else None
        self._clock = clock
        self._pace = Pace()
        self._apart_until, self._timeouts = 0.0, 0
        self.fault: str | None = None

    async def turn(self, tokens: Callable[[], int], longest: float, say: Callable[[float], None]) -> tuple[str, float]:
        """Wait until a request may be sent, unless that takes longer than `longest`.

        Args:
            tokens: Returns an estimate of those of the request; they matter only where a server limits them.
            say: Is called with the seconds of a wait.

        Returns:
            The name of the request, and the seconds that it would have to wait longer.
        """
        end = 0.0
        while True:
            wait = 0.0
            with suppress(TimeoutError), self._held() as now:
                cost = tokens() if self._pace.limits else 0
                wait = self._pace.wait(now, cost)
                if not 0 < wait <= longest:
                    name = uuid.uuid4().hex
                    self._pace.send(name, now, cost)
                    return name, wait
            if wait and now + wait > end + 1:
                end = now + wait
                say(wait)
            await self._clock.sleep(min(wait, _LOOK_S))

    def hear(self, name: str, headers: Mapping[str, str]) -> None:
        """Take the headers of an answer."""
        if reports := reports_in(headers, self._clock.now()):
            with suppress(TimeoutError), self._held(makes=True) as now:
                self._pace.hear(name, reports, now)

    def end(self, name: str, refused_s: float | None = None) -> None:
        """Take the end of a request, and how long the server refuses others."""
        if name in self._pace.sent or refused_s:
            with suppress(TimeoutError), self._held(makes=bool(refused_s)) as now:
                self._pace.end(name)
                if refused_s:
                    self._pace.blocked = max(self._pace.blocked, now + refused_s)

    @contextmanager
    def _held(self, *, makes: bool = False) -> Iterator[float]:
        """Let what is known be read and changed, and yield the time; alone where it cannot be shared."""
        import filelock

        file, lock = self._file, None
        if file is not None and self._clock.monotonic() >= self._apart_until and (makes or file.exists()):
            try:
                file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                if reason := who_else_writes(file.parent, own_users()):
                    raise OSError(reason)
                lock = filelock.FileLock(file.with_suffix(".lock"), timeout=_LOCK_S, mode=0o600)
                lock.acquire(poll_interval=0.001)
            except filelock.Timeout:
                self._timeouts += 1
                if self._timeouts % _TRIES:
                    raise
                lock, self._apart_until = None, self._clock.monotonic() + _APART_S
            except (OSError, NotImplementedError) as error:
                lock, self._file = None, None
                self.fault = _NOT_SHARED.format(file.parent, error)
        if file is None or lock is None:
            yield self._clock.monotonic()
            return
        try:
            now, self._timeouts = self._clock.monotonic(), 0
            with suppress(FileNotFoundError):
                self._pace = Pace.read(file.read_bytes(), now)
            yield now
            self._pace.at, new = now, file.with_suffix(".new")
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
                json.dump(asdict(self._pace), stream)
            new.replace(file)
        except OSError as error:
            self._file, self.fault = None, _NOT_SHARED.format(file.parent, error)
        finally:
            lock.release()
