"""Check the owners and modes of files (POSIX only): whether other users can change or read files of a run."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

from strands_cli.config import PROJECT_POLICY, Settings
from strands_cli.errors import StrandsCliError
from strands_cli.hooks.hook_values import Check
from strands_cli.secrets.secret_sources import SecretReference
from strands_cli.system.atomic_file import own_users, who_else_writes

# The check of the directory of runs: whether it can be written to, its filesystem, and free space.


# Locks of SQLite do not work there, or not between all machines that mount it.
_SHARED = ("nfs", "cifs", "smb", "9p", "fuse.sshfs", "afs", "ceph", "lustre", "gfs")
_LOW, _FULL = 500_000_000, 20_000_000


def check_runs(settings: Settings) -> Iterator[Check]:
    """Check that runs can be stored: the directory, its filesystem, free space; that of a store is not checked here."""
    from strands_cli.planning.run_request import store_place_of

    path = store_place_of(settings).directory
    if path is None:
        return
    while not path.exists() and path != path.parent:
        path = path.parent
    fix = "correct its permissions, or choose another: STRANDS_RUNS_DIR or --runs-dir"
    if not path.is_dir():
        yield Check("runs", "failed", f"{path} is not a directory, so {settings.runs_dir} cannot be created", fix)
        return
    if not os.access(path, os.W_OK | os.X_OK):
        yield Check("runs", "failed", f"{path} cannot be written to", fix)
        return
    kind = filesystem_of(path)
    if kind is not None and kind.startswith(_SHARED):
        message = f"{settings.runs_dir} is on a network filesystem ({kind}), where locks may not work"
        yield Check("runs", "warning", message, "choose a local directory: STRANDS_RUNS_DIR")
    else:
        yield Check("runs", "ok", f"{settings.runs_dir} ({kind or 'unknown filesystem'})")
    yield _free(path)


def _free(folder: Path) -> Check:
    free = shutil.disk_usage(folder).free
    message = f"{free / 1e9:.1f} GB free in {folder}"
    if free < _FULL:
        return Check("disk", "failed", message, "free some space")
    return Check("disk", "warning" if free < _LOW else "ok", message, "free some space" if free < _LOW else None)


def filesystem_of(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str | None:
    """Return the kind of a directory's filesystem; None if this system does not report it (Linux does)."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return None
    real, best, kind = os.path.realpath(path), "", None
    for line in lines:
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ")
        if (real == point or real.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
            best, kind = point, fields[2]
    return kind


NAME = "permissions"
# A folder of data may contain thousands of files that could be workflows, and large ones.
MOST, LARGEST = 200, 1_000_000


def check_modes(settings: Settings, folder: Path, path: list[str], platform: str = sys.platform) -> Iterator[Check]:
    """Check the owner and the mode of everything that a run reads or stores.

    The policy files of the operator and the person are left out: reading them before each run checks the same.

    Args:
        folder: The folder whose workflows, policy and lock are checked.
        path: The directories that plugins are imported from.
        platform: As `sys.platform`; Windows has no such modes, and one line reports that.
    """
    if platform == "win32":
        yield Check(NAME, "ok", "not checked: this system has no modes of files")
        return
    checked, bad = 0, []
    for label, protected, private in _places(settings, folder, path):
        problem = _problem(protected, private=private)
        checked += problem is not None
        if problem:
            bad.append(Check(NAME, "warning", f"{label} {protected}: {problem}", _fix(protected, private=private)))
    yield from bad
    if not bad:
        yield Check(NAME, "ok", f"{checked} files and folders checked; no other user can change them")


def _places(settings: Settings, folder: Path, path: list[str]) -> Iterator[tuple[str, Path, bool]]:
    """Yield a description, a path, and whether others must not read it."""
    from strands_cli.lock.lock_reader import lock_file

    yield "the journals of runs in", settings.runs_dir, False
    yield "the folder", folder, False
    yield "the policy file", folder / PROJECT_POLICY, False
    yield "the lock", lock_file(folder), False
    for directory in path:
        yield "plugins are imported from", Path(directory), False
    for file, secrets in secrets_here(folder):
        yield "the workflow", file, False
        for secret in secrets:
            if secret.source == "file":
                yield f"the file of the secret '{secret.name}',", folder / Path(secret.path).expanduser(), True


def secrets_here(folder: Path) -> Iterator[tuple[Path, list[SecretReference]]]:
    """Yield the workflows of a folder with their secrets; other and invalid files are left out.

    Only the first 200 files by name are read, and none larger than 1 MB.
    """
    from strands_cli.planning.workflow_folder import is_workflow
    from strands_cli.workflow.loader import load_spec
    from strands_cli.yaml_files.document_reader import SUFFIXES, read_document

    try:
        named = sorted(file for file in folder.iterdir() if file.suffix in SUFFIXES)
        files = [file for file in named[:MOST] if file.is_file() and file.stat().st_size <= LARGEST]
    except OSError:
        return
    for file in files:
        try:
            document = read_document(file)
            spec = load_spec(document).spec if is_workflow(document) else None
        except StrandsCliError:
            continue
        if spec is not None:
            yield (
                file,
                [
                    SecretReference(secret.name or secret.key, secret.key, secret.source, secret.path or "", folder)
                    for secret in spec.env.secrets
                ],
            )


def _problem(path: Path, *, private: bool) -> str | None:
    """Return the access of other users to a file; empty if none, None if the file does not exist."""
    try:
        path_stat = path.stat()
    except OSError:
        return None
    if reason := who_else_writes(path, own_users()):
        return reason
    if private and path_stat.st_mode & (stat.S_IRGRP | stat.S_IROTH):
        return "other users can read it"
    return ""


def _fix(path: Path, *, private: bool) -> str:
    word = shlex.quote(str(path))
    return f"chmod 600 {word}" if private else f"chmod o-w {word}, and chown it if it is not yours"
