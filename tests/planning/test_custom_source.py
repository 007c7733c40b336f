"""Custom Python is read before its import: its settings, and the names that its module has."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli import app
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.config import Settings
from strands_cli.errors import Finding
from strands_cli.planning.resolve.custom_tools import is_absent
from tests.distributions import sound

ALLOWED = ("own:*", "deep.inner:*", "loud:*", "dynamic:*", "broken:*")
SEVERAL = """\
raise SystemExit("imported")
from strands import tool

@tool
def shout(text: str) -> str:
    \"""Shout.\"""

@tool
def whisper(text: str) -> str:
    \"""Whisper.\"""
"""
WITH_SETTINGS = """\
raise SystemExit("imported")
TOOL_SPEC = {
    "name": "loud",
    "description": "Loud.",
    "inputSchema": {"json": {"type": "object", "properties": {}}},
    "config_schema": {"type": "object", "properties": {"volume": {"type": "integer"}}, "additionalProperties": False},
}
def loud(tool, **kwargs): ...
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    sound(tmp_path / "site", "shoot")
    (tmp_path / "lib" / "deep").mkdir(parents=True)
    (tmp_path / "lib" / "deep" / "__init__.py").write_text("raise SystemExit('imported')")
    (tmp_path / "lib" / "deep" / "inner.py").write_text(SEVERAL)
    (tmp_path / "lib" / "own.py").write_text(SEVERAL)
    (tmp_path / "lib" / "loud.py").write_text(WITH_SETTINGS)
    (tmp_path / "lib" / "dynamic.py").write_text("globals()['made'] = 1\n")
    (tmp_path / "lib" / "broken.py").write_text("def (:\n")
    return tmp_path


def planned(folder: Path, tool: str, rest: str = "") -> list[Finding]:
    text = f"""\
version: 2
name: flow
runtime: {{provider: ollama, model_id: m}}
tools: {{python_path: [lib], python: [{tool}]}}
agents: {{a: {{prompt: A}}}}
pattern: {{type: chain, config: {{steps: [{{agent: a, input: go}}]}}}}
{rest}"""
    settings = Settings(folder / "runs", custom_tools=ALLOWED)
    catalog = discover_catalog([str(folder / "site")])
    return list(app.plan("flow.yaml", text=text, catalog=catalog, settings=settings).findings)


def test_a_module_with_several_tools_is_answered_with_their_names(folder: Path) -> None:
    (finding,) = planned(folder, "own")
    assert (finding.code, finding.fix) == ("unknown-tool", "name its tool: own:shout or own:whisper")


@pytest.mark.parametrize(
    ("tool", "fix"),
    [
        ("'own:shuot'", "did you mean 'own:shout'?"),
        ("own.shuot", "did you mean 'own:shout'?"),
        ("'deep.inner:whsiper'", "did you mean 'deep.inner:whisper'?"),
        ("'own:xyz'", "it has: own:shout, own:whisper"),
    ],
)
def test_a_name_that_its_module_does_not_have_is_an_error_with_those_it_has(folder: Path, tool: str, fix: str) -> None:
    (finding,) = planned(folder, tool)
    assert (finding.code, finding.severity, finding.fix) == ("unknown-tool", "error", fix)
    assert finding.where is not None
    assert finding.where.pointer == "/tools/python/0"


@pytest.mark.parametrize("tool", ["'own:shout'", "'deep.inner:shout'", "'dynamic:made'", "'broken:x'"])
def test_what_exists_and_what_only_the_import_shows_has_no_finding(folder: Path, tool: str) -> None:
    assert planned(folder, tool) == []


def test_settings_of_custom_python_are_checked_by_the_schema_in_its_source(folder: Path) -> None:
    assert planned(folder, "{tool: 'loud:loud', config: {volume: 3}}") == []
    for config in ("{volmue: 3}", "{volume: x}"):
        (finding,) = planned(folder, f"{{tool: 'loud:loud', config: {config}}}")
        assert (finding.code, finding.fix) == ("tool-config", "its settings: volume")


def test_a_rule_on_custom_python_is_not_answered_with_an_unrelated_tool(folder: Path) -> None:
    (finding,) = planned(folder, "'own:shout'", "security: {permissions: {deny: ['own:shot', 'other:shout']}}\n")[1:]
    assert finding.fix == "see the names: strands list-tools"


def test_a_module_beside_the_workflow_that_a_run_would_not_find_is_an_error(folder: Path) -> None:
    (folder / "beside.py").write_text(SEVERAL)
    (finding,) = [one for one in planned(folder, "'beside:shout'") if one.code == "unknown-tool"]
    assert (finding.severity, finding.fix) == ("error", "write `tools: {python_path: [., lib]}`")
    assert "unknown-tool" not in [
        one.code for tool in ("sys:x", "pytest:fixture") for one in planned(folder, f"'{tool}'")
    ]


@pytest.mark.parametrize("module", ["nowhere", "deep.nowhere", "own.nowhere", "json.nowhere"])
def test_a_module_that_is_nowhere_is_an_error_of_the_plan_and_a_warning_of_the_file(folder: Path, module: str) -> None:
    found = [one for one in planned(folder, f"'{module}:shout'") if one.code in ("unknown-tool", "custom-tool-denied")]
    assert [(one.code, one.severity) for one in found] == [("unknown-tool", "error")]
    assert f"'{module}'" in found[0].message


@pytest.mark.parametrize("module", ["os.path", "xml.etree.ElementTree", "time", "importlib.machinery", "making.made"])
def test_a_module_that_may_be_somewhere_is_not_reported(folder: Path, module: str) -> None:
    (folder / "lib" / "making.py").write_text("import sys\nsys.modules['making.made'] = sys\n")
    assert not is_absent(module, [str(folder / "lib")])


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("dinamic:shout", "dynamic"),
        ("tool:shoot", "native:shoot"),
        ("native.shoot", "native:shoot"),
        ("Tools:Shoot", "native:shoot"),
        ("Native:Shoot", "native:shoot"),
    ],
)
def test_what_a_reference_to_no_module_may_mean_is_suggested(folder: Path, written: str, meant: str) -> None:
    assert f"did you mean '{meant}'?" in [one.fix for one in planned(folder, f"'{written}'")]


OF_CLASSES = """\
from strands import tool
class Shelf:
    extra = 1
    def __init__(self): ...
    @tool
    def put(self, thing: str) -> str:
        'Put.'
class Plain:
    def make(self): ...
    made = staticmethod(make)
class Derived(Plain): ...
Plain.late = 1
if extra := 1:
    try: from json import loads as read
    except ImportError: ...
"""


@pytest.mark.parametrize(
    ("attribute", "is_missing"),
    [
        *((name, True) for name in ("gone", "Shelf.nope", "Shelf.__init__", "Plain.nope", "Plain.make")),
        *((name, False) for name in ("extra", "read", "Shelf", "Shelf.extra", "Plain.made", "Plain.late")),
        *((name, False) for name in ("Derived.make", "Plain.made.deep")),
    ],
)
def test_an_attribute_that_the_source_surely_lacks_is_an_error(folder: Path, attribute: str, is_missing: bool) -> None:
    (folder / "lib" / "own.py").write_text(OF_CLASSES)
    found = [one.code for one in planned(folder, f"'own:{attribute}'")]
    assert found == (["unknown-tool"] if is_missing else [])


@pytest.mark.parametrize("line", ["globals()['gone'] = 1", "from json import *", "def __getattr__(name): ...", "("])
def test_a_module_that_may_bind_more_than_its_source_shows_is_not_reported(folder: Path, line: str) -> None:
    (folder / "lib" / "own.py").write_text(f"{line}\n")
    assert planned(folder, "'own:gone'") == []
