"""The check of the directory of runs: whether it can be written to, its filesystem, and free space."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from strands_cli.config import Settings
from strands_cli.hooks.hook_values import Check

# Locks of SQLite do not work there, or not between all machines that mount it.
_SHARED = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "afs", "ceph", "lustre", "gfs")
_LOW, _FULL = 500_000_000, 20_000_000


def check_runs(settings: Settings) -> Iterator[Check]:
    """Check that runs can be stored: the directory, its filesystem, free space; that of a store is not checked here."""
    from strands_cli.planning.store_choice import store_place_of

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
