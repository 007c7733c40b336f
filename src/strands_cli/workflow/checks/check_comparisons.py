"""Checks of what templates ask of values: a status that none has, inputs that are never missing, whole results."""

from __future__ import annotations

from collections.abc import Iterator

from strands_cli.errors import Code, Finding, suggest
from strands_cli.workflow.findings import NO_EFFECT
from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.placed_steps import Site
from strands_cli.workflow.template_scope import is_result, spoken_path
from strands_cli.workflow.templates import Templates

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
_RESULTS = ("steps", "tasks", "nodes", "branches", "workers")
# Words of other programs for the same.
_MEANT = {**dict.fromkeys(("success", "succeeded", "done", "ok"), "completed"), "error": "failed"}


def check_comparisons(site: Site, templates: Templates, spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Yield a warning for each comparison that never holds, and each default that never acts."""
    where = loaded.where(site.pointer)
    for path, word in dict.fromkeys(templates.words_in(site.text, is_condition=site.is_condition)):
        is_status = path[0] in _RESULTS and path[0] in site.scope and path[-1] == "status"
        if is_status and word.strip().lower() not in STATUSES:
            fix = f"write '{_MEANT[word]}'" if word in _MEANT else suggest(word, STATUSES, f"one of {STATUSES}")
            yield Finding(UNKNOWN_STATUS, f"no step ever has the status {word!r}", where, fix, "warning")
    for path in () if site.is_condition else templates.printed_in(site.text):
        if path[0] in _RESULTS and is_result(path, site.scope):
            spoken = spoken_path(path)
            message = f"`{spoken}` prints all fields of the result with their names, in place of its text"
            yield Finding(WHOLE_RESULT, message, where, f"write `{spoken}.response`", "warning")
    for name in templates.assumed_missing(site.text, is_condition=site.is_condition):
        given = spec.inputs.optional.get(name)
        if given is not None and given.default is None and name not in {*site.scope, *spec.inputs.values}:
            message = f"the optional input `{name}` is never missing: without a value it is none"
            fix = f"give it a `default` under `inputs`, or write `{name} or ...` and `if {name}`"
            yield Finding(NO_EFFECT, message, where, fix, "warning")
