"""A workflow's title, description, tags and labels, as lines and as JSON; none of it reaches a model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strands_cli.workflow.model import WorkflowSpec


def about_document(spec: WorkflowSpec) -> dict[str, Any]:
    """Return title, description, tags, labels and the descriptions of inputs; null or empty if absent."""
    metadata = spec.metadata
    return {
        "title": metadata.name,
        "description": "\n\n".join(filter(None, (spec.description, metadata.description))) or None,
        "tags": list(spec.tags),
        "labels": dict(metadata.labels),
        "inputs": {
            name: declared.description for name, declared in spec.inputs.declared().items() if declared.description
        },
    }


def about_lines(spec: WorkflowSpec) -> Iterator[str]:
    """Yield the lines of a plan that describe what a workflow is for."""
    about = about_document(spec)
    if about["title"]:
        yield f"title     {about['title']}"
    if about["description"]:
        yield f"about     {' '.join(about['description'].split())}"
    if about["tags"]:
        yield f"tags      {', '.join(about['tags'])}"
    yield from (f"label     {name} = {value}" for name, value in about["labels"].items())
