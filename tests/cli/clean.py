"""An environment with what pip would install for a plugin's tests, and nothing of the source tree but in place."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CLONE = Path(__file__).parents[2]
SITE = Path(sysconfig.get_path("purelib"))
SECONDS = 600


@dataclass(frozen=True)
class CleanEnvironment:
    """A virtual environment; what is installed in place lies where it was made."""

    root: Path
    scripts: Path

    def run(self, *command: str | Path, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run an installed program with an empty home and nothing of this process's Python settings."""
        kept = {key: os.environ[key] for key in ("LANG", "SYSTEMROOT", "TMPDIR") if key in os.environ}
        home = self.root / "home"
        home.mkdir(exist_ok=True)
        path = os.pathsep.join([str(self.scripts), os.defpath])
        ran = subprocess.run(
            [str(self.scripts / command[0]), *map(str, command[1:])],
            cwd=cwd,
            env={**kept, "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert ran.returncode == code, f"{command}: exit {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
        return ran

    def install_in_place(self, project: Path) -> None:
        """Install a project as `pip install -e` does, with the build backend of this environment."""
        target = self.root / "wheels" / project.name
        _call([sys.executable, "-m", "hatchling", "build", "-t", "wheel:editable", "-d", str(target)], project)
        (wheel,) = target.glob("*.whl")
        python = self.scripts / Path(sys.executable).name
        _call([*_uv(), "pip", "install", "--offline", "--no-deps", "--python", str(python), str(wheel)], project)


def make_environment(root: Path, requirements: Sequence[str]) -> CleanEnvironment:
    """Make an environment with strands-cli in place and links to what it and the requirements need, and no more."""
    _call([*_uv(), "venv", "--quiet", "--python", sys.executable, str(root / "venv")], root)
    layout = {"base": str(root / "venv"), "platbase": str(root / "venv")}
    site = Path(sysconfig.get_path("purelib", "venv", vars=layout))
    made = CleanEnvironment(root, Path(sysconfig.get_path("scripts", "venv", vars=layout)))
    core = tomllib.loads((CLONE / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    for entry in entries_of([*core, *requirements]):
        if not (site / entry).exists():
            (site / entry).symlink_to(SITE / entry)
    made.install_in_place(CLONE)
    return made


def entries_of(requirements: Iterable[str]) -> set[str]:
    """Return the names in site-packages of everything that these need, however far down."""
    waiting = {Requirement(line) for line in requirements}
    seen: set[tuple[str, frozenset[str]]] = set()
    entries: set[str] = set()
    while waiting:
        requirement = waiting.pop()
        key = (canonicalize_name(requirement.name), frozenset(requirement.extras))
        if key in seen:
            continue
        seen.add(key)
        found = metadata.distribution(requirement.name)
        entries |= {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}
        for further in map(Requirement, found.requires or ()):
            extras = requirement.extras or {""}
            if further.marker is None or any(further.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.add(further)
    return {entry for entry in entries if not entry.endswith(".pth")}


def _uv() -> list[str]:
    return [shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"]


def _call(command: Sequence[str], cwd: Path) -> None:
    ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert ran.returncode == 0, ran.stdout + ran.stderr
