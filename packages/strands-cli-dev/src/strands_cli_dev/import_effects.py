"""Check in a child process the effects of importing a plugin's module."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from strands_cli_dev.child_import import ImportFailure, import_in_child


def check_import(module: str) -> Iterator[str]:
    """Import a module in a fresh process and yield its side effects."""
    try:
        effects = import_in_child(sys.path, module)
    except ImportFailure as failure:
        yield str(failure)
        return
    if effects.printed:
        yield f"importing {module} printed {effects.printed[:200]!r}"
    yield from (f"importing {module} changed {change}" for change in effects.changed)
    yield from (f"importing {module} started the thread {name!r}" for name in effects.threads)


def module_of(plugin: Any) -> str | None:
    """Return the name of a plugin's module, or None if another process cannot import it."""
    if isinstance(plugin, str):
        return plugin.partition(":")[0]
    name = plugin.__name__ if isinstance(plugin, ModuleType) else getattr(plugin, "__module__", None)
    if not isinstance(name, str) or name.partition(".")[0] in ("strands", "__main__"):
        return None
    try:
        module_spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return name if module_spec is not None else None


def top_of(plugin: Any) -> ModuleType | None:
    """Return the top-level package of a loaded plugin."""
    return sys.modules.get((module_of(plugin) or "").partition(".")[0])
