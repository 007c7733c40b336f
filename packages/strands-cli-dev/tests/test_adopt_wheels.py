"""Twenty packages from the index, by authors who do not know this program: all of their tools can be adopted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from strands_cli import discover_catalog
from strands_cli.api import AdoptedFile, Manifest
from strands_cli_dev.adoption.adoption_file import adopt
from strands_cli_dev.adoption.candidates import Imports, Survey, survey
from strands_cli_dev.plugin_check.tool_definitions import check_declared

pytestmark = pytest.mark.wheels

PINNED = Path(__file__).with_name("adopted_wheels.txt")
NAMES = [line.partition("==")[0] for line in PINNED.read_text().splitlines() if "==" in line]
IMPORTED = {"headless-oracle-strands", "strands-xa11y"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheels as pip would lay them out, fetched by pip with their hashes."""
    cache = Path(tempfile.gettempdir()) / "strands-cli-adopted-wheels"
    cache.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    options = ["--disable-pip-version-check", "--require-hashes", "--dest", str(cache), "--requirement", str(PINNED)]
    subprocess.run([*command, *options], check=True, timeout=600)
    folder = tmp_path_factory.mktemp("site")
    wheels = {path.name.split("-")[0].replace("_", "-").lower(): path for path in cache.glob("*.whl")}
    for name in NAMES:
        with zipfile.ZipFile(wheels[name]) as wheel:
            wheel.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def surveys(site: Path) -> dict[str, Survey]:
    """Return what there is to adopt of each distribution, each in a catalog of its own names."""
    return {name: surveyed(site, name, AdoptedFile()) for name in NAMES}


def surveyed(site: Path, name: str, file: AdoptedFile) -> Survey:
    taken = {record.name for record in discover_catalog().tools if record.distribution not in NAMES}
    return survey(name, file, taken, path=[str(site), *sys.path], imports=Imports() if name in IMPORTED else None)


@pytest.fixture(scope="module")
def adopted(site: Path, surveys: dict[str, Survey], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a configuration folder whose adoption file has every tool of every distribution."""
    folder = tmp_path_factory.mktemp("config")
    path = folder / "strands-cli" / "strands-adopted.json"
    sys.path.insert(0, str(site))
    try:
        for name, found in surveys.items():
            chosen = surveyed(site, name, AdoptedFile.read(path)[0]).adoptable
            assert len(chosen) == len(found.adoptable)
            adopt(path, name, chosen, adds=False)
    finally:
        sys.path.remove(str(site))
    return folder


def test_there_are_twenty() -> None:
    assert len(NAMES) == len(set(NAMES)) == 20
    assert len(set(NAMES) - IMPORTED) >= 17


@pytest.mark.parametrize("name", NAMES)
def test_its_tools_can_be_adopted(name: str, surveys: dict[str, Survey]) -> None:
    found = surveys[name]
    assert found.adoptable
    # What cannot be adopted must be made by its own code, or has a class of its own as its input.
    assert all(
        "code must make it" in (one.problem or "does not show it") or "does not show it" in (one.problem or "")
        for one in found.candidates
        if one.problem
    )
    assert all(one.imported is (name in IMPORTED) for one in found.adoptable)
    single = [one for one in found.adoptable if not one.tool.members]
    assert all(one.tool.description and one.tool.input_schema for one in single)


@pytest.mark.parametrize("name", NAMES)
def test_its_tools_pass_the_static_part_of_the_check(name: str, surveys: dict[str, Survey]) -> None:
    for one in surveys[name].adoptable:
        definition = one.tool.definition
        members = definition.pop("members", {}) or {one.name: definition}
        for key, member in members.items():
            tool = json.loads(json.dumps({"name": key, "entry": one.entry, **member}))
            faults = [finding for finding in check_declared(tool, "", "") if finding.severity == "error"]
            assert faults == []
            manifest, findings = Manifest.parse(json.dumps(Manifest.document(name, [tool])).encode(), "made", name)
            assert manifest is not None, findings


def test_the_file_is_read_back_and_every_tool_is_listed(adopted: Path, site: Path, surveys: dict[str, Survey]) -> None:
    listed = _list(adopted, site)
    mine = [tool for tool in listed["tools"] if tool["distribution"] in NAMES]
    assert {tool["distribution"] for tool in mine} == set(NAMES)
    assert [(tool["name"], tool["reason"]) for tool in mine if tool["status"] != "available"] == []
    assert len(mine) == sum(len(found.adoptable) for found in surveys.values())


def _list(config: Path, site: Path, *options: str) -> Any:
    command = [sys.executable, "-X", "importtime", "-m", "strands_cli", "list-tools", "--json", *options]
    environ = {**os.environ, "PYTHONPATH": str(site), "XDG_CONFIG_HOME": str(config)}
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, check=False, timeout=300)
    assert ran.returncode == 0, ran.stderr[-2_000:]
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in ran.stderr.splitlines()}
    packages = {path.name.removesuffix(".py") for path in site.iterdir() if not path.name.endswith(".dist-info")}
    assert imported & {*packages, "strands", "pydantic", "jsonschema", "docstring_parser"} == set()
    return json.loads(ran.stdout)
