from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from strands_cli.cli.program import run_program
from tests.distributions import GROUP, module_source

pytestmark = pytest.mark.wheels

PACKAGES = Path(__file__).parents[2]
FIRST_PARTY = sorted(path.parents[2] for path in PACKAGES.glob("strands-tool-*/src/*/strands_tools.json"))


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    package = tmp_path / "src" / "strands_tool_foo"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(module_source("foo"))
    (tmp_path / "pyproject.toml").write_text(
        f'[project]\nname = "strands-tool-foo"\n[project.entry-points."{GROUP}"]\nfoo = "strands_tool_foo"\n'
    )
    return tmp_path


@dataclass(frozen=True)
class Answer:
    returncode: int
    stdout: str
    stderr: str


class Manifest(Protocol):
    def __call__(self, *arguments: str | Path) -> Answer: ...


@pytest.fixture
def manifest(capsys: pytest.CaptureFixture[str]) -> Manifest:
    def run(*arguments: str | Path) -> Answer:
        code = run_program(["plugin", "manifest", *map(str, arguments)])
        return Answer(code, *capsys.readouterr())

    return run


def test_written_in_the_current_directory_it_passes_the_check(
    manifest: Manifest, plugin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(plugin)
    written = manifest("--write")
    assert (written.returncode, written.stdout.strip()) == (0, str(Path("src/strands_tool_foo/strands_tools.json")))
    assert manifest(plugin, "--check").returncode == 0


def test_without_an_option_it_is_printed_and_nothing_is_written(manifest: Manifest, plugin: Path) -> None:
    done = manifest(plugin)
    assert json.loads(done.stdout)["tools"][0]["name"] == "foo"
    assert not list(plugin.rglob("strands_tools.json"))


def test_drift_exits_3_and_names_the_field(manifest: Manifest, plugin: Path) -> None:
    manifest(plugin, "--write")
    (plugin / "src" / "strands_tool_foo" / "__init__.py").write_text(module_source("foo", "Does more."))
    done = manifest(plugin, "--check")
    assert (done.returncode, done.stdout) == (3, "")
    assert "error[manifest-drift]" in done.stderr
    assert re.search(r'"Does foo\.".*"Does more\."', done.stderr)
    assert "/tools/0/description" in done.stderr


def test_write_and_check_cannot_be_combined(manifest: Manifest, plugin: Path) -> None:
    assert manifest(plugin, "--write", "--check").returncode == 2


def test_a_directory_without_a_plugin_is_refused(manifest: Manifest, tmp_path: Path) -> None:
    done = manifest(tmp_path)
    assert done.returncode == 3
    assert "pyproject.toml" in done.stderr


@pytest.mark.parametrize("directory", FIRST_PARTY, ids=lambda path: path.name)
def test_the_manifests_of_our_own_plugins_say_what_their_code_says(manifest: Manifest, directory: Path) -> None:
    done = manifest(directory, "--check")
    assert done.returncode == 0, done.stderr
