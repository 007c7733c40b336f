"""Find the files of other distributions, strands-cli included, that a new one would replace or hide."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from strands_cli.catalog.catalog import Catalog
from strands_cli.catalog.distributions.dist_info import open_distribution, read_record
from strands_cli.catalog.distributions.entry_points import GROUP, find_package
from strands_cli.catalog.installed_files import files_to_import, modules_of
from strands_cli.catalog.packaged_files import GROUPS as PACKAGED
from strands_cli.default_parts import PART_GROUPS, is_part_name
from strands_cli.errors import Code, Finding
from strands_cli.hooks.hookspecs import GROUP as HOOKS
from strands_cli.parts.named_parts import Part, is_meant_as_ours, owner_of

PLUGIN_REPLACES = Code(
    "plugin-replaces",
    "A distribution would replace or hide files of others or of strands-cli, or run code at every start.",
    "Do not install it; report it to its author.",
)

# Files that pip obeys in an environment.
_SETTINGS = ("pip.conf", "pip.ini", "pyvenv.cfg")
_AT_START = ("*.pth", "sitecustomize", "sitecustomize.*", "usercustomize", "usercustomize.*")
_PROGRAMS = ("console_scripts", "gui_scripts")
_FIX = "do not install it; report it to its author"


@dataclass
class UnpackedDistribution:
    """A distribution in a folder with the layout of `sys.path`.

    Attributes:
        name: Normalised.
        tree: The folder.
        dist_info: Its `*.dist-info` there.
        scripts: Names of its files for the folder of programs, besides those of its entry points.
        elsewhere: The targets of its other files than modules and programs (the schemes `data` and `headers`).
        is_mixed: Whether an installer has put files of every scheme into the folder, as uv does.
    """

    name: str
    tree: Path
    dist_info: Path
    scripts: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    is_mixed: bool = False


def find_collisions(unpacked: UnpackedDistribution, data_places: Sequence[str], installed: Catalog) -> list[Finding]:
    """Return a finding for each file, program or package of others that the distribution would replace or hide.

    Args:
        data_places: The targets of its other files than modules and programs.
    """
    site = sysconfig.get_path("purelib")
    recorded = _recorded_paths(installed.scan.records.get(unpacked.name, ()))
    replaced = [*_files(unpacked, site), *_programs(unpacked), *data_places]
    taken_paths = [path for path in replaced if path not in recorded and os.path.lexists(path)]
    wrongs = [f"replace {path}, {_owner_of(path, installed)}" for path in taken_paths[:5]]
    misplaced = [path for path in data_places if is_reserved(path)]
    wrongs += [f"install {path} as data, which is where Python imports from or programs are" for path in misplaced[:5]]
    if not wrongs:
        shared_packages = _joined_packages(unpacked, installed, recorded)
        wrongs += [
            f"add files to the package '{name}' of another distribution ({other_owner})"
            for name, other_owner in shared_packages
        ]
        hidden = _hidden(unpacked, installed, recorded, site)
        wrongs += [f"hide the package '{name}' that is in {other_owner}" for name, other_owner in hidden]
    wrongs += [
        f"install {name}, which some disks do not tell from {other_owner}"
        for name, other_owner in _alike(unpacked, installed)
    ]
    climbing = [name for name in programs_of(unpacked) if {"/", "\\"} & set(name) and name not in unpacked.scripts]
    wrongs += [f"install the program {name!r}, whose name is not that of its file" for name in climbing]
    wrongs += [f"run code whenever Python starts ({name})" for name in start_files(unpacked.tree)]
    owners = {part: owner_of(part.group, part.name) for part in parts_of_unpacked(unpacked)}
    wrongs += [
        f"take {part}, which is that of {owner}" for part, owner in owners.items() if owner not in (None, unpacked.name)
    ]
    return [Finding(PLUGIN_REPLACES, f"'{unpacked.name}' would {wrong}", None, _FIX) for wrong in wrongs]


def data_of(unpacked: UnpackedDistribution) -> Iterator[str]:
    """Yield targets of other files than modules and programs; of a mixed folder only forbidden ones."""
    yield from unpacked.elsewhere
    for path in unpacked.tree.rglob("*") if unpacked.is_mixed else ():
        data_path = str(Path(sys.prefix) / path.relative_to(unpacked.tree))
        if path.is_file() and is_reserved(data_path):
            yield data_path


def is_reserved(path: str) -> bool:
    """Return whether a file lands where Python imports from, or among programs, links followed: no place for data."""
    reserved = {sysconfig.get_path(name) for name in ("purelib", "platlib", "scripts", "stdlib", "platstdlib")}
    folders = {_landing(entry) for entry in (*reserved, *sys.path) if entry} - {_landing(sys.prefix)}
    settings = {_landing(str(Path(sys.prefix, name))) for name in _SETTINGS}
    return any(_landing(path).startswith(folder) for folder in (*folders, *settings))


def _landing(path: str) -> str:
    """Return where a path leads, as a file system that ignores case may compare it, with a separator at its end."""
    return os.path.realpath(path).casefold() + os.sep


def programs_of(unpacked: UnpackedDistribution) -> list[str]:
    """Return the names of the programs that a distribution installs."""
    points = open_distribution(str(unpacked.dist_info)).entry_points
    return sorted({*(point.name for point in points if point.group in _PROGRAMS), *unpacked.scripts})


def hidden_program(name: str) -> str | None:
    """Return the program of the system that one of this environment would hide, None if there is none."""
    ours = os.path.realpath(sysconfig.get_path("scripts"))
    others = [folder for folder in os.get_exec_path() if os.path.realpath(folder) != ours]
    return shutil.which(name, path=os.pathsep.join(others))


def foreign_entry_points(unpacked: UnpackedDistribution) -> list[str]:
    """Return the entry points for other programs, which may load them by themselves, each as `group: name`."""
    points = open_distribution(str(unpacked.dist_info)).entry_points
    ours = (*_PROGRAMS, GROUP, HOOKS, *PART_GROUPS, *PACKAGED)  # packaged files are data
    others = (point for point in points if point.group not in ours and not is_meant_as_ours(point.group))
    return sorted({f"{point.group}: {point.name}" for point in others})


def parts_of_unpacked(unpacked: UnpackedDistribution) -> list[Part]:
    """Return the commands, stores and engines that a distribution would bring."""
    points = open_distribution(str(unpacked.dist_info)).entry_points
    named = [point for point in points if point.group in PART_GROUPS and is_part_name(point.group, point.name)]
    return sorted(Part(point.group, point.name, unpacked.name, point.value) for point in named)


def start_files(tree: Path) -> list[str]:
    """Return the names beside the packages that Python reads, and may run, whenever it starts."""
    return sorted(
        {path.name for path in tree.iterdir() if any(fnmatchcase(_folded(path.name), pattern) for pattern in _AT_START)}
    )


def top_names(tree: Path) -> list[str]:
    """Return the packages and modules that a tree makes importable."""
    names = [path.name for path in tree.iterdir() if path.is_dir()]
    folders = [name for name in names if name.isidentifier() and name not in ("bin", "Scripts")]
    return sorted([*folders, *(path.name.partition(".")[0] for path in tree.glob("*.py"))])


def _recorded_paths(copies: Iterable[tuple[str, str]]) -> set[str]:
    rows = ((site, row) for site, dist_info in copies for row in read_record(dist_info) or ())
    return {_normal_path(site, row.path) for site, row in rows}


def _normal_path(site: str, path: str) -> str:
    """Return the absolute, normalised form of a path."""
    return os.path.normcase(os.path.normpath(Path(site) / path))


def _owner_of(path: str, installed: Catalog) -> str:
    copies = installed.scan.records
    owner = next((name for name in copies if path in _recorded_paths(copies[name])), None)
    return f"which belongs to '{owner}'" if owner else "which no installed distribution owns"


def _files(unpacked: UnpackedDistribution, site: str) -> Iterator[str]:
    for path in unpacked.tree.rglob("*"):
        inside = path.relative_to(unpacked.tree)
        if path.is_file() and inside.parts[0] not in (unpacked.dist_info.name, ".lock"):
            yield _normal_path(site, inside.as_posix())


def _programs(unpacked: UnpackedDistribution) -> Iterator[str]:
    folder = sysconfig.get_path("scripts")
    for name in programs_of(unpacked):
        yield _normal_path(folder, name)
        if os.name == "nt":
            yield _normal_path(folder, f"{name}.exe")


def _folded(name: str) -> str:
    """Return a name as disks of macOS and Windows compare it: without case, its characters in one form."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _alike(unpacked: UnpackedDistribution, installed: Catalog) -> Iterator[tuple[str, str]]:
    """Yield names of the tree that differ only in case or form from those that Python imports, each with its place."""
    mine = {_folded(path.name): path.name for path in unpacked.tree.iterdir() if path != unpacked.dist_info}
    there = {"strands_cli": "strands_cli"}
    for folder in (sysconfig.get_path("purelib"), *installed.scan.listings):
        with suppress(OSError):
            there |= {path.name: str(path) for path in Path(folder).iterdir()}
    for name, other_path in there.items():
        own = mine.get(_folded(name), name)
        if own != name and own not in there:
            yield own, other_path


def _hidden(
    unpacked: UnpackedDistribution, installed: Catalog, recorded: set[str], site: str
) -> Iterator[tuple[str, str]]:
    """Yield modules of the tree that others have in another file or folder, such as an editable strands-cli."""
    mine = {record.location for record in installed.tools if record.distribution == unpacked.name and record.location}
    path = list(installed.scan.listings)
    files = {file.relative_to(unpacked.tree).as_posix() for file in unpacked.tree.rglob("*") if file.is_file()}
    for module in sorted(modules_of({name for name in files if not name.startswith(unpacked.dist_info.name)})):
        stem = module.replace(".", "/")
        files_to_hide = [file for name, file in files_to_import(module, path) if name.startswith(stem)]
        if not files_to_hide and any(name.startswith(f"{stem}/__init__.") for name in files):
            files_to_hide = [file for folder in path for file in _python_below(Path(folder, stem))]
        foreign = [
            file for file in files_to_hide if _normal_path(site, file) not in recorded and not _is_inside(file, mine)
        ]
        yield from ((module, file) for file in foreign[:1])


def _python_below(folder: Path) -> list[str]:
    """Return the modules of a namespace package, which an `__init__` of one distribution would take from the others."""
    return [str(file) for pattern in ("*.py", "*/*.py", "*.so") for file in sorted(folder.glob(pattern))]


def _is_inside(file: str, locations: Iterable[str]) -> bool:
    return any(file == location or file.startswith(location + os.sep) for location in locations)


def _joined_packages(
    unpacked: UnpackedDistribution, installed: Catalog, recorded: set[str]
) -> Iterator[tuple[str, str]]:
    """Yield the regular packages of others that the tree has files for, without an `__init__` of its own."""
    for name in top_names(unpacked.tree):
        folder = unpacked.tree / name
        package = find_package(name, installed.scan.listings)
        if not folder.is_dir() or any(folder.glob("__init__.py*")) or package is None or not package.file:
            continue
        if os.path.normcase(package.file) not in recorded:
            yield name, package.file
