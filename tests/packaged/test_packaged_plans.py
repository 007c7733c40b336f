"""Packaged workflows as plans and runs: what they read, what rules hold for them, and what a person is asked."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from strands_cli import Workflow, app
from strands_cli.errors import Denied, StrandsCliError, UsageError
from strands_cli.planning.data_flow.workflow_trust import Trust
from strands_cli.planning.environment import workspace_of
from strands_cli.planning.plan_values import Plan
from tests.packaged import RECORDING, SKILL, TRIAGE, make_packaged, make_triage
from tests.yaml_texts import read_yaml, write_yaml

REF = "strands-flow-your-triage/triage"


def changed(**sections: Any) -> str:
    """Return the text of the workflow with other sections."""
    return write_yaml({**read_yaml(TRIAGE), **sections})


def errors(plan: Plan) -> list[str]:
    return [finding.code for finding in plan.findings if finding.severity == "error"]


def planned(source: str, **inputs: str) -> Plan:
    from strands_cli.planning.run_request import RunRequest

    return app.plan(source, RunRequest(values={"report": "It burns.", **inputs}))


def trust_of(source: str | Path) -> Trust:
    return Trust.of(planned(str(source)))


def test_a_packaged_workflow_is_planned_and_run_by_its_name(site: Path) -> None:
    make_triage(site)
    plan = planned(REF)
    assert not errors(plan)
    assert plan.packaged == REF
    assert Workflow.from_file(REF).run({"report": "It burns."}).response == "urgent"


def test_a_path_of_that_name_wins_and_a_dot_always_means_a_path(site: Path) -> None:
    make_triage(site)
    own = Path("strands-flow-your-triage")
    own.mkdir()
    (own / "triage").write_text(changed(name="mine"))
    assert app.load(REF).document.file == REF
    (own / "triage").unlink()
    assert app.load(REF).snapshot.packaged == REF
    with pytest.raises(UsageError) as raised:
        app.load(f"./{REF}")
    assert raised.value.findings[0].code == "file-unreadable"


def test_a_name_that_nothing_has_is_a_usage_error_and_a_mistyped_path_stays_one(site: Path) -> None:
    make_triage(site)
    Path("flows").mkdir()
    for name, code in (("flows/report", "file-unreadable"), ("strands-flow-your-triage/x", "unknown-packaged")):
        with pytest.raises(UsageError) as raised:
            app.load(name)
        assert [finding.code for finding in raised.value.findings] == [code]


@pytest.mark.parametrize(
    "sections",
    [
        {"agents": {"sorter": {"$ref": "../agents/reader.yaml"}}},
        {"agents": {"sorter": {"prompt": "x", "output_schema": "../schema.json"}}},
        {"skills": [{"id": "tone", "path": "../skills/tone"}]},
        {"runtime": {"provider": "replay", "recording": "../triage.recording.yaml"}},
        {"tools": {"python": ["workflow:../other.yaml"]}},
        {"agents": {"sorter": {"$ref": "link.yaml"}}},
        {"agents": {"sorter": {"$ref": "/etc/hostname"}}},
    ],
    ids=["agent", "schema", "skill", "recording", "workflow", "link", "absolute"],
)
def test_a_packaged_workflow_reads_its_own_folder_only(site: Path, sections: dict[str, Any]) -> None:
    package = make_triage(site, **{"flows/triage.yaml": changed(**sections), "other.yaml": TRIAGE, "schema.json": "{}"})
    (package / "triage.recording.yaml").write_text(RECORDING)
    (package / "flows" / "link.yaml").symlink_to(package / "agents" / "reader.yaml")
    try:
        found = errors(planned(REF))
    except StrandsCliError as error:
        found = [finding.code for finding in error.findings]
    assert {"bad-path", "bad-recording"} & set(found), found


def test_files_of_its_own_folder_are_read(site: Path) -> None:
    sections = {"agents": {"sorter": {"$ref": "own.yaml"}}, "skills": [{"id": "tone", "path": "tone"}]}
    files = {
        "flows/triage.yaml": changed(**sections),
        "flows/own.yaml": "prompt: Sort.\n",
        "flows/tone/SKILL.md": SKILL,
    }
    make_triage(site, **files)
    assert not errors(planned(REF))


def test_a_workflow_of_a_project_names_packaged_agents_skills_and_workflows(site: Path) -> None:
    reader = "prompt: Read.\noutput_schema: schema.json\n"
    make_triage(site, **{"agents/reader.yaml": reader, "agents/schema.json": '{"type": "object"}'})
    sections = {
        "agents": {"sorter": {"$ref": "package:strands-flow-your-triage/reader"}},
        "skills": [{"id": "tone", "path": "package:strands-flow-your-triage/tone"}],
        "tools": {"python": [f"workflow:package:{REF}"]},
    }
    Path("own.yaml").write_text(changed(**sections))
    Path("triage.recording.yaml").write_text(RECORDING)
    plan = planned("own.yaml")
    assert not errors(plan), plan.findings
    assert plan.agents["sorter"].prompt == "Read."
    assert plan.agents["sorter"].output_schema == {"type": "object"}
    assert plan.packaged == ""
    assert {tool.name for tool in plan.agents["sorter"].tools} == {"Skill", "triage"}


@pytest.mark.parametrize(
    ("section", "pointer"),
    [
        ({"agents": {"sorter": {"$ref": "package:strands-flow-your-triage/raeder"}}}, "/agents/sorter/$ref"),
        ({"skills": [{"id": "tone", "path": "package:strands-flow-triag/tone"}]}, "/skills/0/path"),
    ],
)
def test_a_mistyped_reference_is_a_finding_with_its_place(site: Path, section: dict[str, Any], pointer: str) -> None:
    make_triage(site)
    Path("own.yaml").write_text(changed(**section))
    (finding,) = [one for one in app.load("own.yaml").findings if one.code == "unknown-packaged"]
    assert finding.where is not None
    assert finding.where.pointer == pointer
    assert "strands-flow-your-triage/" in str(finding.fix)


def test_a_packaged_agent_does_not_read_the_folder_of_the_workflow_that_names_it(site: Path) -> None:
    make_triage(site, **{"agents/reader.yaml": "prompt: Read.\noutput_schema: private.json\n"})
    Path("private.json").write_text('{"type": "string", "const": "private"}')
    Path("own.yaml").write_text(changed(agents={"sorter": {"$ref": "package:strands-flow-your-triage/reader"}}))
    loaded = app.load("own.yaml")
    assert "file-unreadable" in [finding.code for finding in loaded.findings]
    assert loaded.spec is not None
    assert loaded.spec.agents["sorter"].output_schema is None


def test_mounts_start_from_the_folder_of_the_caller(site: Path) -> None:
    package = make_triage(site, **{"flows/triage.yaml": changed(env={"mounts": {"out": "out"}})})
    (package / "flows" / "out").mkdir()
    Path("out").mkdir()
    plan = planned(REF)
    assert plan.places == {"out": str(Path("out").resolve())}
    workspace = workspace_of(plan)
    assert workspace["root"] == str(Path.cwd())
    assert workspace["mounts"] == workspace["written_mounts"] == {"out": str(Path.cwd() / "out")}


def test_the_policy_of_the_caller_holds_and_that_of_the_package_only_restricts(site: Path) -> None:
    package = make_triage(site, **{"flows/triage.yaml": changed(tools={"python": ["native:file_write"]})})
    (package / "flows" / "strands-policy.yaml").write_text('version: 1\nrules: [{allow: "*"}]\n')
    plan = planned(REF)
    assert not [rule for rule in plan.rules if rule.effect == "allow"]
    assert "unnamed-policy" in [finding.code for finding in plan.findings]
    Path("strands-policy.yaml").write_text("version: 1\nrules: [{deny: file_write}]\n")
    assert [rule.tools for rule in planned(REF).rules if rule.effect == "deny"] == ["file_write"]


SECRET = {"env": {"secrets": [{"key": "TOKEN", "source": "env"}]}}
EXECUTOR = {"id": "api", "base_url": "https://example.com", "headers": {"X-Key": "${TOKEN}"}}
USING = {**SECRET, "tools": {"http_executors": [EXECUTOR]}}


def test_without_authority_nothing_is_asked(site: Path) -> None:
    make_triage(site)
    assert trust_of(REF).standing == "allowed"


@pytest.mark.parametrize(
    ("sections", "kinds"),
    [
        (USING, {"variable", "address"}),
        ({"env": {"mounts": {"here": "."}}}, {"folder"}),
        (
            {"tools": {"mcp": [{"id": "shelf", "command": sys.executable}]}},
            {"program"},
        ),
        ({"tools": {"http_executors": [{"id": "api", "base_url": "https://example.com"}]}}, {"address"}),
    ],
    ids=["secret", "mount", "program", "address"],
)
def test_what_a_package_brings_is_asked_once_and_again_after_a_change(
    site: Path, monkeypatch: pytest.MonkeyPatch, sections: dict[str, Any], kinds: set[str]
) -> None:
    monkeypatch.setenv("TOKEN", "any-secret-value")
    package = make_triage(site, **{"flows/triage.yaml": changed(**sections)})
    trust = trust_of(REF)
    assert {use.kind for use in trust.authority.asked_uses} == kinds
    assert trust.standing == "unanswered"
    trust.keep()
    assert trust_of(REF).standing == "allowed"
    # A change of a prompt asks nothing, one of an address does.
    file = package / "flows" / "triage.yaml"
    file.write_text(changed(**sections, agents={"sorter": {"prompt": "Sort well."}}))
    assert trust_of(REF).standing == "allowed"
    more = {"http_executors": [{"id": "other", "base_url": "https://example.org"}]}
    file.write_text(changed(**{**sections, "tools": {**sections.get("tools", {}), **more}}))
    assert trust_of(REF).standing == "unanswered"
    trust_of(REF).forget()


def test_a_packaged_workflow_that_is_a_tool_is_asked_about_whole(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "any-secret-value")
    own = {"http_executors": [{"id": "mine", "base_url": "https://mine.example.com"}]}
    agents = {"sorter": {"prompt": "Sort.", "tools": ["triage"]}}
    tools = {**own, "python": [f"workflow:package:{REF}"]}
    Path("own.yaml").write_text(changed(agents=agents, tools=tools))
    Path("triage.recording.yaml").write_text(RECORDING)
    package = make_triage(site)
    assert trust_of("own.yaml").standing == "allowed"
    file = package / "flows" / "triage.yaml"
    file.write_text(changed(**USING))
    trust = trust_of("own.yaml")
    # What the person's own file uses is not asked about.
    assert {use.what for use in trust.authority.asked_uses} == {"TOKEN", "example.com"}
    assert trust.standing == "unanswered"
    assert REF in trust.authority.foreign
    trust.keep()
    assert trust_of("own.yaml").standing == "allowed"
    file.write_text(
        changed(**{**USING, "tools": {"http_executors": [{**EXECUTOR, "base_url": "https://example.org"}]}})
    )
    assert trust_of("own.yaml").standing == "unanswered"


def test_a_program_runs_no_packaged_workflow_that_a_person_has_not_allowed(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "any-secret-value")
    make_triage(site, **{"flows/triage.yaml": changed(**USING)})
    agents = {"sorter": {"prompt": "Sort.", "tools": ["triage"]}}
    Path("own.yaml").write_text(changed(agents=agents, tools={"python": [f"workflow:package:{REF}"]}))
    Path("triage.recording.yaml").write_text(RECORDING)
    for source in (REF, "own.yaml"):
        with pytest.raises(Denied) as raised:
            Workflow.from_file(source).run({"report": "It burns."})
        assert {finding.code for finding in raised.value.findings} == {"untrusted-workflow"}
        assert f"strands workflows trust {source}" in str(raised.value.findings[0].fix)
        trust_of(source).keep()
        assert Workflow.from_file(source).run({"report": "It burns."}).response == "urgent"
    # What a program names by its path it has read.
    Path("own.yaml").write_text(changed(**USING))
    assert Workflow.from_file("own.yaml").run({"report": "It burns."}).response == "urgent"


def test_the_host_of_models_is_asked_about_unless_the_command_line_names_it(site: Path) -> None:
    from strands_cli.planning.run_request import RunRequest

    runtime = {"provider": "ollama", "model_id": "m", "host": "http://198.51.100.7:11434"}
    make_triage(site, **{"flows/triage.yaml": changed(runtime=runtime)})
    values = {"report": "x"}
    assert Trust.of(app.plan(REF, RunRequest(values=values))).standing == "unanswered"
    assert Trust.of(app.plan(REF, RunRequest(values=values, host="http://127.0.0.1:1"))).standing == "allowed"


def test_one_answer_holds_in_every_folder_and_for_one_package(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "any-secret-value")
    make_triage(site, **{"flows/triage.yaml": changed(**USING)})
    files = {"flows/triage.yaml": changed(**USING), "flows/triage.recording.yaml": RECORDING}
    make_packaged(site, files, {"workflows": "triage = PACKAGE:flows"}, "strands-flow-other")
    trust_of(REF).keep()
    monkeypatch.chdir(tmp_path)
    assert trust_of(REF).standing == "allowed"
    assert trust_of("strands-flow-other/triage").standing == "unanswered"


@pytest.mark.parametrize("pattern", [REF, "strands-flow-your-triage/*"])
def test_a_rule_names_a_package(site: Path, tmp_path: Path, pattern: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", "any-secret-value")
    make_triage(site, **{"flows/triage.yaml": changed(**USING)})
    policy = tmp_path / "home" / ".config" / "strands-cli" / "policy.yaml"
    policy.parent.mkdir(parents=True)
    for effect, standing in (("allow", "allowed"), ("deny", "denied")):
        policy.write_text(f'version: 1\nrules: [{{{effect}: "workflow:{pattern}"}}]\n')
        assert trust_of(REF).standing == standing


def test_a_file_of_the_project_folder_is_not_asked_about_and_one_outside_is(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "any-secret-value")
    work = tmp_path / "work"
    (work / "flows").mkdir()
    (work / ".venv" / "site-packages").mkdir(parents=True)
    places = [work, work / "flows", tmp_path, work / ".venv" / "site-packages"]
    for place in places:
        (place / "own.yaml").write_text(changed(**USING))
        (place / "triage.recording.yaml").write_text(RECORDING)
    standings = [trust_of(place / "own.yaml").standing for place in places]
    assert standings == ["allowed", "allowed", "unanswered", "unanswered"]
    # From a folder of a git work tree, all of the work tree is one project.
    (work / ".git").mkdir()
    monkeypatch.chdir(work / "flows")
    assert trust_of("../own.yaml").standing == "allowed"
    assert trust_of(tmp_path / "own.yaml").standing == "unanswered"
    # A link in the project is where it leads.
    (work / "linked.yaml").symlink_to(tmp_path / "own.yaml")
    assert trust_of(work / "linked.yaml").standing == "unanswered"


def test_a_file_outside_of_the_project_without_authority_is_not_asked_about(site: Path, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(TRIAGE)
    (tmp_path / "triage.recording.yaml").write_text(RECORDING)
    assert trust_of(tmp_path / "own.yaml").standing == "allowed"


def test_an_own_file_that_differs_from_its_lock_is_asked_about(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from strands_cli.lock.lock_reader import Lock, LockedWorkflow, lock_file
    from strands_cli.lock.lock_writer import render_lock

    monkeypatch.setenv("TOKEN", "any-secret-value")
    Path("own.yaml").write_text(changed(**USING))
    Path("triage.recording.yaml").write_text(RECORDING)
    digest = trust_of("own.yaml").authority.digest
    for locked, standing in ((digest, "allowed"), (f"sha256:{'0' * 64}", "unanswered")):
        lock = Lock({}, {}, workflows={"own.yaml": LockedWorkflow("own.yaml", locked)})
        lock_file(Path()).write_text(render_lock(lock))
        assert trust_of("own.yaml").standing == standing


@pytest.mark.parametrize("before", [{}, USING], ids=["that used nothing", "that used another address"])
def test_what_a_workflow_uses_more_than_when_it_was_locked_is_asked_about(
    before: dict[str, Any], site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.lock.lock_reader import lock_file
    from strands_cli.lock.lock_writer import render_lock
    from strands_cli.planning.machine.lock_check import lock_of

    monkeypatch.setenv("TOKEN", "any-secret-value")
    Path("triage.recording.yaml").write_text(RECORDING)
    Path("own.yaml").write_text(changed(**before))
    lock_file(Path()).write_text(render_lock(lock_of([planned("own.yaml")], discover_catalog())))
    assert trust_of("own.yaml").standing == "allowed"
    Path("own.yaml").write_text(changed(**USING).replace("https://", "https://other."))
    assert trust_of("own.yaml").standing == "unanswered"


def test_a_stored_run_is_resumed_when_the_package_is_gone(site: Path) -> None:
    sections = {
        "agents": {"sorter": {"$ref": "package:strands-flow-your-triage/reader"}},
        "skills": [{"id": "tone", "path": "package:strands-flow-your-triage/tone"}],
    }
    package = make_triage(
        site,
        **{
            "flows/triage.yaml": changed(**sections),
            "flows/triage.recording.yaml": "recording: 1\nsteps: {steps.0: [{when: other, text: urgent}]}\n",
        },
    )
    with pytest.raises(StrandsCliError) as raised:
        Workflow.from_file(REF).run({"report": "It burns."})
    run_id = raised.value.run_id
    shutil.rmtree(package)
    shutil.rmtree(site / "strands_flow_your_triage-1.0.dist-info")
    journal = app.open_run(run_id, hold=False)
    try:
        plan, _ = app.plan_resume(journal, {})
    finally:
        journal.close()
    assert plan.packaged == REF
    assert plan.agents["sorter"].prompt == "Read reports."
