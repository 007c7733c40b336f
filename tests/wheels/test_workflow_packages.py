"""Packages of workflows, from their wheels to an upgrade, in an environment without the source tree."""

from __future__ import annotations

import json
import shutil
import stat
import zipfile
from pathlib import Path

import pytest

from tests.wheels.clean import CLONE, UV, Clean, build, make_clean

pytestmark = pytest.mark.wheels

EXAMPLES = CLONE / "examples" / "packages"
TRIAGE, MINUTES = "strands-flow-your-triage", "strands-flow-your-minutes"
FILE = "strands_flow_your_triage/workflows/triage.yaml"


def built(place: Path, target: Path) -> Path:
    target.mkdir()
    build(place, target)
    (wheel,) = target.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def flows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Build the example packages, and a later version of one of them."""
    root = tmp_path_factory.mktemp("flows")
    later = root / "later" / TRIAGE
    shutil.copytree(EXAMPLES / TRIAGE, later, ignore=shutil.ignore_patterns("__pycache__"))
    package = later / "src" / "strands_flow_your_triage"
    for name, old, new in [
        ("__init__.py", '"0.1.0"', '"0.2.0"'),
        ("workflows/triage.yaml", "in two sentences", "in three sentences"),
    ]:
        text = (package / name).read_text(encoding="utf-8")
        assert old in text
        (package / name).write_text(text.replace(old, new), encoding="utf-8")
    made = {name: built(EXAMPLES / name, root / name) for name in (TRIAGE, MINUTES)}
    return {**made, "later": built(later, root / "two")}


@pytest.fixture(scope="module")
def operator(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Clean:
    """Return an environment with our wheels, three with commands too, which find uv and no network."""
    others = ("strands-cli-dev", "strands-cli-index", "strands-cli-migrate")
    made = make_clean(tmp_path_factory.mktemp("operator"), wheels, *others)
    (made.scripts / "uv").symlink_to(Path(shutil.which(UV) or UV).resolve())
    return made


def strands(place: Clean, *words: str, code: int = 0) -> str:
    """Run `strands` offline and return what it says on both streams."""
    ran = place.run("strands", *words, code=code, UV_OFFLINE="1")
    return ran.stdout + ran.stderr


def test_each_wheel_has_its_data_and_its_entry_points(flows: dict[str, Path]) -> None:
    for name, files in {
        TRIAGE: {"triage.yaml", "triage.recording.yaml", "sorter.yaml"},
        MINUTES: {"minutes.yaml", "minutes.recording.yaml", "minutes-style/SKILL.md"},
    }.items():
        package = name.replace("-", "_")
        with zipfile.ZipFile(flows[name]) as archive:
            names = set(archive.namelist())
            points = archive.read(f"{package}-0.1.0.dist-info/entry_points.txt").decode()
        assert {f"{package}/workflows/{file}" for file in files} <= names
        assert f"{package}:workflows" in points


# Above 5 seconds: some twenty commands, each a process of its own, as a person types them.
def test_packages_are_installed_checked_run_upgraded_and_uninstalled(operator: Clean, flows: dict[str, Path]) -> None:
    said = strands(operator, "plugin", "install", str(flows[TRIAGE]), code=2)
    assert "workflow triage: data" in said
    assert "other programs" not in said
    for name in (TRIAGE, MINUTES):
        assert f"installed {name} 0.1.0" in strands(operator, "plugin", "install", str(flows[name]), "--yes")
        assert "no problems" in strands(operator, "plugin", "check", name)
        assert "as they were installed" in strands(operator, "plugin", "verify", name)
    listed = json.loads(operator.run("strands", "plugin", "list", "--json").stdout)["plugins"]
    packaged = {one["name"]: one["packaged"] for one in listed if one["packaged"]}
    assert packaged == {
        TRIAGE: ["agent sorter", "workflow triage"],
        MINUTES: ["skill minutes-style", "workflow minutes"],
    }

    # They run by their names, from their recordings, and write to the caller's folder alone.
    assert "strands-flow-your-triage/triage" in strands(operator, "workflows", "list")
    assert "We are sorry" in strands(operator, "run", f"{TRIAGE}/triage", "--quiet")
    assert "Decided: " in strands(operator, "run", f"{MINUTES}/minutes", "--quiet")
    assert (operator.folder / "artifacts" / "minutes.md").is_file()
    assert "as they were installed" in strands(operator, "plugin", "verify", MINUTES)
    strands(operator, "lock", f"{TRIAGE}/triage")
    strands(operator, "run", f"{TRIAGE}/triage", "--locked")

    said = strands(operator, "plugin", "upgrade", str(flows["later"]), code=2)
    assert f"changes: {FILE} of {TRIAGE}: /agents/writer/prompt was" in said
    upgraded = strands(operator, "plugin", "upgrade", str(flows["later"]), "--yes")
    assert "installed strands-flow-your-triage 0.2.0" in upgraded
    refused = strands(operator, "run", f"{TRIAGE}/triage", code=21)
    assert "is version 0.2.0, locked is 0.1.0" in refused
    assert f"{FILE} of {TRIAGE}: /agents/writer/prompt was" in refused
    strands(operator, "lock", "--update", TRIAGE)
    assert "We are sorry" in strands(operator, "run", f"{TRIAGE}/triage", "--quiet")
    for name in (TRIAGE, MINUTES):
        strands(operator, "plugin", "uninstall", name, "--yes")
    assert not list(operator.site.glob("strands_flow_*"))


@pytest.mark.parametrize("name", ["../../../slipped.yaml", "strands_flow_your_triage/workflows/../../../slipped.yaml"])
def test_a_wheel_with_a_file_that_leaves_it_is_not_installed(
    name: str, operator: Clean, flows: dict[str, Path], tmp_path: Path
) -> None:
    evil = tmp_path / "site" / flows[TRIAGE].name
    evil.parent.mkdir()
    shutil.copyfile(flows[TRIAGE], evil)
    with zipfile.ZipFile(evil, "a") as archive:
        archive.writestr(name, "a: 1\n")
    assert "leaves its folder" in strands(operator, "plugin", "install", str(evil), "--yes", code=3)
    assert not list(tmp_path.rglob("slipped.yaml"))


def test_a_link_in_a_wheel_is_a_file_with_a_path_when_it_is_installed(
    operator: Clean, flows: dict[str, Path], tmp_path: Path
) -> None:
    evil = tmp_path / flows[TRIAGE].name
    link = zipfile.ZipInfo("strands_flow_your_triage/workflows/passwd.yaml")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(flows[TRIAGE]) as sound, zipfile.ZipFile(evil, "w") as archive:
        for member in sound.infolist():
            raw = sound.read(member)
            row = b"strands_flow_your_triage/workflows/passwd.yaml,,\n" if member.filename.endswith("RECORD") else b""
            archive.writestr(member, raw + row)
        archive.writestr(link, "/etc/passwd")
    strands(operator, "plugin", "install", str(evil), "--yes")
    placed = operator.site / "strands_flow_your_triage" / "workflows" / "passwd.yaml"
    assert not placed.is_symlink()
    strands(operator, "plugin", "uninstall", TRIAGE, "--yes")
