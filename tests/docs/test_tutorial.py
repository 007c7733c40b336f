"""The tutorials, from an empty directory: every block as a newcomer types it, with nothing but wheels of this clone."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.clean import entries_of
from tests.docs.pages import CLONE, blocks
from tests.docs.reader import Reader
from tests.wheels.clean import SITE, build, call, make_clean

pytestmark = pytest.mark.docs

if sys.platform == "win32":
    pytest.skip("shell and signals as POSIX has them", allow_module_level=True)

FIRST_TOOL = CLONE / "docs" / "tutorial" / "first-tool.md"
SHARE = CLONE / "docs" / "tutorial" / "share-a-tool.md"
FIRST_WORKFLOW = CLONE / "docs" / "tutorial" / "first-workflow.md"
DEV, INDEX = "strands-cli-dev", "strands-cli-index"
CPU_SECONDS = 60


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return wheels of the core and the kit, which all tutorials need."""
    return built(tmp_path_factory.mktemp("dist"), CLONE, CLONE / "packages" / "strands-tool-kit")


def built(target: Path, *places: Path) -> list[Path]:
    for place in places:
        build(place, target)
    return sorted(target.glob("*.whl"))


def reader_in(root: Path, scripts: Path) -> Reader:
    """Return a reader in an empty directory."""
    work, home = root / "work", root / "home"
    work.mkdir()
    home.mkdir()
    return Reader(scripts, work, home)


def two_people(root: Path, wheels: list[Path], mine: Sequence[str], theirs: Sequence[str]) -> Reader:
    """Return the reader of a page that has made two environments, with distributions besides the wheels."""
    own, other = make_clean(root / "mine", wheels, *mine), make_clean(root / "theirs-made", wheels, *theirs)
    for entry in entries_of(["pytest", "hatchling", "editables"]):
        if not (own.site / entry).exists():
            (own.site / entry).symlink_to(SITE / entry)
    for made in (own, other):
        call([str(made.scripts / "python"), "-m", "ensurepip"])
    reader = reader_in(root, own.scripts)
    (reader.here / "theirs").symlink_to(other.scripts.parent)
    return reader


def not_run(page: Path) -> int:
    return sum("not run" in block.marks for block in blocks(page))


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let commands take so many seconds of CPU, which other work of the machine hardly changes."""
    began = spent()
    yield
    assert spent() - began < seconds


def spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


# Above 5 seconds: it is ten minutes of a person, some twenty commands, each a process or two of its own.
def test_the_first_tool_is_made_in_less_than_a_minute_of_commands(wheels: list[Path], tmp_path: Path) -> None:
    reader = two_people(tmp_path, wheels, [DEV], [INDEX])
    assert sorted(path.name for path in reader.here.iterdir()) == ["theirs"], "an empty directory"
    with within(CPU_SECONDS):
        reader.follow_page(FIRST_TOOL)
    assert not_run(FIRST_TOOL) == 2, "two environments, made before"


def test_the_first_workflow_runs_as_its_page_says(wheels: list[Path], tmp_path: Path) -> None:
    packages = CLONE / "packages"
    tools = built(tmp_path / "dist", packages / "strands-tool-files", packages / "strands-tool-calculator")
    reader = reader_in(tmp_path, make_clean(tmp_path / "mine", [*wheels, *tools]).scripts)
    with within(CPU_SECONDS):
        reader.follow_page(FIRST_WORKFLOW)
    assert not_run(FIRST_WORKFLOW) == 2, "the environment, made before, and a live model"


# Above 5 seconds: two people, two versions of two packages, and the wheels that they exchange.
def test_a_tool_is_shared_adopted_locked_and_upgraded(wheels: list[Path], tmp_path: Path) -> None:
    reader = two_people(tmp_path, wheels, [DEV, INDEX], [DEV, INDEX])
    with within(CPU_SECONDS):
        reader.follow_page(SHARE)
    assert not_run(SHARE) == 1, "two environments, made before"
