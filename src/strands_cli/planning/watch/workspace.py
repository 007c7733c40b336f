"""The workspace of a run: what its file tools may touch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.planning.watch.file_watch import custom_places, python_folders
from strands_cli.planning.workflow_tools import with_parts

if TYPE_CHECKING:
    from strands_cli.planning.plan import Plan


def mounts_of(planned: Plan) -> dict[str, str]:
    """Return the absolute path of each mount of a workflow, by its name."""
    return {name: str((planned.base_dir / path).absolute()) for name, path in planned.spec.env.mounts.items()}


def workspace_of(planned: Plan) -> dict[str, Any]:
    """Return what file tools may touch: the working directory and the mounts, without what decides over the run."""
    rules = [file for _, file in planned.policy.files]
    python = custom_places(with_parts(planned.called()), python_folders(planned))
    return {
        "root": str(Path.cwd()),
        "mounts": mounts_of(planned),
        "protected": [str(Path(file).absolute()) for file in (planned.file, *planned.files, *rules, *python)],
    }
