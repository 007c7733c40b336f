"""The pinned wordings belong to tests that exist."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

from tests.wordings import PINNED

TESTS = Path(__file__).parent.parent


def asking() -> Iterator[str]:
    """Yield the names of the tests that compare wordings, as the pinned ones begin."""
    for file in TESTS.rglob("test_*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and any(one.arg == "wording" for one in node.args.args):
                yield f"{file.stem}: {node.name}"


def test_each_pinned_wording_belongs_to_a_test_and_each_such_test_has_one() -> None:
    pinned = {name.partition("[")[0].partition(" (")[0] for name in json.loads(PINNED.read_text(encoding="utf-8"))}
    assert pinned == set(asking())


def test_nothing_of_this_machine_is_pinned() -> None:
    text = PINNED.read_text(encoding="utf-8")
    assert str(TESTS.parent) not in text
    assert "/tmp/pytest" not in text
