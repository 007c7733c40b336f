"""Turns a document into a `WorkflowSpec`, or reports all of its mistakes."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from strands_cli.workflow.loaded import Loaded
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.yaml import NO_SNAPSHOT, Document, FileSnapshot

_PRUNING_ROUNDS = 3
_NAMED_PARTS = ("agents", "nodes", "routes", "required", "optional")


def load_spec(document: Document, snapshot: FileSnapshot = NO_SNAPSHOT) -> Loaded:
    """Validate a document as a workflow; mistakes in it are findings, not exceptions.

    Args:
        document: The document.
        snapshot: The files that a run has stored.

    Returns:
        The workflow and all findings, in the order of the file.
    """
    from strands_cli.workflow.checks import check_spec

    findings = list(document.findings)
    spec, errors = _validate(document.value)
    candidate = spec
    if spec is None:
        from strands_cli.workflow.validation_errors import findings_of  # only for a workflow with mistakes

        findings += findings_of(errors, WorkflowSpec, document)
        candidate = _without_mistakes(document.value, errors)
    files: tuple[Document, ...] = ()
    origins: Mapping[str, tuple[Document, str]] = {}
    if candidate is not None and names_files(candidate):
        from strands_cli.workflow.parts import resolve_references

        resolved = resolve_references(candidate, document, snapshot)
        candidate, files, origins = resolved.spec, resolved.files, resolved.origins
        findings += resolved.findings
    if candidate is not None and candidate.skills:
        from strands_cli.workflow.files import check_skills

        findings += check_skills(candidate.skills, document, snapshot)
    if candidate is not None:
        sketch = Loaded(candidate, document, (), files, origins)
        findings += check_spec(candidate, sketch)
    loaded = Loaded(candidate if spec else None, document, (), files, origins, snapshot, candidate)
    return loaded.with_findings(findings)


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


def _without_mistakes(value: Any, errors: list[Any]) -> WorkflowSpec | None:
    """Return the workflow as it would be without its unknown keys and unusable optional values, if there is one.

    So a mistyped key does not hide other mistakes, such as an unknown agent.
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
    """Return the mapping and the key of an error; None where the workflow is not complete without it."""
    from strands_cli.workflow.validation_errors import has_entry

    holder, key, node = None, None, value
    for token in error["loc"]:
        if has_entry(node, token):
            holder, key, node = node, token, node[token]
    if error["type"] == "unknown_key":
        return node, error["ctx"]["key"]
    # Without this entry, every mention of the agent or node would be reported as unknown.
    is_named_part = error["loc"][-2:-1] and error["loc"][-2] in _NAMED_PARTS
    if error["type"] in ("missing", "union_tag_not_found") or is_named_part or not isinstance(holder, dict):
        return None
    return holder, str(key)
