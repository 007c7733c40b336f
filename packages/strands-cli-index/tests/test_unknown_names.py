"""A name that is not installed: the fix is a search of the person's indexes, which has the command that installs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from index_kit import a_tool, write_searched

from strands_cli.api import Finding
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.catalog.resolution import lookup
from tests.cli.strands import Folder

# They make wheels, indexes or keys.
pytestmark = pytest.mark.wheels

SEARCHED = {"native:zeppelin": "zeppelin", "native:strands-tool-zeppelin/zeppelin": "strands-tool-zeppelin"}


@pytest.mark.parametrize("ref", SEARCHED)
def test_the_fix_searches_for_what_the_workflow_names(ref: str) -> None:
    found = lookup(discover_catalog(), ref)
    assert isinstance(found, Finding)
    assert f"strands plugin search {SEARCHED[ref]})" in (found.fix or "")


@pytest.mark.parametrize("adopt", [False, True])
def test_plan_and_validate_name_a_search_that_has_the_command(tmp_path: Path, *, adopt: bool) -> None:
    line = {"name": "strands-tool-zeppelin", "tools": [a_tool("zeppelin")], "adopt": adopt}
    index = write_searched(tmp_path / "site", line)
    folder = Folder(tmp_path / "person")
    folder.work.mkdir(parents=True)
    home = folder.root / "home" / ".config" / "strands-cli"
    home.mkdir(parents=True)
    (home / "config.yaml").write_text(f"version: 1\nindexes: ['{index}']\n", encoding="utf-8")
    flow = folder.workflow(
        [{"agent": "writer", "input": "x"}], agents={"writer": {"prompt": "x", "tools": ["zeppelin"]}}
    )
    for command in ("validate", "plan"):
        assert "strands plugin search zeppelin)" in folder.strands(command, flow).err
    found = folder.strands("plugin", "search", "zeppelin")
    verb = "adopt strands-tool-zeppelin --install" if adopt else "install strands-tool-zeppelin"
    assert found.out.rstrip().endswith(f"strands plugin {verb}")
