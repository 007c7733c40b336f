"""Plugins that no workflow names and the lock of a folder: they are compared with it before one of them is imported."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli.catalog.distributions.entry_points import Scan, normalise, read_entry_points, reference_in
from strands_cli.catalog.distributions.scan import scan_installed
from strands_cli.config import use_private_bytecode
from strands_cli.default_parts import HOOKS, PART_GROUPS
from strands_cli.errors import Denied, Finding, Where

if TYPE_CHECKING:
    from strands_cli.lock.compare import Difference
    from strands_cli.lock.lock_reader import LockedDistribution


# Distributions that a person locks again now, so that no lock keeps them from being imported; None: every one.
_LOCKED_AGAIN: ContextVar[Collection[str] | None] = ContextVar("_LOCKED_AGAIN", default=())


@contextmanager
def locked_again(names: Collection[str] | None) -> Iterator[None]:
    """Admit the present parts that a person locks again: to lock a workflow, the parts that it names are imported.

    Args:
        names: The distributions; None means every one.
    """
    token = _LOCKED_AGAIN.set(None if names is None else {normalise(name) for name in names})
    try:
        yield
    finally:
        _LOCKED_AGAIN.reset(token)


def check_locked(
    words: Iterable[str],
    folder: Path,
    required_by: str | None,
    *,
    is_planned: bool = True,
    named: str | None = None,
) -> list[Finding]:
    """Return why plugins may not be imported by the lock of a folder.

    A lock belongs to a folder, and plugins that no workflow names to a person or a machine. So one that the lock does
    not have is refused only where a lock is required.

    Args:
        folder: Where the lock may be.
        required_by: Who asks for a lock (`--locked`, or the line of a policy file).
        is_planned: Whether a plan follows, which reports that the lock is missing.
        named: The parts of the plugin that a workflow of the folder names; its lock must have them, as it must have its
            tools.
    """
    from strands_cli.lock.lock_reader import Lock, lock_file, read_lock

    again = _LOCKED_AGAIN.get()
    names = [] if again is None else sorted({normalise(word) for word in words} - {*again})
    try:
        lock = read_lock(lock_file(folder)) if names else None
    except Denied as error:
        return list(error.findings)
    if lock is None or not names:
        if not names or is_planned or not required_by:
            return []
        lock = Lock()
    use_private_bytecode()
    from strands_cli.lock.compare import Difference, compare_distribution

    required = {name: distribution.requires for name, distribution in lock.distributions.items()}
    differences: list[Difference] = []
    for name, now in lock_plugins(names, scan_installed(), required).items():
        if distribution := lock.distributions.get(name):
            differences += compare_distribution(distribution, now, whole=False)
        elif required_by or named:
            subject = f"{name}, which has {named}" if named else f"the plugin {name}"
            message = f"the lock does not have {subject}" + (
                f", and {required_by} asks for a lock" if required_by else ""
            )
            differences.append(Difference(name, message, unlisted=True))
    spec = "" if folder == Path.cwd() else f"{shlex.quote(str(folder))} "
    return [lock_finding(difference, folder, spec) for difference in differences]


def lock_plugins(
    words: Iterable[str], scan: Scan, required: Mapping[str, Iterable[str]] | None = None
) -> dict[str, LockedDistribution]:
    """Return the installed distributions of plugins as a lock has them.

    Args:
        required: The names of the distributions to pin with each one; by default those that it requires now.
    """
    from strands_cli.catalog.publisher_records import required_distributions
    from strands_cli.lock.package_documents import lock_modules

    names = [name for name in sorted({normalise(word) for word in words}) if scan.records.get(name)]
    pins: Mapping[str, Iterable[str]] = required_distributions(names, scan) if required is None else required
    modules = {
        name: {
            reference_in(point.value)[0]
            for group in (HOOKS, *PART_GROUPS)
            for point in read_entry_points(scan.records[name][0][1], name, scan, group)
        }
        for name in names
    }
    return {name: lock_modules(name, modules[name], scan, pins.get(name, ())) for name in names}


def lock_finding(difference: Difference, folder: Path, spec: str = "") -> Finding:
    """Return a difference as a finding; `spec` are the words by which `strands lock` finds the folder."""
    from strands_cli.lock.lock_reader import lock_file

    fix = f"after you have read the change: strands lock {spec}--update {difference.owner}"
    if difference.field == "publisher" and difference.new is None:
        fix = f"strands plugin publisher {difference.owner}; if it is meant to be unverified: {fix}"
    return Finding(difference.code, difference.message, place_in_lock(lock_file(folder), difference.owner), fix)


def place_in_lock(file: Path, owner: str) -> Where:
    """Return the place of a distribution or a reference in the lock."""
    from strands_cli.lock.lock_writer import line_of

    return Where(str(file), line_of(owner, file.read_text(encoding="utf-8")) if file.exists() else None)
