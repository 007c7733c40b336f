"""Where the length of an agent's answers is limited."""

from __future__ import annotations

from strands_cli.planning.plan.plan_values import Plan
from strands_cli.yaml_files.document import escape
from strands_cli.yaml_files.document_reader import read_document


def place_of_max_tokens(plan: Plan, agent_id: str) -> str:
    """Return where the length of an agent's answers is limited: an option, or a key with its place in the file."""
    agent = plan.spec.agents.get(agent_id)
    own = agent.inference.max_tokens if agent is not None else None
    written = plan.spec.runtime.max_tokens if own is None else own
    if agent_id in plan.agents and plan.agents[agent_id].model.max_tokens != written:
        return "--max-tokens"
    key, pointer = "runtime.max_tokens", "/runtime/max_tokens"
    if own is not None:
        key, pointer = f"agents.{agent_id}.inference.max_tokens", f"/agents/{escape(agent_id)}/inference/max_tokens"
    document = read_document(plan.file, plan.text)
    if pointer not in document.positions:
        return key
    where = document.where(pointer)
    return f"{key} ({where.file}:{where.line}:{where.column})"
