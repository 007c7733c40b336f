"""Measures opening a file through the workspace of the file tools against a plain open.

Usage: python -m bench.open_alone --pairs N
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from strands_tool_files._open import open_regular
from strands_tool_files._workspace import Workspace

OPENS = 500
FILES = 50


def main() -> None:
    """Print the cost, and its ratio to a plain open, as JSON with the fields of `Figure`."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=7)
    pairs = parser.parse_args().pairs
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "docs").mkdir()
        paths = [f"docs/file-{number}.txt" for number in range(FILES)]
        for path in paths:
            Path(name, path).write_text("text\n", encoding="utf-8")
        given = {"root": name, "mounts": {}, "protected": [f"{name}/flow.yaml"]}

        def walled(path: str) -> None:
            # As in a call: each has a new workspace.
            with Workspace.of(given).at(path) as found:
                os.close(open_regular(found))

        def plain(path: str) -> None:
            os.close(os.open(f"{name}/{path}", os.O_RDONLY | os.O_CLOEXEC))

        each(walled, paths), each(plain, paths)
        costs = [(each(walled, paths), each(plain, paths)) for _ in range(10 * pairs)]
    # The least of each, from many short turns: what other programs on the machine do can only add.
    walled_cost, plain_cost = (min(column) for column in zip(*costs, strict=True))
    print(json.dumps({"ms": walled_cost, "ratio": walled_cost / plain_cost}))


def each(use: Callable[[str], None], paths: list[str]) -> float:
    """Return the CPU milliseconds of one use."""
    before = time.process_time()
    for number in range(OPENS):
        use(paths[number % len(paths)])
    return (time.process_time() - before) * 1000 / OPENS


if __name__ == "__main__":
    main()
