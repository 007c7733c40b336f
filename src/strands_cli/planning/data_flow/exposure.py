"""The risks of a plan: one agent with all that an injection needs, data that leaves along the steps, open networks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from strands_cli.errors import Code, Finding
from strands_cli.planning.data_flow.authority import entries_of, opened_networks
from strands_cli.planning.plan_values import PlannedStep, PlannedTool, ResolvedWorkflow, tools_in_step, with_parts
from strands_cli.planning.planned_tool import EVERY, HOSTS, listed
from strands_cli.workflow.graph_paths import leading_nodes, leading_to_each
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.pattern_model import PlacedStep
from strands_cli.workflow.steps import AgentStep, CallStep
from strands_cli.yaml_files.document import Document, escape

# Agents that read text of strangers, know private data, and can send: a prompt injection's way out.


RISKY_COMBINATION = Code(
    "risky-combination",
    "An agent reads untrusted text and private data, itself or from earlier steps, and can send data out.",
    "Use two agents, or name the hosts that a tool may reach: strands explain security.",
)

STRANGERS, PRIVATE, OUT = "reads what strangers write", "reads private data", "can send it away"
LEGS = (STRANGERS, PRIVATE, OUT)


def check_combinations(plan: ResolvedWorkflow, document: Document) -> Iterator[Finding]:
    """Yield a warning for each agent whose tools, taken together, let a stranger's text send private data away.

    A tool without declared capabilities may do anything: it counts where others already make two of the three.
    """
    for agent in plan.agents.values():
        yield from _check(agent.tools, f"agent '{agent.id}'", f"/agents/{escape(agent.id)}", document)
    for placed in plan.spec.pattern.placed:
        step = placed.step
        if isinstance(step, AgentStep) and step.tool_overrides is not None and step.agent in plan.agents:
            tools = tools_in_step(step, plan.agents, plan.override_tools)
            yield from _check(tools, f"agent '{step.agent}' in {placed.key}", placed.pointer, document)


def _check(tools: Iterable[PlannedTool], who: str, pointer: str, document: Document) -> Iterator[Finding]:
    combination = combination_of(tools)
    if not combination:
        return
    legs = "; ".join(f"{leg} ({', '.join(names)})" for leg, names in combination.items())
    fix = f"give the tasks to two agents, or name the hosts that the tools may reach: config: {{{HOSTS}: [...]}}"
    yield Finding(RISKY_COMBINATION, f"{who} {legs}", document.where(pointer), fix, "warning")


def combination_of(tools: Iterable[PlannedTool]) -> dict[str, list[str]]:
    """Return by which tools each of the three comes about, empty where they do not come together."""
    certain: dict[str, list[str]] = {leg: [] for leg in LEGS}
    possible: dict[str, list[str]] = {leg: [] for leg in LEGS}
    for tool in with_parts(tools):
        if tool.decision.effect == "deny":
            continue
        for leg, answer in legs_of(tool).items():
            if answer is not False:
                names = certain if answer else possible
                names[leg].append(tool.name)
    lacking = [leg for leg in LEGS if not certain[leg]]
    if len(lacking) > 1 or not all(possible[leg] for leg in lacking):
        return {}
    return {leg: list(dict.fromkeys(certain[leg])) or [_unsaid(possible[leg])] for leg in LEGS}


def _unsaid(names: list[str]) -> str:
    names_text = ", ".join(dict.fromkeys(names))
    return f"perhaps: it is unknown what {names_text} can do"


def legs_of(tool: PlannedTool) -> dict[str, bool | None]:
    """Return which of the three a tool brings, None where it does not declare it."""
    hosts, folders = listed(tool.capabilities.get("network")), listed(tool.capabilities.get("filesystem"))
    hints = tool.record.annotations
    return {
        STRANGERS: hosts if hosts is None else bool(hosts) and hints.get("openWorldHint") is not False,
        PRIVATE: folders if folders is None else any(_reads(entry) for entry in folders),
        OUT: hosts if hosts is None else bool(hosts) and not _is_narrow(tool) and _sends_to(hosts, hints),
    }


def _reads(entry: Any) -> bool:
    return not isinstance(entry, Mapping) or entry.get("mode") != "write"


def _sends_to(hosts: list[Any], hints: Mapping[str, Any]) -> bool:
    """Return whether words get out: to a host that the model chooses, or by changing something where they arrive."""
    return EVERY in hosts or hints.get("readOnlyHint") is not True


def _is_narrow(tool: PlannedTool) -> bool:
    """Return whether the workflow itself names the hosts, so that the model chooses none."""
    configured = tool.config_claims.get("capabilities") or {}
    named = listed(tool.config.get(HOSTS)) or listed(configured.get("network"))
    return bool(named) and EVERY not in (named or ())


PRIVATE_NETWORK = Code(
    "private-network",
    "The workflow opens a private network to one of its tools (`allow_private`).",
    "Open only the address and port that it needs.",
)
PRIVATE_DATA_SENT = Code(
    "private-data-sent",
    "A step sends data that it, or a step before it, has read on this machine, and no person is asked.",
    "Leave out the data, or let the call ask: security: {permissions: {ask: [TOOL]}}.",
)
# Patterns that pass answers on without a template.
_PASSES_ON = ("evaluator_optimizer", "orchestrator_workers")
# A tool with the step that calls it.
Placed = tuple[str, PlannedTool]


def check_exposure(plan: ResolvedWorkflow, document: Document) -> Iterator[Finding]:
    """Yield a warning for each way in which a workflow may send private data away, and for each network it opens."""
    yield from check_networks(plan.spec, document)
    yield from check_combinations(plan, document)
    bringing = _ToolsBefore(plan)
    for placed, step in zip(plan.spec.pattern.placed, plan.steps, strict=True):
        own = _tools_of(plan, placed)
        # All earlier steps, whatever its templates name: an answer mixes all that its agent has read.
        earlier = bringing.to(step.key) if any(map(_sends, _usable(own))) else []
        if isinstance(placed.step, CallStep):
            yield from _check_call(step, placed, own, earlier, document)
        elif isinstance(placed.step, AgentStep) and not combination_of(own):
            yield from _check_agent(placed, own, earlier, document)


def check_networks(spec: WorkflowSpec, document: Document) -> Iterator[Finding]:
    """Yield a warning for each private network that the workflow opens to a tool."""
    for pointer, entry in entries_of(spec):
        if networks := ", ".join(opened_networks(entry.config)):
            message = f"the workflow opens the private network to '{entry.tool}': {networks}"
            fix = "read what it sends there, or remove `allow_private`"
            yield Finding(PRIVATE_NETWORK, message, document.where(f"{pointer}/config"), fix, "warning")


def _check_agent(
    placed: PlacedStep, own: Iterable[PlannedTool], earlier: Iterable[Placed], document: Document
) -> Iterator[Finding]:
    """Yield a warning for an agent that can send, if its tools and the data of earlier steps make the other two."""
    mine = [("", tool) for tool in _usable(own)]
    legs = {leg: _bringing(leg, [*mine, *(earlier if leg != OUT else ())]) for leg in LEGS}
    if all(legs.values()) and any(" in " in name for leg in (STRANGERS, PRIVATE) for name in legs[leg]):
        words = "; ".join(f"{leg} ({', '.join(names)})" for leg, names in legs.items())
        fix = f"name the hosts that its tools may reach: config: {{{HOSTS}: [...]}}; or pass on less"
        message = f"the agent of {placed.key}, with what earlier steps pass on, {words}"
        yield Finding(RISKY_COMBINATION, message, document.where(placed.pointer), fix, "warning")


def _check_call(
    step: PlannedStep, placed: PlacedStep, own: Iterable[PlannedTool], earlier: Iterable[Placed], document: Document
) -> Iterator[Finding]:
    """Yield a warning for a call that sends private data without a question: its author has chosen data and place."""
    tools = list(_usable(own))
    sending = [tool for tool in tools if listed(tool.capabilities.get("network")) and _is_made(tool, step)]
    inside = [("", tool) for tool in tools if tool not in sending]
    read = _bringing(PRIVATE, [*inside, *earlier]) if sending else []
    if read:
        names = ", ".join(dict.fromkeys(tool.name for tool in sending))
        message = f"{step.key} sends what {', '.join(read)} read, by {names}, and no one is asked"
        fix = f"let it ask: security: {{permissions: {{ask: [{sending[0].name}]}}}}"
        yield Finding(PRIVATE_DATA_SENT, message, document.where(placed.pointer), fix, "warning")


def _is_made(tool: PlannedTool, step: PlannedStep) -> bool:
    """Return whether a call may be made without a question; that of a part depends on arguments yet to come."""
    if tool.name == step.who or tool.ref == step.who:
        effect = step.decision.effect if step.decision is not None else None
        return effect == "allow" or (effect is None and tool.when_reading is not None)
    return tool.decision.effect == "allow" or tool.when_reading is not None


def _bringing(leg: str, tools: Iterable[Placed]) -> list[str]:
    """Return the tools that certainly bring something, each with the earlier step that calls it."""
    names = [f"{tool.name} in {key}" if key else tool.name for key, tool in tools if legs_of(tool)[leg]]
    return list(dict.fromkeys(names))


def _usable(tools: Iterable[PlannedTool]) -> Iterator[PlannedTool]:
    return (tool for tool in with_parts(tools) if tool.decision.effect != "deny" and not tool.is_composed)


def _tools_of(plan: ResolvedWorkflow, placed: PlacedStep) -> list[PlannedTool]:
    step = placed.step
    if isinstance(step, CallStep):
        return [plan.call_tools[step.tool]] if step.tool in plan.call_tools else []
    if not isinstance(step, AgentStep) or step.agent not in plan.agents:
        return []
    return list(tools_in_step(step, plan.agents, plan.override_tools))


def _sends(tool: PlannedTool) -> bool:
    return bool(legs_of(tool)[OUT] or listed(tool.capabilities.get("network")))


class _ToolsBefore:
    """The tools that bring something, of the steps whose data a step may be given."""

    def __init__(self, plan: ResolvedWorkflow) -> None:
        placed = {step.key: step for step in plan.spec.pattern.placed}
        self._keys = list(placed)
        self._bringing = {key: _usable_bringing(_tools_of(plan, step)) for key, step in placed.items()}
        self._leading: dict[str, int] = {}
        # The agents whose answers those of other steps read as notes, also of earlier runs.
        self._agents = {key for key, step in placed.items() if isinstance(step.step, AgentStep)}
        self._notes = 0
        if not any(self._bringing.values()):
            return
        passes_on = plan.spec.pattern.type in _PASSES_ON
        bringing = {
            step.key
            for step in plan.steps
            if (passes_on or not step.rendered or _remembers(plan, placed[step.key]))
            and any(map(_sends, _usable(_tools_of(plan, placed[step.key]))))
        }
        followers: dict[str, list[str]] = {key: [] for key in placed}
        for first, then, _ in (*plan.spec.pattern.edges(), *plan.spec.pattern.ways_back()):
            if first in followers and then in followers:
                followers[first].append(then)
        mask = sum(1 << position for position, key in enumerate(placed) if self._bringing[key])
        if plan.spec.context_policy.notes is not None:
            self._notes = mask & sum(1 << position for position, key in enumerate(placed) if key in self._agents)
        self._leading = {key: leading & mask for key, leading in leading_to_each(followers) if key in bringing}

    def to(self, key: str) -> list[Placed]:
        """Return the tools of the steps before a step, with the keys of these."""
        notes = self._notes if key in self._agents else 0
        earlier = [*leading_nodes(self._keys, notes), *leading_nodes(self._keys, self._leading.get(key, 0) & ~notes)]
        return [
            (earlier_key, tool) for earlier_key in earlier if earlier_key != key for tool in self._bringing[earlier_key]
        ]


def _usable_bringing(tools: Iterable[PlannedTool]) -> list[PlannedTool]:
    return [tool for tool in _usable(tools) if legs_of(tool)[PRIVATE] or legs_of(tool)[STRANGERS]]


def _remembers(plan: ResolvedWorkflow, placed: PlacedStep) -> bool:
    step = placed.step
    return isinstance(step, AgentStep) and step.agent in plan.agents and plan.agents[step.agent].keeps_conversation
