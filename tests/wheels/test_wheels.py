"""Wheels of every distribution, installed in a clean environment without the source tree, list, plan and run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

CLONE = Path(__file__).parent.parent.parent
PACKAGES = sorted(path.parent for path in CLONE.glob("packages/strands-tool-*/pyproject.toml"))
SITE = Path(sysconfig.get_path("purelib"))


@dataclass(frozen=True)
class Clean:
    """An environment that holds our wheels and other people's distributions, and a folder with the examples."""

    scripts: Path
    folder: Path

    def run(self, *command: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """Run an installed program in the folder, with an empty home and nothing of this process's Python settings."""
        kept = {key: os.environ[key] for key in ("LANG", "SYSTEMROOT", "TMPDIR") if key in os.environ}
        home = self.folder.parent / "home"
        home.mkdir(exist_ok=True)
        path = os.pathsep.join([str(self.scripts), os.defpath])
        ran = subprocess.run(
            [str(self.scripts / command[0]), *command[1:]],
            cwd=self.folder,
            env={**kept, "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert ran.returncode == code, f"{command}: exit {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
        return ran


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


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Build every distribution once."""
    target = tmp_path_factory.mktemp("dist")
    for place in [CLONE, *PACKAGES]:
        build(place, target)
    return sorted(target.glob("*.whl"))


@pytest.fixture(scope="session")
def clean(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Clean:
    """Install the wheels beside links to what they declare to need, and to nothing else that is installed here.

    The links stand for a download: a `.pth` to the whole of site-packages would bring the source tree back, and would
    hide a dependency that nobody declares.
    """
    root = tmp_path_factory.mktemp("clean")
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
    call([uv, "venv", "--quiet", "--python", sys.executable, str(root / "venv")])
    layout = {"base": str(root / "venv"), "platbase": str(root / "venv")}
    site = Path(sysconfig.get_path("purelib", "venv", vars=layout))
    scripts = Path(sysconfig.get_path("scripts", "venv", vars=layout))
    python = str(scripts / Path(sys.executable).name)
    call([uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, *map(str, wheels)])
    for entry in declared_entries():
        if not (site / entry).exists():
            (site / entry).symlink_to(SITE / entry)
    folder = root / "folder"
    folder.mkdir()
    if (CLONE / "examples").is_dir():
        ignored = shutil.ignore_patterns("__pycache__", "out", "artifacts")
        shutil.copytree(CLONE / "examples", folder / "examples", ignore=ignored)
    return Clean(scripts, folder)


def declared_entries() -> set[str]:
    """Return the names in site-packages of everything that our distributions need, however far down."""
    waiting = {Requirement(line) for path in [CLONE, *PACKAGES] for line in dependencies(path)}
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


def dependencies(place: Path) -> list[str]:
    lines: list[str] = tomllib.loads((place / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    return lines


def declared_tools() -> dict[str, str]:
    """Return every first-party tool with its distribution, as the manifests in the tree declare them."""
    tools = {}
    for path in CLONE.glob("packages/strands-tool-*/src/*/strands_tools.json"):
        manifest = json.loads(path.read_text(encoding="utf-8"))
        tools |= {tool["name"]: manifest["distribution"] for tool in manifest["tools"]}
    return tools


def test_each_distribution_builds_one_wheel_with_what_it_needs_and_no_more(wheels: list[Path]) -> None:
    assert len(wheels) == 1 + len(PACKAGES)
    for wheel in wheels:
        names = zipfile.ZipFile(wheel).namelist()
        package = wheel.name.split("-")[0]
        assert {name.split("/")[0] for name in names} == {package, f"{package}-{wheel.name.split('-')[1]}.dist-info"}
        assert f"{package}/py.typed" in names
        assert any(name.endswith("licenses/LICENSE") for name in names), wheel.name
        assert not [name for name in names if "__pycache__" in name or "/tests/" in name]
        if package.startswith("strands_tool_"):
            assert f"{package}/strands_tools.json" in names


def test_the_installed_program_is_the_wheel_and_not_the_tree(clean: Clean) -> None:
    program = "import strands_cli, sys; print(strands_cli.__file__, *sys.path, sep='\\n')"
    where = clean.run("python", "-I", "-c", program).stdout
    assert where.startswith(str(clean.scripts.parent))
    assert str(CLONE / "src") not in where


def test_the_clean_environment_has_what_is_declared_and_no_more(clean: Clean) -> None:
    present = clean.run("python", "-I", "-c", "import sys, strands, typer; print(*sys.path)").stdout
    assert str(SITE) not in present
    clean.run("python", "-I", "-c", "import hypothesis", code=1)
    clean.run("python", "-I", "-c", "import openai", code=1)


def test_both_console_scripts_answer(clean: Clean) -> None:
    assert clean.run("strands", "--version").stdout == clean.run("strands-cli", "--version").stdout
    assert "Usage" in clean.run("strands", "--help").stdout


def test_the_wheels_list_every_first_party_tool_as_available(clean: Clean) -> None:
    listed = json.loads(clean.run("strands", "list-tools", "--json").stdout)
    assert {tool["name"]: tool["distribution"] for tool in listed["tools"]} == declared_tools()
    assert {tool["status"] for tool in listed["tools"]} == {"available"}
    assert listed["findings"] == []


def test_listing_the_sources_points_into_the_installed_wheels(clean: Clean) -> None:
    sources = clean.run("strands", "list-tools", "--source").stdout
    assert str(clean.scripts.parent) in sources
    assert str(CLONE / "packages") not in sources


def test_the_quickstart_validates_plans_and_runs_from_wheels(clean: Clean) -> None:
    quickstart = str(clean.folder / "examples" / "quickstart.yaml")
    clean.run("strands", "validate", quickstart)
    clean.run("strands", "plan", quickstart)
    before = files(clean.folder)
    clean.run("strands", "run", quickstart)
    assert files(clean.folder) - before, "the run left an artifact"


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}
