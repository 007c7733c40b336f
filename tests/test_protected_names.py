"""The core and the file tools, which need no core, protect the same names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from strands_cli.system.protected_names import OBEYED, SECRET, secret_in, unwritable_in
from strands_tool_files.file_read import file_read
from strands_tool_files.file_write import file_write
from strands_tool_kit.testing import call_tool

# Beyond the names below: spellings under which some file system takes a name for a protected one.
SPELLINGS = [".GIT", ".env.", ".e\u200bnv", "x.PEM ", ".git:stream", "\uff0e\uff45\uff4e\uff56"]
FREE = ["notes.md", "env", "git", "pth", "key.txt", "my.environment", "lock"]


def sample(pattern: str) -> str:
    return pattern.replace("[0-9]", "1").replace("y*ml", "yaml").replace("*", "x")


def test_the_page_of_the_file_tools_has_every_name() -> None:
    page = (Path(__file__).parent.parent / "packages" / "strands-tool-files" / "README.md").read_text("utf-8")
    section = page.partition("## What is protected inside the workspace")[2].partition("Never written either")[0]
    secret, _, obeyed = section.partition("Never written, since")
    written = [re.findall(r"`([^` ]+)`", part.partition(":\n\n")[2]) for part in (secret, obeyed)]
    assert written == [list(SECRET), list(OBEYED)]


@pytest.mark.parametrize("name", [*map(sample, (*SECRET, *OBEYED)), *SPELLINGS, *FREE])
def test_the_file_tools_protect_the_same_names(name: str, tmp_path: Path) -> None:
    state = {"workspace": str(tmp_path), "config": {}}
    reading = call_tool(file_read, {"path": f"{name}/x"}, **state)
    writing = call_tool(file_write, {"path": f"{name}/x", "content": "x"}, **state)
    for answer, names in ((reading, secret_in), (writing, unwritable_in)):
        is_refused = answer.status == "error" and answer.error == ("sandbox_violation", "protected")
        assert is_refused == (names(["a", name, "x"]) is not None)
