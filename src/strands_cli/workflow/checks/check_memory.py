"""Checks of conversations: they have one order, and one way to be shortened."""

from __future__ import annotations

from collections.abc import Iterator

from strands_cli.errors import Code, Finding
from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.model import WorkflowSpec

WINDOW_AND_COMPACTION = Code(
    "window-and-compaction", "A window leaves out the messages that compaction would summarize.", "Keep one of the two."
)
CONCURRENT_MEMORY = Code(
    "concurrent-memory",
    "An agent with `memory: run` in steps that may run at the same time.",
    "Use an agent for each step.",
)


def check_memory(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Report agents with `memory: run` in steps that may run together, and two ways to shorten a conversation."""
    policy = spec.context_policy
    if policy.window is not None and policy.compaction is not None and policy.compaction.enabled:
        message = "`window` removes the messages that `compaction` would summarize"
        where = loaded.where("/context_policy/window", key=True)
        fix = "keep one of the two, or set `compaction.enabled: false`"
        yield Finding(WINDOW_AND_COMPACTION, message, where, fix)
    keeping = {name for name, agent in spec.agents.items() if agent.memory == "run"}
    for shared in spec.pattern.shared_agents(keeping) if keeping else ():
        message = f"the agent {shared.agent!r} keeps its conversation (`memory: run`) but may work on two steps at once"
        fix = "use an agent for each, or `memory: step`"
        yield Finding(CONCURRENT_MEMORY, message, loaded.where(shared.pointer), fix, shared.severity)
