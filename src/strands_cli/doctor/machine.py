"""The checks of the machine: Python, the program, the SDK, disk, terminal, environment."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from strands_cli.catalog.distributions.closure import unmet_in_closure
from strands_cli.catalog.distributions.entry_points import Scan
from strands_cli.config import Settings
from strands_cli.errors import suggest
from strands_cli.hooks.hook_values import Check
from strands_cli.versions import is_within

PROGRAM = "strands"
OURS = "strands-cli"
# Every variable with this prefix that this program or the SDK reads.
VARIABLES = (
    "STRANDS_CUSTOM_TOOL_ALLOWLIST",
    "STRANDS_DEBUG",
    "STRANDS_PRICES",
    "STRANDS_RUNS_DIR",
    "STRANDS_STORE",
    "STRANDS_USER_AGENT_EXTRA",
)
# Locks of SQLite do not work there, or not between all machines that mount it.
_SHARED = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "afs", "ceph", "lustre", "gfs")
_LOW, _FULL = 500_000_000, 20_000_000


def check_python() -> Iterator[Check]:
    """Report the Python version and the platform."""
    import platform

    where = f"{platform.python_implementation()} {platform.python_version()} on {platform.platform()}"
    yield Check("python", "ok", f"{where}, {sys.executable}")


def check_program(seen: Scan, environ: Mapping[str, str]) -> Iterator[Check]:
    """Report the strands-cli version, and whether another program comes first on PATH."""
    import strands_cli

    home = Path(strands_cli.__file__).parent
    yield Check(OURS, "ok", f"{strands_cli.__version__} in {home}")
    mine = Path(sys.executable).parent
    found = [place for entry in environ.get("PATH", "").split(os.pathsep) if entry and (place := _program_in(entry))]
    others = [place for place in dict.fromkeys(found) if place.parent.resolve() != mine.resolve()]
    if not found:
        yield Check("PATH", "warning", f"no '{PROGRAM}' is on PATH; this one is in {mine}", f"add {mine} to PATH")
    elif found[0] in others:
        message = f"'{PROGRAM}' is {found[0]}{_origin(found[0])}, not this one, which is in {mine}"
        yield Check("PATH", "warning", message, f"put {mine} first on PATH, or remove the other")
    elif origin := _origin(found[0]):
        message = f"'{PROGRAM}' is {found[0]}{origin}: it has replaced this one"
        yield Check("PATH", "warning", message, f"uninstall the other and reinstall {OURS}, or: python -m strands_cli")
    elif others:
        message = f"this '{PROGRAM}' is found first; there is another: {others[0]}{_origin(others[0])}"
        yield Check("PATH", "ok", message)
    else:
        yield Check("PATH", "ok", f"'{PROGRAM}' is {found[0]}")
    copies = seen.records.get(OURS, [])
    if len(copies) > 1:
        message = f"strands-cli is installed {len(copies)} times: {', '.join(site for site, _ in copies)}"
        yield Check(OURS, "warning", message, "uninstall all but one")


def _program_in(entry: str) -> Path | None:
    found = shutil.which(PROGRAM, path=entry)
    return Path(found).absolute() if found else None


def _origin(program: Path) -> str:
    """Return the package of another program named `strands`, as ` (...)`, or empty if its path and text do not show it.

    npm's @strands-agents/cli has such a program, and strands-agents-builder, which overwrites this one.
    """
    parts = program.resolve().parts
    if "node_modules" in parts:
        inner = parts[len(parts) - parts[::-1].index("node_modules") :]
        name = "/".join(inner[:2]) if inner[0].startswith("@") else inner[0]
        return f" (of the npm package {name})"
    try:
        with program.open("rb") as file:
            start = file.read(4096).decode("utf-8", "replace")
    except OSError:
        return ""
    imported = re.search(r"^from (\w+)\S* import ", start, re.MULTILINE)
    return f" (of the Python package {imported[1]})" if imported and imported[1] != "strands_cli" else ""


def check_dependencies(seen: Scan) -> Iterator[Check]:
    """Check that the SDK and the other dependencies are installed in supported versions."""
    from packaging.requirements import Requirement

    from strands_cli.catalog.files.dist_info import open_distribution

    copies = seen.records.get(OURS)
    if not copies:
        yield Check("dependencies", "warning", "strands-cli runs without being installed", f"pip install {OURS}")
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
        yield Check("dependencies", "failed", f"missing or not supported: {', '.join(bad)}", f"pip install '{OURS}'")
    conflicts = [one for one in unmet_in_closure(OURS, seen) if not one.startswith(f"{OURS} ")]
    for conflict in conflicts:
        fix = f"pip install --upgrade '{OURS}'; keep programs with other requirements in environments of their own"
        yield Check("dependencies", "warning", conflict, fix)
    if not (bad or conflicts):
        yield Check("dependencies", "ok", "all are installed in supported versions")


def check_runs(settings: Settings) -> Iterator[Check]:
    """Check that runs can be stored: the directory, its filesystem, free space; that of a store is not checked here."""
    from strands_cli.planning.stores.store_choice import store_place_of

    place = store_place_of(settings).directory
    if place is None:
        return
    while not place.exists() and place != place.parent:
        place = place.parent
    fix = "correct its permissions, or choose another: STRANDS_RUNS_DIR or --runs-dir"
    if not place.is_dir():
        yield Check("runs", "failed", f"{place} is not a directory, so {settings.runs_dir} cannot be created", fix)
        return
    if not os.access(place, os.W_OK | os.X_OK):
        yield Check("runs", "failed", f"{place} cannot be written to", fix)
        return
    kind = filesystem_of(place)
    if kind is not None and kind.startswith(_SHARED):
        message = f"{settings.runs_dir} is on a network filesystem ({kind}), where locks may not work"
        yield Check("runs", "warning", message, "choose a local directory: STRANDS_RUNS_DIR")
    else:
        yield Check("runs", "ok", f"{settings.runs_dir} ({kind or 'unknown filesystem'})")
    yield _free(place)


def _free(place: Path) -> Check:
    free = shutil.disk_usage(place).free
    message = f"{free / 1e9:.1f} GB free in {place}"
    if free < _FULL:
        return Check("disk", "failed", message, "free some space")
    return Check("disk", "warning" if free < _LOW else "ok", message, "free some space" if free < _LOW else None)


def filesystem_of(place: Path, mounts: Path = Path("/proc/self/mounts")) -> str | None:
    """Return the kind of a directory's filesystem; None if this system does not report it (Linux does)."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    real, best, kind = os.path.realpath(place), "", None
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ")
        if (real == point or real.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind


def check_terminal(environ: Mapping[str, str]) -> Iterator[Check]:
    """Check that the terminal shows text of every language, and report whether it can ask questions."""
    encoding = (getattr(sys.stdout, "encoding", None) or "none").lower()
    is_interactive = sys.stdin.isatty() and sys.stderr.isatty()
    mode = "interactive" if is_interactive else "not interactive"
    message = f"{encoding}, {mode}, TERM={environ.get('TERM', '')}"
    if encoding.replace("-", "") == "utf8":
        yield Check("terminal", "ok", message)
    else:
        yield Check("terminal", "warning", f"{message}: other letters appear escaped", "export LANG=C.UTF-8")


def check_variables(environ: Mapping[str, str]) -> Iterator[Check]:
    """Report variables with our prefix that have no effect."""
    named = sorted(name for name in environ if name.startswith("STRANDS_"))
    for name in (name for name in named if name not in VARIABLES):
        yield Check("environment", "warning", f"{name} has no effect", suggest(name, VARIABLES))
    known = [name for name in named if name in VARIABLES]
    if known == named:
        yield Check("environment", "ok", f"set: {', '.join(known)}" if known else "no STRANDS_ variable is set")
