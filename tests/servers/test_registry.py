"""A server that others have made, installed from the package index into an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.conftest import Site

pytestmark = pytest.mark.wheels

SERVER = "mcp-server-time==2026.10.19"


@pytest.fixture(scope="module")
def clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the server; where no index can be reached, skip (but not in CI)."""
    place = tmp_path_factory.mktemp("clock") / "env"
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if uv is None:
        pytest.skip("uv is not installed")
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, place], check=True, timeout=300)
    install = [uv, "pip", "install", "--quiet", "--python", str(place), SERVER]
    done = subprocess.run(install, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode and not os.environ.get("CI"):
        pytest.skip(f"the package index cannot be reached: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    return place / "bin" / "mcp-server-time"


def test_a_server_from_the_index_is_used(site: Site, clock: Path) -> None:
    site.servers.append({"id": "clock", "command": str(clock), "args": ["--local-timezone", "UTC"]})
    call = {"source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    ran = site.run(("convert_time", call), ("convert_time", {**call, "time": "25:00"}))
    assert ran.error is None, ran.error
    assert site.world.tools(0) == ["get_current_time", "convert_time"]
    converted, wrong = site.results()
    assert "Asia/Tokyo" in converted
    assert "+0" in converted
    assert "Invalid time format" in wrong
