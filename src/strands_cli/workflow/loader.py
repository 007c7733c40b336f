"""A document to a valid `WorkflowSpec`, or every mistake in it at once."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from strands_cli.errors import Finding, Where
from strands_cli.workflow.document import Document
from strands_cli.workflow.file_source import NO_SNAPSHOT, FileSnapshot
from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.model import WorkflowSpec

_PRUNING_ROUNDS = 3
_NAMED_PARTS = ("agents", "nodes", "routes", "required", "optional")


def load_spec(document: Document, kept: FileSnapshot = NO_SNAPSHOT) -> Loaded:
    """Validate a document as a workflow; never raises for anything the document holds.

    Args:
        document: What was read.
        kept: The files it names, where a run has kept them.

    Returns:
        The workflow and all findings: shape, references, templates and schemas, in the order of the file.
    """
    from strands_cli.workflow.checks import check_spec

    findings = list(document.findings)
    spec, errors = _validate(document.value)
    candidate = spec
    if spec is None:
        from strands_cli.workflow.validation_errors import findings_of  # a sound workflow needs no words for mistakes

        findings += findings_of(errors, WorkflowSpec, document)
        candidate = _without_mistakes(document.value, errors)
    files: tuple[Document, ...] = ()
    origins: Mapping[str, tuple[Document, str]] = {}
    if candidate is not None and names_files(candidate):
        from strands_cli.workflow.references import resolve_references

        resolved = resolve_references(candidate, document, kept)
        candidate, files, origins = resolved.spec, resolved.files, resolved.origins
        findings += resolved.findings
    if candidate is not None and candidate.skills:
        from strands_cli.workflow.skill_folders import check_skills

        findings += check_skills(candidate.skills, document, kept)
    if candidate is not None:
        sketch = Loaded(candidate, document, (), files, origins)
        findings += check_spec(candidate, sketch)
    return Loaded(candidate if spec else None, document, _in_order(findings, document.file), files, origins, kept)


def names_files(spec: WorkflowSpec) -> bool:
    """Return whether an agent is kept in another file, or a schema of one is."""
    return any(
        agent.ref is not None or isinstance(agent.input_schema, str) or isinstance(agent.output_schema, str)
        for agent in spec.agents.values()
    )


def _validate(value: Any) -> tuple[WorkflowSpec | None, list[Any]]:
    try:
        return WorkflowSpec.model_validate(value, context={"document": True}), []
    except ValidationError as error:
        return None, error.errors(include_url=False)


def _without_mistakes(value: Any, errors: list[Any]) -> WorkflowSpec | None:
    """Return the workflow as it would be without its unknown keys and unusable optional values, if there is one.

    A mistyped key should not hide an unknown agent; whatever else is wrong can then be said in the same breath.
    """
    value = copy.deepcopy(value)
    for _ in range(_PRUNING_ROUNDS):
        mistaken = [_entry_of(value, error) for error in errors]
        entries = [entry for entry in mistaken if entry is not None]
        if len(entries) < len(mistaken):
            return None
        for holder, key in entries:
            holder.pop(key, None)
        spec, errors = _validate(value)
        if spec is not None:
            return spec
    return None


def _entry_of(value: Any, error: Any) -> tuple[dict[str, Any], str] | None:
    """Return the mapping and the key an error is about; None when the workflow would not be whole without it."""
    from strands_cli.workflow.validation_errors import holds

    holder, key, node = None, None, value
    for token in error["loc"]:
        if holds(node, token):
            holder, key, node = node, token, node[token]
    if error["type"] == "unknown_key":
        return node, error["ctx"]["key"]
    # Without its entry here, every mention of the agent or node would look like a mistake of its own.
    is_named_part = error["loc"][-2:-1] and error["loc"][-2] in _NAMED_PARTS
    if error["type"] in ("missing", "union_tag_not_found") or is_named_part or not isinstance(holder, dict):
        return None
    return holder, str(key)


def _in_order(findings: list[Finding], file: str) -> tuple[Finding, ...]:
    def place(finding: Finding) -> tuple[bool, str, int, int]:
        where = finding.where or Where(file)
        return where.file != file, where.file, where.line or 0, where.column or 0

    return tuple(sorted(dict.fromkeys(findings), key=place))
