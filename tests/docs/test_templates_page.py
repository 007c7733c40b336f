"""The page on templates names what templates have: of a step, of each pattern, at the end; filters and limits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from strands_cli import Workflow
from strands_cli.workflow.pattern_model import AT_END, STEP, Items
from strands_cli.workflow.templates.bounds import MAX_OUTPUT, MAX_STEPS
from strands_cli.workflow.templates.filters import MAX_RANGE
from strands_cli.workflow.templates.template import Templates
from tests.cli.strands import EXAMPLES
from tests.docs.pages import CLONE

PAGE = (CLONE / "docs" / "reference" / "templates.md").read_text("utf-8")
PATTERNS = sorted(path.stem for path in (EXAMPLES / "patterns").glob("*.yaml") if ".recording" not in path.name)


def rows_after(heading: str) -> dict[str, str]:
    """Return the first list below a heading: what each line begins with, and the rest."""
    first = PAGE.partition(f"# {heading}\n")[2].partition("\n- ")[2].partition("\n\n")[0]
    parts = (line.removeprefix("- ").split(": ", 1) for line in first.splitlines())
    return {name.strip("`"): rest for name, rest in parts}


def words_in(name: str, part: Any) -> Iterator[str]:
    """Yield a name, and those inside its value; what has ids of the workflow counts by one of its values."""
    yield name
    inner = part.each if isinstance(part, Items) else part
    if name in ("branches", "nodes", "tasks"):
        inner = next(iter(part.values()))
    if isinstance(inner, Mapping):
        yield from inner


def test_a_step_has_the_names_of_the_page() -> None:
    assert set(rows_after("Names")) == set(STEP)


def test_artifacts_have_the_names_of_the_page() -> None:
    assert set(rows_after("Names at the end")) == set(AT_END)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_has_the_names_of_the_page(pattern: str) -> None:
    names = Workflow.from_file(EXAMPLES / "patterns" / f"{pattern}.yaml").spec.pattern.names_at_end()
    shown = {*re.findall(r"`([\w.]+)", rows_after("Names of each pattern")[pattern]), *STEP}
    assert [word for name, part in names.items() for word in words_in(name, part) if word not in shown] == []


def test_the_filters_of_the_page_exist() -> None:
    named = {row.split("|")[1].strip().partition("(")[0] for row in rows_after("Filters and tests")}
    assert named == {"regex_search", "fromjson", "tojson", "truncate"}
    assert named <= set(Templates().sandbox.filters)


def test_the_limits_are_those_of_the_page() -> None:
    assert [f"{limit:,}" for limit in (MAX_STEPS, MAX_OUTPUT, MAX_RANGE) if f"{limit:,}" not in PAGE] == []
