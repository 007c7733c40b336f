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

from strands_cli.catalog.adopted.adopted_file import AdoptedFile, read_adopted
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.catalog.definitions.manifest import CONTRACT, MANIFEST_FORMAT, parse_manifest
from strands_cli.catalog.distributions.scan import search_path
from strands_cli.plugins.adopt.adoption import adopt
from strands_cli.plugins.adopt.candidates import Imports, Survey, survey
from strands_cli.plugins.check.tool_definitions import check_declared

pytestmark = pytest.mark.wheels

PINNED = Path(__file__).with_name("wheels.txt")
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
    catalog = discover_catalog([str(site), *search_path()])
    return {
        name: survey(name, catalog, AdoptedFile(), imports=Imports() if name in IMPORTED else None) for name in NAMES
    }


@pytest.fixture(scope="module")
def adopted(site: Path, surveys: dict[str, Survey], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a configuration folder whose adoption file has every tool of every distribution."""
    folder = tmp_path_factory.mktemp("config")
    path = folder / "strands-cli" / "strands-adopted.json"
    catalog = discover_catalog([str(site), *search_path()])
    for name, found in surveys.items():
        chosen = survey(name, catalog, read_adopted(path)[0], imports=Imports() if name in IMPORTED else None).adoptable
        assert len(chosen) == len(found.adoptable)
        adopt(path, name, chosen, catalog.seen, adds=False)
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
        definition = one.definition
        members = definition.pop("members", {}) or {one.name: definition}
        for key, member in members.items():
            tool = json.loads(json.dumps({"name": key, "entry": one.entry, **member}))
            faults = [finding for finding in check_declared(tool, "", "") if finding.severity == "error"]
            assert faults == []
            document = {"manifest_version": MANIFEST_FORMAT, "api": {"min": CONTRACT, "max": CONTRACT}}
            raw = json.dumps({**document, "distribution": name, "tools": [tool]}).encode()
            manifest, findings = parse_manifest(raw, "made", name)
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
