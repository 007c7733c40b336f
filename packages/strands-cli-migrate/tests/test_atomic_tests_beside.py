"""`atomic run` reads no tests: what is wrong with a file of them beside an agent does not matter to it."""

from __future__ import annotations

import pytest

from tests.cli.strands import Folder

AGENT = """version: 0
name: one
runtime: {provider: replay, recording: r.yaml}
inputs: {required: {t: string}}
agents: {one: {prompt: ONE, output_schema: {type: object, required: [x], properties: {x: {type: string}}}}}
pattern: {type: chain, config: {steps: [{agent: one, input: "{{ t }}"}]}}
"""


@pytest.mark.parametrize(
    "tests",
    [
        "tests:\n  - {name: a, input: ./s.json, expect: {checks: [{type: has_keys, keys: [x]}]}}\n",
        "tests: [{name: a}]\n",
        "nothing: of this\n",
        "tests: [\n",
    ],
)
def test_a_run_needs_no_tests(tests: str, folder: Folder) -> None:
    (folder.work / "one.yaml").write_text(AGENT)
    (folder.work / "r.yaml").write_text('recording: 1\nsteps: {steps.0: [{text: \'{"x": "y"}\'}]}\n')
    (folder.work / "tests.yaml").write_text(tests)
    ran = folder.strands("workflows", "agent", "run", "one.yaml", "--input", '{"t": "x"}')
    assert (ran.code, ran.out.strip()) == (0, '{"x": "y"}')
    assert folder.strands("workflows", "agent", "validate", "one.yaml").code == 3
