"""The workspace of a run: what its file tools may touch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.planning.file_watch import custom_places, python_folders
from strands_cli.planning.workflow_tools.tool_parts import with_parts

if TYPE_CHECKING:
    from strands_cli.planning.plan.plan_values import Plan


def mounts_of(planned: Plan) -> dict[str, dict[str, str]]:
    """Return where each mount of a workflow leads, and its path as the workflow writes it, by its name."""
    mounts, folder = planned.spec.env.mounts, planned.project.absolute()
    return {
        "mounts": {name: planned.places[path] for name, path in mounts.items()},
        "written_mounts": {name: str(folder / path) for name, path in mounts.items()},
    }


def workspace_of(planned: Plan, root: Path | None = None) -> dict[str, Any]:
    """Return what file tools may touch: a directory and the mounts, without what decides over the run.

    Args:
        root: The directory; None means the working directory.
    """
    rules = [file for _, file in planned.policy.files]
    python = custom_places(with_parts(planned.called()), python_folders(planned))
    return {
        "root": str(root or Path.cwd()),
        **mounts_of(planned),
        "protected": [str(Path(file).absolute()) for file in (planned.file, *planned.files, *rules, *python)],
    }
