"""The machine's own clock."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """Real time: epoch seconds for records, monotonic seconds for durations."""

    def now(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds that never jump back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait; whoever cancels need not."""
        await asyncio.sleep(seconds)
