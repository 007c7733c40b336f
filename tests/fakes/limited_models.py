"""Scripts for the model server that take so many requests in a while, as services count them, and refuse the rest."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.model_server import Turn


@dataclass
class LimitedModel:
    """Answers `most` requests in `period_s` seconds, and refuses others with 429.

    Attributes:
        kind: `window`: all come back at once; `bucket`: one by one; `sliding`: each so long after it was taken.
        names: The names of the headers, `openai` or `anthropic`; empty for none but `Retry-After`.
        delay_s: How long an answer takes.
        log: When each request came, and whether it was refused.
    """

    most: int
    period_s: float
    kind: str = "window"
    names: str = "openai"
    delay_s: float = 0.0
    log: list[tuple[float, bool]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _taken: list[float] = field(default_factory=list)
    _begun: float = 0.0
    _starts: list[float] = field(default_factory=list)
    _full_at: float = 0.0

    def __call__(self, _request: dict[str, Any]) -> Turn:
        with self._lock:
            now = time.monotonic()
            left, reset, retry_after = self._take(now)
            is_refused = left < 0
            self.log.append((now, is_refused))
        headers = self._headers(max(0, left), reset)
        if is_refused:
            return Turn(status=429, headers={**headers, "retry-after-ms": f"{retry_after * 1000:.0f}"})
        return Turn("well", headers=headers, delay_s=self.delay_s, usage=(10, 1))

    def _take(self, now: float) -> tuple[int, float, float]:
        """Return what is left, -1 if this one is refused, the seconds until all is back, and until one is."""
        unit = self.period_s / self.most
        if self.kind == "bucket":
            full_in = max(0.0, self._full_at - now)
            if full_in + unit > self.period_s + 1e-9:
                return -1, full_in, full_in + unit - self.period_s
            self._full_at = now + full_in + unit
            return int((self.period_s - full_in - unit) / unit + 1e-6), full_in + unit, 0.0
        if self.kind == "window":
            if now >= self._begun + self.period_s:
                self._begun, self._taken = now, []
                self._starts.append(now)
            reset = self._begun + self.period_s - now
        else:
            self._taken = [taken for taken in self._taken if taken > now - self.period_s]
            reset = self._taken[0] + self.period_s - now if self._taken else self.period_s
        if len(self._taken) >= self.most:
            return -1, reset, reset
        self._taken.append(now)
        return self.most - len(self._taken), reset, 0.0

    def _headers(self, left: int, reset: float) -> Mapping[str, str]:
        if self.names == "openai":
            values = {"limit": str(self.most), "remaining": str(left), "reset": f"{reset:.3f}s"}
            return {f"x-ratelimit-{part}-requests": text for part, text in values.items()}
        if self.names == "anthropic":
            moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + reset))
            fraction = f"{(time.time() + reset) % 1:.3f}"[1:]
            values = {"limit": str(self.most), "remaining": str(left), "reset": f"{moment}{fraction}Z"}
            return {f"anthropic-ratelimit-requests-{part}": text for part, text in values.items()}
        return {}

    def within(self, first: int, end: int) -> tuple[int, int]:
        """Return how many requests were answered from the period `first` on and before `end`, and how many refused."""
        if self.kind == "window":
            starts, periods = self._starts, range(first, end)
            numbers = [sum(start <= at for start in starts) - 1 for at, _ in self.log]
        else:
            begun, periods = self.log[0][0], range(first, end)
            numbers = [int((at - begun) // self.period_s) for at, _ in self.log]
        found = [refused for number, (_, refused) in zip(numbers, self.log, strict=True) if number in periods]
        return found.count(False), found.count(True)
