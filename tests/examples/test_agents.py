"""Every agent among the examples keeps its contract and passes its tests, offline."""

from __future__ import annotations

from pathlib import Path

from strands_cli.workflow.parts.agent_file import is_agent_file
from tests.cli.strands import EXAMPLES, Folder
from tests.examples.kit import document

AGENTS = sorted(
    f"examples/{path.relative_to(EXAMPLES).as_posix()}"
    for path in EXAMPLES.rglob("*.yaml")
    if is_agent_file(document(path))
)


def test_agents_pass_their_tests(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.work.mkdir()
    folder.site.mkdir()
    folder.examples()
    assert AGENTS
    checked = folder.strands("workflows", "agent", "validate", *AGENTS)
    assert (checked.code, checked.out.count(": ok\n")) == (0, len(AGENTS)), checked.err
    ran = folder.strands("workflows", "agent", "test", *AGENTS, "--json").document
    assert ran["failed"] == ran["error"] == ran["skipped"] == 0, ran
    assert {one["file"] for one in ran["tests"]} == set(AGENTS), "each has a test"
