"""The fix of a name that means nothing here: it names what exists, and never installs what only a workflow names."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.catalog.tool_record import ToolRecord, first_party
from strands_cli.errors import Finding
from tests.distributions import broken_manifest, make_distribution, sound

CLONE = Path(__file__).parent.parent.parent
INSTALL = re.compile(r"pip install (?:--[a-z-]+ )*'?([A-Za-z0-9_.-]+)")
NAMES = st.from_regex(r"[a-z][a-z0-9_-]{0,20}", fullmatch=True)


def fix_of(ref: str, *site: Path) -> str:
    found = discover_catalog([str(folder) for folder in site]).lookup(ref)
    assert isinstance(found, Finding), found
    assert found.fix is not None, found.message
    return found.fix


@given(
    NAMES, st.sampled_from(["native:{}", "{}", "native:{0}/{0}", "strands_tools.{}", "native:{0}.{0}", "native:{}@>=1"])
)
def test_no_name_of_a_workflow_is_installed(name: str, form: str) -> None:
    known = {"strands-agents-tools", *first_party().values()}
    found = discover_catalog([]).lookup(form.format(name))
    assert isinstance(found, Finding)
    assert set(INSTALL.findall(found.fix or "")) <= known


def test_a_first_party_tool_is_installed_by_its_distribution(tmp_path: Path) -> None:
    for path in CLONE.glob("packages/strands-tool-*/src/*/strands_tools.json"):
        manifest = json.loads(path.read_text("utf-8"))
        for tool in manifest["tools"]:
            assert fix_of(f"native:{tool['name']}", tmp_path) == f"pip install {manifest['distribution']}"


def test_a_distribution_in_place_of_a_tool_is_answered_with_its_tools(tmp_path: Path) -> None:
    sound(tmp_path, "file_read")
    assert "native:file_read" in fix_of("native:strands-tool-file-read", tmp_path)
    assert fix_of("native:files.file_read", tmp_path) == "did you mean 'native:file_read'?"


@pytest.mark.parametrize(
    ("origin", "fix"),
    [
        ({"dir_info": {"editable": True}}, "correct it in file:///srv/mine"),
        ({"dir_info": {}}, "install it again from file:///srv/mine"),
    ],
)
def test_what_was_not_installed_from_an_index_is_not_repaired_from_one(
    tmp_path: Path, origin: dict[str, Any], fix: str
) -> None:
    broken_manifest(tmp_path, "broken")
    make_distribution(tmp_path, "strands-tool-gone", "1.0", {"gone": "strands_tool_gone.gone"}, {})
    for record in tmp_path.glob("*.dist-info"):
        (record / "direct_url.json").write_text(json.dumps({"url": "file:///srv/mine", **origin}))
    catalog = discover_catalog([str(tmp_path)])
    assert fix_of("native:gone", tmp_path) == fix
    assert [one.fix for one in catalog.findings if one.code == "missing-module"] == [fix]
    sound(tmp_path, "old")
    assert "pip install" in fix_of("native:old@>=99", tmp_path)
    (record,) = tmp_path.glob("strands_tool_old*.dist-info")
    (record / "direct_url.json").write_text(json.dumps({"url": "file:///srv/mine", **origin}))
    assert fix_of("native:old@>=99", tmp_path).startswith("get >=99 from file:///srv/mine")


def test_what_does_not_work_here_has_a_fix(tmp_path: Path) -> None:
    broken_manifest(tmp_path, "broken")
    sound(tmp_path, "poor", requires={"env": ["SOME_VARIABLE"], "distributions": ["other>=2"], "modules": ["no_such"]})
    # The author has to correct it; installing it again changes nothing.
    assert fix_of("native:broken", tmp_path).endswith("strands plugin manifest --write")
    fix = fix_of("native:poor", tmp_path)
    assert fix == "export SOME_VARIABLE=...; pip install 'other>=2'; install what provides the module 'no_such'"


@pytest.mark.parametrize("ref", ["mcp:files/read", "agent:writer", "workflow:inner.yaml", "acme.text:shout"])
def test_a_reference_to_another_place_says_which(ref: str, tmp_path: Path) -> None:
    assert "strands " in fix_of(ref, tmp_path)


TOOL = 'from strands import tool\n\n@tool\ndef {}(x: str) -> str:\n    """Do it."""\n    return x\n\n'


@pytest.fixture
def older(tmp_path: Path) -> Path:
    files = {
        "strands_tools/__init__.py": "",
        "strands_tools/shell.py": TOOL.format("shell"),
        "strands_tools/tavily.py": TOOL.format("tavily_search") + TOOL.format("tavily_map"),
    }
    make_distribution(tmp_path, "strands-agents-tools", "0.8.10", {}, files)
    return tmp_path


def test_a_module_with_several_tools_is_answered_with_their_names(older: Path) -> None:
    fix = fix_of("strands_tools.tavily", older)
    names = fix.removeprefix("name one: ").split(", ")
    assert names == ["strands_tools.tavily.tavily_search", "strands_tools.tavily.tavily_map"]
    for name in names:
        assert isinstance(discover_catalog([str(older)]).lookup(name), ToolRecord), name


def test_a_misspelt_module_of_the_older_collection_is_answered_with_the_right_one(older: Path) -> None:
    assert fix_of("strands_tools.shel", older) == "did you mean 'strands_tools.shell'?"
