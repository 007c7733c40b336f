"""Check in a child process what importing a plugin's module does to a process."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

SECONDS = 60
_PROGRAM = """
import importlib, json, os, sys, threading
result, name, path = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
sys.path[:] = path
# Imported first, so that only changes by the plugin itself count.
before = os.getcwd(), list(sys.path), dict(os.environ)
importlib.import_module(name)
after = os.getcwd(), list(sys.path), dict(os.environ)
words = ("the current directory", "sys.path", "the environment")
changed = [word for word, old, new in zip(words, before, after) if old != new]
threads = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
with open(os.path.join(before[0], result), "w", encoding="utf-8") as file:
    json.dump({"changed": changed, "threads": threads}, file)
sys.stdout.flush()
os._exit(0)
"""


def check_import(module: str) -> Iterator[str]:
    """Import a module in a fresh process and yield its side effects."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.json"
        command = [sys.executable, "-P", "-B", "-c", _PROGRAM, str(result), module, json.dumps(sys.path)]
        try:
            done = subprocess.run(  # noqa: S603 - our own program; what it imports is what the author tests
                command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False, cwd=folder
            )
        except subprocess.TimeoutExpired:
            yield f"importing {module} took more than {SECONDS} seconds"
            return
        if done.stdout:
            yield f"importing {module} printed {done.stdout[:200].decode('utf-8', 'replace')!r}"
        if not result.is_file():
            stderr_lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            cause = stderr_lines[-1] if stderr_lines else f"code {done.returncode}"
            yield f"importing {module} ended the process: {cause}"
            return
        document = json.loads(result.read_text(encoding="utf-8"))
    yield from (f"importing {module} changed {what}" for what in document["changed"])
    yield from (f"importing {module} started the thread {name!r}" for name in document["threads"])


def module_of(plugin: Any) -> str | None:
    """Return the name of a plugin's module, or None if another process cannot import it."""
    if isinstance(plugin, str):
        return plugin.partition(":")[0]
    name = plugin.__name__ if isinstance(plugin, ModuleType) else getattr(plugin, "__module__", None)
    if not isinstance(name, str) or name.partition(".")[0] in ("strands", "__main__"):
        return None
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return name if found is not None else None


def top_of(plugin: Any) -> ModuleType | None:
    """Return the top-level package of a loaded plugin."""
    return sys.modules.get((module_of(plugin) or "").partition(".")[0])
