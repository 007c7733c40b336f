from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.cli.output.codes import declared_codes
from strands_cli.config import Settings
from strands_cli.errors import ArtifactError, Denied, Finding, InvalidInput, NotEquipped, StrandsCliError, UsageError
from strands_cli.planning.machine.installation import Installation
from strands_cli.planning.plan_builder import plan_workflow, require_runnable
from strands_cli.planning.plan_values import Bounds, Plan
from strands_cli.planning.row_planner import UNKNOWN_INPUT
from strands_cli.planning.run_request import RunRequest
from strands_cli.policy.decision import Policy
from strands_cli.workflow.loader import load_spec
from strands_cli.yaml_files.document_reader import read_document
from tests.distributions import booby_trapped, sound
from tests.fakes.plans import chain_of, found, plan_of

ONE = "- {agent: writer, input: go}"
LIVE = "{provider: openai, model_id: base, host: 'http://localhost:1', temperature: 0.5, max_tokens: 10}"


def models(plan: Plan) -> dict[str, tuple[object, ...]]:
    return {
        agent.id: (
            agent.model.provider,
            agent.model.model_id,
            agent.model.host,
            agent.model.temperature,
            agent.model.top_p,
            agent.model.max_tokens,
        )
        for agent in plan.agents.values()
    }


AGENTS = """{
  plain: {prompt: p},
  tuned: {prompt: p, model_id: own, inference: {temperature: 0, top_p: 0.9, max_tokens: 7}},
  other: {prompt: p, provider: ollama, model_id: llama},
}"""
STEPS = "- {agent: plain, input: x}\n- {agent: tuned, input: x}\n- {agent: other, input: x}"


def test_an_agents_own_model_wins_over_the_runtimes() -> None:
    assert models(chain_of(STEPS, agents=AGENTS, runtime=LIVE)) == {
        "plain": ("openai", "base", "http://localhost:1", 0.5, None, 10),
        "tuned": ("openai", "own", "http://localhost:1", 0, 0.9, 7),
        "other": ("ollama", "llama", None, 0.5, None, 10),
    }


def test_the_command_lines_model_wins_over_both_and_inference_stays() -> None:
    plan = chain_of(STEPS, agents=AGENTS, runtime=LIVE, options=RunRequest(model="cli"))
    assert [model[:2] for model in models(plan).values()] == [("openai", "cli"), ("openai", "cli"), ("ollama", "cli")]
    plan = chain_of(STEPS, agents=AGENTS, runtime=LIVE, options=RunRequest(provider="ollama", model="cli"))
    assert models(plan) == {
        "plain": ("ollama", "cli", None, 0.5, None, 10),
        "tuned": ("ollama", "cli", None, 0, 0.9, 7),
        "other": ("ollama", "cli", None, 0.5, None, 10),
    }
    assert (plan.spec.runtime.provider, plan.spec.runtime.model_id, plan.spec.runtime.host) == ("ollama", "cli", None)
    plan = chain_of(STEPS, agents=AGENTS, runtime=LIVE, options=RunRequest(provider="openai", model="cli"))
    assert models(plan)["other"] == ("openai", "cli", "http://localhost:1", 0.5, None, 10)


def test_a_missing_key_is_found_once_for_all_agents_that_share_the_model() -> None:
    plan = chain_of(STEPS, agents=AGENTS, runtime="{provider: openai, model_id: m}", environ={})
    assert [finding.severity for finding in found(plan, "missing-api-key")] == ["error"]
    with pytest.raises(NotEquipped) as raised:
        require_runnable(plan)
    assert raised.value.exit_code == 18
    assert found(chain_of(STEPS, agents=AGENTS, environ={"OPENAI_API_KEY": "key-of-tests"}), "missing-api-key") == []


def test_a_missing_extra_is_found_and_named() -> None:
    plan = chain_of(ONE, runtime="{provider: writer, model_id: m}", environ={"WRITER_API_KEY": "key-of-tests"})
    (finding,) = found(plan, "missing-extra")
    assert "strands-cli[writer]" in str(finding.fix)


RECORDING = "recording: 1\nsteps:\n  steps.0: [{text: one}]\n  steps.1: [{text: two}]\n"
TWO = "- {agent: writer, input: a}\n- {type: hitl, prompt: b}\n- {agent: writer, input: c}"


def replayed(tmp_path: Path, steps: str, recording: str | None, **given: object) -> Plan:
    if recording is not None:
        (tmp_path / "r.yaml").write_text(recording)
    runtime = "{provider: replay, recording: r.yaml}"
    return chain_of(steps, runtime=runtime, file=str(tmp_path / "flow.yaml"), **given)


def test_a_recording_is_looked_for_beside_the_workflow(tmp_path: Path) -> None:
    plan = replayed(tmp_path, "- {agent: writer, input: a}\n- {agent: editor}", RECORDING)
    assert plan.findings == ()
    assert plan.agents["writer"].recording == tmp_path / "r.yaml"


def test_replay_without_a_recording_is_reported_before_the_run() -> None:
    plan = chain_of(TWO, runtime="{provider: replay}")
    assert [finding.message.split("'")[1] for finding in found(plan, "replay-needs-recording")] == ["writer"]
    assert found(chain_of(TWO, options=RunRequest(provider="replay")), "replay-needs-recording") != []


@pytest.mark.parametrize(
    ("recording", "codes"),
    [
        (None, ["file-unreadable"]),
        ("recording: [", ["not-yaml"]),
        ("recording: 2\nsteps: {steps.0: [{text: a}], steps.2: [{text: b}]}", ["bad-recording"]),
        ("recording: 1\nsteps: {steps.0: [{txt: a}], steps.2: [{}]}", ["bad-recording", "bad-recording"]),
    ],
)
def test_a_recording_that_cannot_be_played_is_found_once(
    recording: str | None, codes: list[str], tmp_path: Path
) -> None:
    plan = replayed(tmp_path, TWO, recording)
    assert [finding.code for finding in plan.findings if finding.severity == "error"] == codes


def test_a_recording_must_have_turns_for_just_the_steps_that_ask_it(tmp_path: Path) -> None:
    plan = replayed(tmp_path, TWO, RECORDING + "  steps.7: []\n")
    findings = found(plan, "bad-recording")
    steps = [(re.findall(r"steps\.\d", f.message), f.where.line if f.where else 0) for f in findings]
    assert steps == [(["steps.1"], 4), (["steps.7"], 5), (["steps.2"], 12)]
    assert str(tmp_path / "r.yaml") in findings[2].message
    assert findings[0].where is not None
    assert findings[0].where.file == str(tmp_path / "r.yaml")


def test_steps_of_a_live_agent_need_no_turns(tmp_path: Path) -> None:
    agents = "{writer: {prompt: w}, editor: {prompt: e, provider: openai, model_id: m}}"
    steps = "- {agent: writer, input: a}\n- {agent: editor, input: b}"
    plan = replayed(tmp_path, steps, "recording: 1\nsteps: {steps.0: [{text: a}]}", agents=agents)
    assert plan.findings == ()


def test_a_live_provider_on_the_command_line_needs_no_recording(tmp_path: Path) -> None:
    options = RunRequest(provider="openai", model="m")
    assert replayed(tmp_path, "- {agent: writer, input: a}\n- {agent: editor}", None, options=options).findings == ()


@pytest.mark.parametrize(
    ("steps", "budgets", "bounds"),
    [
        ("- {agent: writer, input: a}\n- {type: hitl, prompt: b}\n- {agent: writer, input: c}", "", Bounds(3, 2, 0)),
        ("- {tool: echo, input: {text: a}}\n- {tool: echo, input: {text: b}}", "", Bounds(2, 0, 2)),
        ("- {agent: writer, input: a, tool_overrides: [echo]}", "", Bounds(1, None, None)),
        ("- {agent: writer, input: a, tool_overrides: [echo]}", "max_model_calls: 9", Bounds(1, 9, None)),
        ("- {agent: writer, input: a, tool_overrides: [echo]}", "max_tool_calls: 0", Bounds(1, None, 0)),
        ("- {agent: writer, input: a}\n- {agent: writer, input: b}", "max_steps: 1", Bounds(1, 2, 0)),
    ],
)
def test_bounds_are_what_the_pattern_implies_or_the_budget_where_it_is_lower(
    steps: str, budgets: str, bounds: Bounds, tmp_path: Path
) -> None:
    sound(tmp_path, "echo")
    runtime = f"{{provider: openai, model_id: m, budgets: {{{budgets}}}}}"
    assert chain_of(steps, runtime=runtime, catalog=discover_catalog([str(tmp_path)])).bounds == bounds


def test_steps_are_shown_as_they_will_be_sent_where_the_inputs_suffice() -> None:
    plan = chain_of(
        """
        - {agent: writer}
        - {agent: editor}
        - {agent: editor, vars: {a: "{{ topic }}", b: 2}, input: "{{ a }}{{ b }}"}
        - {agent: editor, vars: {a: "{{ last_response }}"}, input: "on {{ a }}"}
        - {type: hitl, prompt: "{{ topic }}?"}
        """,
        agents="{writer: {prompt: 'On {{ topic }}.'}, editor: {prompt: 'Edit {% all %}'}}",
        rest="inputs: {values: {topic: bees}}",
    )
    assert [(step.key, step.kind, step.who, step.input, step.rendered) for step in plan.steps] == [
        ("steps.0", "agent", "writer", "On bees.", True),
        ("steps.1", "agent", "editor", "{{ last_response }}", False),
        ("steps.2", "agent", "editor", "bees2", True),
        ("steps.3", "agent", "editor", "on {{ a }}", False),
        ("steps.4", "gate", "person", "bees?", True),
    ]


def plan_with(*codes: str) -> Plan:
    findings = [Finding(declared_codes()[code], code, severity="error") for code in codes]
    return replace(chain_of(ONE), findings=tuple(findings))


@pytest.mark.parametrize(
    ("codes", "kind"),
    [
        (("missing-api-key", "artifact-exists", "missing-input", "custom-tool-denied", "unknown-tool"), InvalidInput),
        (("missing-api-key", "artifact-exists", "missing-input", "custom-tool-denied"), Denied),
        (("missing-api-key", "artifact-exists", "missing-input"), UsageError),
        (("missing-api-key", "artifact-exists"), ArtifactError),
        (("missing-api-key",), NotEquipped),
    ],
)
def test_the_exit_code_names_who_can_do_the_most_and_all_findings_come_along(
    codes: tuple[str, ...], kind: type[StrandsCliError]
) -> None:
    for order in (codes, codes[::-1]):
        with pytest.raises(StrandsCliError) as raised:
            require_runnable(plan_with(*order))
        assert type(raised.value) is kind
        assert [finding.code for finding in raised.value.findings] == list(order)
        assert f"{len(codes)} problem" in raised.value.message


def test_warnings_stop_nothing() -> None:
    require_runnable(replace(chain_of(ONE), findings=(Finding(UNKNOWN_INPUT, "x", severity="warning"),)))


def test_one_finding_is_reported_once() -> None:
    finding = Finding(UNKNOWN_INPUT, "x", severity="warning")
    machine = Installation(
        discover_catalog([]), Settings(Path("runs")), Policy(), None, {"OPENAI_API_KEY": "key-of-tests"}
    )
    loaded = load_spec(read_document("flow.yaml", chain_of(ONE).text)).with_findings([finding])
    plan = plan_workflow(loaded, machine, lambda spec, inputs, loaded: [finding, finding], RunRequest())
    assert plan.findings.count(finding) == 1


def test_the_digest_changes_with_whatever_changes_the_run() -> None:
    plans = [
        chain_of(ONE),
        chain_of(ONE.replace("go", "stop")),
        chain_of(ONE, rest="inputs: {values: {a: 1}}"),
        chain_of(ONE, rest="inputs: {values: {a: 1}}", options=RunRequest(variables={"a": "2"})),
        chain_of(ONE, options=RunRequest(model="other")),
        chain_of(ONE, agents="{writer: {prompt: w, inference: {temperature: 0}}}"),
    ]
    assert len({plan.digest for plan in plans}) == len(plans)
    assert chain_of(ONE).digest == chain_of(f"{ONE} # a note").digest


def test_a_mount_that_is_not_a_directory_is_found(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "file").touch()
    rest = f"env:\n  mounts:\n    a: data\n    b: file\n    c: {tmp_path / 'nowhere'}"
    plan = chain_of(ONE, rest=rest, file=str(tmp_path / "flow.yaml"))
    assert [(finding.where.line if finding.where else 0) for finding in found(plan, "missing-mount")] == [8, 9]


def test_artifacts_are_checked_as_far_as_their_paths_are_known(tmp_path: Path) -> None:
    (tmp_path / "bees.md").write_text("mine")
    (tmp_path / "test.txt").write_text("mine")
    rest = """
    inputs: {values: {topic: bees}}
    outputs:
      artifacts:
        - {path: "{{ topic }}.md", from: x}
        - {path: "{{ name }}.txt", from: x}
        - {path: "../up", from: x}
        - {path: "new/{{ topic }}", from: x}
        - {path: "new/bees", from: x}
        - {path: "{{ last_response }}.md", from: x}
    """
    plan = chain_of(ONE, rest=rest, options=RunRequest(out_dir=tmp_path))
    assert [(f.code, f.where.pointer if f.where else "") for f in plan.findings] == [
        ("artifact-exists", "/outputs/artifacts/0/path"),
        ("artifact-exists", "/outputs/artifacts/1/path"),
        ("artifact-outside", "/outputs/artifacts/2/path"),
        ("artifact-twice", "/outputs/artifacts/4/path"),
    ]
    forced = chain_of(ONE, rest=rest, options=RunRequest(out_dir=tmp_path, force=True))
    assert [finding.code for finding in forced.findings] == ["artifact-outside", "artifact-twice"]
    assert not (tmp_path / "new").exists(), "planning makes nothing"


def test_a_place_that_cannot_take_files_is_found_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    rest = "outputs: {artifacts: [{path: a, from: x}]}"
    options = RunRequest(out_dir=tmp_path / "file" / "out", record=tmp_path / "file" / "r.yaml")
    plan = chain_of(ONE, rest=rest, options=options)
    assert [finding.code for finding in plan.findings] == ["cannot-write", "cannot-write"]
    assert chain_of(ONE, options=RunRequest(out_dir=tmp_path / "file" / "out")).findings == ()


def test_a_recording_that_exists_is_kept_unless_forced(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").touch()
    assert [f.code for f in chain_of(ONE, options=RunRequest(record=tmp_path / "r.yaml")).findings] == [
        "artifact-exists"
    ]
    assert chain_of(ONE, options=RunRequest(record=tmp_path / "r.yaml", force=True)).findings == ()


COLD = """
import sys
from dataclasses import replace
from pathlib import Path
from strands_cli.catalog.catalog import discover_catalog
from tests.fakes.plans import chain_of
plan = chain_of(
    "- {agent: writer, input: x}\\n- {tool: native:trap, input: {text: x}}",
    rest="tools: {python: [native:trap]}",
    catalog=discover_catalog([sys.argv[1]]),
)
assert plan.findings == (), plan.findings
assert [tool.name for tool in plan.agents["writer"].tools] == ["trap"]
never = {"strands", "strands_tool_trap", "asyncio", "rich", "jsonschema", "sqlite3"}
loaded = {name for name in sys.modules if name.partition(".")[0] in never}
assert not loaded, loaded
"""


def test_planning_imports_neither_the_sdk_nor_a_plugin(tmp_path: Path) -> None:
    booby_trapped(tmp_path, "trap", tmp_path / "sprung")
    ran = subprocess.run([sys.executable, "-c", COLD, str(tmp_path)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert not (tmp_path / "sprung").exists()


def test_text_from_standard_input_is_planned_from_the_working_directory() -> None:
    assert chain_of(ONE, file="<stdin>").base_dir == Path.cwd()
    text = "version: 2\nname: n\nruntime: {provider: openai}\nagents: {a: {prompt: p}}\n"
    plan = plan_of(f"{text}pattern: {{type: chain, config: {{steps: [{{agent: a}}]}}}}", file="/some/where/flow.yaml")
    assert plan.base_dir == Path("/some/where")
