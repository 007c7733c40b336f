"""Wheels of a distribution, and an environment that holds nothing but wheels and what they declare to need."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CLONE = Path(__file__).parent.parent.parent
PACKAGES = sorted(path.parent for path in CLONE.glob("packages/strands-tool-*/pyproject.toml"))
OURS = {"strands-cli", *(path.parent.name for path in CLONE.glob("packages/*/pyproject.toml"))}
SITE = Path(sysconfig.get_path("purelib"))
UV = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"


@dataclass(frozen=True)
class Clean:
    """An environment that holds our wheels and other people's distributions, and a folder with the examples."""

    scripts: Path
    folder: Path

    def run(self, *command: str, code: int = 0, **env: str) -> subprocess.CompletedProcess[str]:
        """Run an installed program in the folder, with an empty home and nothing of this process's Python settings."""
        kept = {key: os.environ[key] for key in ("LANG", "SYSTEMROOT", "TMPDIR") if key in os.environ}
        home = self.folder.parent / "home"
        home.mkdir(exist_ok=True)
        path = os.pathsep.join([str(self.scripts), os.defpath])
        ran = subprocess.run(
            [str(self.scripts / command[0]), *command[1:]],
            cwd=self.folder,
            env={**kept, "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "PATH": path, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert ran.returncode == code, f"{command}: exit {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
        return ran

    @property
    def site(self) -> Path:
        """Where distributions are installed."""
        return Path(sysconfig.get_path("purelib", "venv", vars=layout(self.scripts.parent)))


def layout(venv: Path) -> dict[str, str]:
    return {"base": str(venv), "platbase": str(venv)}


def build(place: Path, target: Path) -> None:
    """Build the source distribution, and the wheel from nothing but that, as an index would serve them."""
    call([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(target)], cwd=place)
    (source,) = target.glob(f"{place.name.replace('-', '_') if place != CLONE else 'strands_cli'}-*.tar.gz")
    unpacked = target / "unpacked"
    shutil.unpack_archive(source, unpacked, filter="data")
    (tree,) = unpacked.iterdir()
    call([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target)], cwd=tree)
    shutil.rmtree(unpacked)


def call(command: Sequence[str], cwd: Path = CLONE) -> None:
    ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def make_clean(root: Path, wheels: Sequence[Path], *others: str) -> Clean:
    """Install wheels beside links to what they declare to need, and to nothing else that is installed here.

    Args:
        others: Further distributions of this clone, which are built.

    The links replace a download: a `.pth` to the whole of site-packages would bring the source tree back, and would
    hide an undeclared dependency.
    """
    places = [CLONE / "packages" / name for name in others]
    for place in places:
        build(place, root / "others")
    call([UV, "venv", "--quiet", "--python", sys.executable, str(root / "venv")])
    scripts = Path(sysconfig.get_path("scripts", "venv", vars=layout(root / "venv")))
    clean = Clean(scripts, root / "folder")
    python = str(scripts / Path(sys.executable).name)
    every = map(str, (*wheels, *(root / "others").glob("*.whl")))
    call([UV, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, *every])
    for entry in declared_entries([CLONE, *PACKAGES, *places]):
        if (clean.site / entry).exists():
            continue
        if entry.endswith(".dist-info"):  # uv takes no notice of one that is a link
            shutil.copytree(SITE / entry, clean.site / entry)
        else:
            (clean.site / entry).symlink_to(SITE / entry)
    clean.folder.mkdir()
    return clean


def declared_entries(places: Sequence[Path]) -> set[str]:
    """Return the names in site-packages of everything that distributions of this clone need, however far down."""
    waiting = {Requirement(line) for path in places for line in dependencies(path)}
    seen: set[tuple[str, frozenset[str]]] = set()
    entries: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        found = metadata.distribution(requirement.name)
        if canonicalize_name(requirement.name) not in OURS:
            entries |= {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}
        for further in map(Requirement, found.requires or ()):
            extras = requirement.extras or {""}
            if further.marker is None or any(further.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.add(further)
    return {entry for entry in entries if not entry.endswith(".pth")}


def dependencies(place: Path) -> list[str]:
    lines: list[str] = tomllib.loads((place / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    return lines
