"""An index of wheels: what it has, that the same wheels make the same bytes, and that nothing is imported."""

from __future__ import annotations

import filecmp
import hashlib
import json
import os
import sys
from pathlib import Path

import pytest
from index_kit import built, document_of

from strands_cli.api import UsageError
from strands_cli.cli.program import run_program
from tests.distributions import module_source
from tests.distributions.wheels import make_wheel, tool_wheel
from tests.wordings import Wording

# They make wheels, indexes or keys.
pytestmark = pytest.mark.wheels

FLOW = """\
[strands_cli.workflows]
triage = strands_flow_your_triage:workflows
[strands_cli.agents]
sorter = strands_flow_your_triage:agents
[strands_cli.skills]
all = strands_flow_your_triage:skills
[strands_cli.hooks]
notes = strands_flow_your_triage.hooks
"""


@pytest.fixture
def wheelhouse(tmp_path: Path) -> Path:
    """Return a folder with two versions of a tool, workflows, a library and a tool that declares nothing."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    tool_wheel(folder, "shout", annotations={"readOnlyHint": True}, strands_cli={"capabilities": {}})
    tool_wheel(folder, "shout", "1.10")
    tool_wheel(folder, "shout", "1.9")
    files = {
        "strands_flow_your_triage/__init__.py": "raise SystemExit('imported')\n",
        "strands_flow_your_triage/workflows/triage.yaml": "version: 2\n",
        "strands_flow_your_triage/workflows/second.yml": "version: 2\n",
        "strands_flow_your_triage/agents/sorter.yaml": "x: 1\n",
        "strands_flow_your_triage/skills/tone/SKILL.md": "---\nname: tone\n---\n",
    }
    make_wheel(folder, "strands-flow-your-triage", "0.2", FLOW, files)
    make_wheel(folder, "plainlib", "3.0", files={"plainlib.py": ""})
    make_wheel(folder, "strands-hubspot", "0.1", files={"strands_hubspot.py": ""}, requires=["strands-agents>=1"])
    return folder


def test_a_release_has_its_tools_its_check_and_the_digest_of_its_wheel(wheelhouse: Path, tmp_path: Path) -> None:
    assert built(wheelhouse, tmp_path / "site").findings == ()
    releases = {(one["name"], one["version"]): one for one in document_of(tmp_path / "site")["releases"]}
    shout = releases["strands-tool-shout", "1.0"]
    (tool,) = shout["tools"]
    assert (tool["name"], tool["description"], tool["described_by"]) == ("shout", "Does shout.", "manifest")
    assert tool["annotations"] == {"readOnlyHint": True}
    assert tool["permissions"] == "only reads; no capabilities"
    assert shout["publisher"]["status"] == "unverified"
    codes = [finding["code"] for finding in shout["check"]["findings"]]
    assert "no-py-typed" in codes
    assert shout["check"]["warnings"] == sum(one["severity"] == "warning" for one in shout["check"]["findings"])
    (file,) = shout["files"]
    copy = tmp_path / "site" / "wheels" / file["file"]
    assert file["sha256"] == hashlib.sha256(copy.read_bytes()).hexdigest()
    assert copy.read_bytes() == (wheelhouse / file["file"]).read_bytes()
    assert str(tmp_path) not in (tmp_path / "site" / "index.json").read_text()


def test_workflows_agents_skills_and_hooks_are_listed_without_an_import(wheelhouse: Path, tmp_path: Path) -> None:
    built(wheelhouse, tmp_path / "site")
    document = document_of(tmp_path / "site")
    flow = next(one for one in document["releases"] if one["name"] == "strands-flow-your-triage")
    folder = "strands_flow_your_triage:workflows"
    assert flow["workflows"] == [{"name": "triage", "folder": folder, "files": ["second", "triage"]}]
    assert flow["agents"][0]["files"] == ["sorter"]
    assert flow["skills"][0]["files"] == ["tone"]
    assert flow["hooks"] == ["notes"]
    assert [one["name"] for one in document["libraries"]] == ["plainlib"]
    hubspot = next(one for one in document["releases"] if one["name"] == "strands-hubspot")
    assert (hubspot["adopt"], hubspot["tools"]) == (True, [])
    assert not {"strands_flow_your_triage", "strands_tool_shout"} & set(sys.modules)


def test_the_newest_version_is_first_by_number_not_by_letters(wheelhouse: Path, tmp_path: Path) -> None:
    built(wheelhouse, tmp_path / "site")
    releases = document_of(tmp_path / "site")["releases"]
    assert [one["version"] for one in releases if one["name"] == "strands-tool-shout"] == ["1.10", "1.9", "1.0"]
    lines = [json.loads(line) for line in (tmp_path / "site" / "search.jsonl").read_text().splitlines()]
    shout = next(line for line in lines[1:] if line["name"] == "strands-tool-shout")
    assert shout["versions"] == ["1.10", "1.9", "1.0"]


def files_of(site: Path) -> dict[str, bytes]:
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*") if path.is_file()}


def test_the_same_wheels_make_the_same_bytes_wherever_and_whenever(wheelhouse: Path, tmp_path: Path) -> None:
    built(wheelhouse, tmp_path / "one")
    for number, path in enumerate(sorted(wheelhouse.iterdir())):
        os.utime(path, (number, number))
    moved = tmp_path / "elsewhere" / "deeper"
    moved.parent.mkdir()
    wheelhouse.rename(moved)
    built(moved, tmp_path / "two")
    assert files_of(tmp_path / "one") == files_of(tmp_path / "two")


def test_an_index_is_replaced_as_a_whole_and_other_folders_are_left_alone(
    wheelhouse: Path, tmp_path: Path, wording: Wording
) -> None:
    site = tmp_path / "site"
    built(wheelhouse, site)
    first = files_of(site)
    (wheelhouse / "strands_tool_shout-1.10-py3-none-any.whl").unlink()
    built(wheelhouse, site)
    assert set(first) - set(files_of(site)) == {"wheels/strands_tool_shout-1.10-py3-none-any.whl"}
    assert {path.name for path in tmp_path.iterdir() if path.name[0] == "."} == set()
    other = tmp_path / "photos"
    other.mkdir()
    (other / "me.jpg").touch()
    for wheels, target in ((wheelhouse, other), (site / "wheels", site), (tmp_path / "none", tmp_path / "new")):
        with pytest.raises(UsageError) as raised:
            built(wheels, target)
        wording(raised.value)
    assert (other / "me.jpg").exists()
    assert filecmp.cmp(site / "index.json", site / "index.json", shallow=False)


def test_a_name_that_only_this_machine_can_import_is_missing_in_the_index(tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    # `strands_tool_files` is installed here, and the wheel does not have it.
    make_wheel(folder, "strands-tool-liar", entry_points={"file_read": "strands_tool_files.file_read"})
    built(folder, tmp_path / "site")
    (liar,) = document_of(tmp_path / "site")["releases"]
    assert "strands_tool_files.file_read" in liar["tools"][0]["broken"]
    assert [finding["code"] for finding in liar["check"]["findings"]].count("missing-module") == 1


def test_a_tool_without_a_manifest_is_described_by_its_source(tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    make_wheel(
        folder, "strands-tool-bare", entry_points={"bare": "bare_tool"}, files={"bare_tool.py": module_source("bare")}
    )
    built(folder, tmp_path / "site")
    (tool,) = document_of(tmp_path / "site")["releases"][0]["tools"]
    assert (tool["described_by"], tool["description"]) == ("source", "Does bare.")


def test_the_command_prints_what_it_made(wheelhouse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    site = tmp_path / "site"
    assert run_program(["plugin", "index", "build", str(wheelhouse), "-o", str(site), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in printed["libraries"]] == ["plainlib"]
    assert len(printed["releases"]) == 5
    (wheelhouse / "strands_tool_bad-1.0-py3-none-any.whl").write_bytes(b"no zip")
    assert run_program(["plugin", "index", "build", str(wheelhouse), "-o", str(site)]) == 3
    ran = capsys.readouterr()
    assert "5 releases, 1 other distribution" in ran.out
    assert "error[wheel-left-out]" in ran.err
