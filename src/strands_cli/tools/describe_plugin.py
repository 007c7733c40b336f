"""A program for a child process: import one plugin and write what its tools are to a file, as JSON."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from strands_cli.tools.forms.tool_forms import NotAToolError, describe_reference


def main(arguments: list[str]) -> None:
    """Describe one object reference and end the process, even if the plugin has left threads.

    The SDK is imported before the clock starts, so that time and effects are the plugin's own.

    Args:
        arguments: The file to write, the source directory, the module, and the attribute (`""` for the module).
    """
    result, source, module_name, attribute = arguments
    sys.path.insert(0, source)
    before, started = _state(), time.perf_counter()
    module = importlib.import_module(module_name)
    seconds, changed = time.perf_counter() - started, _changes(before)
    threads = [(thread.name, thread.daemon) for thread in threading.enumerate() if thread not in before["threads"]]
    kind, tools = asyncio.run(describe_reference(module, attribute or None))
    document = {"kind": kind, "tools": tools, "seconds": seconds, "threads": threads, "changed": changed}
    text = json.dumps(document, allow_nan=False)
    sys.stdout.flush()
    Path(result).write_text(text, encoding="utf-8")
    os._exit(0)


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


def _report(error: BaseException) -> None:
    """End the process with the error's own words as the last line of stderr."""
    if isinstance(error, SystemExit):
        sys.stderr.write(f"it ended the process (SystemExit: {error.code})\n")
    elif isinstance(error, NotAToolError):
        sys.stderr.write(f"{error}\n")
    else:
        import traceback

        traceback.print_exception(error)
    sys.stderr.flush()
    os._exit(1)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except BaseException as error:  # noqa: BLE001 - foreign code raises what it likes, and its threads must not hold us
        _report(error)
