"""Packaged workflows on the command line: by name in each command, listed, resumed, and refused without a person."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.strands import Folder
from tests.cli.test_completion import completed
from tests.packaged import RECORDING, TRIAGE, make_triage
from tests.yaml_texts import read_yaml, write_yaml

pytestmark = pytest.mark.terminals
REF = "strands-flow-your-triage/triage"
EXECUTOR = {"id": "api", "base_url": "https://example.com", "headers": {"X-Key": "${TOKEN}"}}
USING = {"env": {"secrets": [{"key": "TOKEN", "source": "env"}]}, "tools": {"http_executors": [EXECUTOR]}}
VAR = ("--var", "report=fire")


def text(**sections: object) -> str:
    return write_yaml({**read_yaml(TRIAGE), **sections})


@pytest.mark.parametrize("command", ["run", "plan", "validate", "explain", "trust"])
def test_each_command_takes_the_name(folder: Folder, command: str) -> None:
    make_triage(folder.site)
    ran = folder.strands(command, REF, *(VAR if command in ("run", "plan") else ()))
    assert ran.code == 0, ran.err
    assert not (folder.site / "strands_flow_your_triage" / "__pycache__").exists()


def test_a_run_writes_into_the_folder_of_the_caller_and_can_be_run_again(folder: Folder) -> None:
    outputs = {"artifacts": [{"path": "answer.md", "from": "{{ last_response }}"}]}
    package = make_triage(folder.site, **{"flows/triage.yaml": text(outputs=outputs)})
    before = sorted(package.rglob("*"))
    ran = folder.strands("run", REF, *VAR, "--json")
    assert ran.code == 0, ran.err
    assert (folder.work / "artifacts" / "answer.md").read_text() == "urgent"
    assert sorted(package.rglob("*")) == before
    again = folder.strands("runs", "rerun", ran.document["run"], "--from", "steps.0", "--force")
    assert again.code == 0, again.err


def test_a_run_that_waits_is_continued(folder: Folder) -> None:
    steps = [{"agent": "sorter", "input": "x"}, {"type": "hitl", "prompt": "Send it?"}]
    pattern = {"type": "chain", "config": {"steps": steps}}
    make_triage(folder.site, **{"flows/triage.yaml": text(pattern=pattern)})
    ran = folder.strands("run", REF, *VAR, "--detach", "--json")
    assert ran.code == 19, ran.err
    approved = folder.strands("approve", ran.document["run"])
    assert approved.code == 0, approved.err


def test_a_package_is_refused_without_a_person_until_the_command_of_the_fix(folder: Folder) -> None:
    make_triage(folder.site, **{"flows/triage.yaml": text(**USING)})
    env = {"TOKEN": "any-secret-value"}
    for options in ((), ("--yes",), ("--detach",)):
        refused = folder.strands("run", REF, *VAR, *options, **env)
        assert refused.code == 21
        assert set(refused.codes) == {"untrusted-workflow"}
        assert f"strands workflows trust {REF}" in refused.err
    assert "any-secret-value" not in refused.err
    assert folder.strands("workflows", "trust", REF, **env).code == 0
    assert folder.strands("run", REF, *VAR, **env).code == 0
    assert folder.strands("workflows", "trust", "--forget", REF, **env).code == 0
    assert folder.strands("run", REF, *VAR, **env).code == 21


@pytest.mark.parametrize(("typed", "code"), [("n", 21), ("y", 0)])
def test_a_person_sees_all_of_it_and_is_asked_once(folder: Folder, typed: str, code: int) -> None:
    make_triage(folder.site, **{"flows/triage.yaml": text(**USING)})
    env = {"TOKEN": "any-secret-value"}
    with folder.terminal("run", REF, *VAR, columns=300, **env) as terminal:
        terminal.wait_for(r"\[y/N\]")
        for word in ("TOKEN", "example.com", REF):
            assert word in terminal.text
        terminal.type(f"{typed}\n")
        assert terminal.end() == code
    assert folder.strands("run", REF, *VAR, **env).code == code


def test_own_files_in_their_own_folder_ask_nothing(folder: Folder) -> None:
    folder.write("flows/own.yaml", text(**USING))
    folder.write("flows/triage.recording.yaml", RECORDING)
    env = {"TOKEN": "any-secret-value"}
    assert folder.strands("run", "flows/own.yaml", *VAR, **env).code == 0
    elsewhere = folder.root / "elsewhere"
    elsewhere.mkdir()
    assert folder.strands("run", folder.work / "flows" / "own.yaml", *VAR, cwd=elsewhere, **env).code == 21


def test_a_packaged_agent_is_run_by_itself(folder: Folder) -> None:
    turns = "[{text: two pages}]"
    tests = f"tests:\n  - {{name: one, input: x, recording: {turns}, expect: {{contains: pages}}}}\n"
    make_triage(folder.site, **{"agents/reader.yaml": f"prompt: Read reports.\n{tests}"})
    for command in (("validate",), ("describe",), ("test",)):
        ran = folder.strands("workflows", "agent", *command, "strands-flow-your-triage/reader")
        assert ran.code == 0, ran.err


def test_the_list_has_kinds_sources_and_what_is_broken(folder: Folder) -> None:
    package = make_triage(folder.site)
    (package / "flows" / "odd.yaml").write_bytes(b"\xff\xfe")
    ran = folder.strands("workflows", "list", "--json", "--source")
    assert ran.code == 0
    found = {(one["name"], one["kind"]): one for one in ran.document["workflows"]}
    assert {name: one["status"] for name, one in found.items()} == {
        ("strands-flow-your-triage/odd", "workflow"): "broken",
        ("strands-flow-your-triage/reader", "agent"): "ok",
        ("strands-flow-your-triage/tone", "skill"): "ok",
        (REF, "workflow"): "ok",
    }
    assert found[(REF, "workflow")]["source"]["group"] == "strands_cli.workflows"
    assert [finding["code"] for finding in ran.document["findings"]] == ["bad-packaged"]
    assert found[("strands-flow-your-triage/tone", "skill")]["description"] == "How to answer."
    one = folder.strands("workflows", "list", REF)
    assert [line.split()[0] for line in one.out.splitlines()] == [REF]
    assert folder.strands("workflows", "list", "strands-flow-triag").code == 2


def test_a_skill_whose_front_matter_is_not_yaml_is_broken_in_the_list(folder: Folder) -> None:
    make_triage(
        folder.site, **{"skills/odd/SKILL.md": "---\ndescription: [\n---\nText.\n", "skills/bare/SKILL.md": "x"}
    )
    ran = folder.strands("workflows", "list", "--json")
    found = {one["name"]: (one["status"], one["description"]) for one in ran.document["workflows"]}
    assert found["strands-flow-your-triage/odd"] == ("broken", None)
    assert found["strands-flow-your-triage/bare"] == ("ok", None)
    (finding,) = ran.document["findings"]
    assert finding["file"].endswith("odd/SKILL.md")


@pytest.mark.parametrize(
    ("words", "begun", "offered"),
    [
        ("run", "strands-fl", [REF]),
        ("plan", REF[:-2], [REF]),
        ("workflows agent run", "strands-flow", ["strands-flow-your-triage/reader"]),
        ("run", "./strands-fl", []),
        ("workflows list", "strands-flow-your-triage/t", ["strands-flow-your-triage/tone", REF]),
    ],
)
def test_names_are_completed(
    folder: Folder, words: str, begun: str, offered: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make_triage(folder.site)
    monkeypatch.syspath_prepend(str(folder.site))
    monkeypatch.chdir(folder.work)
    assert sorted(completed(words.split(), begun)) == offered


def test_the_schema_of_its_inputs_is_for_programs(folder: Folder) -> None:
    make_triage(folder.site)
    found = folder.strands("workflows", "schema", REF).document
    assert found["required"] == ["report"]
    assert found["properties"] == {"report": {"type": "string"}}
    assert folder.strands("workflows", "schema", REF, "--plain").code == 2


def test_a_lock_of_the_folder_has_a_packaged_workflow_that_is_named(folder: Folder) -> None:
    package = make_triage(folder.site)
    missing = folder.strands("run", REF, *VAR, "--locked")
    assert (missing.code, missing.codes) == (21, ["lock-missing"])
    assert f"strands lock {REF}" in missing.err
    assert folder.strands("lock", REF).code == 0
    assert folder.strands("run", REF, *VAR, "--locked").code == 0
    file = package / "flows" / "triage.yaml"
    file.write_text(file.read_text().replace("Sort reports", "Send reports"))
    changed = folder.strands("run", REF, *VAR, "--locked")
    assert changed.code == 21
    assert "/agents/sorter/prompt" in changed.err


def test_an_unknown_name_is_refused_with_the_right_one(folder: Folder) -> None:
    make_triage(folder.site)
    ran = folder.strands("run", "strands-flow-your-triage/triaeg")
    assert (ran.code, ran.codes) == (2, ["unknown-packaged"])
    assert f"strands run {REF}" in ran.err
    assert Path(folder.work).exists()
