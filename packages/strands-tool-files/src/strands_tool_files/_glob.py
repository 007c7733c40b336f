"""Match paths against patterns with `*`, `?`, `[...]` and `**`, in time that no pattern can blow up."""

from __future__ import annotations

import fnmatch
import functools
import re
from collections.abc import Sequence


@functools.lru_cache(maxsize=64)
def _segment(pattern: str) -> re.Pattern[str]:
    # fnmatch's translation keeps stars from backtracking into each other.
    return re.compile(fnmatch.translate(pattern))


def matches(pattern: str, names: Sequence[str]) -> bool:
    """Return whether a path, given by its components, fits a pattern.

    A pattern without `/` is compared with the last component; otherwise with the whole path, component by component,
    where `**` matches any number of components, none included.
    """
    if "/" not in pattern:
        return _segment(pattern).match(names[-1]) is not None
    # `reachable` are the numbers of components that the pattern's beginning can have used up.
    reachable = {0}
    for part in pattern.split("/"):
        if part == "**":
            reachable = set(range(min(reachable), len(names) + 1)) if reachable else set()
        else:
            reachable = {used + 1 for used in reachable if used < len(names) and _segment(part).match(names[used])}
    return len(names) in reachable
