"""The part of a long run that its page lists."""

from __future__ import annotations

from strands_cli.api import Branch, Usage
from strands_cli_ui.views.one_run import short_tree


def _group(key: str, *children: Branch) -> Branch:
    return Branch(key, "group", "done", "", None, Usage(), 0.0, children)


def _size(branches: tuple[Branch, ...]) -> int:
    return sum(1 for top in branches for _ in top.walk())


def test_the_latest_effects_are_kept_level_by_level() -> None:
    tree = tuple(_group(f"s.{n}", _group(f"s.{n}/a", _group(f"s.{n}/a/b"))) for n in range(100))
    assert [one.key for one in short_tree(tree, 3)] == ["s.97", "s.98", "s.99"]
    assert _size(short_tree(tree, 60)) >= 60
    assert _size(short_tree(tree, 400)) == 300


def test_one_step_with_thousands_below_it_stays_small() -> None:
    tree = (_group("s.0", *(_group(f"s.0/{n}") for n in range(10_000))),)
    short = short_tree(tree, 60)
    assert _size(short) == 60
    assert short[0].children[-1].key == "s.0/9999"
