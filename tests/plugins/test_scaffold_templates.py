"""What `strands plugin new` makes builds a wheel with everything in it, which is listed without being imported."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from strands_cli.catalog import discover_catalog
from strands_cli.plugins.scaffold.new_plugin import FORMS, NewPlugin, make_plugin
from strands_cli.plugins.scaffold.plugin_name import name_plugin

pytestmark = pytest.mark.wheels


@pytest.fixture(scope="module", params=FORMS)
def wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the source distribution, with the hatchling of this environment."""
    project = make_plugin(NewPlugin(name_plugin("word_count"), request.param), tmp_path_factory.mktemp("made"))
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(list((project / "dist").glob("*.tar.gz"))) == 1
    (built,) = (project / "dist").glob("*.whl")
    return built


def test_the_wheel_has_the_manifest_the_entry_point_and_the_license(wheel: Path) -> None:
    assert wheel.name == "strands_tool_word_count-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        home = "strands_tool_word_count-0.1.0.dist-info"
        package = {"__init__.py", "word_count.py", "py.typed", "strands_tools.json"}
        assert {f"strands_tool_word_count/{name}" for name in package} <= names
        assert f"{home}/licenses/LICENSE" in names
        assert {name.partition("/")[0] for name in names} == {"strands_tool_word_count", home}
        assert "word_count" in archive.read(f"{home}/entry_points.txt").decode()
        manifest = json.loads(archive.read("strands_tool_word_count/strands_tools.json"))
        assert manifest["distribution"] == "strands-tool-word-count"


def test_the_installed_wheel_is_listed_without_import(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    catalog = discover_catalog([str(tmp_path)])
    tool = catalog.get("word_count")
    assert catalog.findings == ()
    assert tool is not None
    assert (tool.status, tool.distribution, tool.version) == ("available", "strands-tool-word-count", "0.1.0")
    assert not [name for name in sys.modules if name.startswith("strands_tool_word_count")]
