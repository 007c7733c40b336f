"""What leaves along the steps of a workflow is a warning, and the decision that is shown is the one that is made."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strands_cli.catalog.catalog import Catalog, discover_catalog
from strands_cli.planning.data_flow.planned_authority import authority_of
from strands_cli.planning.data_flow.workflow_trust import Trust
from strands_cli.planning.plan_values import Plan
from tests.distributions import sound
from tests.fakes.plans import chain_of, found, plan_of

READS = {"annotations": {"readOnlyHint": True, "openWorldHint": False}}
METHOD = {"type": "string", "enum": ["GET", "POST"], "default": "GET"}
SCHEMA = {"type": "object", "properties": {"method": METHOD, "text": {"type": "string"}}}


def able(network: list[str], *modes: str, **more: Any) -> dict[str, Any]:
    capabilities = {"network": network, "filesystem": [{"path": ".", "mode": mode} for mode in modes]}
    return {"capabilities": capabilities, **more}


@pytest.fixture
def catalog(tmp_path: Path) -> Catalog:
    reading = {"properties": {"method": {"enum": ["GET"]}}}
    destructive = {"readOnlyHint": False, "destructiveHint": True}
    claims = able(["*"], read_only_when=reading)
    sound(tmp_path, "send", strands_cli=claims, annotations=destructive, input_schema=SCHEMA)
    sound(tmp_path, "fetch", strands_cli=able(["*"]), annotations={"readOnlyHint": True})
    sound(tmp_path, "read", strands_cli=able([], "read"), **READS)
    sound(tmp_path, "sums", strands_cli=able([]), **READS)
    return discover_catalog([str(tmp_path)])


READ = "- {tool: native:read, input: {}}"
AGENTS = "{writer: {prompt: w, tools: []}, web: {prompt: w, tools: [native:fetch]}}"


def plan(catalog: Catalog, *steps: str, rest: str = "", **more: Any) -> Plan:
    return chain_of("\n".join(steps), rest=rest, agents=AGENTS, catalog=catalog, **more)


def sends(made: Plan) -> list[str | None]:
    """Return the places of the steps that send what was read."""
    warnings = found(made, "private-data-sent")
    assert all(one.severity == "warning" for one in warnings)
    return [one.where.pointer if one.where else None for one in warnings]


def test_what_one_step_reads_and_another_sends_without_a_question_is_a_warning(catalog: Catalog) -> None:
    made = plan(catalog, READ, "- {tool: native:send, input: {text: '{{ steps[0].response }}'}}")
    assert sends(made) == ["/pattern/config/steps/1"]
    [warning] = found(made, "private-data-sent")
    assert "read in steps.0" in warning.message
    assert "send" in str(warning.fix)


def test_it_is_followed_through_an_agent(catalog: Catalog) -> None:
    through = "- {agent: writer, input: 'Shorten {{ last_response }}'}"
    made = plan(catalog, READ, through, "- {tool: native:send, input: {text: '{{ last_response }}'}}")
    assert sends(made) == ["/pattern/config/steps/2"]


@pytest.mark.parametrize(
    "steps",
    [
        (READ, "- {tool: native:send, input: {method: POST, text: '{{ steps[0].response }}'}}"),  # it asks
        (READ, "- {tool: native:send, input: {text: always}}"),  # nothing is passed on
        (READ, "- {tool: native:sums, input: {text: '{{ steps[0].response }}'}}"),  # it reaches nothing
        ("- {tool: native:sums, input: {}}", "- {tool: native:send, input: {text: '{{ steps[0].response }}'}}"),
        ("- {tool: native:send, input: {text: 'x'}}", "- {tool: native:read, input: {text: '{{ last_response }}'}}"),
    ],
)
def test_what_asks_or_does_not_leave_has_no_warning(catalog: Catalog, steps: tuple[str, ...]) -> None:
    assert sends(plan(catalog, *steps)) == []


def test_a_rule_that_asks_ends_the_warning(catalog: Catalog) -> None:
    step = "- {tool: native:send, input: {text: '{{ steps[0].response }}'}}"
    asking = "security: {permissions: {ask: [native:send]}}"
    assert sends(plan(catalog, READ, step, rest=asking)) == []


def test_a_tool_made_of_a_reader_and_a_sender_is_a_warning(catalog: Catalog) -> None:
    rest = """
    tools:
      composite:
        - id: both
          description: d
          steps:
            - {tool: native:read, input: {}, save_as: it}
            - {tool: native:send, input: {text: "{{ it }}"}}
    """
    assert sends(plan(catalog, "- {tool: both, input: {}}", rest=rest)) == ["/pattern/config/steps/0"]


def test_an_agent_that_reads_the_web_after_private_data_is_passed_on_is_a_risk(catalog: Catalog) -> None:
    def risks(text: str) -> list[str]:
        made = plan(catalog, READ, f"- {{agent: web, input: '{text}'}}")
        return [one.where.pointer for one in found(made, "risky-combination") if one.where]

    assert risks("Check {{ steps[0].response }}") == ["/pattern/config/steps/1"]
    assert risks("Look around.") == []


@pytest.mark.parametrize(
    ("arguments", "effect"),
    [
        ("{method: GET, text: '{{ last_response }}'}", "allow"),
        ("{text: '{{ last_response }}'}", "allow"),
        ("{method: POST}", "ask"),
        ("{method: '{{ how }}'}", "ask"),
        ("{method: '{{ last_response }}'}", None),
    ],
)
def test_the_decision_of_a_step_is_that_of_its_known_arguments(
    catalog: Catalog, arguments: str, effect: str | None
) -> None:
    rest = "inputs: {values: {how: POST}}"
    made = plan(catalog, READ, f"- {{tool: native:send, input: {arguments}}}", rest=rest)
    decision = made.steps[1].decision
    assert (decision.effect if decision else None) == effect


def test_a_conditional_decision_is_shown_as_such(catalog: Catalog) -> None:
    step = "- {tool: native:send, input: {}}"
    tool = plan(catalog, step).call_tools["native:send"]
    assert tool.decision_words().startswith("allow for method GET, else ask: ")
    asked = plan(catalog, step, rest="security: {permissions: {ask: [native:send]}}").call_tools["native:send"]
    assert asked.decision_words().startswith("ask: ")


READER_AND_WEB = "{reader: {prompt: r, tools: [native:read]}, web: {prompt: w, tools: [native:fetch]}}"


@pytest.mark.parametrize("order", [("reader", "web"), ("web", "reader")])
def test_notes_carry_what_an_agent_read(catalog: Catalog, order: tuple[str, ...]) -> None:
    """Also to one that acts before it: notes are kept from run to run."""
    steps = "\n".join(f"- {{agent: {name}, input: Go.}}" for name in order)
    notes = "context_policy: {notes: {file: notes.md, include_last: 3}}"
    at = [f"/pattern/config/steps/{order.index('web')}"]

    def risks(rest: str) -> list[str]:
        made = chain_of(steps, rest=rest, agents=READER_AND_WEB, catalog=catalog)
        return [one.where.pointer for one in found(made, "risky-combination") if one.where]

    assert (risks(notes), risks("")) == (at, [])


def test_memory_carries_what_an_agent_read_with_the_tools_of_another_step(catalog: Catalog) -> None:
    agents = "{a: {prompt: w, memory: run, tools: []}}"
    tools = "tool_overrides: [native:{}]"
    steps = [f"- {{{{agent: a, input: Go., {tools}}}}}".format(name) for name in ("read", "fetch")]
    made = chain_of("\n".join(steps), agents=agents, catalog=catalog)
    assert [one.where.pointer for one in found(made, "risky-combination") if one.where] == ["/pattern/config/steps/1"]


@pytest.mark.parametrize(("orchestrator", "risk"), [("native:read", True), ("native:sums", False)])
def test_workers_get_what_the_orchestrator_read(catalog: Catalog, orchestrator: str, risk: bool) -> None:
    made = plan_of(
        f"""
        version: 2
        name: w
        runtime: {{provider: openai, model_id: m}}
        agents: {{o: {{prompt: p, tools: [{orchestrator}]}}, w: {{prompt: p, tools: []}}}}
        pattern:
          type: orchestrator_workers
          config:
            orchestrator: {{agent: o, input: Plan.}}
            worker_template: {{agent: w, tools: [native:fetch]}}
        """,
        catalog=catalog,
    )
    assert bool(found(made, "risky-combination")) == risk


def foreign(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, *steps: str, **more: Any
) -> Trust:
    """Return the trust in a workflow at a place, as a person in the folder `mine` has it."""
    (tmp_path / "mine" / "flows").mkdir(parents=True)
    (tmp_path / "theirs").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    file = tmp_path / place / "flow.yaml"
    file.write_text(text_of(*steps), encoding="utf-8")
    return Trust.of(plan_of(file.read_text(encoding="utf-8"), file=str(file), catalog=catalog, **more))


def text_of(*steps: str) -> str:
    body = "\n".join(f"      {step}" for step in steps)
    head = f"version: 2\nname: w\nruntime: {{provider: openai, model_id: m}}\nagents: {AGENTS}\n"
    return f"{head}pattern:\n  type: chain\n  config:\n    steps:\n{body}\n"


SENDS = (READ, "- {tool: native:send, input: {text: '{{ steps[0].response }}'}}")
BOTH = "- {agent: web, input: x, tool_overrides: [native:read, native:fetch]}"


@pytest.mark.parametrize("steps", [SENDS, (BOTH,), (READ, "- {agent: web, input: '{{ last_response }}'}")])
def test_what_a_workflow_of_others_sends_is_asked_about_until_an_answer(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: tuple[str, ...]
) -> None:
    trust = foreign(catalog, tmp_path, monkeypatch, "theirs", *steps)
    assert (trust.standing, [use.kind for use in trust.authority.asked_uses]) == ("unanswered", ["sending"])
    trust.keep()
    assert trust.standing == "allowed"


@pytest.mark.parametrize(
    ("place", "steps"),
    [("mine/flows", SENDS), ("theirs", (READ,)), ("theirs", ("- {agent: web, input: x}",)), ("mine/flows", (BOTH,))],
)
def test_ones_own_workflow_and_one_that_sends_nothing_private_are_not_asked_about(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, steps: tuple[str, ...]
) -> None:
    assert foreign(catalog, tmp_path, monkeypatch, place, *steps).standing == "allowed"


@pytest.mark.parametrize(("rounds", "risk"), [(1, False), (3, True)])
def test_an_orchestrator_of_several_rounds_gets_what_its_workers_read(
    catalog: Catalog, rounds: int, risk: bool
) -> None:
    made = plan_of(
        f"""
        version: 2
        name: w
        runtime: {{provider: ollama, model_id: m}}
        agents: {{o: {{prompt: p, tools: [native:fetch]}}, w: {{prompt: p, tools: [native:read]}}}}
        pattern:
          type: orchestrator_workers
          config:
            orchestrator: {{agent: o, limits: {{max_rounds: {rounds}}}}}
            worker_template: {{agent: w}}
        """,
        catalog=catalog,
    )
    assert bool(found(made, "risky-combination")) == risk


def test_the_notes_of_a_workflow_of_others_are_asked_about(
    catalog: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own").mkdir()
    monkeypatch.chdir(tmp_path / "own")
    flow = """
        version: 2
        name: w
        runtime: {provider: ollama, model_id: m}
        context_policy: {notes: {file: taxes.md}}
        agents: {web: {prompt: p, tools: [native:fetch]}}
        pattern: {type: chain, config: {steps: [{agent: web, input: x}]}}
    """

    def asked(file: Path) -> list[str]:
        return [use.what for use in authority_of(plan_of(flow, catalog=catalog, file=str(file))).asked_uses]

    assert asked(tmp_path / "other" / "flow.yaml") == ["taxes.md"]
    assert asked(tmp_path / "own" / "flow.yaml") == []
