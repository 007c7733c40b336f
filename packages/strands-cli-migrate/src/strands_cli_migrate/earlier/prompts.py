"""Prompts that explain templates: the earlier format sent them as they are, since nothing defines their names."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from strands_cli_migrate.earlier.steps import Names, steps_in
from strands_cli_migrate.earlier.tokens import Template
from strands_cli_migrate.earlier.values import mapping

# The most undefined names in a prompt about templates.
_MANY = 3
_END = "{% endraw %}"


def explains_templates(agent: str, prompt: str, pattern: Mapping[str, Any], inputs: Collection[str]) -> bool:
    """Return whether nothing defines many of the names in an agent's prompt, and none of them is an input."""
    if _END in prompt:
        return False
    template = Template(prompt)
    paths = {tuple(template.path(name)[0]) for name in template.free_names()}
    if len(paths) < _MANY or any(path[0] in inputs for path in paths):
        return False
    uses = [_names_at(step.value, step.names) for step in steps_in(pattern) if step.value.get("agent") == agent]
    return any(sum(not _is_known(path, names) for path in paths) >= _MANY for names in uses)


def _names_at(step: Mapping[str, Any], names: Names) -> Names:
    return {**names, **dict.fromkeys(mapping(step.get("vars")))}


def _is_known(path: tuple[str | int, ...], names: Names) -> bool:
    """Return whether a path leads to something; the fields of a result are not looked at."""
    if path[0] not in names:
        return False
    fields = names[str(path[0])]
    if fields is None or len(path) < 2:
        return True
    if isinstance(fields, int):
        return isinstance(path[1], int) and -fields <= path[1] < fields
    return str(path[1]) in fields


def as_text(prompt: str) -> str:
    """Return the template of this text."""
    return f"{{% raw %}}{prompt}{_END}"
