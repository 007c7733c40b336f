"""A program for a child process: import one module of a foreign distribution with limits, and describe its tools."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from strands_cli.tools.forms.tool_forms import NotAToolError, describe_reference

MEMORY = 4 * 1024**3
FILE = 16 * 1024**2


def main(arguments: list[str]) -> None:
    """Describe object references of one module, and end the process, whatever it has started.

    The SDK is imported before the limits apply and before any foreign code runs.

    Args:
        arguments: The file to write, the directory of `sys.path` with the module, the seconds of processor time, the
            module, and its attributes as a JSON array (`null` for the module itself).
    """
    result, site, seconds, module_name, attributes = arguments
    if site not in sys.path:
        sys.path.insert(0, site)
    _limit(int(float(seconds)) + 1)
    process = os.getpid()
    described: list[dict[str, Any]] = []
    try:
        module = importlib.import_module(module_name)
    except BaseException as error:  # noqa: BLE001 - foreign code raises what it likes, SystemExit too
        described = [{"error": _phrase(error)}] * len(json.loads(attributes))
    else:
        described = [_described(module, attribute) for attribute in json.loads(attributes)]
    if os.getpid() != process:
        os._exit(0)  # a copy that the module forked
    text = json.dumps(described, allow_nan=False)
    Path(result).write_text(text, encoding="utf-8")
    os._exit(0)


def _described(module: Any, attribute: str | None) -> dict[str, Any]:
    try:
        kind, tools = asyncio.run(describe_reference(module, attribute))
        return {"kind": kind, "tools": json.loads(json.dumps(tools, allow_nan=False))}
    except NotAToolError as error:
        return {"error": str(error)[:300]}
    except BaseException as error:  # noqa: BLE001 - as above: a provider is called, and a class may be made
        return {"error": _phrase(error)}


def _phrase(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"it ended the process (SystemExit: {error.code})"[:300]
    try:
        return f"{type(error).__name__}: {error}"[:300]
    except Exception:  # noqa: BLE001 - an exception's own words are foreign code, too
        return type(error).__name__


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
            soft = (
                most
                if resource.getrlimit(kind)[1] == resource.RLIM_INFINITY
                else min(most, resource.getrlimit(kind)[1])
            )
            resource.setrlimit(kind, (soft, soft))


if __name__ == "__main__":
    main(sys.argv[1:])
