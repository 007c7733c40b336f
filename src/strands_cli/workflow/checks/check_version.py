"""Whether a file says with its `version` what it means: that of an earlier strands-cli, or the present format."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from strands_cli.errors import Code, Finding
from strands_cli.texts.canonical_json import json_object
from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.meaning import format_number, is_unknown
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.steps.step_models import AgentStep

EARLIER_FILE = Code(
    "earlier-file",
    "A file with version 1 has what only an earlier strands-cli had, which meant other things by it.",
    "Write `version: 0` for what it meant there, or `version: 2` for the present meaning.",
)
UNKNOWN_VERSION = Code(
    "unknown-version",
    "No format has this number; the file means what an earlier strands-cli did, which took any number.",
    "Write `version: 0` for that meaning, or `version: 2` for the present format.",
)
_FIX = "write `version: 0`, with which it means what it did there, or `version: 2` for the present meaning"
_MODULES = ("strands_tools.", "strands_cli.tools.")
_FUNCTIONS = re.compile(r"(?<![\w.])(?:len|str|int)\(")


def check_version(spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Yield a warning for a version that is none, and for a file of version 1 that looks like an earlier one."""
    where = loaded.where("/version")
    if is_unknown(spec.version):
        message = f"there is no format {spec.version}; the file means what one of an earlier strands-cli did"
        yield Finding(UNKNOWN_VERSION, message, where, _FIX, "warning")
    elif format_number(spec.version) == 1 and (signs := list(dict.fromkeys(_signs(spec, loaded)))):
        message = f"this looks like a file of an earlier strands-cli: {'; '.join(signs[:3])}"
        yield Finding(EARLIER_FILE, message, where, _FIX, "warning")


def _signs(spec: WorkflowSpec, loaded: Loaded) -> Iterator[str]:
    """Yield what in a file only an earlier strands-cli had, or meant in another way."""
    tools = json_object(json_object(loaded.document.value).get("tools")).get("python")
    for entry in tools if isinstance(tools, list) else ():
        if isinstance(entry, dict) and "callable" in entry:
            yield "`callable:` names a tool"
        elif isinstance(entry, str) and entry.startswith(_MODULES):
            yield f"the tool `{entry}` is named by its module"
    if any(site.is_condition and _FUNCTIONS.search(site.text) for site in spec.pattern.templates()):
        yield "a condition calls a function of Python"
    for artifact in spec.outputs.artifacts:
        yield from _names_at_end(spec, artifact.path)
        yield from _names_at_end(spec, artifact.from_)
    yield from _agents_that_come_again(spec)


def _names_at_end(spec: WorkflowSpec, text: str) -> Iterator[str]:
    earlier = {*spec.pattern.earlier_at_end, "cumulative_tokens"} - {*spec.inputs.declared(), *spec.inputs.values}
    if any(name in text for name in earlier):
        for name in sorted({str(path[0]) for path in spec.templates().paths_in(text)} & earlier):
            yield f"`{name}` is read at the end"


def _agents_that_come_again(spec: WorkflowSpec) -> Iterator[str]:
    """Yield agents that remembered their earlier steps there, where the file shows that it relies on that."""
    compaction = spec.context_policy.compaction
    is_compacted = compaction is not None and compaction.enabled
    # `1` is what files of the present format have, `"1.0"` is not.
    if not is_compacted and isinstance(spec.version, int):
        return
    steps = [placed.step.agent for placed in spec.pattern.placed if isinstance(placed.step, AgentStep)]
    again = {agent for _, agent in spec.pattern.steps_again()}
    for name in dict.fromkeys(steps):
        agent: Any = spec.agents.get(name)
        if (name in again or steps.count(name) > 1) and agent is not None and "memory" not in agent.model_fields_set:
            yield f"the agent {name!r} works several times and has no `memory`"
