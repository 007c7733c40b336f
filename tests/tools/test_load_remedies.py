"""The fix of a tool that cannot be loaded names what is there: an extra, the tools of the module, the decorator."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.strands import Folder, Ran

TOOL = 'from strands import tool\n\n\n@tool\ndef {}(x: str = "") -> str:\n    """Do it."""\n    return "done"\n\n\n'
METADATA = """\
Metadata-Version: 2.1
Name: strands-agents-tools
Version: 0.8.10
Provides-Extra: rss
Provides-Extra: feeds-and-more
Requires-Dist: feed-parser; extra == 'feeds-and-more'
Requires-Dist: feed-parser; extra == 'rss'
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    site.mkdir()
    record = site / "strands_agents_tools-0.8.10.dist-info"
    record.mkdir()
    (record / "METADATA").write_text(METADATA)
    package = site / "strands_tools"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "rss.py").write_text("import feed_parser\n" + TOOL.format("rss"))
    (site / "own.py").write_text(TOOL.format("shout") + TOOL.format("whisper") + "def plain(text): ...\n")
    (site / "bare.py").write_text("def plain(text): ...\n")
    described = 'TOOL_SPEC = {"name": "query", "description": "q", "inputSchema": {"json": {"type": "object"}}}\n'
    answer = 'def query(tool, **kwargs):\n    return {"status": "success", "content": [{"text": "done"}]}\n'
    inner = site / "described"
    inner.mkdir()
    (inner / "__init__.py").write_text("from described.database import query\n")
    (inner / "database.py").write_text(described + answer)
    return site


def call(site: Path, ref: str) -> Ran:
    folder = Folder(
        site.parent,
        {"STRANDS_CUSTOM_TOOL_ALLOWLIST": "own:*,bare:*,described:*,described.*,nowhere:*,lacking:*,lacking.*"},
    )
    folder.work.mkdir(exist_ok=True)
    return folder.strands("tools", "run", ref, "--input", "{}")


def fix_of(site: Path, ref: str) -> str:
    ran = call(site, ref)
    assert ran.code == 18, ran.out + ran.err
    found = re.search(r"fix: (.*)", ran.err)
    assert found, ran.err
    return found[1]


def test_a_missing_extra_is_named(site: Path) -> None:
    assert fix_of(site, "strands_tools.rss") == "pip install 'strands-agents-tools[rss]'"


def test_another_object_is_answered_with_the_tools_beside_it(site: Path) -> None:
    fixes = {fix_of(site, ref) for ref in ("own:plain", "own:nothing")}
    assert fixes == {"name one: own:shout, own:whisper"}
    for name in ("own:shout", "own:whisper"):
        assert call(site, name).code == 0


def test_a_function_that_its_package_passes_on_is_named_where_it_is_described(site: Path) -> None:
    name = fix_of(site, "described:query").removeprefix("name one: ")
    assert name == "described.database:query"
    assert call(site, name).code == 0


def test_a_function_without_the_decorator_has_it_as_its_fix(site: Path) -> None:
    assert "@tool" in fix_of(site, "bare:plain")


@pytest.mark.parametrize(
    ("ref", "fix"),
    [
        ("nowhere:x", "python_path"),
        ("lacking:x", "correct the module lacking"),
        ("lacking.sub:x", "the module lacking.sub"),
    ],
)
def test_custom_python_that_cannot_be_imported_is_corrected_and_not_upgraded(site: Path, ref: str, fix: str) -> None:
    (site / "lacking").mkdir()
    (site / "lacking" / "__init__.py").write_text("import no_such_dependency\n")
    assert fix in fix_of(site, ref)
    assert "custom" not in call(site, ref).err
