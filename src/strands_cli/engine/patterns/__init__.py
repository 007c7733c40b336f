"""The patterns by name: each is one async function over `Run`; a pattern that is not here cannot run yet."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from strands_cli.engine.patterns.chain import chain
from strands_cli.engine.run import Run

Pattern = Callable[[Run, Any], Awaitable[dict[str, Any]]]

PATTERNS: dict[str, Pattern] = {"chain": chain}
