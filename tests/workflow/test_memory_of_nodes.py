"""Two nodes of a graph that would speak in one conversation at once are found as far as that can be known."""

from __future__ import annotations

import pytest

from strands_cli.workflow.loader import load_spec
from strands_cli.yaml_files.document_reader import read_document
from tests.workflow.spoiled import pattern

NODES = "nodes: {x: {agent: beta}, a: {agent: beta}, b: {agent: beta}, c: {agent: alpha}, d: {agent: alpha}}"
FORK = "{from: x, to: [a, b]}"


def severities(edges: str) -> list[str]:
    text = pattern("graph", f"{NODES}\nedges: [{edges}]").replace("{prompt: A}", "{prompt: A, memory: run}")
    found = load_spec(read_document("flow.yaml", text)).findings
    return [finding.severity for finding in found if finding.code == "concurrent-memory"]


@pytest.mark.parametrize(
    ("edges", "expected"),
    [
        ("{from: x, to: [c, d]}", ["error"]),
        ("{from: x, to: c}, {from: x, to: d}", ["error"]),
        (f"{FORK}, {{from: a, to: c}}, {{from: b, to: d}}", ["error"]),
        ("{from: x, to: [a, d]}, {from: a, to: b}, {from: b, to: c}", []),
        ("{from: x, to: [c, d]}, {from: c, to: d}", []),
        (f"{FORK}, {{from: a, to: c}}, {{from: b, to: c}}, {{from: c, to: d}}", []),
        (f"{FORK}, {{from: a, choose: [{{when: else, to: c}}]}}, {{from: b, to: d}}", ["warning"]),
        ("{from: x, choose: [{when: 'a', to: c}, {when: else, to: d}]}", []),
        ("{from: x, to: [c, d]}, {from: d, choose: [{when: else, to: x}]}", ["error"]),
        (f"{FORK}, {{from: a, to: c}}, {{from: c, choose: [{{when: else, to: d}}]}}", []),
    ],
)
def test_what_is_certain_is_an_error_and_what_may_be_a_warning(edges: str, expected: list[str]) -> None:
    assert severities(edges) == expected
