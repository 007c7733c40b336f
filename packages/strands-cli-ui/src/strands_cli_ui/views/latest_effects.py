"""The effects of a long run for a page that stays small: its latest ones, and what is below them where it fits."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Sequence

from strands_cli.api import Branch


def short_tree(branches: Sequence[Branch], most: int) -> tuple[Branch, ...]:
    """Return trees of about so many effects: the last ones at the top, then level by level what is below.

    What is left out below an effect is listed where that effect is opened.
    """
    tops = list(branches[-most:])
    left = most - len(tops)
    kept: dict[str, tuple[Branch, ...]] = {}
    waiting = deque(reversed(tops))
    while waiting:
        branch = waiting.popleft()
        # A group has no page of its own, so a part of it is better than nothing.
        fits = len(branch.children) <= left or branch.effect is None
        kept[branch.key] = branch.children[-max(left, 1) :] if fits else ()
        left = max(0, left - len(kept[branch.key]))
        waiting += reversed(kept[branch.key])
    return tuple(_with(branch, kept) for branch in tops)


def _with(branch: Branch, kept: dict[str, tuple[Branch, ...]]) -> Branch:
    return dataclasses.replace(branch, children=tuple(_with(child, kept) for child in kept.get(branch.key, ())))
