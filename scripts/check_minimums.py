"""Say which direct dependency is installed above its lower bound, so that a bound which nothing proves is noticed.

Bounds of clients that are those of the SDK are left out: they repeat what its metadata says, which a test compares.

Usage: python scripts/check_minimums.py, inside an environment that was resolved to the lowest direct versions
"""

from __future__ import annotations

import sys
import tomllib
from importlib.metadata import requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.version import Version

# Tested in the session `deploy`, with the versions of its lock.
NOT_INSTALLED = ("dev-server",)
CLONE = Path(__file__).resolve().parent.parent
# Extras name them, and they have the clone's own version.
OF_THE_CLONE = {"strands-cli"} | {path.parent.name for path in CLONE.glob("packages/*/pyproject.toml")}


def main() -> int:
    """Compare every dependency of every distribution of this clone; return 1 if a bound is not what is installed."""
    unproven, of_the_sdk = [], {(one.name, _lowest(one)) for one in map(Requirement, requires("strands-agents") or ())}
    for path in (CLONE / "pyproject.toml", *CLONE.glob("packages/strands-tool-*/pyproject.toml")):
        project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
        extras = [
            line
            for name, lines in project.get("optional-dependencies", {}).items()
            if name not in NOT_INSTALLED
            for line in lines
        ]
        for requirement in map(Requirement, [*project["dependencies"], *extras]):
            if requirement.name in OF_THE_CLONE:
                continue
            if _lowest(requirement) is not None and (requirement.name, _lowest(requirement)) in of_the_sdk:
                continue
            installed = Version(version(requirement.name))
            if _lowest(requirement) != installed:
                unproven.append(
                    f"{path.parent.name}: {requirement}, but the lowest that can be installed is {installed}"
                )
    print("\n".join(unproven) or "every lower bound is what is installed")
    return 1 if unproven else 0


def _lowest(requirement: Requirement) -> Version | None:
    bounds = [Version(clause.version) for clause in requirement.specifier if clause.operator in (">=", "==")]
    return bounds[0] if len(bounds) == 1 else None


if __name__ == "__main__":
    sys.exit(main())
