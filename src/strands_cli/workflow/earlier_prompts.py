"""Prompts of the earlier format that explain templates: their examples are text, since nothing defines their names."""

from __future__ import annotations

from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.placed_steps import Site
from strands_cli.workflow.template_places import template_sites
from strands_cli.workflow.template_scope import problem_of

# How many names nothing defines in a prompt that is about templates.
_MANY = 3
_BEGIN, _END = "{% raw %}", "{% endraw %}"
_MARK = "{# text #}"


def with_prompts_as_text(spec: WorkflowSpec) -> WorkflowSpec:
    """Return a workflow in which such prompts are sent as they are."""
    found = {site.pointer for site in template_sites(spec) if _explains_templates(site, spec)}
    if not found:
        return spec
    agents = {
        name: agent.model_copy(update={"prompt": f"{_BEGIN}{agent.prompt}{_END}{_MARK}"})
        if f"/agents/{name}/prompt" in found
        else agent
        for name, agent in spec.agents.items()
    }
    return spec.model_copy(update={"agents": agents})


def is_sent_as_text(prompt: str | None) -> bool:
    """Return whether a prompt is one of these."""
    return (prompt or "").endswith(_MARK)


def _explains_templates(site: Site, spec: WorkflowSpec) -> bool:
    """Return whether many of a prompt's names are unknown, and none is that of an input."""
    if not site.pointer.startswith("/agents/") or _END in site.text:
        return False
    inputs = {*spec.inputs.declared(), *spec.inputs.values}
    paths = spec.templates().paths_in(site.text)
    unknown = [path for path in paths if path[0] not in site.scope or problem_of(path, site.scope) is not None]
    return len(unknown) >= _MANY and not any(path[0] in inputs for path in paths)
