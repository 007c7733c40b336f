"""Where one agent reads what strangers write, knows what is private, and can send: a prompt injection's way out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from strands_cli.errors import Code, Finding
from strands_cli.planning.plan.plan_values import PlannedTool, ResolvedWorkflow, tools_in_step
from strands_cli.planning.planned_tools.tool_config import EVERY, HOSTS, listed
from strands_cli.planning.workflow_tools.tool_parts import with_parts
from strands_cli.workflow.steps.step_models import AgentStep
from strands_cli.yaml_files.document import Document, escape

RISKY_COMBINATION = Code(
    "risky-combination",
    "An agent reads untrusted text and private data, itself or from earlier steps, and can send data out.",
    "Give the tasks to two agents, or name the hosts that a tool may reach: strands explain security.",
)

STRANGERS, PRIVATE, OUT = "reads what strangers write", "reads private data", "can send it away"
LEGS = (STRANGERS, PRIVATE, OUT)


def check_combinations(plan: ResolvedWorkflow, document: Document) -> Iterator[Finding]:
    """Yield a warning for each agent whose tools, taken together, let a stranger's text send private data away.

    A tool that does not say what it can do may do anything: it counts where others already make two of the three.
    """
    for agent in plan.agents.values():
        yield from _check(agent.tools, f"agent '{agent.id}'", f"/agents/{escape(agent.id)}", document)
    for placed in plan.spec.pattern.placed:
        step = placed.step
        if isinstance(step, AgentStep) and step.tool_overrides is not None and step.agent in plan.agents:
            tools = tools_in_step(step, plan.agents, plan.override_tools)
            yield from _check(tools, f"agent '{step.agent}' in {placed.key}", placed.pointer, document)


def _check(tools: Iterable[PlannedTool], who: str, pointer: str, document: Document) -> Iterator[Finding]:
    found = combination_of(tools)
    if not found:
        return
    legs = "; ".join(f"{leg} ({', '.join(names)})" for leg, names in found.items())
    fix = f"give the tasks to two agents, or name the hosts that the tools may reach: config: {{{HOSTS}: [...]}}"
    yield Finding(RISKY_COMBINATION, f"{who} {legs}", document.where(pointer), fix, "warning")


def combination_of(tools: Iterable[PlannedTool]) -> dict[str, list[str]]:
    """Return by which tools each of the three comes about, empty where they do not come together."""
    known: dict[str, list[str]] = {leg: [] for leg in LEGS}
    possible: dict[str, list[str]] = {leg: [] for leg in LEGS}
    for tool in with_parts(tools):
        if tool.decision.effect == "deny":
            continue
        for leg, answer in legs_of(tool).items():
            if answer is not False:
                names = known if answer else possible
                names[leg].append(tool.name)
    lacking = [leg for leg in LEGS if not known[leg]]
    if len(lacking) > 1 or not all(possible[leg] for leg in lacking):
        return {}
    return {leg: list(dict.fromkeys(known[leg])) or [_unsaid(possible[leg])] for leg in LEGS}


def _unsaid(names: list[str]) -> str:
    shown = ", ".join(dict.fromkeys(names))
    return f"perhaps: it is unknown what {shown} can do"


def legs_of(tool: PlannedTool) -> dict[str, bool | None]:
    """Return what a tool brings, None where it does not say."""
    hosts, folders = listed(tool.capabilities.get("network")), listed(tool.capabilities.get("filesystem"))
    hints = tool.record.annotations
    return {
        STRANGERS: hosts if hosts is None else bool(hosts) and hints.get("openWorldHint") is not False,
        PRIVATE: folders if folders is None else any(_reads(entry) for entry in folders),
        OUT: hosts if hosts is None else bool(hosts) and not _is_narrow(tool) and _sends(hosts, hints),
    }


def _reads(entry: Any) -> bool:
    return not isinstance(entry, Mapping) or entry.get("mode") != "write"


def _sends(hosts: list[Any], hints: Mapping[str, Any]) -> bool:
    """Return whether words get out: to a host that the model chooses, or by changing something where they arrive."""
    return EVERY in hosts or hints.get("readOnlyHint") is not True


def _is_narrow(tool: PlannedTool) -> bool:
    """Return whether the workflow itself names the hosts, so that the model chooses none."""
    configured = tool.config_claims.get("capabilities") or {}
    named = listed(tool.config.get(HOSTS)) or listed(configured.get("network"))
    return bool(named) and EVERY not in (named or ())
