"""The earlier meaning of a workflow, in words of the present format; `differences.py` says it to people."""

from __future__ import annotations

from strands_cli.workflow.model import WorkflowSpec


def as_earlier(spec: WorkflowSpec) -> WorkflowSpec:
    """Return a workflow of the earlier format with what it means written out; every other workflow as it is.

    Nothing in it moves, so that findings have their places in the file.
    """
    return spec
