"""Tools that read and write files of a small world and tell when they begin and end; tests say what happens inside."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from tests.agents.kit import Site

SCHEMA = {
    "type": "object",
    "properties": {"path": {"type": "string"}, "ticks": {"type": "integer"}, "number": {"type": "integer"}},
}
# What each says of itself: reads a file, writes one, says nothing, touches nothing, reads it knows not what.
CLAIMS: dict[str, dict[str, Any]] = {
    "look": {
        "annotations": {"readOnlyHint": True},
        "strands_cli": {"resources": {"reads": ["file:{path}"], "writes": []}},
    },
    "note": {"strands_cli": {"resources": {"reads": [], "writes": ["file:{path}"]}}},
    "act": {},
    "sums": {"annotations": {"idempotentHint": True}, "strands_cli": {"resources": {"reads": [], "writes": []}}},
    "peek": {"annotations": {"readOnlyHint": True}},
}
During = Callable[[str, Mapping[str, Any]], Awaitable[None]]


async def ticking(_name: str, given: Mapping[str, Any]) -> None:
    """Let others run as often as the input says."""
    for _ in range(given.get("ticks", 0)):
        await asyncio.sleep(0)


class World:
    """Files, and the log of calls: `("begin", number)`, `("end", number)` with the number that a call says it has."""

    def __init__(self) -> None:
        self.reset()

    def reset(self, during: During = ticking) -> None:
        self.files: dict[str, str] = {}
        self.log: list[tuple[str, int]] = []
        self.at_work = 0
        self.most = 0
        self.during = during

    async def call(self, name: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Do what the tool does: what was there when it began is its answer, what it writes is there when it ends."""
        path, number = given.get("path", ""), given.get("number", 0)
        self.log.append(("begin", number))
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        seen = self.seen(name, path)
        try:
            await self.during(name, given)
        finally:
            self.at_work -= 1
        self.write(name, path, f"{number} after {len(seen)}")
        self.log.append(("end", number))
        return {"status": "success", "content": [{"text": seen}]}

    def seen(self, name: str, path: str) -> str:
        if name in ("act", "peek"):
            return str(sorted(self.files.items()))
        below = {key: text for key, text in self.files.items() if path == "." or f"{key}/".startswith(f"{path}/")}
        return "" if name == "sums" else str(sorted(below.items()))

    def write(self, name: str, path: str, text: str) -> None:
        if name in ("note", "act"):
            self.files = {**self.files, path: text}

    @property
    def begun(self) -> list[int]:
        return [number for what, number in self.log if what == "begin"]


WORLD = World()


def install_world(site: Site) -> list[str]:
    """Install the tools and return how a workflow names them."""
    for name, claims in CLAIMS.items():
        spec = {"name": name, "description": f"Does {name}.", "inputSchema": {"json": SCHEMA}, **claims}
        source = (
            f"TOOL_SPEC = {spec!r}\nasync def {name}(tool, **kwargs):\n"
            f"    from tests.agents.world import WORLD\n    return await WORLD.call({name!r}, tool['input'])\n"
        )
        site.install(source, name=name, manifest=False)
    return [f"native:{name}" for name in CLAIMS]
