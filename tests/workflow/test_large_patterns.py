"""A check of a workflow takes time in proportion to its steps: a machine may write thousands of them."""

import sys
from typing import Any

import pytest

from strands_cli.app import load

HEAD = "version: 2\nname: big\nruntime: {provider: ollama, model_id: m}\nagents: {a: {prompt: hi}}\npattern:\n"


def tasks(count: int, first: str) -> str:
    """Return a chain of tasks."""
    lines = [f"  - {{id: t0, {first}}}"]
    lines += [f"  - {{id: t{one}, agent: a, input: x, deps: [t{one - 1}]}}" for one in range(1, count)]
    return f"{HEAD} type: workflow\n config:\n  tasks:\n" + "\n".join(lines) + "\n"


def nodes(count: int, first: str) -> str:
    """Return a chain of graph nodes."""
    lines = [f"   n0: {{{first}}}", *(f"   n{one}: {{agent: a, input: x}}" for one in range(1, count))]
    edges = [f"   - {{from: n{one}, to: [n{one + 1}]}}" for one in range(count - 1)]
    return f"{HEAD} type: graph\n config:\n  nodes:\n" + "\n".join(lines) + "\n  edges:\n" + "\n".join(edges) + "\n"


def calls_of(text: str) -> int:
    """Return how many functions are called, those in C too, while a workflow is checked."""
    count = 0

    def seen(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        loaded = load("big.yaml", text)
    finally:
        sys.setprofile(before)
    assert loaded.valid is not None, loaded.findings
    return count


@pytest.mark.parametrize("write", [tasks, nodes])
@pytest.mark.parametrize("first", ["agent: a, input: x", "type: hitl, prompt: Go on?"])
def test_the_check_of_a_long_workflow_is_in_proportion_to_its_steps(write: Any, first: str) -> None:
    calls_of(write(10, first))  # what is done once
    few, many = calls_of(write(100, first)), calls_of(write(400, first))
    assert many < 8 * few  # four times the steps; where each step looked at all others it would be sixteen
