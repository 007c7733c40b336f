"""The checks of the program itself: its version, its dependencies, and the variables that it reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from strands_cli.__about__ import __version__
from strands_cli.catalog.distributions.closure import unmet_in_closure
from strands_cli.catalog.distributions.entry_points import Scan
from strands_cli.default_parts import CORE
from strands_cli.errors import suggest
from strands_cli.hooks.hook_values import Check
from strands_cli.versions import is_within

# Every variable with this prefix that this program or the SDK reads.
VARIABLES = (
    "STRANDS_CUSTOM_TOOL_ALLOWLIST",
    "STRANDS_DEBUG",
    "STRANDS_PRICES",
    "STRANDS_RUNS_DIR",
    "STRANDS_STORE",
    "STRANDS_USER_AGENT_EXTRA",
)


def check_program(seen: Scan) -> Iterator[Check]:
    """Report the version of strands-cli, and whether it is installed more than once."""
    yield Check(CORE, "ok", f"{__version__} in {Path(__file__).parents[1]}")
    copies = seen.records.get(CORE, [])
    if len(copies) > 1:
        message = f"strands-cli is installed {len(copies)} times: {', '.join(site for site, _ in copies)}"
        yield Check(CORE, "warning", message, "uninstall all but one")


def check_dependencies(seen: Scan) -> Iterator[Check]:
    """Check that the SDK and the other dependencies are installed in supported versions."""
    from packaging.requirements import Requirement

    from strands_cli.catalog.distributions.dist_info import open_distribution

    copies = seen.records.get(CORE)
    if not copies:
        yield Check("dependencies", "warning", "strands-cli runs without being installed", f"pip install {CORE}")
        return
    bad = []
    for requirement in map(Requirement, open_distribution(copies[0][1]).requires or ()):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        version = seen.version(requirement.name)
        fits = version is not None and is_within(version, str(requirement.specifier) or ">=0")
        if requirement.name == "strands-agents" and fits:
            yield Check("strands-agents", "ok", f"{version}, supported is {requirement.specifier}")
        elif not fits:
            bad.append(f"{requirement.name}{requirement.specifier} ({version or 'not installed'})")
    if bad:
        yield Check("dependencies", "failed", f"missing or not supported: {', '.join(bad)}", f"pip install '{CORE}'")
    conflicts = [one for one in unmet_in_closure(CORE, seen) if not one.startswith(f"{CORE} ")]
    for conflict in conflicts:
        fix = f"pip install --upgrade '{CORE}'; keep programs with other requirements in environments of their own"
        yield Check("dependencies", "warning", conflict, fix)
    if not (bad or conflicts):
        yield Check("dependencies", "ok", "all are installed in supported versions")


def check_variables(environ: Mapping[str, str]) -> Iterator[Check]:
    """Report variables with our prefix that have no effect."""
    named = sorted(name for name in environ if name.startswith("STRANDS_"))
    for name in (name for name in named if name not in VARIABLES):
        yield Check("environment", "warning", f"{name} has no effect", suggest(name, VARIABLES))
    known = [name for name in named if name in VARIABLES]
    if known == named:
        yield Check("environment", "ok", f"set: {', '.join(known)}" if known else "no STRANDS_ variable is set")
