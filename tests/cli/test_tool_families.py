"""`native:files.*` names the tools of a family, of one distribution."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli.toolref import ToolRef, ToolRefError
from tests.cli.strands import Folder
from tests.distributions import sound

WORKFLOW = """version: 1
name: files
runtime: {{provider: replay, recording: r.yaml}}
agents: {{a: {{prompt: Read., tools: ["{ref}"]}}}}
pattern: {{type: chain, config: {{steps: [{{agent: a, input: go}}]}}}}
"""


def planned(folder: Folder, ref: str) -> tuple[int, list[str], list[dict[str, str]]]:
    (folder.work / "r.yaml").write_text("recording: 1\nsteps: {steps.0: [{text: done}]}\n")
    (folder.work / "w.yaml").write_text(WORKFLOW.format(ref=ref))
    ran = folder.strands("plan", "w.yaml", "--format", "json")
    document = ran.document
    tools = [tool["name"] for agent in document.get("agents", ()) for tool in agent["tools"]]
    return ran.code, tools, [found for found in document["findings"] if found["severity"] == "error"]


@pytest.fixture
def site(folder: Folder) -> Path:
    place = folder.site
    sound(place, "alpha", family="letters")
    sound(place, "beta", family="letters")
    sound(place, "gamma", family="others")
    return place


@pytest.mark.parametrize("ref", ["native:files.*", "native:strands-tool-files/files.*", "native:files.*@>=0.1"])
def test_a_family_is_all_its_tools(folder: Folder, ref: str) -> None:
    code, tools, _ = planned(folder, ref)
    assert code == 0
    assert sorted(tools) == ["file_list", "file_read", "file_write", "grep", "head", "search", "tail"]
    assert folder.strands("validate", "w.yaml").code == 0


def test_an_unknown_family_is_an_error_with_a_suggestion(folder: Folder) -> None:
    code, _, [found] = planned(folder, "native:flies.*")
    assert (code, found["code"], "'files'" in found["fix"]) == (3, "unknown-tool", True)


def test_a_family_of_two_distributions_must_be_qualified(folder: Folder, site: Path) -> None:
    code, _, [found] = planned(folder, "native:letters.*")
    assert (code, found["code"]) == (3, "tool-conflict")
    assert planned(folder, "native:strands-tool-alpha/letters.*")[1] == ["alpha"]


def test_another_name_or_a_step_needs_one_tool(folder: Folder) -> None:
    text = WORKFLOW.format(ref="X").replace('"X"', '{tool: "native:files.*", as: x}')
    (folder.work / "w.yaml").write_text(text)
    (folder.work / "r.yaml").write_text("recording: 1\nsteps: {steps.0: [{text: done}]}\n")
    ran = folder.strands("plan", "w.yaml", "--format", "json")
    assert "twin-tool-names" in [found["code"] for found in ran.document["findings"]]
    step = "version: 1\nname: n\npattern: {type: chain, config: {steps: [{tool: 'native:files.*'}]}}\n"
    (folder.work / "s.yaml").write_text(step)
    assert folder.strands("plan", "s.yaml").code == 3


@pytest.mark.parametrize("text", ["native:*", "native:file_*", "native:a.b*", "native:*.a"])
def test_no_other_star_is_a_tool_ref(text: str) -> None:
    with pytest.raises(ToolRefError):
        ToolRef.parse(text)


def test_the_list_shows_families_and_suggests_them(folder: Folder) -> None:
    lines = folder.strands("list-tools").out.splitlines()
    assert any(line.startswith("grep ") and line.endswith("[files]") for line in lines)
    assert "'files'" in folder.strands("list-tools", "--family", "flies").err
