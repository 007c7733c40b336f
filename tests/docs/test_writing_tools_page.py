"""The page for authors of tools has what a call is given."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.cli.strands import Folder
from tests.docs.pages import CLONE

PAGE = (CLONE / "docs" / "reference" / "writing-tools.md").read_text("utf-8")


def test_a_call_is_given_what_the_page_says(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.work.mkdir()
    folder.site.mkdir()
    folder.tool("given", "return answer(' '.join(kwargs['strands_cli']))")
    config = {"steps": [{"tool": "native:given", "input": {}}]}
    flow = {"version": 2, "name": "flow", "pattern": {"type": "chain", "config": config}}
    (folder.work / "flow.yaml").write_text(json.dumps(flow), "utf-8")
    table = PAGE.partition("## What a call is given\n")[2].partition("\n\nA module tool")[0]
    written = [
        name
        for line in table.splitlines()
        if line.startswith("- ")
        for name in re.findall(r"`(\w+)`", line.partition(": ")[0])
    ]
    assert sorted(folder.strands("run", "flow.yaml").out.split()) == sorted(written)
