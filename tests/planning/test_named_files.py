"""`validate` checks what a workflow names besides tools: recordings, artifacts, mounts, and the tools of its rules."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from strands_cli import app
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.errors import Finding
from strands_cli.yaml_files.document_reader import FileSnapshot
from tests.distributions import sound

HEAD = """\
version: 2
name: flow
runtime: {provider: ollama, model_id: m}
agents: {a: {prompt: Answer., tools: [native:echo, native:elsewhere]}}
pattern: {type: chain, config: {steps: [{agent: a, input: go}]}}
"""
LIVE = "runtime: {provider: ollama, model_id: m}"
PLAYS = "runtime: {provider: replay, recording: r.yaml}"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    sound(tmp_path / "site", "echo")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "site"


def found(site: Path, line: str = "", runtime: str = "", snapshot: FileSnapshot | None = None) -> list[Finding]:
    """Return what `validate` finds besides the tool that is not installed; `line` is line 6."""
    text = HEAD.replace(
        "runtime: {provider: ollama, model_id: m}", runtime or "runtime: {provider: ollama, model_id: m}"
    )
    findings = app.check("flow.yaml", f"{text}{line}\n", snapshot, discover_catalog([str(site)]))
    return [finding for finding in findings if finding.code != "unknown-tool"]


def places(findings: list[Finding]) -> list[tuple[str, str, int | None, str]]:
    return [
        (one.code, one.severity, one.where and one.where.line, one.where.pointer if one.where else "")
        for one in findings
    ]


@pytest.mark.parametrize("path", ["/etc/motd", "../up.md", "a/../../b.md", "''"])
def test_an_artifact_outside_its_folder_is_an_error(site: Path, path: str) -> None:
    (finding,) = found(site, f"outputs: {{artifacts: [{{path: {path}, from: x}}]}}")
    assert finding.code == ("artifact-outside" if path != "''" else "bad-value")
    assert places([finding])[0][1:] == ("error", 6, "/outputs/artifacts/0/path")


def test_an_artifact_that_is_there_already_and_one_of_an_input_are_left_to_the_run(site: Path) -> None:
    Path("artifacts").mkdir()
    Path("artifacts/a.md").write_text("old")
    line = "outputs: {artifacts: [{path: a.md, from: x}, {path: '{{ topic }}.md', from: x}]}\n"
    assert found(site, f"{line}inputs: {{required: {{topic: string}}}}") == []


def test_two_artifacts_of_one_path_are_one_finding(site: Path) -> None:
    assert [one.code for one in found(site, "outputs: {artifacts: [{path: a, from: x}, {path: a, from: x}]}")] == [
        "duplicate-id"
    ]
    assert [one.code for one in found(site, "outputs: {artifacts: [{path: a, from: x}, {path: ./a, from: x}]}")] == [
        "artifact-twice"
    ]


def test_a_recording_that_is_not_there_is_a_warning_where_it_is_named(site: Path) -> None:
    assert places(found(site, runtime=PLAYS)) == [("file-unreadable", "warning", 3, "/runtime/recording")]


def test_a_recording_of_other_steps_is_an_error(site: Path) -> None:
    Path("r.yaml").write_text("recording: 1\nsteps: {steps.1: [{text: a}]}\n")
    assert places(found(site, runtime=PLAYS)) == [
        ("bad-recording", "error", 5, "/pattern/config/steps/0"),
        ("bad-recording", "error", 2, "/steps/steps.1"),
    ]
    Path("r.yaml").write_text("recording: 1\nsteps: {steps.0: [{text: a}]}\n")
    assert found(site, runtime=PLAYS) == []


def test_turns_where_no_step_asks_a_recorded_model_have_a_whole_fix(site: Path) -> None:
    text = HEAD.replace(LIVE, PLAYS).replace("{agent: a, input: go}", "{tool: no_such, input: {}}")
    Path("r.yaml").write_text("recording: 1\nsteps: {tasks.t: [{text: a}]}\n")
    findings = app.check("flow.yaml", text, None, discover_catalog([str(site)]))
    (finding,) = [one for one in findings if one.code == "bad-recording"]
    assert str(finding.fix).endswith(": none")


def test_the_turns_of_a_step_with_a_misspelt_agent_are_no_second_error(site: Path) -> None:
    Path("r.yaml").write_text("recording: 1\nsteps: {steps.0: [{text: a}]}\n")
    text = HEAD.replace(LIVE, PLAYS).replace("{agent: a,", "{agent: b,")
    findings = app.check("flow.yaml", text, None, discover_catalog([str(site)]))
    assert {one.code for one in findings if one.severity == "error"} == {"unknown-agent"}


def test_a_mistyped_key_of_a_branch_is_found_in_its_recording(site: Path) -> None:
    branches = "[{id: x, steps: [{agent: a, input: go}]}, {id: y, steps: [{agent: b, input: go}]}]"
    text = f"""\
version: 2
name: flow
{PLAYS}
agents: {{a: {{prompt: A}}, b: {{prompt: B}}}}
pattern: {{type: parallel, config: {{branches: {branches}}}}}
"""
    Path("r.yaml").write_text("recording: 1\nsteps:\n  branches.x.0: [{text: a}]\n  branches.y.steps.0: [{text: b}]\n")
    (finding,) = app.check("flow.yaml", text, catalog=discover_catalog([str(site)]))
    assert (finding.code, finding.where and finding.where.line) == ("bad-recording", 3)
    assert finding.fix == "did you mean 'branches.x.steps.0'?"


def test_replay_without_a_recording_is_one_warning_for_all_agents(site: Path) -> None:
    line = "x-note: 1"
    findings = found(site, line, "runtime: {provider: replay}\n")
    assert places(findings) == [("replay-needs-recording", "warning", 3, "/runtime/provider")]


def test_a_mount_that_is_not_there_is_a_warning_and_a_protected_one_an_error(site: Path) -> None:
    line = "env: {mounts: {data: no-such, keys: ../.ssh, here: .}}"
    assert places(found(site, line)) == [
        ("missing-mount", "warning", 6, "/env/mounts/data"),
        ("protected-mount", "error", 6, "/env/mounts/keys"),
    ]


def test_a_rule_that_names_no_tool_is_a_warning_at_its_place(site: Path) -> None:
    rules = "permissions: {deny: [ecoh, 'echo(txet=a)', elsewhere, 'native:elsewhere'], ask: [ehco]}"
    findings = found(site, f"security: {{{rules}, guardrails: {{allow_tools: [native:ecoh, echo]}}}}")
    assert places(findings) == [
        ("unmatched-rule", "warning", 6, f"/security/{place}")
        for place in ("permissions/deny/0", "permissions/deny/1", "permissions/ask/0", "guardrails/allow_tools/0")
    ]
    fixes = ["did you mean 'echo'?", "did you mean 'text'?", "did you mean 'echo'?", "did you mean 'native:echo'?"]
    assert [one.fix for one in findings] == fixes


def test_a_permission_without_the_form_of_a_pattern_is_an_error(site: Path) -> None:
    (finding,) = found(site, "security: {permissions: {deny: ['echo(']}}")
    assert places([finding]) == [("bad-value", "error", 6, "/security/permissions/deny/0")]


def test_a_text_whose_files_may_not_be_read_reveals_nothing_of_them(site: Path) -> None:
    snapshot = FileSnapshot(Path.cwd(), is_all=True)
    assert found(site, "env: {mounts: {data: no-such}}", PLAYS, snapshot) == []


def test_a_recording_may_be_named_where_a_variable_decides_on_the_provider(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PROV", raising=False)
    Path("r.yaml").write_text("recording: 1\nsteps: {steps.0: [{text: a}]}\n")
    for provider in ("${PROV:-replay}", "${PROV}"):
        assert found(site, runtime=f"runtime: {{provider: '{provider}', model_id: m, recording: r.yaml}}") == []
    assert [one.code for one in found(site, runtime="runtime: {provider: '${PROV:-replay}'}")] == [
        "replay-needs-recording"
    ]


def test_what_validate_calls_an_error_of_a_file_the_plan_does_too(site: Path) -> None:
    line = "outputs: {artifacts: [{path: ../a, from: x}]}\nenv: {mounts: {k: ../.ssh, data: no-such}}"
    text = HEAD.replace(", native:elsewhere", "") + line
    catalog = discover_catalog([str(site)])
    planned = {(one.code, one.where) for one in app.plan("flow.yaml", text=text, catalog=catalog).findings}
    checked = {(one.code, one.where) for one in app.check("flow.yaml", text, catalog=catalog)}
    assert checked
    assert checked <= planned
    assert os.path.lexists("no-such") is False
