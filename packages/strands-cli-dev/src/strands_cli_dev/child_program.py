"""A program for a child process: import one module of a plugin, and write its tools and the effects of the import."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import operator
import os
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from strands_cli.api import describe_plugin

MEMORY = 4 * 1024**3
FILE = 16 * 1024**2


def main(result: str, request: Mapping[str, Any]) -> None:
    """Import a module, describe the objects of its attributes, and end the process, whatever it has started.

    The SDK is imported before the clock starts and before any limit, so that time and effects are the plugin's own;
    where only names are looked for, it is not imported.

    Args:
        result: The file to write, as JSON.
        request: The `module`, the `path` to search for it first, the `names` that it must have, the `attributes` to
            describe (None for the module itself), and the seconds of processor time that it is limited to (`limit`,
            None for no limits).
    """
    sys.path[:] = [*(directory for directory in request["path"] if directory not in sys.path), *sys.path]
    if request["attributes"]:
        with contextlib.suppress(Exception):  # of a module without tools
            asyncio.run(describe_plugin(ModuleType("empty"), None))
    if request["limit"] is not None:
        _limit(int(request["limit"]) + 1)
    process, before, started = os.getpid(), _state(), time.perf_counter()
    document: dict[str, Any] = {"error": None}
    try:
        module = importlib.import_module(request["module"])
        for name in request["names"]:
            operator.attrgetter(name)(module)
    except BaseException as error:  # noqa: BLE001 - foreign code raises anything, SystemExit too
        traceback.print_exception(error)
        document["error"] = _phrase(error)
    else:
        threads = [(thread.name, thread.daemon) for thread in threading.enumerate() if thread not in before["threads"]]
        document |= {"seconds": time.perf_counter() - started, "threads": threads, "changed": _changes(before)}
        document["described"] = [_described(module, attribute) for attribute in request["attributes"]]
    if os.getpid() == process:  # else a copy that the module forked
        text = json.dumps(document, allow_nan=False)
        Path(result).write_text(text, encoding="utf-8")
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _described(module: Any, attribute: str | None) -> dict[str, Any]:
    try:
        kind, tools = asyncio.run(describe_plugin(module, attribute))
        return {"kind": kind, "tools": json.loads(json.dumps(tools, allow_nan=False))}
    except BaseException as error:  # noqa: BLE001 - a provider is called, and a class may be made
        return {"error": _phrase(error)}


def _phrase(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"it ended the process (SystemExit: {error.code})"[:300]
    if type(error).__module__.partition(".")[0] == "strands_cli":  # it has none of the forms of a tool
        return str(error)[:300]
    try:
        return f"{type(error).__name__}: {error}"[:300]
    except Exception:  # noqa: BLE001 - an exception's own words are foreign code, too
        return type(error).__name__


def _state() -> dict[str, Any]:
    return {
        "cwd": Path.cwd(),
        "path": list(sys.path),
        "environ": dict(os.environ),
        "threads": set(threading.enumerate()),
    }


def _changes(before: Mapping[str, Any]) -> list[str]:
    now = _state()
    changed = ["the current directory"] if now["cwd"] != before["cwd"] else []
    changed += ["sys.path"] if now["path"] != before["path"] else []
    old, new = before["environ"], now["environ"]
    names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    return changed + [f"the environment variable {name}" for name in names]


def _limit(seconds: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has the time limit of the parent only
        return
    limits = {
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_DATA: MEMORY,
        resource.RLIMIT_FSIZE: FILE,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in limits.items():
        with contextlib.suppress(OSError, ValueError):
            hard = resource.getrlimit(kind)[1]
            soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (soft, soft))


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
