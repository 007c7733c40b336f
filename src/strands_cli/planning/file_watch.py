"""What to look at for changes: the files behind a tool or a plan, and what is declared there, importing nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli.planning.machine.lock_check import python_path_of
from strands_cli.planning.planned_tools.planned_tool import InstalledTool, PythonTool
from strands_cli.planning.workflow_tools.tool_parts import with_parts

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.catalog.tool_record import ToolRecord
    from strands_cli.config import Settings
    from strands_cli.lock.format.lock_model import LockedDistribution
    from strands_cli.planning.plan.plan_values import Plan, PlannedTool

# Path -> what of a file's status an edit changes.
States = Mapping[str, tuple[int, int, int]]
# An editor writes a file in several steps; a change counts once it has been quiet for so long.
SETTLE_S = 0.1
_MOST_LOOKS = 20
_NO_SOURCE = ("~", ".pyc", ".swp", ".swx", ".tmp")


@dataclass(frozen=True, slots=True)
class Watched:
    """Files and folders whose change counts, and what the distributions among them declare."""

    places: frozenset[str]
    distributions: Mapping[str, LockedDistribution] = field(default_factory=dict)

    def also(self, other: Watched) -> Watched:
        """Return both together; what the other declares counts."""
        return Watched(self.places | other.places, {**self.distributions, **other.distributions})


def watch_tools(tools: Iterable[PlannedTool], catalog: Catalog, folders: Sequence[str] = ()) -> Watched:
    """Return the files behind some tools; objects of a program have none.

    Args:
        catalog: The installed tools, as they are now.
        folders: Where custom Python is searched for, after `sys.path`.
    """
    tools = tuple(tools)
    custom = custom_places(tools, folders)
    names = {tool.record.distribution for tool in tools if isinstance(tool, InstalledTool)}
    records = [record for record in catalog.tools if record.distribution in names]
    return Watched(frozenset((*custom, *_places(records, catalog))), declared(records, catalog))


def python_folders(plan: Plan) -> list[str]:
    """Return where the Python of a workflow's own is searched for, after `sys.path`."""
    return [str((plan.base_dir / name).resolve()) for name in python_path_of(plan)]


def custom_places(tools: Iterable[PlannedTool], folders: Sequence[str]) -> list[str]:
    """Return the file or folder of each tool that is Python of the workflow's own; nothing is imported."""
    return [place for tool in tools if isinstance(tool, PythonTool) and (place := _custom_place(tool, folders))]


def watch_plan(plan: Plan, catalog: Catalog) -> Watched:
    """Return what a run of this plan depends on besides rules and a lock: its file, those it names, its tools."""
    folders = python_folders(plan)
    recordings = [str(agent.recording) for agent in plan.agents.values() if agent.recording]
    files = Watched(frozenset((os.path.realpath(plan.file), *plan.files, *recordings)))
    return files.also(watch_tools(with_parts(plan.called()), catalog, folders))


def watch_rules(settings: Settings, folder: Path, policy: Path | None = None) -> Watched:
    """Return where policy files, adoption files and the lock of a folder may be; one that appears there counts too."""
    from strands_cli.catalog.adopted.adopted_file import adopted_path
    from strands_cli.config import ADOPTED_FILE
    from strands_cli.lock.format.lock_model import lock_file
    from strands_cli.user_files.policy_files import policy_places

    policies = [path for _, path in policy_places(settings, folder, policy)]
    adopted = filter(None, (adopted_path(settings), folder / ADOPTED_FILE))
    return Watched(frozenset(map(str, (*policies, *adopted, lock_file(folder)))))


def declared(records: Iterable[ToolRecord], catalog: Catalog) -> dict[str, LockedDistribution]:
    """Return what the distributions of these tools declare, in the words of a lock."""
    from strands_cli.lock.installed_lock import lock_distributions

    return lock_distributions([record for record in records if record.status != "broken"], catalog)


def declaration_changes(
    old: Mapping[str, LockedDistribution], new: Mapping[str, LockedDistribution], tool: str | None = None
) -> list[str]:
    """Return which fields of tools' definitions differ, a line each, of one tool or of all."""
    from strands_cli.lock.compare import compare_distribution

    lines: list[str] = []
    for name in sorted(old.keys() & new.keys()):
        for found in compare_distribution(old[name], new[name], whole=True):
            if found.tool is None or tool not in (None, found.tool):
                continue
            lines.append(f"{name} has a new tool '{found.tool}'" if found.unlisted else found.message)
    return lines


def states_of(places: Iterable[str]) -> States:
    """Return the state of every file in these places; what is not there is left out."""
    found: dict[str, tuple[int, int, int]] = {}
    for path in (path for place in places for path in _files(place)):
        try:
            status = os.stat(path)  # noqa: PTH116 - many files, often
        except OSError:
            continue
        found[path] = status.st_mtime_ns, status.st_size, status.st_ino
    return found


def stable_states(places: Iterable[str], wait: Callable[[float], object]) -> States:
    """Return the states once two looks in a row are alike; a file that never rests is not waited for."""
    places = tuple(places)
    now = states_of(places)
    for _ in range(_MOST_LOOKS):
        wait(SETTLE_S)
        before, now = now, states_of(places)
        if before == now:
            break
    return now


def changed_files(before: States, now: States) -> list[str]:
    """Return which files have changed, appeared or gone, as a person in this directory would name them."""
    paths = sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))
    here = os.getcwd() + os.sep  # noqa: PTH109 - strings throughout
    return [path.removeprefix(here) for path in paths]


def _places(records: Iterable[ToolRecord], catalog: Catalog) -> Iterator[str]:
    for record in records:
        if record.location:
            yield record.location
        copies = catalog.seen.records.get(record.distribution, [])
        yield from (metadata for directory, metadata in copies if directory == record.path)


def _custom_place(tool: PythonTool, folders: Sequence[str]) -> str | None:
    """Return the package or module of custom Python, found by its first name, which imports nothing."""
    from importlib.machinery import PathFinder

    from strands_cli.catalog.distributions.scan import search_path

    top = tool.record.module.partition(".")[0]
    spec = PathFinder.find_spec(top, [*search_path(), *folders])
    if spec is None:
        return None
    return next(iter(spec.submodule_search_locations or ()), spec.origin)


def _files(place: str) -> Iterator[str]:
    if not os.path.isdir(place):  # noqa: PTH112
        yield place
        return
    for folder, below, names in os.walk(place):
        below[:] = [name for name in below if name != "__pycache__" and not name.startswith(".")]
        yield from (
            os.path.join(folder, name)  # noqa: PTH118
            for name in names
            if not name.startswith(".") and not name.endswith(_NO_SOURCE)
        )
