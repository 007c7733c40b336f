"""Tools made of tools before a run: what they are made of, what they take, and everything that is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strands_cli import app
from strands_cli.catalog.catalog import Catalog, discover_catalog
from strands_cli.errors import Finding
from strands_cli.planning.machine.lock_check import python_path_of
from strands_cli.planning.plan_values import AgentAsTool, Composite, Plan, PlannedTool, WorkflowAsTool, with_parts
from strands_cli.planning.run_request import RunRequest
from strands_cli.policy.decision import Policy
from strands_cli.policy.rule import make_rule
from strands_cli.yaml_files.document_reader import stored_name
from tests.distributions import sound
from tests.fakes.plans import chain_of, definition_of, found, plan_of
from tests.wordings import Wording

READ_ONLY = {"annotations": {"readOnlyHint": True}}
GO = "- {agent: writer, input: go}"
SUB = """
version: 2
name: Sub
description: Writes about a topic.
runtime: {provider: openai, model_id: small}
inputs:
  required: {topic: {type: string, description: What about.}}
  optional: {length: {type: integer, default: 3}, kind: {type: string, enum: [a, b]}}
agents: {inner: {prompt: "On {{ topic }}", tools: [native:reads]}}
pattern: {type: chain, config: {steps: [{agent: inner, input: go}]}}
"""


@pytest.fixture
def catalog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Catalog:
    sound(tmp_path / "site", "reads", **READ_ONLY)
    sound(tmp_path / "site", "also_reads", **READ_ONLY)
    sound(tmp_path / "site", "writes", annotations={"destructiveHint": True})
    sound(tmp_path / "site", "sometimes", **READ_ONLY, strands_cli={"read_only_when": {"required": ["text"]}})
    (tmp_path / "flows").mkdir()
    monkeypatch.chdir(tmp_path / "flows")
    return discover_catalog([str(tmp_path / "site")])


def planned(catalog: Catalog, agents: str, *, tools: str = "", steps: str = GO, **given: Any) -> Plan:
    return chain_of(steps, agents=agents, rest=tools, catalog=catalog, **given)


def composite(*tools: str, name: str = "both", more: str = "") -> str:
    steps = ", ".join(f"{{tool: '{tool}', input: {{text: x}}}}" for tool in tools)
    return f"{{id: {name}, description: Does both., steps: [{steps}]{more}}}"


def section(*composites: str) -> str:
    return f"tools: {{composite: [{', '.join(composites)}]}}"


def tool_named(plan: Plan, name: str, agent: str = "writer") -> PlannedTool:
    (tool,) = [tool for tool in plan.agents[agent].tools if tool.name == name]
    return tool


def the_finding(plan: Plan, code: str) -> Finding:
    (finding,) = found(plan, code)
    assert [one for one in plan.findings if one.severity == "error" and one.code != code] == []
    return finding


def test_a_composite_belongs_to_the_workflows_tools_and_needs_no_permission_of_its_own(catalog: Catalog) -> None:
    plan = planned(catalog, "{writer: {prompt: w}}", tools=section(composite("native:reads", "writes")))
    assert plan.findings == ()
    tool = tool_named(plan, "both")
    assert isinstance(definition_of(tool), Composite)
    assert [(part.name, part.decision.effect) for part in tool.parts] == [("reads", "allow"), ("writes", "ask")]
    assert (tool.decision.effect, tool.names()) == ("allow", ("both",))
    assert plan.bounds.tool_calls is None


@pytest.mark.parametrize(
    ("parts", "annotations"),
    [
        (("reads", "also_reads"), {"readOnlyHint": True}),
        (("reads", "writes"), {"destructiveHint": True}),
        (("reads", "sometimes"), {}),
    ],
)
def test_what_is_true_of_all_parts_is_true_of_the_whole(
    parts: tuple[str, ...], annotations: dict[str, bool], catalog: Catalog
) -> None:
    plan = planned(catalog, "{writer: {prompt: w}}", tools=section(composite(*parts)))
    record = tool_named(plan, "both").record
    assert record is not None
    assert record.annotations == annotations


def test_a_composite_may_call_another_wherever_it_is_in_the_file(catalog: Catalog) -> None:
    tools = section(composite("inner", "reads", name="outer"), composite("writes", name="inner"))
    plan = planned(catalog, "{writer: {prompt: w, tools: [outer]}}", tools=tools)
    assert plan.findings == ()
    assert [tool.name for tool in with_parts(plan.called())] == ["outer", "inner", "writes", "reads"]


def test_the_calls_of_a_composite_are_checked_like_steps(catalog: Catalog, wording: Wording) -> None:
    wrong = "{id: bad, description: d, steps: [{tool: native:raeds}, {tool: native:reads, input: {text: 5}}]}"
    plan = planned(catalog, "{writer: {prompt: w}}", tools=f"tools: {{composite: [{wrong}]}}")
    codes = {finding.code: finding for finding in plan.findings}
    assert codes.keys() == {"unknown-tool", "tool-input"}
    assert "'native:reads'" in str(codes["unknown-tool"].fix)
    wording(codes["unknown-tool"].fix)
    assert codes["unknown-tool"].where is not None
    assert codes["unknown-tool"].where.pointer == "/tools/composite/0/steps/0/tool"
    assert codes["tool-input"].where is not None
    assert codes["tool-input"].where.pointer == "/tools/composite/0/steps/1/input/text"


def test_an_agents_input_schema_is_what_it_takes_as_a_tool(catalog: Catalog, wording: Wording) -> None:
    city = "{type: object, properties: {city: {type: string}}}"
    words = "{type: array, items: {$ref: '#/$defs/word'}, $defs: {word: {type: string}}}"
    agents = f"""{{writer: {{prompt: w, tools: ['agent:plain', 'agent:city', {{tool: 'agent:words', as: spell}}]}},
        plain: {{prompt: "Be plain.", tools: []}}, city: {{prompt: c, tools: [], input_schema: {city}}},
        words: {{prompt: "On {{{{ x }}}}", tools: [], input_schema: {words}}}}}"""
    plan = planned(catalog, agents, options=RunRequest(values={"x": 1}))
    assert [f for f in plan.findings if f.severity == "error"] == []
    schemas = {tool.name: tool.record.input_schema or {} for tool in plan.agents["writer"].tools if tool.record}
    assert schemas["plain"]["required"] == ["input"]
    assert schemas["plain"]["properties"]["input"]["type"] == "string"
    assert schemas["city"] == {"type": "object", "properties": {"city": {"type": "string"}}}
    assert schemas["spell"]["properties"]["input"] == {"type": "array", "items": {"$ref": "#/$defs/word"}}
    assert schemas["spell"]["$defs"] == {"word": {"type": "string"}}
    told = tool_named(plan, "plain").record
    assert told is not None
    assert str(told.description).endswith("Be plain.")
    wording(told.description)
    assert tool_named(plan, "plain").names() == ("plain", "agent:plain")
    assert told.annotations["readOnlyHint"] is True, "it has no tools"


@pytest.mark.parametrize(
    ("agents", "tools", "way"),
    [
        ("{writer: {prompt: w, tools: ['agent:writer']}}", "", "agent:writer -> agent:writer"),
        (
            "{writer: {prompt: w, tools: ['agent:b']}, b: {prompt: b, tools: ['agent:writer']}}",
            "",
            "agent:writer -> agent:b -> agent:writer",
        ),
        ("{writer: {prompt: w, tools: [both]}}", section(composite("both")), "both -> both"),
        (
            "{writer: {prompt: w, tools: [both]}}",
            section(composite("other"), composite("agent:writer", name="other")),
            "agent:writer -> both -> other -> agent:writer",
        ),
    ],
)
def test_what_would_be_a_part_of_itself_is_a_finding_that_shows_the_way(
    agents: str, tools: str, way: str, catalog: Catalog
) -> None:
    finding = found(planned(catalog, agents, tools=tools), "tool-cycle")[0]
    words = finding.message.partition(": ")[2].split(" -> ")
    assert words[0] == words[-1]
    assert set(words) == set(way.split(" -> "))
    assert finding.where is not None
    assert finding.where.line


def test_an_agent_that_is_a_tool_of_everyone_needs_a_list_of_its_own(catalog: Catalog, wording: Wording) -> None:
    tools = "tools: {python: ['agent:helper']}"
    plan = planned(catalog, "{writer: {prompt: w}, helper: {prompt: h}}", tools=tools)
    fix = the_finding(plan, "tool-cycle").fix
    assert "`tools: []`" in str(fix)
    wording(fix)
    plan = planned(catalog, "{writer: {prompt: w}, helper: {prompt: h, tools: []}}", tools=tools)
    assert plan.findings == ()
    assert [tool.name for tool in plan.agents["writer"].tools] == ["helper"]


def test_a_chain_of_tools_that_is_too_deep_is_a_finding_however_long(catalog: Catalog) -> None:
    for levels, is_sound in ((8, True), (9, False), (200, False)):
        chain = [composite(f"c{n + 1}" if n + 1 < levels else "reads", name=f"c{n}") for n in range(levels)]
        plan = planned(catalog, "{writer: {prompt: w, tools: [c0]}}", tools=section(*chain))
        assert (found(plan, "tool-cycle") == []) == is_sound, levels


def test_wide_tools_of_wide_tools_do_not_take_long_to_plan(catalog: Catalog) -> None:
    wide = [composite(*[f"c{n + 1}" if n < 7 else "reads"] * 12, name=f"c{n}") for n in range(8)]
    plan = planned(catalog, "{writer: {prompt: w, tools: [c0]}}", tools=section(*wide))
    assert plan.findings == ()
    assert len(tuple(with_parts(plan.called()))) < 200


def test_fields_that_cannot_take_effect_are_reported(catalog: Catalog) -> None:
    writer = "{prompt: w, tools: ['agent:h', {tool: both, config: {a: 1}}]}"
    agents = f"{{writer: {writer}, h: {{prompt: h, tools: [], memory: run}}}}"
    plan = planned(catalog, agents, tools=section(composite("reads")))
    assert [(f.code, f.severity) for f in plan.findings] == [("no-effect", "warning"), ("tool-config", "error")]


def test_an_installed_tool_of_the_same_name_is_hidden_with_a_warning(catalog: Catalog) -> None:
    plan = planned(
        catalog, "{writer: {prompt: w, tools: [reads]}}", tools=section(composite("also_reads", name="reads"))
    )
    assert the_finding(plan, "shadowed-tool").severity == "warning"
    assert isinstance(definition_of(tool_named(plan, "reads")), Composite)


def with_sub(catalog: Catalog, text: str = SUB, ref: str = "workflow:./sub.yaml", **given: Any) -> Plan:
    Path("sub.yaml").write_text(text)
    return planned(catalog, f"{{writer: {{prompt: w, tools: ['{ref}']}}}}", **given)


def test_a_workflow_is_planned_with_the_one_that_calls_it(catalog: Catalog) -> None:
    plan = with_sub(catalog)
    assert plan.findings == ()
    tool = tool_named(plan, "sub")
    assert isinstance(definition_of(tool), WorkflowAsTool)
    assert tool.record is not None
    assert tool.record.description == "Writes about a topic."
    assert tool.record.input_schema == {
        "type": "object",
        "properties": {
            "length": {"type": "integer", "default": 3},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "topic": {"type": "string", "description": "What about."},
        },
        "required": ["topic"],
        "additionalProperties": False,
    }
    assert plan.files[stored_name("sub.yaml")] == SUB
    assert [one.name for one in with_parts(plan.called())] == ["sub", "reads"]
    assert (tool.names(), tool.decision.effect) == (("sub", "workflow:sub"), "allow")


def test_the_digest_of_a_plan_covers_what_its_tools_are_made_of(catalog: Catalog) -> None:
    first = with_sub(catalog)
    assert with_sub(catalog).digest == first.digest
    assert with_sub(catalog, SUB.replace("input: go", "input: come")).digest != first.digest
    assert with_sub(catalog, SUB.replace("small", "large")).digest != first.digest
    assert with_sub(catalog, SUB.replace("native:reads", "native:also_reads")).digest != first.digest


def test_everything_wrong_with_the_inner_workflow_is_reported_at_its_place(catalog: Catalog) -> None:
    plan = with_sub(catalog, SUB.replace("native:reads", "native:raeds").replace("{{ topic }}", "{{ topik }}"))
    assert {finding.code for finding in plan.findings} == {"unknown-tool", "undefined-variable"}
    for finding in plan.findings:
        assert finding.where is not None
        assert (finding.where.file, finding.where.line) == ("sub.yaml", 9)
    (broken,) = with_sub(catalog, SUB.replace("agents:", "agnets:")).findings[:1]
    assert broken.where is not None
    assert broken.where.file == "sub.yaml"


def test_the_inner_workflow_writes_no_artifacts_and_says_so(catalog: Catalog) -> None:
    plan = with_sub(catalog, SUB + "outputs: {artifacts: [{path: ../../x, from: y}]}\n")
    finding = the_finding(plan, "no-effect")
    assert finding.where is not None
    assert (finding.severity, finding.where.file) == ("warning", "sub.yaml")


def test_workflows_that_call_each_other_are_a_finding(catalog: Catalog, wording: Wording) -> None:
    body = SUB.replace("native:reads", "workflow:./flow.yaml")
    Path("flow.yaml").write_text("version: 2")
    message = the_finding(with_sub(catalog, body), "tool-cycle").message
    assert message.endswith("flow.yaml -> agent:writer -> sub.yaml -> agent:inner -> flow.yaml")
    wording(message)
    assert found(with_sub(catalog, SUB.replace("native:reads", "workflow:./sub.yaml")), "tool-cycle")


def test_rules_of_the_outer_workflow_hold_in_the_inner_one_and_its_own_narrow_further(catalog: Catalog) -> None:
    def effect(plan: Plan) -> str:
        own = definition_of(tool_named(plan, "sub"))
        assert isinstance(own, WorkflowAsTool)
        return own.plan.agents["inner"].tools[0].decision.effect

    deny = "security: {permissions: {deny: [reads]}}\n"
    assert effect(with_sub(catalog)) == "allow"
    assert effect(with_sub(catalog, tools=deny)) == "deny"
    inner = with_sub(catalog, SUB + deny)
    assert effect(inner) == "deny"
    assert inner.findings == ()
    managed = Policy(rules=(make_rule("deny", "reads", "managed", "/etc/policy:1"),))
    assert the_finding(with_sub(catalog, policy=managed), "tool-denied")
    unmatched = the_finding(with_sub(catalog, SUB + deny.replace("reads", "raeds")), "unmatched-rule")
    assert unmatched.where is not None
    assert (unmatched.where.file, unmatched.where.pointer) == ("sub.yaml", "/security/permissions/deny/0")
    typed = with_sub(catalog, SUB.replace("reads", "writes"), options=RunRequest(allow=("writes",)))
    assert effect(typed) == "allow"


def test_the_provider_that_is_typed_holds_for_the_inner_workflow_too(catalog: Catalog) -> None:
    own = definition_of(tool_named(with_sub(catalog, options=RunRequest(provider="openai", model="typed")), "sub"))
    assert isinstance(own, WorkflowAsTool)
    assert own.plan.agents["inner"].model.model_id == "typed"


def test_folders_for_custom_python_of_an_inner_workflow_are_seen_from_the_outer_one(catalog: Catalog) -> None:
    Path("below").mkdir()
    Path("below/sub.yaml").write_text(SUB + "tools: {python_path: [lib]}\n")
    plan = planned(catalog, "{writer: {prompt: w, tools: ['workflow:below/sub.yaml']}}")
    assert plan.findings == ()
    assert python_path_of(plan) == ("below/lib",)


def test_a_step_may_call_an_agent_or_a_workflow(catalog: Catalog) -> None:
    Path("sub.yaml").write_text(SUB)
    steps = "- {tool: 'agent:writer', input: {input: x}}\n- {tool: 'workflow:./sub.yaml', input: {topik: bees}}"
    plan = planned(catalog, "{writer: {prompt: w, tools: []}}", steps=steps)
    assert isinstance(definition_of(plan.call_tools["agent:writer"]), AgentAsTool)
    assert {finding.code for finding in plan.findings} == {"tool-input"}
    assert [finding.fix for finding in plan.findings] == ["did you mean 'topic'?"]


def test_a_recording_may_hold_turns_of_agents_that_are_tools(catalog: Catalog) -> None:
    turns = "  steps.0/tool.0.b/agent.b: [{text: y}]\n"
    Path("r.yaml").write_text(f"recording: 1\nsteps:\n  steps.0: [{{text: x}}]\n{turns}")
    text = "version: 2\nname: t\nruntime: {provider: replay, recording: r.yaml}\n"
    text += "agents: {a: {prompt: a, tools: ['agent:b']}, b: {prompt: b, tools: []}}\n"
    text += "pattern: {type: chain, config: {steps: [{agent: a, input: go}]}}\n"
    assert plan_of(text, catalog=catalog).findings == ()
    Path("r.yaml").write_text(f"recording: 1\nsteps:\n  steps.0: [{{text: x}}]\n{turns.replace('steps.0', 'steps.9')}")
    assert the_finding(plan_of(text, catalog=catalog), "bad-recording")


def test_templates_of_a_composite_are_checked_before_anything_is_planned() -> None:
    def findings(template: str) -> list[str]:
        composite = (
            "{id: c, description: d, input_schema: {type: object, properties: {a: {type: string}}}, steps: "
            f"[{{tool: x, input: {{t: '{template}'}}, save_as: one}}, {{tool: x, input: {{t: '{{{{ one }}}}'}}}}]}}"
        )
        text = "version: 2\nname: n\nruntime: {provider: replay}\nagents: {w: {prompt: w}}\n"
        text += f"tools: {{composite: [{composite}]}}\npattern: {{type: chain, config: {{steps: [{{agent: w}}]}}}}\n"
        return [finding.code for finding in app.load("flow.yaml", text).findings]

    assert findings("{{ a }} {{ input.a }}") == []
    assert findings("{{ one }}") == ["undeclared-variable"], "it is saved only by this very call"
    assert findings("{{ steps[0].response }}") == ["unknown-name"]
    assert findings("{{ a") == ["bad-template"]


def test_a_secret_that_is_asked_for_inside_a_composite_must_be_named_too(
    catalog: Catalog, tmp_path: Path, wording: Wording
) -> None:
    sound(tmp_path / "site", "keyed", strands_cli={"capabilities": {"secrets": ["KEY"]}})
    catalog = discover_catalog([str(tmp_path / "site")])
    tools = section(composite("keyed"))
    plan = planned(catalog, "{writer: {prompt: w, tools: [both]}}", tools=tools)
    message = the_finding(plan, "unnamed-secret").message
    assert "'keyed'" in message
    assert "'KEY'" in message
    wording(message)


@pytest.mark.parametrize(
    ("made", "code", "pointer"),
    [
        (
            "input_schema: {properties: {steps: {}}}, steps: [{tool: x}]",
            "reserved-name",
            "input_schema/properties/steps",
        ),
        ("steps: [{tool: x, save_as: last_response}]", "reserved-name", "steps/0/save_as"),
        ("steps: [{tool: x, save_as: input}]", "reserved-name", "steps/0/save_as"),
        ("input_schema: {type: array}, steps: [{tool: x}]", "bad-schema", "input_schema"),
        ("input_schema: {properties: {input: {}}}, steps: [{tool: x, save_as: one}]", None, None),
    ],
)
def test_a_composite_keeps_its_names_and_its_schema_apart(made: str, code: str | None, pointer: str | None) -> None:
    text = "version: 2\nname: n\nruntime: {provider: replay}\nagents: {w: {prompt: w}}\n"
    text += f"tools: {{composite: [{{id: c, description: d, {made}}}]}}\n"
    text += "pattern: {type: chain, config: {steps: [{agent: w}]}}\n"
    findings = app.load("flow.yaml", text).findings
    assert [finding.code for finding in findings] == ([code] if code else [])
    for finding in findings:
        assert finding.where is not None
        assert finding.where.pointer == f"/tools/composite/0/{pointer}"
