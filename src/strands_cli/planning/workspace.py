"""The workspace of a run: what its file tools may touch, and the Python of its own that they may not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.planning.machine.lock_check import python_path_of
from strands_cli.planning.planned_tools.planned_tool import PythonTool
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
    return {
        "root": str(root or Path.cwd()),
        **mounts_of(planned),
        "protected": [
            str(Path(file).absolute()) for file in (planned.file, *planned.files, *rules, *python_places(planned))
        ],
    }


def python_places(plan: Plan) -> Iterator[str]:
    """Yield the file or folder of each tool that is Python of the workflow's own; nothing is imported."""
    folders = [str((plan.base_dir / name).resolve()) for name in python_path_of(plan)]
    for tool in with_parts(plan.called()):
        if isinstance(tool, PythonTool) and (place := _place_of(tool, folders)):
            yield place


def _place_of(tool: PythonTool, folders: Sequence[str]) -> str | None:
    """Return the package or module of custom Python, found by its first name.

    Args:
        folders: Where it is searched for after `sys.path`.
    """
    from importlib.machinery import PathFinder

    from strands_cli.catalog.distributions.scan import search_path

    spec = PathFinder.find_spec(tool.record.module.partition(".")[0], [*search_path(), *folders])
    if spec is None:
        return None
    return next(iter(spec.submodule_search_locations or ()), spec.origin)
