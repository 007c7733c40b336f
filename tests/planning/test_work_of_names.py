"""What many agents and steps cost that name the same model and the same tools: each is looked up once."""

from __future__ import annotations

import pytest

from strands_cli.planning import agent_models
from strands_cli.planning.resolve import custom_tools as custom_source
from strands_cli.planning.resolve.tool_resolver import ToolResolver
from tests.fakes.plans import chain_of, found
from tests.workflow.test_work_of_templates import counted


def test_a_model_of_many_agents_is_checked_once_and_its_fault_at_each_place(monkeypatch: pytest.MonkeyPatch) -> None:
    checked = counted(monkeypatch, agent_models, "check_provider")
    agents = ", ".join(f"a{n}: {{prompt: p, tools: []}}" for n in range(50))
    steps = "".join(f"- {{agent: a{n}, input: go}}\n" for n in range(50))
    chain_of(steps, agents=f"{{{agents}}}")
    assert len(checked) == 1
    agents = ", ".join(f"a{n}: {{prompt: p, tools: [], provider: opnai}}" for n in range(3))
    plan = chain_of("".join(f"- {{agent: a{n}, input: go}}\n" for n in range(3)), agents=f"{{{agents}}}")
    assert len({str(one.where) for one in found(plan, "unknown-provider")}) == 3


def test_a_tool_that_many_steps_name_is_looked_up_once_and_its_fault_at_each_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_up = counted(monkeypatch, ToolResolver, "_looked_up")
    chain_of("- {agent: writer, input: go, tool_overrides: ['agent:editor']}\n" * 50)
    assert len(looked_up) <= 2
    plan = chain_of("- {agent: writer, input: go, tool_overrides: [native:absent]}\n" * 3)
    assert len({str(one.where) for one in found(plan, "unknown-tool")}) == 3


@pytest.mark.parametrize("ref", ["no_such_module:tool", "{tool: no_such_module:tool, as: other}", "native:calcuIator"])
def test_an_absent_tool_is_looked_up_once_and_its_fault_has_each_place(
    ref: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = counted(monkeypatch, ToolResolver, "_looked_up")
    plan = chain_of(f"- {{agent: writer, input: go, tool_overrides: [{ref}]}}\n" * 5)
    assert len(looked_up) == 1
    faults = found(plan, "unknown-tool")
    assert len({str(one.where) for one in faults}) == 5
    assert len({(one.message, one.fix) for one in faults}) == 1


def test_a_module_of_many_tools_is_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_for = counted(monkeypatch, custom_source, "is_found")
    steps = "".join(f"- {{agent: writer, input: go, tool_overrides: ['no_such_module:tool{n}']}}\n" for n in range(30))
    plan = chain_of(steps)
    assert len(found(plan, "unknown-tool")) == 30
    assert len(looked_for) <= 4
