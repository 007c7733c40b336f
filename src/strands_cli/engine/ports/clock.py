"""The machine's own clock."""

from __future__ import annotations

import asyncio
import time


class SystemClock:
    """Real time: seconds since the epoch for the journal, monotonic seconds for durations."""

    def now(self) -> float:
        """Return seconds since the epoch."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds that never jump back."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait; a cancelled task stops waiting."""
        await asyncio.sleep(seconds)
