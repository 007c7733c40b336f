"""An entry of the allowlist with a folder means Python in that folder, and no other of its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli import app
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.config import Settings
from strands_cli.planning.data_flow.workflow_trust import Trust
from strands_cli.planning.plan_values import Plan

TOOL = 'from strands import tool\n\n\n@tool\ndef shout(text: str) -> str:\n    """Shout."""\n    return text\n'
FLOW = """\
version: 2
name: flow
runtime: {provider: ollama, model_id: m}
tools: {python_path: [lib], python: [own:shout]}
agents: {a: {prompt: x, tools: [own:shout]}}
pattern: {type: chain, config: {steps: [{agent: a, input: hi}]}}
"""


def planned(tmp_path: Path, entry: str) -> Plan:
    (tmp_path / "flows" / "lib").mkdir(parents=True)
    (tmp_path / "flows" / "lib" / "own.py").write_text(TOOL)
    (tmp_path / "flows" / "flow.yaml").write_text(FLOW)
    settings = Settings(tmp_path / "runs", custom_tools=(entry.format(tmp_path),))
    return app.plan(str(tmp_path / "flows" / "flow.yaml"), catalog=discover_catalog([]), settings=settings)


@pytest.mark.parametrize(
    ("entry", "allowed", "asked"),
    [
        ("own:shout", True, True),
        ("own.*", True, True),
        ("own:shout@{}/flows/lib", True, False),
        ("own:*@{}/flows", True, False),
        ("own.*@{}/flows", True, False),
        ("own.shout@{}", True, False),
        ("own:shout@{}/flows/li", False, False),
        ("own:shout@{}/other", False, False),
        ("own:shout@flows/lib", False, False),
        ("own:shout@", False, False),
        ("other:shout@{}/flows", False, False),
    ],
)
def test_a_folder_in_the_allowlist_counts(tmp_path: Path, entry: str, allowed: bool, asked: bool) -> None:
    plan = planned(tmp_path, entry)
    denied = [one for one in plan.findings if one.code == "custom-tool-denied"]
    assert (not denied) is allowed
    assert bool(Trust.of(plan).unconfirmed_python) is (asked if allowed else bool(Trust.of(plan).unconfirmed_python))
    for one in denied:
        assert f"own:shout@{tmp_path}/flows/lib" in (one.fix or "")


def test_a_link_in_the_entry_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "flows")
    assert not [one for one in planned(tmp_path, "own:shout@{}/link").findings if one.code == "custom-tool-denied"]
