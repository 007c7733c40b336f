"""Compare the needs of a model with the free memory, because a machine that swaps answers nothing."""

from __future__ import annotations

from pathlib import Path

from strands_cli.api import NotEquipped
from strands_cli_local.gguf_header import GgufHeader

MEMINFO = Path("/proc/meminfo")
GROUPS = (
    (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")),
    (
        Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
        Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ),
)
# Buffers for the computation; measured: 60 MB with a model of 135 million parameters.
FOR_WORK = 64 * 2**20


def needed(header: GgufHeader, tokens: int) -> int:
    """Return the bytes that a model needs with a memory of so many tokens."""
    return header.size + (header.token_bytes or 0) * tokens + FOR_WORK


def available() -> int | None:
    """Return the free bytes for a process, those of its control group too; None where nothing tells it."""
    numbers = []
    try:
        lines = dict(line.split(":", 1) for line in MEMINFO.read_text(encoding="ascii").splitlines() if ":" in line)
        numbers.append(int(lines["MemAvailable"].split()[0]) * 1024)
    except (OSError, LookupError, ValueError):
        return None
    for most, used in GROUPS:
        try:
            numbers.append(int(most.read_text(encoding="ascii")) - int(used.read_text(encoding="ascii")))
        except (OSError, ValueError):
            continue
    return max(0, min(numbers))


def require_memory(header: GgufHeader, tokens: int, free: int | None) -> None:
    """Check that a model fits.

    Raises:
        NotEquipped: It does not; with the numbers.
    """
    bytes_needed = needed(header, tokens)
    if free is None or bytes_needed <= free:
        return
    message = f"{header.path} needs about {_gigabytes(bytes_needed)} with a context of {tokens:,} tokens in all"
    fix = "take a smaller file or a lower `options.context`; `options: {check_memory: false}` loads it nevertheless"
    raise NotEquipped(f"{message}, and {_gigabytes(free)} of memory are free", fix=fix)


def _gigabytes(number: int) -> str:
    return f"{number / 2**30:.1f} GiB"
