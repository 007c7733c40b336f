"""What a distribution that is not installed yet has of workflows, agents and skills, and how an upgrade changes it."""

from __future__ import annotations

from strands_cli.catalog.catalog import Catalog
from strands_cli.catalog.distributions.scan import scan_installed, search_path
from strands_cli.catalog.packaged_folders import PackagedFolder, scan_packaged
from strands_cli.lock.compare import Difference, compare_distribution
from strands_cli.lock.package_documents import lock_package
from strands_cli.plugins.install.download import Fetched


def packaged_folders(name: str, path: list[str] | None = None) -> tuple[PackagedFolder, ...]:
    """Return the folders of workflows, agents and skills that a distribution declares."""
    return tuple(folder for folder in scan_packaged(path)[0] if folder.distribution == name)


def packaged_names(folders: tuple[PackagedFolder, ...]) -> tuple[str, ...]:
    """Return what entry points declare, each as `workflow triage`."""
    return tuple(f"{folder.kind} {folder.name}" for folder in folders)


def packaged_changes(fetched: Fetched, installed: Catalog) -> list[Difference]:
    """Return how the values in the workflows and agents differ from those of the installed version."""
    old, path = packaged_folders(fetched.name), [str(fetched.tree), *search_path()]
    new = packaged_folders(fetched.name, path)
    if not old or not new or fetched.name not in installed.seen.records:
        return []
    before = lock_package(fetched.name, old, installed.seen)
    after = lock_package(fetched.name, new, scan_installed(path))
    return [one for one in compare_distribution(before, after, whole=True) if one.file]
