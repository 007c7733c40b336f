"""Somebody else's plugin, from its wheel to its removal, in an environment without the source tree."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.wheels.clean import CLONE, UV, Clean, build, make_clean

pytestmark = pytest.mark.wheels

UNITS = CLONE / "examples" / "plugins" / "strands-tool-your-units"
OLD, NEW = "Convert an amount from one unit to another of the same kind", "Convert amounts, and say nothing of rounding"
WORKFLOW = """\
version: 2
name: trip
runtime: {provider: replay, recording: trip.recording.yaml}
tools:
  python:
    - tool: native:units
      config: {units: {smoot: "1.702 m"}}
agents:
  guide: {prompt: You convert.}
pattern:
  type: chain
  config:
    steps:
      - {agent: guide, input: How long is the bridge in metres?}
"""
RECORDING = """\
recording: 1
steps:
  steps.0:
    - calls: [{define_unit: {name: bridge, amount: 364.4, unit: smoot}}]
    - calls: [{convert: {amount: 1, source: bridge, target: m}}]
    - when: "convert: success"
      text: It is 620.2088 m.
"""


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build the plugin, and a later version in which one tool is described otherwise and another one is new."""
    root = tmp_path_factory.mktemp("units")
    later = root / "later" / UNITS.name
    shutil.copytree(UNITS, later, ignore=shutil.ignore_patterns("__pycache__"))
    package = later / "src" / "strands_tool_your_units"
    changes = [("__init__.py", '"0.1.0"', '"0.2.0"'), ("units.py", OLD, NEW), ("strands_tools.json", OLD, NEW)]
    for name, old, new in changes:
        text = (package / name).read_text(encoding="utf-8")
        assert old in text
        (package / name).write_text(text.replace(old, new), encoding="utf-8")
    for place, target in ((UNITS, root / "one"), (later, root / "two")):
        target.mkdir()
        build(place, target)
    (first,), (second,) = (root / "one").glob("*.whl"), (root / "two").glob("*.whl")
    return first, second


@pytest.fixture(scope="module")
def operator(wheels: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Clean:
    """Return an environment with our wheels, those of plugin indexes too, whose commands find uv and no network."""
    made = make_clean(tmp_path_factory.mktemp("operator"), wheels, "strands-cli-index")
    (made.scripts / "uv").symlink_to(Path(shutil.which(UV) or UV).resolve())
    (made.folder / "trip.yaml").write_text(WORKFLOW, encoding="utf-8")
    (made.folder / "trip.recording.yaml").write_text(RECORDING, encoding="utf-8")
    return made


def strands(place: Clean, *words: str, code: int = 0) -> str:
    """Run `strands` offline and return what it says on both streams."""
    ran = place.run("strands", *words, code=code, UV_OFFLINE="1")
    return ran.stdout + ran.stderr


# Above 5 seconds: some twenty commands, each a process of its own, as an operator types them.
def test_a_plugin_is_installed_allowed_locked_run_upgraded_and_uninstalled(
    operator: Clean, versions: tuple[Path, Path]
) -> None:
    first, second = map(str, versions)
    policy = operator.folder / "strands-policy.yaml"

    # The name in a workflow does not say what to install; while policy denies the distribution, it is not installed.
    missing = strands(operator, "run", "trip.yaml", code=3)
    assert "unknown-tool" in missing
    assert "pip install strands-tool-your-units" not in missing
    policy.write_text('version: 1\nrules:\n  - {deny: "*", distribution: strands-tool-your-units, reason: ask Ada}\n')
    assert "ask Ada" in strands(operator, "plugin", "install", first, "--yes", code=21)

    # Shown first, and nothing happens unless somebody says yes.
    policy.unlink()
    said = strands(operator, "plugin", "install", first, code=2)
    assert "tool units.convert: Convert an amount" in said
    assert "tool units.define_unit: " in said
    assert "--yes" in said
    assert "strands-tool-your-units" not in strands(operator, "plugin", "list")
    assert "installed strands-tool-your-units 0.1.0" in strands(operator, "plugin", "install", first, "--yes")
    listed = json.loads(operator.run("strands", "plugin", "list", "--json").stdout)["plugins"]
    assert [one["sources"] for one in listed if one["name"] == "strands-tool-your-units"] == [["archive"]]
    assert "units" in strands(operator, "list-tools")
    assert "as they were installed" in strands(operator, "plugin", "verify", "strands-tool-your-units")
    answer = strands(
        operator, "tools", "run", "native:units.convert", "--input", '{"amount": 26.2, "source": "mi", "target": "km"}'
    )
    assert "42.1648128 km" in answer

    # What policy denies does not run, what it allows does not ask.
    policy.write_text("version: 1\nrules:\n  - {deny: 'native:units.define_unit', reason: no new units}\n")
    assert "no new units" in strands(operator, "run", "trip.yaml", code=21)
    policy.write_text("version: 1\nrules:\n  - allow: native:strands-tool-your-units/units.define_unit\n")
    strands(operator, "lock")
    named = ("trip.yaml", "--policy", "strands-policy.yaml")
    waits = strands(operator, "run", "trip.yaml", code=19)
    assert "/approval  Allow guide to call define_unit of strands-tool-your-units?" in waits, (
        "a file that nobody named allows nothing"
    )
    assert "--allow define_unit" in waits
    assert "denied: define_unit" in strands(operator, "run", "trip.yaml", "--deny", code=10)
    assert "620.2088 m" in strands(operator, "run", *named, "--locked")

    # One byte more: the lock refuses it, and `verify` names the file.
    code = operator.site / "strands_tool_your_units" / "scale.py"
    sound = code.read_bytes()
    code.write_bytes(sound + b"#")
    assert "scale.py" in strands(operator, "run", "trip.yaml", code=21)
    assert "scale.py" in strands(operator, "plugin", "verify", "strands-tool-your-units", code=3)
    code.write_bytes(sound)
    strands(operator, "run", *named)

    # A later version says in advance what its tools would tell a model; the lock refuses it until that was read.
    said = strands(operator, "plugin", "upgrade", second, code=2)
    assert "changes: 'units.convert' of strands-tool-your-units: description was" in said
    assert NEW[:20] in said
    assert "strands lock --update strands-tool-your-units" in strands(operator, "plugin", "upgrade", second, "--yes")
    refused = strands(operator, "run", "trip.yaml", code=21)
    assert "is version 0.2.0, locked is 0.1.0" in refused
    assert NEW[:20] in refused
    strands(operator, "lock", "--update", "strands-tool-your-units")
    assert "620.2088 m" in strands(operator, "run", *named)

    # Gone: the command named before what needs it, and a run names afterwards how to get it back.
    said = strands(operator, "plugin", "uninstall", "strands-tool-your-units", "--yes")
    assert "trip.yaml uses convert, define_unit, list_units" in said
    gone = strands(operator, "run", "trip.yaml", code=3)
    assert "strands-tool-your-units 0.2.0" in gone
    assert "pip install" not in gone, "a lock may name a stranger's distribution"
    assert not (operator.site / "strands_tool_your_units").exists()


def test_its_own_tests_pass_against_the_wheel(versions: tuple[Path, Path], tmp_path: Path) -> None:
    zipfile.ZipFile(versions[0]).extractall(tmp_path / "site")
    shutil.copytree(UNITS / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", "tests"]
    environment = {"PYTHONPATH": str(tmp_path / "site"), "PATH": str(Path(sys.executable).parent)}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
