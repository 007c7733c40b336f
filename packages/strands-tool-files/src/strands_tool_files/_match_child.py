"""Match lines against a regular expression, in a process that its parent can end at any moment.

Run as `python -I -S _match_child.py`. Frames on stdin and stdout: four bytes of length, then so many bytes of UTF-8.
The first frame is `i` or `-` (whether case is ignored) and the pattern, answered by an empty frame or by its fault;
each further one is lines, answered by `index:start:end` for each line that matches.
"""

from __future__ import annotations

import contextlib
import re
import sys
from typing import IO

_CPU_SECONDS = 30
_MEMORY = 512 * 1024 * 1024


def main() -> None:
    """Serve the pattern of the first frame until stdin ends."""
    _limit()
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    order = _receive(source) or "-"
    try:
        pattern = re.compile(order[1:], re.IGNORECASE if order[0] == "i" else 0)
    except (re.error, RecursionError, OverflowError, MemoryError) as error:
        _send(sink, f"{error}" or type(error).__name__)
        return
    _send(sink, "")
    while (lines := _receive(source)) is not None:
        matches = ((index, pattern.search(line)) for index, line in enumerate(lines.split("\n")))
        _send(sink, " ".join(f"{index}:{match.start()}:{match.end()}" for index, match in matches if match))


def _limit() -> None:
    """Bound the resources of the process even when its parent is gone, where the system can."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _receive(source: IO[bytes]) -> str | None:
    head = source.read(4)
    if len(head) < 4:
        return None
    return source.read(int.from_bytes(head, "big")).decode("utf-8", "surrogatepass")


def _send(sink: IO[bytes], text: str) -> None:
    encoded = text.encode("utf-8", "surrogatepass")
    sink.write(len(encoded).to_bytes(4, "big") + encoded)
    sink.flush()


if __name__ == "__main__":
    main()
