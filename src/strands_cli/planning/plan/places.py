"""Where the paths of a workflow's `env` lead, looked up once: what is shown is what is opened."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from strands_cli.workflow.model import WorkflowSpec


def place_of(folder: Path, path: str) -> str:
    """Return what a path of a workflow in this folder leads to, without links; `~` is the home directory."""
    return os.path.realpath(folder / os.path.expanduser(path))  # noqa: PTH111 - `~unknown` is a name, not an error


def places_of(spec: WorkflowSpec, folder: Path) -> dict[str, str]:
    """Return where each mount and each file of a secret leads, by the path as it is written."""
    files = [secret.path or "" for secret in spec.env.secrets if secret.source == "file"]
    return {path: place_of(folder, path) for path in (*spec.env.mounts.values(), *files)}
