"""Checks of what templates ask of values and print: a status that none has, whole results, booleans of Python."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from strands_cli.errors import Code, Finding, suggest
from strands_cli.workflow.findings import NO_EFFECT
from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.placed_steps import Site
from strands_cli.workflow.template_scope import is_result, spoken_path
from strands_cli.workflow.templates.template import Templates

UNKNOWN_STATUS = Code(
    "unknown-status",
    "A template or a condition compares a status with a word that no step ever has.",
    "Write one of the words: completed, failed, skipped, not_executed.",
)
STATUSES = ("completed", "failed", "skipped", "not_executed")
WHOLE_RESULT = Code(
    "whole-result",
    "A template prints a whole result, with the names of its fields, in place of its text.",
    "Write `.response` behind it, or `| tojson`.",
)
PYTHON_BOOLEAN = Code(
    "python-boolean",
    "A template prints a boolean input as Python has it: `True` or `False`.",
    "Write `| lower` behind it for `true` or `false`; or `{% if %}` for words of your own.",
)
PRINTS_NONE = Code(
    "prints-none",
    "A template prints an optional input without a default, which is the word `None` where the input has no value.",
    "Give the input a default, or write `{{ NAME or '' }}`.",
)
_RESULTS = ("steps", "tasks", "nodes", "branches", "workers")
_ARGUMENT = re.compile(r"/(input|vars)/")
# Words of other programs for the same.
_MEANT = {**dict.fromkeys(("success", "succeeded", "done", "ok"), "completed"), "error": "failed"}


def check_comparisons(site: Site, templates: Templates, spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Yield a warning for each comparison that never holds, and each default that never acts."""
    for path, word in dict.fromkeys(templates.words_in(site.text, is_condition=site.is_condition)):
        is_status = path[0] in _RESULTS and path[0] in site.scope and path[-1] == "status"
        if is_status and word.strip().lower() not in (*STATUSES, spec.rendering.completed.lower()):
            fix = f"write '{_MEANT[word]}'" if word in _MEANT else suggest(word, STATUSES, f"one of {STATUSES}")
            yield Finding(
                UNKNOWN_STATUS, f"no step ever has the status {word!r}", loaded.where(site.pointer), fix, "warning"
            )
    for path, as_it_is in () if site.is_condition else templates.printed_in(site.text):
        if path[0] in _RESULTS and is_result(path, site.scope):
            spoken = spoken_path(path)
            message = f"`{spoken}` prints all fields of the result with their names, in place of its text"
            yield Finding(WHOLE_RESULT, message, loaded.where(site.pointer), f"write `{spoken}.response`", "warning")
        elif as_it_is and len(path) == 1 and path[0] not in site.scope and _is_python_boolean(str(path[0]), spec):
            message = f"`{path[0]}` is a boolean, and prints as `True` or `False`"
            yield Finding(
                PYTHON_BOOLEAN,
                message,
                loaded.where(site.pointer),
                f"write `{path[0]} | lower` for `true` or `false`",
                "warning",
            )
        elif as_it_is and len(path) == 1 and _may_print_none(str(path[0]), site, templates, spec):
            message = f"`{path[0]}` is optional and has no default: without a value it prints as `None`"
            fix = f"give it a `default`, such as '', or write `{path[0]} or ''`"
            yield Finding(PRINTS_NONE, message, loaded.where(site.pointer), fix, "warning")
    may_miss = spec.inputs.absent == "undefined"
    for name in () if may_miss else templates.assumed_missing(site.text, is_condition=site.is_condition):
        given = spec.inputs.optional.get(name)
        if given is not None and given.default is None and name not in {*site.scope, *spec.inputs.values}:
            message = f"the optional input `{name}` is never missing: without a value it is none"
            fix = f"give it a `default` under `inputs`, or write `{name} or ...` and `if {name}`"
            yield Finding(NO_EFFECT, message, loaded.where(site.pointer), fix, "warning")


def _may_print_none(name: str, site: Site, templates: Templates, spec: WorkflowSpec) -> bool:
    """Return whether a name is an input without a value or a default that a template does not ask for before."""
    given = spec.inputs.optional.get(name)
    if given is None or given.default is not None or spec.inputs.absent == "undefined":
        return False
    # An argument that is nothing but the input is its value, and no text.
    is_value = _ARGUMENT.search(site.pointer) is not None and templates.is_lone(site.text)
    if is_value or any(name in names for names in (site.scope, spec.inputs.values, spec.inputs.required)):
        return False
    return name not in templates.asked_in(site.text) and name not in _of_objects(spec)


def _of_objects(spec: WorkflowSpec) -> Iterator[str]:
    """Yield what the object of an agent must have: without it no model is asked."""
    for agent in spec.agents.values():
        needed = agent.input_schema.get("required") if isinstance(agent.input_schema, Mapping) else None
        yield from (name for name in needed if isinstance(name, str)) if isinstance(needed, list) else ()


def _is_python_boolean(name: str, spec: WorkflowSpec) -> bool:
    """Return whether an input is a boolean that prints as Python has it, where texts do not print as they are given."""
    if spec.inputs.keep_texts:
        return False
    declared = spec.inputs.declared_as(name)
    return declared.type == "boolean" if declared is not None else isinstance(spec.inputs.values.get(name), bool)
