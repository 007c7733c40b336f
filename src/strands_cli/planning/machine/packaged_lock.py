"""Packages of workflows, agents and skills that a plan uses, and the lock of a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from strands_cli.catalog.distributions.entry_points import Scan
from strands_cli.planning.plan.plan_values import ResolvedWorkflow
from strands_cli.planning.workflow_tools.tool_parts import with_parts, workflows_in

if TYPE_CHECKING:
    from strands_cli.catalog.packaged_folders import PackagedFolder
    from strands_cli.lock.compare import Difference
    from strands_cli.lock.format.lock_model import LockedDistribution

Packages: TypeAlias = "Mapping[str, tuple[PackagedFolder, ...]]"


def packages_of(plan: ResolvedWorkflow, seen: Scan) -> dict[str, tuple[PackagedFolder, ...]]:
    """Return the distributions whose files a plan reads as workflow, agent or skill, with all folders of each."""
    sites = [os.path.realpath(site) for site in seen.listings]
    own = os.path.realpath(plan.project)
    read = {os.path.realpath(file) for file in _files_of(plan)}
    if not plan.packaged:
        # A file of the workflow's own folder is not of a package, unless an environment is in that folder.
        read = {file for file in read if not _is_in(file, own) or any(_is_in(file, site) for site in sites)}
    if not read:
        return {}
    from strands_cli.catalog.packaged_folders import scan_packaged

    folders = scan_packaged(list(seen.listings))[0]
    used = {folder.distribution for folder in folders if any(_is_in(file, folder.folder) for file in read)}
    return {name: tuple(folder for folder in folders if folder.distribution == name) for name in sorted(used)}


def _files_of(plan: ResolvedWorkflow) -> Iterator[str]:
    for one in (plan, *(inner.plan for inner in workflows_in(with_parts(plan.called())).values())):
        yield from one.files
        if not one.file.startswith("<"):
            yield one.file


def _is_in(file: str, folder: str) -> bool:
    return file.startswith(folder.rstrip(os.sep) + os.sep)


def with_packages(
    distributions: Mapping[str, LockedDistribution],
    packages: Packages,
    seen: Scan,
    required: Mapping[str, Iterable[str]],
    known: Mapping[str, LockedDistribution] | None = None,
) -> dict[str, LockedDistribution]:
    """Return locked distributions with those of packages; one that has tools too gets what its files say.

    Args:
        required: The names of the distributions to pin with each.
        known: What a lock has of them.
    """
    from strands_cli.lock.package_documents import lock_package

    found = dict(distributions)
    for name, folders in packages.items():
        one = lock_package(name, folders, seen, required.get(name, ()), (known or {}).get(name))
        found[name] = found[name]._replace(documents=one.documents) if name in found else one
    return found


def unlisted_package(folders: tuple[PackagedFolder, ...]) -> Difference:
    """Return the difference that a lock does not have a package."""
    from strands_cli.lock.compare import Difference

    name, version = folders[0].distribution, folders[0].version or ""
    kinds = ", ".join(dict.fromkeys(f"{folder.kind}s" for folder in folders))
    message = f"the lock does not have {name} {version}".rstrip() + f", which provides {kinds}"
    return Difference(name, message, unlisted=True)
