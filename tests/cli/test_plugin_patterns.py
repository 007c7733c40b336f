"""A pattern of an installed distribution works like the core's: checked, planned, shown, run, resumed, locked."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from tests.cli.strands import Folder
from tests.distributions import make_distribution

MODULE = '''
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from strands_cli.api import FormatModel, PatternModel, PlacedStep, Step, Text

Path(os.environ["IMPORTED"]).touch()
STARTER = """agents:
  parrot: {prompt: You repeat., tools: []}

pattern:
  type: talk
  config: {opening: {agent: parrot, input: "Say {{ topic }}."}, times: 2}
"""
RECORDING = """recording: 1
steps:
  rounds.0: [{text: hello}]
  rounds.1: [{text: hello again}]
"""


class TalkConfig(FormatModel):
    """A step that is repeated."""

    opening: Step = Field(description="What is repeated.")
    times: int = Field(default=2, ge=1, le=5, description="How often.")


async def talk(run, config):
    text = ""
    for number in range(config.times):
        text = (await run.step(f"rounds.{number}", config.opening, {"round": str(number)})).response
    return {"talked": text, "last_response": text}


class Talk(PatternModel):
    """A step that is repeated."""

    purpose = "One step is repeated."
    starter = STARTER
    recording = RECORDING
    runs = talk
    type: Literal["talk"] = Field(description="The pattern's name.")
    config: TalkConfig = Field(description="The step.")

    def steps(self) -> Iterator[PlacedStep]:
        yield PlacedStep("rounds.N", "/pattern/config/opening", self.config.opening, {"round": Text()})

    def names_at_end(self):
        return {"talked": Text()}


NUMBER = 7
'''
FLOW = """\
version: 2
name: flow
runtime: {provider: replay, recording: flow.recording.yaml}
agents: {parrot: {prompt: You repeat., tools: []}}
pattern: {type: talk, config: {opening: {agent: parrot, input: "Round {{ round }}"}, times: 2}}
outputs: {overwrite: true, artifacts: [{path: end.md, from: "{{ talked }}!"}]}
"""
RECORDING = "recording: 1\nsteps: {rounds.0: [{text: one}], rounds.1: [{text: two}]}\n"


@pytest.fixture
def plugin(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """Install a distribution with a pattern, and write a workflow of it."""
    points = "[strands_cli.patterns]\ntalk = strands_cli_yours:Talk\nnumber = strands_cli_yours:NUMBER\n"
    points += "gone = strands_cli_nowhere:Talk\nchain = strands_cli_yours:Talk\n"
    make_distribution(folder.site, "strands-cli-yours", "1.0", points, {"strands_cli_yours/__init__.py": MODULE})
    folder.environ["IMPORTED"] = str(folder.root / "imported")
    folder.write("flow.yaml", FLOW)
    folder.write("flow.recording.yaml", RECORDING)
    return folder


def was_imported(folder: Folder) -> bool:
    return (folder.root / "imported").exists()


def test_a_workflow_of_it_is_checked_planned_run_and_shown(plugin: Folder) -> None:
    assert plugin.strands("validate", "flow.yaml").code == 0
    planned = plugin.strands("plan", "flow.yaml")
    assert (planned.code, "rounds.N" in planned.out) == (0, True), planned.err
    ran = plugin.strands("run", "flow.yaml", "--json")
    assert (ran.code, ran.document["response"]) == (0, "two"), ran.err
    assert (plugin.work / ran.document["artifacts"][0]["path"]).read_text().strip() == "two!"
    shown = plugin.strands("runs", "show", "last")
    assert (shown.code, "rounds.1" in shown.out) == (0, True)
    assert plugin.strands("explain", "flow.yaml").code == 0


def test_the_schema_for_editors_accepts_it(plugin: Folder) -> None:
    schema = plugin.strands("workflows", "schema").document
    flow = yaml.safe_load((plugin.work / "flow.yaml").read_text("utf-8"))
    assert flow["pattern"]["type"] not in ("chain", "graph")
    Draft202012Validator(schema).validate(flow)
    plain = Draft202012Validator(plugin.strands("workflows", "schema", "--plain").document)
    assert not plain.is_valid(flow)
    flow["pattern"]["type"] = "of-no-distribution"
    assert not Draft202012Validator(schema).is_valid(flow)


def test_a_mistake_in_its_config_is_at_its_place(plugin: Folder) -> None:
    plugin.write("flow.yaml", FLOW.replace("times: 2", "times: 9, tims: 1"))
    ran = plugin.strands("validate", "flow.yaml", "--json")
    found = {finding["pointer"] for finding in ran.document["findings"] if finding["severity"] == "error"}
    assert (ran.code, found) == (3, {"/pattern/config/times", "/pattern/config/tims"})


def test_a_typo_in_its_name_is_one_finding_with_the_name(plugin: Folder) -> None:
    flow = (plugin.work / "flow.yaml").read_text(encoding="utf-8")
    plugin.write("flow.yaml", flow.replace("type: talk", "type: talkk"))
    ran = plugin.strands("validate", "flow.yaml", "--json")
    (finding,) = [one for one in ran.document["findings"] if one["code"] == "unknown-pattern"]
    assert (ran.code, "'talkk'" in finding["message"], "`talk`" in finding["fix"]) == (3, True, True)


def test_a_name_that_no_template_has_there_is_found(plugin: Folder) -> None:
    plugin.write("flow.yaml", FLOW.replace("{{ round }}", "{{ rounds }}"))
    assert "undefined-variable" in plugin.strands("plan", "flow.yaml").err


def test_a_run_of_it_that_waits_continues(plugin: Folder) -> None:
    plugin.write("flow.recording.yaml", "recording: 1\nsteps: {}\n")
    plugin.write(
        "flow.yaml", FLOW.replace('{agent: parrot, input: "Round {{ round }}"}', '{type: hitl, prompt: "Go on?"}')
    )
    assert plugin.strands("run", "flow.yaml").code == 19
    assert plugin.strands("approve", "last").code == 19
    assert plugin.strands("approve", "last").code == 0


def test_a_starter_of_it_is_made_and_runs(plugin: Folder) -> None:
    assert plugin.strands("new", "mine", "--pattern", "talk").code == 0
    ran = plugin.strands("run", "mine.yaml", "--var", "topic=bees")
    assert (ran.code, ran.out) == (0, "hello again\n"), ran.err


def test_it_is_listed_and_completed_without_an_import(plugin: Folder) -> None:
    listed = plugin.strands("explain", "supported", "--json").document["patterns"]
    assert {"name": "talk", "description": "of strands-cli-yours"} in listed
    assert (
        "did you mean `talk`?" in plugin.strands("validate", plugin.write("t.yaml", FLOW.replace("talk", "tolk"))).err
    )
    assert not was_imported(plugin)


@pytest.mark.parametrize(("name", "reason"), [("number", "not a subclass"), ("gone", "ModuleNotFoundError")])
def test_what_cannot_be_a_pattern_names_its_distribution(plugin: Folder, name: str, reason: str) -> None:
    plugin.write("flow.yaml", FLOW.replace("type: talk", f"type: {name}"))
    ran = plugin.strands("run", "flow.yaml")
    assert (ran.code, reason in ran.err, "strands-cli-yours" in ran.err) == (18, True, True), ran.err


def test_a_pattern_of_the_core_is_never_that_of_a_plugin(plugin: Folder) -> None:
    plugin.workflow([{"agent": "writer", "input": "x"}], {"steps.0": [{"text": "one"}]})
    assert plugin.strands("run", "flow.yaml").out == "one\n"
    assert not was_imported(plugin)


def test_two_distributions_that_claim_it_are_refused_with_both_names(plugin: Folder) -> None:
    make_distribution(plugin.site, "strands-cli-theirs", "1.0", "[strands_cli.patterns]\ntalk = json:loads\n", {})
    ran = plugin.strands("run", "flow.yaml")
    assert ran.code == 21
    assert "strands-cli-theirs and strands-cli-yours claim the pattern `talk`" in ran.err
    assert ran.codes == ["part-taken"]
    assert not was_imported(plugin)


def test_a_denied_distribution_is_not_imported(plugin: Folder) -> None:
    plugin.write("strands-policy.yaml", "version: 1\nrules:\n- {deny: '*', distribution: strands-cli-yours}\n")
    ran = plugin.strands("run", "flow.yaml")
    assert (ran.code, ran.codes) == (21, ["part-denied"])
    assert not was_imported(plugin)


def test_it_is_locked_with_its_workflow_and_a_change_is_refused(plugin: Folder) -> None:
    assert plugin.strands("lock").code == 0
    assert "strands-cli-yours" in (plugin.work / "strands.lock").read_text()
    assert plugin.strands("run", "flow.yaml", "--locked").code == 0
    with (plugin.site / "strands_cli_yours" / "__init__.py").open("a") as file:
        file.write("# changed\n")
    (plugin.root / "imported").unlink()
    ran = plugin.strands("run", "flow.yaml")
    assert (ran.code, "lock-changed" in ran.codes) == (21, True)
    assert not was_imported(plugin)


def test_a_fault_of_its_own_is_the_distributions(plugin: Folder) -> None:
    module = plugin.site / "strands_cli_yours" / "__init__.py"
    module.write_text(MODULE.replace("yield PlacedStep(", "yield PlacedStep(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, "))
    ran = plugin.strands("validate", "flow.yaml")
    assert (ran.code, "this is a bug in strands-cli-yours: TypeError" in ran.err) == (70, True)


def test_without_the_distribution_the_pattern_is_unknown(plugin: Folder) -> None:
    for path in Path(plugin.site).glob("strands_cli_yours-*"):
        (path / "entry_points.txt").unlink()
    ran = plugin.strands("validate", "flow.yaml")
    assert (ran.code, "unknown-pattern" in ran.err) == (3, True)
