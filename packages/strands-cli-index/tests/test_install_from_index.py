"""The whole way with the real pip and a web server on loopback: build, search, install, upgrade, other bytes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from index_kit import built, of_folder, serving

from tests.distributions.wheels import tool_wheel

pytestmark = pytest.mark.wheels


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with pip, which sees what is installed here."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=True)
    (site,) = folder.glob("lib/python*/site-packages")
    added = [path for path in sys.path if path.endswith("site-packages")]
    lines = [f"import site; site.addsitedir({path!r})" for path in added]
    (site / "here.pth").write_text("\n".join(lines) + "\n")
    return folder / "bin" / "python"


def test_a_plugin_is_found_installed_and_upgraded_from_a_server(python: Path, tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    tool_wheel(wheels, "zeppelin", annotations={"readOnlyHint": True})
    built(wheels, tmp_path / "site")
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    environ = {**kept, "HOME": str(home), "PIP_INDEX_URL": "http://127.0.0.1:9/simple/"}

    def strands(*words: str, code: int = 0) -> str:
        ran = subprocess.run(
            [python, "-m", "strands_cli", "plugin", *words],
            cwd=home,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout + ran.stderr

    with serving(of_folder(tmp_path / "site")) as server:
        config = home / ".config" / "strands-cli" / "config.yaml"
        config.parent.mkdir(parents=True)
        config.write_text(f"version: 1\nindexes: ['{server.url}']\n")
        assert "strands plugin install strands-tool-zeppelin\n" in strands("search", "zeppelin")
        strands("install", "strands-tool-zeppelin", "--yes")
        assert "strands-tool-zeppelin 1.0 (installed)" in strands("search", "zeppelin")
        tool_wheel(wheels, "zeppelin", "2.0")
        built(wheels, tmp_path / "site")
        assert "readOnlyHint" in strands("upgrade", "strands-tool-zeppelin", "--yes")
        (wheel,) = (tmp_path / "site" / "wheels").glob("*-1.0-*")
        wheel.write_bytes(wheel.read_bytes()[:-1] + b"x")
        assert "index-untrue" in strands("install", "strands-tool-zeppelin==1.0", "--yes", code=21)
    listed = json.loads(strands("list", "--json"))["plugins"]
    assert [one["version"] for one in listed if one["name"] == "strands-tool-zeppelin"] == ["2.0"]
    site = tmp_path / "site" / "simple"
    command = [
        python,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "--index-url",
        site.as_uri(),
        "-d",
        str(tmp_path / "got"),
    ]
    subprocess.run([*command, "strands-tool-zeppelin"], env={**kept, "HOME": str(home)}, check=True)
    assert [path.name for path in (tmp_path / "got").iterdir()] == ["strands_tool_zeppelin-2.0-py3-none-any.whl"]
