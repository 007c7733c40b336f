"""Which installed distribution could be adopted for a tool's name; only an unknown name asks."""

from __future__ import annotations

from functools import lru_cache

from strands_cli.catalog.adoptable.adoptable_tools import find_adoptable
from strands_cli.catalog.distributions.dist_info import read_text
from strands_cli.catalog.distributions.entry_points import Scan

SDK = "strands-agents"
OURS = "strands-cli"
MAX_DISTRIBUTIONS = 40
MAX_METADATA = 262_144


def find_owner(name: str, seen: Scan, of: str | None = None) -> tuple[str, str] | None:
    """Return the distribution that has a tool of this name without declaring it, and the name as the tool has it.

    Only distributions that need the SDK are looked through, and only modules that contain the name are parsed.

    Args:
        name: The tool's name.
        seen: What is installed.
        of: The only distribution to look through.
    """
    candidates = [one for one in adoptable_distributions(seen) if of in (None, one)]
    for distribution in candidates[:MAX_DISTRIBUTIONS]:
        for found in find_adoptable(distribution, seen, _word(name)).tools:
            if found.name and not found.needs and _same(found.name, name):
                return distribution, found.name
    return None


def adoptable_distributions(seen: Scan) -> list[str]:
    """Return the distributions that need the SDK and declare no tools; those with its name in theirs first."""
    declaring = {distribution.name for distribution in seen.distributions}
    others = sorted(seen.records.keys() - declaring - {SDK, OURS}, key=lambda name: ("strands" not in name, name))
    return [name for name in others if _needs_sdk(seen.records[name][0][1])]


@lru_cache(1024)
def _needs_sdk(record: str) -> bool:
    text = read_text(record, "METADATA", MAX_METADATA) or ""
    return any(
        line.lower().startswith("requires-dist: strands") and line[len("requires-dist: ") :].lower().startswith(SDK)
        for line in text.partition("\n\n")[0].splitlines()
    )


def _word(name: str) -> str:
    """Return a part of the name that is in the source however it writes the name."""
    return max(name.replace("-", "_").split("_"), key=len)


def _same(one: str, other: str) -> bool:
    return one.lower().replace("-", "_") == other.lower().replace("-", "_")
