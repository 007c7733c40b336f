"""Whether agents remember what their steps need, and what shortens their conversations can act."""

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
    "An agent that remembers in steps that may run at the same time.",
    "Use an agent for each step.",
)
LOST_CONVERSATION = Code(
    "lost-conversation",
    "An agent without `memory` comes again, and its message has nothing of what was before.",
    "Give it what it has to know in `input`, or write `memory: run`; `memory: step` says that it needs none.",
)


def check_memory(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Report agents that remember in steps that may run together, and two ways to shorten a conversation."""
    policy = spec.context_policy
    if policy.window is not None and policy.compaction is not None and policy.compaction.enabled:
        message = "`window` removes the messages that `compaction` would summarize"
        where = loaded.where("/context_policy/window", key=True)
        fix = "keep one of the two, or set `compaction.enabled: false`"
        yield Finding(WINDOW_AND_COMPACTION, message, where, fix)
    keeping = {name: agent.memory for name, agent in spec.agents.items() if agent.memory != "step"}
    for shared in spec.pattern.shared_agents(keeping) if keeping else ():
        where, fix = loaded.where(shared.pointer), "use an agent for each, or `memory: step`"
        if keeping[shared.agent] == "run":
            message = (
                f"the agent {shared.agent!r} keeps its conversation (`memory: run`) but may work on two steps at once"
            )
            yield Finding(CONCURRENT_MEMORY, message, where, fix, shared.severity)
        elif not shared.is_worker:
            message = (
                f"the agent {shared.agent!r} may work on two steps at once; neither sees the conversation of the other"
            )
            yield Finding(CONCURRENT_MEMORY, message, where, fix, "warning")
    yield from _lost_conversations(spec, loaded)


def _lost_conversations(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Report agents whose file leaves open what they remember, and which get no answer of an earlier step."""
    if (notes := spec.context_policy.notes) is not None and notes.include_last:
        return
    if "memory" in spec.context_policy.model_fields_set:
        return
    templates = spec.templates()
    for name, site in spec.pattern.messages_again():
        agent = spec.agents.get(name)
        if agent is None or "memory" in agent.model_fields_set:
            continue
        if not any(name in site.scope for name in templates.names_in(site.text)):
            message = f"the agent {name!r} comes again with nothing of what was before, and begins a new conversation"
            fix = "to go on with it: `memory: run` in the agent; if it needs none of it: `memory: step`"
            yield Finding(LOST_CONVERSATION, message, loaded.where(site.pointer), fix, "warning")
