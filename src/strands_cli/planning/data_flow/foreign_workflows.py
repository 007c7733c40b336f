"""Which workflows are not a person's own: those of packages, those outside the project, those changed under a lock."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli.errors import StrandsCliError
from strands_cli.workflow.packaged.project_folder import project_root

if TYPE_CHECKING:
    from strands_cli.planning.plan.plan_values import Plan

# Installers write here what others have made, also where a virtual environment is inside a project.
_INSTALLED = frozenset({"site-packages", "dist-packages"})


def foreign_reason(plan: Plan, digest: str) -> str:
    """Return why a workflow is not the person's own, as a clause after "it"; empty for their own.

    Args:
        digest: That of what the workflow uses, which a lock has.
    """
    return foreign_place(plan) or ("uses other things than its lock has" if _differs_from_lock(plan, digest) else "")


def foreign_place(plan: Plan) -> str:
    """Return why the place of a workflow is not the person's own, as a clause after "it"; empty for their own.

    Their own are those in the project folder: the working directory and below, or the git work tree around it.
    """
    if plan.packaged:
        return f"is the file of a package, {plan.packaged}"
    # One without a file belongs to its folder: a text, standard input, or the workflow around one agent.
    place = Path(os.path.realpath(plan.base_dir if plan.file.startswith("<") else plan.file))
    root = project_root(Path.cwd())
    if not place.is_relative_to(root):
        return f"is outside the project folder {root}"
    return "is in a folder of installed packages" if is_installed(place.relative_to(root)) else ""


def is_installed(file: Path) -> bool:
    """Return whether a file is where installers write."""
    return not _INSTALLED.isdisjoint(file.parts)


def _differs_from_lock(plan: Plan, digest: str) -> bool:
    from strands_cli.lock.format.lock_model import lock_file

    file = lock_file(plan.project)
    if not file.is_file():
        return False
    from strands_cli.lock.format.lock_reader import read_lock

    with suppress(StrandsCliError):  # a broken lock is reported where it is compared
        lock = read_lock(file)
        known = lock.workflows.get(Path(plan.file).name) if lock is not None else None
        return known is not None and known.authority != digest
    return False
