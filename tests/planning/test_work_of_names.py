"""What many agents and steps cost that name the same model and the same tools: each is looked up once."""

from __future__ import annotations

import pytest

from strands_cli.planning import agent_models
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
    looked_up = counted(monkeypatch, ToolResolver, "_resolve")
    chain_of("- {agent: writer, input: go, tool_overrides: ['agent:editor']}\n" * 50)
    assert len(looked_up) <= 2
    plan = chain_of("- {agent: writer, input: go, tool_overrides: [native:absent]}\n" * 3)
    assert len({str(one.where) for one in found(plan, "unknown-tool")}) == 3
