"""A file of a format that an installed distribution translates is checked, planned, run and resumed."""

from __future__ import annotations

import pytest

from tests.cli.strands import Folder
from tests.distributions import make_distribution

MODULE = """
import os
from pathlib import Path

from strands_cli.api import FormatProblem, Translation

Path(os.environ["IMPORTED"]).touch()


def crew(document):
    if document.get("bug"):
        raise KeyError("no crew")
    if document.get("text"):
        return "no document"
    problems = []
    if "mood" in document:
        problems.append(FormatProblem("a mood has no equal here", "remove it", "/mood", "warning"))
    if "wrong" in document:
        problems.append(FormatProblem("this cannot be translated", pointer="/wrong"))
    steps = [{"agent": "member", "input": task} for task in document["tasks"]]
    value = {
        "version": 2,
        "name": document["title"],
        "runtime": {"provider": "replay", "recording": "flow.recording.yaml"},
        "agents": {"member": {"prompt": document.get("role", "You help.")}},
        "pattern": {"type": "chain", "config": {"steps": steps}},
    }
    document.clear()
    places = {f"/pattern/config/steps/{n}/input": f"/tasks/{n}" for n in range(len(steps))}
    return Translation(value, problems, places)


def nine(document):
    document.pop("version")
    return Translation({"version": 2, **document})
"""
POINTS = "[strands_cli.formats]\ncrew = strands_cli_yours:crew\nversion-9 = strands_cli_yours:nine\n"
FLOW = "format: crew\ntitle: crew\ntasks:\n  - Say hi.\n  - Say {{ last_response }} again.\n"
RECORDING = "recording: 1\nsteps: {steps.0: [{text: one}], steps.1: [{text: two}]}\n"


@pytest.fixture
def plugin(folder: Folder) -> Folder:
    make_distribution(folder.site, "strands-cli-yours", "1.0", POINTS, {"strands_cli_yours/__init__.py": MODULE})
    folder.environ["IMPORTED"] = str(folder.root / "imported")
    folder.write("flow.yaml", FLOW)
    folder.write("flow.recording.yaml", RECORDING)
    return folder


def was_imported(folder: Folder) -> bool:
    return (folder.root / "imported").exists()


def test_a_file_of_it_is_checked_planned_run_and_shown(plugin: Folder) -> None:
    for command in ("validate", "plan", "explain"):
        ran = plugin.strands(command, "flow.yaml")
        assert ran.code == 0, ran.err
    assert plugin.strands("run", "flow.yaml").out == "two\n"
    assert plugin.strands("resume", "last").out == "two\n"
    assert plugin.strands("runs", "show", "last").code == 0


def test_what_the_translation_finds_is_at_its_place(plugin: Folder) -> None:
    plugin.write("flow.yaml", f"{FLOW}mood: glad\n")
    ran = plugin.strands("run", "flow.yaml")
    assert ran.code == 0
    assert "warning[format-finding]: strands-cli-yours: a mood has no equal here" in ran.err
    assert "flow.yaml:6" in ran.err
    plugin.write("flow.yaml", f"{FLOW}wrong: yes\n")
    ran = plugin.strands("run", "flow.yaml")
    assert (ran.code, "flow.yaml:6" in ran.err) == (3, True)


def test_a_mistake_in_what_was_translated_is_at_the_place_that_it_comes_from(plugin: Folder) -> None:
    plugin.write("flow.yaml", FLOW.replace("last_response", "last_respones"))
    ran = plugin.strands("plan", "flow.yaml")
    assert (ran.code, "flow.yaml:5" in ran.err) == (2, True), ran.err


def test_a_version_that_a_distribution_translates_is_read(plugin: Folder) -> None:
    plugin.workflow([{"agent": "writer", "input": "x"}], {"steps.0": [{"text": "one"}]}, version=9)
    assert plugin.strands("run", "flow.yaml").out == "one\n"
    assert was_imported(plugin)


def test_a_file_of_the_present_format_imports_nothing(plugin: Folder) -> None:
    plugin.workflow([{"agent": "writer", "input": "x"}], {"steps.0": [{"text": "one"}]})
    assert plugin.strands("run", "flow.yaml").out == "one\n"
    assert not was_imported(plugin)


def test_an_unknown_format_is_answered_with_those_there_are(plugin: Folder) -> None:
    plugin.write("flow.yaml", FLOW.replace("crew", "crwe", 1))
    ran = plugin.strands("run", "flow.yaml")
    assert (ran.code, ran.codes, "'crew'" in ran.err) == (18, ["unknown-format"], True), ran.err
    assert not was_imported(plugin)


@pytest.mark.parametrize(("line", "problem"), [("bug: 1", "KeyError: 'no crew'"), ("text: 1", "returns str")])
def test_a_broken_translation_names_its_distribution(plugin: Folder, line: str, problem: str) -> None:
    plugin.write("flow.yaml", f"{FLOW}{line}\n")
    ran = plugin.strands("run", "flow.yaml")
    assert (ran.code, ran.codes, problem in ran.err, "strands-cli-yours" in ran.err) == (
        18,
        ["part-broken"],
        True,
        True,
    )


def test_a_denied_distribution_and_two_owners_are_refused(plugin: Folder) -> None:
    plugin.write("strands-policy.yaml", "version: 1\nrules:\n- {deny: '*', distribution: strands-cli-yours}\n")
    ran = plugin.strands("run", "flow.yaml")
    assert (ran.code, ran.codes) == (21, ["part-denied"])
    (plugin.work / "strands-policy.yaml").unlink()
    make_distribution(plugin.site, "strands-cli-theirs", "1.0", "[strands_cli.formats]\ncrew = json:loads\n", {})
    ran = plugin.strands("run", "flow.yaml")
    assert (ran.code, ran.codes) == (21, ["part-taken"])
    assert not was_imported(plugin)


@pytest.mark.parametrize("versions", [(2, 1), (1, 2), (0, "two")])
def test_a_version_that_is_written_twice_is_the_first_mistake(folder: Folder, versions: tuple[object, object]) -> None:
    folder.write("flow.yaml", f"version: {versions[0]}\nname: flow\nversion: {versions[1]}\n")
    ran = folder.strands("validate", "flow.yaml")
    assert (ran.code, "duplicate-key" in ran.codes) == (3, True), ran.err
