"""`strands.lock`: written, read, and compared with what is installed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strands_cli.lock.compare import Difference as Difference
    from strands_cli.lock.compare import compare_distribution as compare_distribution
    from strands_cli.lock.compare import compare_locks as compare_locks
    from strands_cli.lock.compare import compare_module as compare_module
    from strands_cli.lock.compare import compare_reach as compare_reach
    from strands_cli.lock.compare import compare_tools as compare_tools
    from strands_cli.lock.installed_lock import lock_distributions as lock_distributions
    from strands_cli.lock.installed_lock import lock_module as lock_module
    from strands_cli.lock.installed_lock import require_readable as require_readable
    from strands_cli.lock.lock_model import Lock as Lock
    from strands_cli.lock.lock_model import LockedDistribution as LockedDistribution
    from strands_cli.lock.lock_model import LockedModule as LockedModule
    from strands_cli.lock.lock_model import LockedServer as LockedServer
    from strands_cli.lock.lock_model import LockedTool as LockedTool
    from strands_cli.lock.lock_reader import lock_file as lock_file
    from strands_cli.lock.lock_reader import read_lock as read_lock
    from strands_cli.lock.lock_writer import line_of as line_of
    from strands_cli.lock.lock_writer import render_lock as render_lock

# Public names by module; imported when asked for, because a plan without a lock needs the reader alone.
_MODULES = {
    "compare": (
        "Difference",
        "compare_distribution",
        "compare_locks",
        "compare_module",
        "compare_reach",
        "compare_tools",
    ),
    "installed_lock": ("lock_distributions", "lock_module", "require_readable"),
    "lock_model": ("Lock", "LockedDistribution", "LockedModule", "LockedServer", "LockedTool"),
    "lock_reader": ("lock_file", "read_lock"),
    "lock_writer": ("line_of", "render_lock"),
}
_PUBLIC = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'strands_cli.lock' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"strands_cli.lock.{_PUBLIC[name]}"), name)
