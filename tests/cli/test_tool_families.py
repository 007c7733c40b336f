"""`native:files.*` names the tools of a family, of one distribution."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli.toolref import ToolRef, ToolRefError
from tests.cli.strands import Folder
from tests.distributions import sound

WORKFLOW = """version: 2
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
    step = "version: 2\nname: n\npattern: {type: chain, config: {steps: [{tool: 'native:files.*'}]}}\n"
    (folder.work / "s.yaml").write_text(step)
    planned = folder.strands("plan", "s.yaml")
    assert planned.code == 3
    _, _, named = planned.err.partition("name one: ")
    assert folder.strands("tools", "show", named.split()[0]).code == 0


@pytest.mark.parametrize("text", ["native:*", "native:file_*", "native:a.b*", "native:*.a"])
def test_no_other_star_is_a_tool_ref(text: str) -> None:
    with pytest.raises(ToolRefError):
        ToolRef.parse(text)


def test_the_list_shows_families_and_suggests_them(folder: Folder) -> None:
    lines = folder.strands("list-tools").out.splitlines()
    assert any(line.startswith("grep ") and line.endswith("[files]") for line in lines)
    assert "'files'" in folder.strands("list-tools", "--family", "flies").err
    assert "files, http" in folder.strands("list-tools", "--family", "nonsense").err


FILES = ["file_list", "file_read", "file_write", "grep", "head", "search", "tail"]


def test_a_family_can_be_shown_and_its_policy_explained(folder: Folder) -> None:
    shown = folder.strands("tools", "show", "native:files.*", "--json").document
    assert [tool["name"] for tool in shown["tools"]] == FILES
    folder.write("p.yaml", "version: 1\nrules: [{deny: 'native:files.*'}]\n")
    told = folder.strands("explain", "policy", "native:files.*", "--policy", "p.yaml", "--json").document
    assert [(tool["name"], tool["call"]["effect"]) for tool in told["tools"]] == [(name, "deny") for name in FILES]
    ran = folder.strands("tools", "show", "native:flies.*")
    assert (ran.code, ran.codes, "'files'" in ran.err) == (3, ["unknown-tool"], True)
    (unknown,) = folder.strands("explain", "policy", "native:flies.*", "--json").document["tools"]
    assert (unknown["name"], "'files'" in unknown["note"]) == ("native:flies.*", True)


def test_rules_and_guardrails_name_families(folder: Folder) -> None:
    asked = ("plan", "w.yaml", "--format", "json")
    planned(folder, "native:files.*")
    folder.write("strands-policy.yaml", "version: 1\nrules: [{deny: 'native:files.*', writes: 'x/**'}]\n")
    assert folder.strands(*asked).document["findings"] == []
    folder.write("strands-policy.yaml", "version: 1\nrules: [{deny: '*', unless: [strands-tool-files/files.*]}]\n")
    assert folder.strands(*asked).code == 0
    rules = "- deny: native:flies.*\n- deny: files.*\n- allow: native:files.*\n"
    folder.write("p.yaml", f"version: 1\nrules:\n{rules}")
    found = folder.strands(*asked, "--policy", "p.yaml").document["findings"]
    found.sort(key=lambda one: one["line"])
    assert [one["code"] for one in found] == ["unmatched-rule", "unmatched-rule", "bare-tool-name"]
    assert ["native:files.*" in found[0]["fix"], "native:files.*" in found[1]["fix"]] == [True, True]
    assert found[2]["fix"].endswith("strands-tool-files/files.*")
    (folder.work / "strands-policy.yaml").unlink()
    guarded = (folder.work / "w.yaml").read_text() + "security: {guardrails: {allow_tools: ['native:files.*']}}\n"
    folder.write("w.yaml", guarded)
    assert folder.strands(*asked).document["findings"] == []


def test_the_command_line_allows_a_family_of_one_distribution(folder: Folder, site: Path) -> None:
    planned(folder, "native:files.*")
    ran = folder.strands("plan", "w.yaml", "--format", "json", "--allow", "native:files.*").document
    assert {tool["permission"] for tool in ran["agents"][0]["tools"]} == {"allow"}
    refused = folder.strands("plan", "w.yaml", "--allow", "native:letters.*")
    assert (refused.code, "strands-tool-alpha/letters.*" in refused.err) == (2, True)
