"""What a template says of the names that it uses; it is taken from its tree once, and the tree is not kept."""

from __future__ import annotations

from typing import NamedTuple

from strands_cli.workflow.templates.template_errors import Path


class Read(NamedTuple):
    """One path that a template reads: whether it is called, and whether the template takes it for possibly missing."""

    path: Path
    is_called: bool
    may_be_missing: bool


class Facts(NamedTuple):
    """What one template or condition says.

    Attributes:
        paths: The paths of names from outside, without those that may be absent.
        reads: All reads of names from outside, those that may be missing and those by filters among them.
        mentions: Every path that is written, also of names that the template sets.
        certain: The paths that are always evaluated, and without whose second part rendering always fails.
        sets: The names that it sets itself.
        words: Each path that is compared with a constant text, with the text.
        printed: Each path that is printed, with whether as it is.
        assumed_missing: The names that have a default, or that are tested for being there.
        asked: The names in conditions of `if`.
    """

    paths: frozenset[Path] = frozenset()
    reads: tuple[Read, ...] = ()
    mentions: frozenset[Path] = frozenset()
    certain: frozenset[Path] = frozenset()
    sets: frozenset[str] = frozenset()
    words: tuple[tuple[Path, str], ...] = ()
    printed: tuple[tuple[Path, bool], ...] = ()
    assumed_missing: tuple[str, ...] = ()
    asked: frozenset[str] = frozenset()


NO_FACTS = Facts()
