"""The names that the earlier format had at the end of a run, written with those of the present one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from strands_cli_migrate.earlier.tokens import Edit, Template
from strands_cli_migrate.earlier.values import mapping

_CONTEXT = "execution_context"
# The drafts with the number that each had when it was written down: one more than its own.
_HISTORY = (
    "{% set drafts = namespace(all=[]) %}{% for one in iterations %}{% set drafts.all = drafts.all + "
    "[{'iteration': one.iteration + 1, 'score': one.score, 'issues': one.issues, 'fixes': one.fixes, "
    "'draft_preview': one.draft_preview}] %}{% endfor %}{% set history = drafts.all %}"
)
# Nodes that never ran were not counted.
_VISITS = "dict(execution_context.iterations.items() | rejectattr(1, 'equalto', 0))"
# Filters and tests before which a number and a list mean the same or the list was meant.
_OF_LISTS = frozenset(
    {"batch", "count", "first", "groupby", "join", "last", "length", "list", "map", "max", "min", "random", "reject"}
    | {"rejectattr", "reverse", "select", "selectattr", "slice", "sort", "sum", "unique"}
)


def names_at_end(pattern: Mapping[str, Any], inputs: frozenset[str]) -> dict[str, str]:
    """Return the replacements of a pattern's names at the end; an input of such a name means the input."""
    kind, config = pattern.get("type"), mapping(pattern.get("config"))
    names = {"cumulative_tokens": "run.usage.total_tokens"}
    if kind == "graph":
        names |= {"iteration_counts": _VISITS, "execution_path": "execution_context.execution_path"}
    if kind == "routing" and isinstance(agent := mapping(config.get("router")).get("agent"), str):
        names["router_agent"] = repr(agent)
    free_names = {name: text for name, text in names.items() if name not in inputs}
    return {**free_names, **_of_drafts(config)} if kind == "evaluator_optimizer" else free_names


def _of_drafts(config: Mapping[str, Any]) -> dict[str, str]:
    accept = mapping(config.get("accept"))
    least, most = accept.get("min_score"), accept.get("max_iters", 3)
    numbers = {"min_score": least, "max_iters": most}
    numbers_by_name = {
        name: f"{int(number) if number == int(number) else number}"
        for name, number in numbers.items()
        if _is_number(number)
    }
    return {"last_evaluation": "evaluation", **numbers_by_name}


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def name_edits(template: Template, names: Mapping[str, str], *, has_drafts: bool) -> Iterator[Edit]:
    """Yield the edits for names in the path or the text of an artifact.

    Args:
        names: The replacement of each.
        has_drafts: Whether the pattern writes drafts, whose `iterations` also were their number, and has `history`.
    """
    needs_history = False
    for position in template.free_names():
        word, first, sign = template.tokens[position], position, template.after(position)
        name = word.text
        if name == _CONTEXT and sign == "." and position + 2 < len(template.tokens):
            first, name = position, template.tokens[position + 2].text
            position += 2
            if name == "execution_path":  # which this has of its own
                continue
        start, end = template.tokens[first].start, template.tokens[position].end
        if name in names:
            text = names[name]
            if name == "iteration_counts" and template.after(position) in (".", "["):
                text = "execution_context.iterations"
            yield Edit(start, end, text)
        elif has_drafts and name == "iterations" and _is_counted(template, position, first):
            yield Edit(start, end, f"({template.text[start:end]} | length)")
        needs_history |= has_drafts and name == "history" and first == position
    if needs_history:
        yield Edit(0, 0, _HISTORY)


def _is_counted(template: Template, position: int, first: int) -> bool:
    """Return whether `iterations` means the number of the drafts rather than the drafts."""
    after = template.after(position)
    if after in (".", "["):
        return False
    if after == "|":
        return template.after(position + 1) not in _OF_LISTS
    return template.before(first) != "in"


def draft_edits(template: Template) -> Iterator[Edit]:
    """Yield the edits for `iteration` in the message for a draft: it was the number of that draft."""
    for name in template.free_names():
        word = template.tokens[name]
        if word.text == "iteration":
            yield Edit(word.start, word.end, "(iteration | default(0) + 1)")
