"""What a workflow reads and sends, as findings: of a whole plan, and as far as the file alone shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from strands_cli.errors import Finding
from strands_cli.planning.data_flow.exposure import check_exposure, check_networks
from strands_cli.planning.data_flow.secret_values import check_secrets, secret_name, takers_among, unused_secret
from strands_cli.planning.data_flow.telemetry_destination import check_telemetry
from strands_cli.planning.data_flow.unnamed_secrets import check_unnamed
from strands_cli.yaml_files.document import Document

if TYPE_CHECKING:
    from strands_cli.planning.plan.plan_values import PlannedTool, ResolvedWorkflow
    from strands_cli.workflow.model import WorkflowSpec


def check_data_flow(
    workflow: ResolvedWorkflow,
    document: Document,
    environ: Mapping[str, str],
    unnamed: Sequence[Finding],
    written: int,
    *,
    is_tool: bool,
) -> list[Finding]:
    """Return what a workflow exposes, where its spans go, and which secrets it lacks.

    Args:
        unnamed: What `with_unnamed_secrets` found.
        written: How many of the secrets the file names.
    """
    places = [document.where(f"/env/secrets/{index}") for index in range(written)]
    places += [finding.where for finding in unnamed if finding.where]
    of_spans = [] if is_tool else check_telemetry(workflow.spec, document, environ)
    exposed = check_exposure(workflow, document)
    return [*exposed, *of_spans, *unnamed, *check_secrets(workflow, places, environ)]


def check_written_uses(
    spec: WorkflowSpec, document: Document, tools: Sequence[PlannedTool] | None
) -> Iterator[Finding]:
    """Yield the private networks that a file opens, and the secrets that nothing takes or that it does not name.

    Args:
        tools: The tools of the workflow; None if some are unknown, which may take every secret.
    """
    yield from check_networks(spec, document)
    yield from check_unnamed(spec, document, tools or (), "warning")
    taken = takers_among(spec, tools, {}) if tools is not None else None
    for index, secret in enumerate(spec.env.secrets):
        # A variable is hidden where it has a value, which only a run knows.
        if taken is not None and secret.source != "env" and secret_name(secret) not in taken:
            yield unused_secret(secret, document.where(f"/env/secrets/{index}"))
