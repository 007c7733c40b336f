"""Where a distribution may lie: what is listed from there is what is called."""

from __future__ import annotations

import asyncio
import zipfile
from pathlib import Path
from typing import Any

import pytest

from strands_cli import app
from strands_cli.catalog.catalog import Catalog, discover_catalog
from strands_cli.planning.machine.installation import read_installation
from strands_cli.policy.decision import Policy
from tests.distributions import make_distribution, manifest_of, module_source, sound, tool


def called(catalog: Catalog, ref: str) -> str:
    planned = app.plan_tool(ref, read_installation(policy=Policy(), catalog=catalog))
    result = asyncio.run(app.run_tool(planned, {"text": "hi"}))
    assert result["status"] == "success", result
    return str(result["content"][0]["text"])


def on_path(monkeypatch: pytest.MonkeyPatch, *places: Path) -> Catalog:
    for place in reversed(places):
        monkeypatch.syspath_prepend(str(place))
    return discover_catalog([str(place) for place in places])


def test_a_zip_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound(tmp_path / "tree", "zipped")
    archive = tmp_path / "tools.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        for file in sorted((tmp_path / "tree").rglob("*")):
            opened.write(file, file.relative_to(tmp_path / "tree"))
    assert called(on_path(monkeypatch, archive), "native:zipped") == "{'text': 'hi'}"


def test_two_distributions_in_one_namespace_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("left", "right"):
        distribution, module = f"strands-tool-{name}", f"shared_tools.{name}"
        files: dict[str, Any] = {f"shared_tools/{name}/__init__.py": module_source(name)}
        make_distribution(tmp_path / name, distribution, "1.0", {name: module}, files)
    catalog = on_path(monkeypatch, tmp_path / "left", tmp_path / "right")
    assert [called(catalog, f"native:{name}") for name in ("left", "right")] == ["{'text': 'hi'}"] * 2


def test_the_copy_that_counts_is_the_one_that_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for version, place in (("1.0", "first"), ("2.0", "second")):
        source = module_source("twice").replace("str(tool['input'])", repr(version))
        package = "strands_tool_twice"
        manifest = manifest_of("strands-tool-twice", tool("twice", package))
        files = {f"{package}/__init__.py": source}
        make_distribution(tmp_path / place, "strands-tool-twice", version, {"twice": package}, files, manifest)
    catalog = on_path(monkeypatch, tmp_path / "first", tmp_path / "second")
    [record] = [record for record in catalog.tools if record.name == "twice"]
    assert (record.version, called(catalog, "native:twice")) == ("1.0", "1.0")


def test_what_is_left_of_an_uninstalled_one_is_reported_and_hides_no_one(tmp_path: Path) -> None:
    sound(tmp_path, "whole")
    record = sound(tmp_path, "half")
    for file in (tmp_path / "strands_tool_half").iterdir():
        file.unlink()
    (tmp_path / "strands_tool_half").rmdir()
    gone = sound(tmp_path, "gone")
    (gone / "entry_points.txt").unlink()
    catalog = discover_catalog([str(tmp_path)])
    assert {one.name: one.status for one in catalog.tools} == {"whole": "available", "half": "broken"}
    [finding] = catalog.findings
    assert (finding.code, record.exists()) == ("missing-module", True)
