"""Turns a document into a `WorkflowSpec`, or reports all of its mistakes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from strands_cli.default_parts import DEFAULTS, PATTERNS
from strands_cli.errors import Code, Finding, StrandsCliError, too_many
from strands_cli.texts.canonical_json import json_object
from strands_cli.workflow.loaded import Loaded, Repairs
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.settled import settled
from strands_cli.yaml_files.document import Document, escape
from strands_cli.yaml_files.file_source import NO_SNAPSHOT, FileSnapshot

NOT_A_WORKFLOW = Code(
    "not-a-workflow",
    "The file holds one agent, tests of an agent, or a recording.",
    "Name a workflow, or use the command for such files.",
)

PATTERN_UNUSABLE = Code(
    "pattern-unusable",
    "The pattern of an installed distribution cannot be imported, or is not a pattern.",
    "Upgrade the distribution, or report it to its authors.",
    18,
)

# A workflow with so many errors is not checked to the end.
MOST_ERRORS = 500
# The most agents, steps, nodes or the like.
MOST_PARTS = 10_000
# The most entries of other lists: most cost more, such as tools, which are compared with each other and with each rule.
_MOST = {
    "/agents": 2_000,
    "/inputs/required": 2_000,
    "/inputs/optional": 2_000,
    "/inputs/values": 2_000,
    "/outputs/artifacts": 1_000,
    "/env/mounts": 1_000,
    "/env/secrets": 1_000,
    "/tools/mcp": 1_000,
    "/tools/python": 1_000,
    "/tools/http_executors": 1_000,
    "/tools/composite": 1_000,
    "/security/permissions/ask": 1_000,
    "/security/permissions/deny": 1_000,
    "/security/guardrails/allow_tools": 1_000,
    "/skills": 100,
}
# The most tools of one agent: each is offered to its model in each request; and the most steps of a composite tool.
_MOST_TOOLS = 1_000


def load_spec(document: Document, snapshot: FileSnapshot = NO_SNAPSHOT) -> Loaded:
    """Return a document as a workflow, with its mistakes as findings in the order of the file.

    Raises:
        Denied: Its format or its pattern is one of a distribution that may not be imported.
        NotEquipped: That cannot be imported, or is not installed.
    """
    from strands_cli.workflow.checks.check_workflow import check_spec

    document, of_format = _in_present_format(document, snapshot.format_version)
    if (wrong := _other_file(document) or _too_large(document)) is not None:
        return Loaded(None, document, (wrong,))
    _learn_pattern(document)
    findings: list[Finding] = []
    of_form = [*document.findings, *of_format]
    spec, errors = _validate(document.value)
    candidate, repairs = spec, Repairs()
    if spec is None:
        from strands_cli.workflow.repairs import repaired  # only for a workflow with mistakes

        candidate, document, repairs, mistakes = repaired(document, errors, _validate)
        of_form += mistakes
    keeps_texts = candidate is not None and bool(document.written)
    if candidate is not None and keeps_texts:
        from strands_cli.workflow.written_values import with_texts_as_written

        candidate = with_texts_as_written(candidate, document)
    files: tuple[Document, ...] = ()
    origins: Mapping[str, tuple[Document, str]] = {}
    packages: Mapping[str, str] = {}
    if candidate is not None and names_files(candidate):
        from strands_cli.workflow.parts.references import resolve_references

        resolved = resolve_references(candidate, document, snapshot)
        candidate, files, origins = resolved.spec, resolved.files, resolved.origins
        findings, packages = [*findings, *resolved.findings], resolved.packages
    candidate = settled(candidate) if candidate is not None else None
    if candidate is not None and candidate.skills:
        from strands_cli.workflow.files.skill_folders import check_skills

        findings += check_skills(candidate.skills, document, snapshot)
    if candidate is not None:
        sketch = Loaded(candidate, document, (), files, origins)
        findings += _until_many(check_spec(candidate, sketch), document)
        if keeps_texts:
            from strands_cli.workflow.written_values import check_written_numbers

            findings += check_written_numbers(candidate, sketch)
    shown = candidate if spec else None
    loaded = Loaded(shown, document, tuple(of_form), files, origins, snapshot, candidate, repairs, packages)
    return loaded.with_findings(findings)


def _in_present_format(document: Document, stored: int | None) -> tuple[Document, tuple[Finding, ...]]:
    """Return a document in the present format, and what its translation found."""
    value = json_object(document.value)
    if "format" not in value and value.get("version") in (None, 2):  # as nearly all are
        return document, ()
    from strands_cli.workflow.translated import translated

    return translated(document, stored)


def _learn_pattern(document: Document) -> None:
    """Import the pattern that a workflow names, if it is one of an installed distribution.

    Raises:
        Denied: It may not be imported; the finding has the place.
        NotEquipped: It cannot be imported, or is not a pattern.
    """
    name = json_object(json_object(document.value).get("pattern")).get("type")
    if not isinstance(name, str) or name in DEFAULTS[PATTERNS]:
        return
    from strands_cli.workflow.patterns.pattern_models import PATTERNS as MODELS

    try:
        MODELS.learn(name, Path(document.file).parent)
    except StrandsCliError as error:
        where = document.where("/pattern/type")
        found = error.findings or (Finding(PATTERN_UNUSABLE, error.message, None, error.fix),)
        error.findings = tuple(replace(finding, where=where) for finding in found)
        raise
    if MODELS.has_changed:
        WorkflowSpec.model_rebuild(force=True)
        MODELS.has_changed = False


def _too_large(document: Document) -> Finding | None:
    """Return the finding about more agents or steps than are checked in a bounded time."""
    value = json_object(document.value)
    agents, config = json_object(value.get("agents")), json_object(json_object(value.get("pattern")).get("config"))
    counted = {
        **{f"/pattern/config/{escape(name)}": (config[name], MOST_PARTS) for name in config},
        **{pointer: (_at(value, pointer), most) for pointer, most in _MOST.items()},
        **{f"/agents/{escape(name)}/tools": (json_object(agents[name]).get("tools"), _MOST_TOOLS) for name in agents},
    }
    composites = _at(value, "/tools/composite")
    for index, composite in enumerate(composites if isinstance(composites, list) else ()):
        counted[f"/tools/composite/{index}/steps"] = json_object(composite).get("steps"), _MOST_TOOLS
    return document.first_too_large(counted)


def _at(value: Any, pointer: str) -> Any:
    """Return what is at a pointer; None where nothing is."""
    for key in pointer[1:].split("/"):
        value = json_object(value).get(key)
    return value


def _until_many(found: Iterator[Finding], document: Document) -> Iterator[Finding]:
    """Yield findings until there are very many errors among them."""
    errors = 0
    for finding in found:
        yield finding
        errors += finding.severity == "error"
        if errors == MOST_ERRORS:
            yield too_many("there may be more mistakes, which are not looked for", document.where(""))
            return


def _other_file(document: Document) -> Finding | None:
    """Return the finding about a file that holds something else than a workflow."""
    value = document.value
    if _are_tests(value["tests"] if isinstance(value, dict) and value.keys() == {"tests"} else value):
        message = "these are tests of an agent, not a workflow"
        return Finding(NOT_A_WORKFLOW, message, document.where(""), "name the agent's file: strands atomic test FILE")
    if not isinstance(value, dict) or {"agents", "pattern"} & value.keys():
        return None
    if isinstance(value.get("prompt", value.get("$ref")), str) and "recording" not in value:
        import shlex  # off the happy path

        message = "this is a file of one agent, not a workflow"
        fix = f"strands atomic validate {shlex.quote(document.file)}"
    elif "recording" in value:
        message, fix = "this is a recording, not a workflow", "name the workflow that plays it"
    else:
        return None
    return Finding(NOT_A_WORKFLOW, message, document.where(""), fix)


def _are_tests(value: Any) -> bool:
    """Return whether a value is a list of tests of an agent."""
    return isinstance(value, list) and any(isinstance(one, dict) and "expect" in one for one in value)


def names_files(spec: WorkflowSpec) -> bool:
    """Return whether an agent or a schema is in another file."""
    return any(
        agent.ref is not None or isinstance(agent.input_schema, str) or isinstance(agent.output_schema, str)
        for agent in spec.agents.values()
    )


def _validate(value: Any) -> tuple[WorkflowSpec | None, list[Any]]:
    try:
        return WorkflowSpec.model_validate(value, context={"document": True}), []
    except ValidationError as error:
        return None, error.errors(include_url=False)
