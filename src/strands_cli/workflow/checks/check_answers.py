"""Whether templates read the answers of steps as they are: a text has no fields, and an output those of its schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from strands_cli.errors import Finding, Severity, did_you_mean
from strands_cli.texts.canonical_json import json_object
from strands_cli.workflow.findings import UNKNOWN_NAME
from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.placed_steps import Site
from strands_cli.workflow.template_scope import BESIDE, Output, Text, answer_in, spoken_path
from strands_cli.workflow.templates.template import Templates
from strands_cli.workflow.templates.template_errors import Path
from strands_cli.workflow.templates.template_facts import Read

# Keywords with which the properties of a schema are not all that an answer may have.
_MORE = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "patternProperties", "dependentSchemas"})


def check_answers(site: Site, templates: Templates, spec: WorkflowSpec, loaded: Loaded) -> Iterator[Finding]:
    """Yield a finding for each field that the text of an answer, or its schema, does not have."""
    seen = set[str]()
    for read in templates.every_read_in(site.text, is_condition=site.is_condition):
        found = answer_in(read.path, site.scope)
        if found is None:
            continue
        position, place = found
        if isinstance(place, Text):
            problem = _of_text(read, position, place, spec)
        else:
            problem = _of_output(read, position, place, spec)
        if problem is not None and problem.message not in seen:
            seen.add(problem.message)
            message, where = f"{problem.message}{site.use}", loaded.where(site.pointer)
            yield Finding(UNKNOWN_NAME, message, where, problem.fix, problem.severity)


class _Problem(NamedTuple):
    message: str
    fix: str
    severity: Severity


def _of_text(read: Read, position: int, place: Text, spec: WorkflowSpec) -> _Problem | None:
    part = read.path[position]
    if not isinstance(part, str) or part == "*" or hasattr(str, part):
        return None
    owner, rest = spoken_path(read.path[:position]), read.path[position : len(read.path) - read.is_called]
    output = (*read.path[: position - 1], *BESIDE[1:]) if place.output == BESIDE else place.output
    schemas = [_schema_of(agent, spec) for agent in place.agents]
    instead = spoken_path((*output, *rest)) if output else ""
    if "*" in output:
        fix = f"write `{spoken_path(('', 'output', *rest))}` for `{spoken_path(('', *read.path[position - 1 :]))}`"
    elif output and (not schemas or any(schema is not None for schema in schemas)):
        fix = f"did you mean `{instead}`?"
    elif output:
        fix = f"give the agent {place.agents[0]!r} an `output_schema`, and write `{instead}`"
    else:
        fix = f"where it is JSON: `({owner} | fromjson){spoken_path(('', *rest))}`"
    # One that may be missing is always missing: the run goes on, without the value.
    return _Problem(f"`{owner}` is text, which has no `{part}`", fix, "warning" if read.may_be_missing else "error")


def _of_output(read: Read, position: int, place: Output, spec: WorkflowSpec) -> _Problem | None:
    owner, agent = spoken_path(read.path[:position]), place.agents[0]
    schema = _schema_of(agent, spec)
    if schema is None and agent in spec.agents:
        fix = f"give the agent an `output_schema`, or read its text: `{owner.removesuffix('output')}response`"
        message = f"`{owner}` is none, since the agent {agent!r} has no `output_schema`"
        return None if read.may_be_missing else _Problem(message, fix, "error")
    parts = read.path[position:-1] if read.is_called else read.path[position:]
    lacking = _lacking(schema, parts) if isinstance(schema, Mapping) else None
    if lacking is None:
        return None
    count, names, is_closed = lacking
    word = str(parts[count])
    if read.may_be_missing and not is_closed:
        return None
    close = did_you_mean(word, names)
    before = spoken_path((*read.path[:position], *parts[:count]))
    fix = f"did you mean `{close}`?" if close else f"its schema has: {', '.join(names)}"
    if is_closed:
        severity: Severity = "warning" if read.may_be_missing else "error"
        return _Problem(f"`{before}` has no `{word}`, by the schema of the agent {agent!r}", fix, severity)
    fix = fix if close else f"name it in the schema, or write `| default('')` behind it; {fix}"
    message = (
        f"`{before}` has `{word}` only where the model adds it: the schema of the agent {agent!r} does not name it"
    )
    return _Problem(message, fix, "warning")


def _schema_of(agent: str, spec: WorkflowSpec) -> Any:
    found = spec.agents.get(agent)
    return found.output_schema if found is not None else None


def _lacking(schema: Mapping[str, Any], parts: Path) -> tuple[int, list[str], bool] | None:
    """Return the place of the first part that a schema does not name, the names there, and whether it has no others."""
    for count, part in enumerate(parts):
        if _MORE & schema.keys():
            return None
        if not isinstance(part, str) or part == "*":
            schema = json_object(schema.get("items"))
            continue
        properties = json_object(schema.get("properties"))
        if part not in properties:
            others = schema.get("additionalProperties", True)
            is_object = schema.get("type", "object") == "object" and isinstance(others, bool)
            return (count, list(properties), not others) if properties and is_object else None
        schema = json_object(properties[part])
    return None
