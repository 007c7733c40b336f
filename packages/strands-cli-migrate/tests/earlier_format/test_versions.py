"""Which versions are those of the earlier format, and that the core knows nothing of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import strands_cli
from strands_cli import Workflow
from strands_cli.app import load
from strands_cli.workflow.loader import PRESENT

SRC = Path(strands_cli.__file__).parent
# What would say that the core knows of an earlier format.
WORDS = re.compile(r"\bis_earlier|\bas_earlier|earlier (?:format|strands-cli|program)|version:? 0\b")
# The fix of a version that is not the present one.
ALLOWED = {"workflow/loader.py"}


def flow(version: Any, **more: Any) -> str:
    return json.dumps(
        {
            "version": version,
            "name": "f",
            "runtime": {"provider": "openai", "model_id": "m"},
            "agents": {"a": {"prompt": "A"}},
            "pattern": {"type": "chain", "config": {"steps": [{"agent": "a", "input": "one"}]}},
            **more,
        }
    )


@pytest.mark.parametrize(
    "version",
    [0, 0.0, "0", 1, 1.0, "1", "1.0", " 1 ", "1.0.0", 0.1, "v1", "latest", 1.1, "2024-06-01", -1, 1e99, "", "one"],
)
def test_the_version_decides_what_a_workflow_means(version: Any) -> None:
    spec = load("<text>", flow(version)).spec
    assert spec is not None
    assert spec.agents["a"].memory == "path"


@pytest.mark.parametrize("version", [2, 2.0, "2", "2.0", " 2 "])
def test_the_present_format_is_not_translated(version: Any) -> None:
    spec = load("<text>", flow(version)).spec
    assert spec is not None
    assert spec.agents["a"].memory == "step"


def test_the_core_knows_no_earlier_format() -> None:
    sources = {path.relative_to(SRC).as_posix(): path.read_text(encoding="utf-8") for path in SRC.rglob("*.py")}
    assert {name for name, text in sources.items() if WORDS.search(text)} == ALLOWED


@pytest.mark.parametrize(
    "version", [3, 7, "12", 99999999, 20240601, "2.0.0", "v2", "V2.0", "2.1", 2.5, "v3", "3.0.1.2"]
)
def test_a_later_version_is_refused_unless_the_file_is_one_of_before(version: Any) -> None:
    found = load("<text>", flow(version)).findings
    assert [(str(one.code), one.severity, one.where and one.where.pointer) for one in found] == [
        ("unknown-version", "error", "/version")
    ]
    tools = {"python": [{"callable": "strands_tools.calculator"}]}
    found = load("<text>", flow(version, tools=tools)).findings
    assert ("unknown-version", "warning") in [(str(one.code), one.severity) for one in found]


def test_a_mistake_in_a_part_that_was_moved_is_at_its_place(tmp_path: Path) -> None:
    file = tmp_path / "flow.yaml"
    file.write_text(
        "version: 0\nname: f\nruntime: {provider: openai, model_id: m}\n"
        "inputs:\n  required:\n    n:\n      type: integr\n      default: 5\n"
        "agents: {a: {prompt: A}}\n"
        "pattern: {type: chain, config: {steps: [{agent: a, input: x}]}}\n"
    )
    (found,) = Workflow.from_file(file).validate()
    assert found.where is not None
    assert (str(found.code), found.where.line, found.where.column) == ("bad-value", 7, 13)


def test_the_present_version_is_the_newest_that_the_core_reads() -> None:
    from strands_cli_migrate.earlier.versions import PRESENT as WRITTEN

    assert PRESENT == WRITTEN
