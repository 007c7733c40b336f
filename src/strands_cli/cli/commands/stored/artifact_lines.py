"""One file of a run as the cells of a table and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands_cli.cli.text_layout import one_line

if TYPE_CHECKING:
    from strands_cli.run_views.fetched_artifacts import StoredArtifact


def artifact_cells(one: StoredArtifact) -> tuple[str, ...]:
    """Return the cells of a table: its path, its size, its digest, and where its text is."""
    return one_line(one.path), str(one.size), one.digest, "in the store" if one.stored else "in the file only"


def artifact_document(one: StoredArtifact) -> dict[str, Any]:
    """Return it as JSON, without its text."""
    return {"path": one.path, "size": one.size, "digest": one.digest, "stored": one.stored}
