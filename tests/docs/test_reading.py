"""The reader of pages notices what it promises to notice, so that a green docs run means something."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.pages import CLONE, Block, blocks
from tests.docs.test_pages import check_block

SPOILED = {
    "a workflow with an unknown key": ("yaml", "version: 2\nnonsense: 1\nagents: {}\npattern: {}\n", {}, "unknown"),
    "yaml that is neither workflow nor fragment": ("yaml", "a: 1\n", {}, "fragment"),
    "a fragment that is not yaml": ("yaml", "a: [1\n", {"fragment": ""}, "flow sequence"),
    "a shell command that fails": ("sh", "true\nfalse\ntrue\n", {}, "exit 1"),
    "a command that fails in another way than said": ("sh", "exit 4\n", {"exits": "3"}, "exit 4"),
    "console output that is not what is shown": ("console", "$ echo one\ntwo\n", {}, "one"),
    "python that raises": ("python", "raise ValueError('so')\n", {}, "ValueError: so"),
    "json that is not json": ("json", "{'a': 1}\n", {}, "Expecting property name"),
    "a language that nobody checks": ("", "what?\n", {}, "name the block's language"),
    "a block not run without a reason": ("sh", "false\n", {"not run": ""}, "say why"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_spoiled_block_is_noticed(name: str, tmp_path: Path) -> None:
    language, text, marks, expected = SPOILED[name]
    folder = tmp_path / "workspace"
    folder.mkdir()
    problem = check_block(Block(CLONE / "README.md", 1, language, text, marks), folder)
    assert problem is not None
    assert expected in problem


SOUND = {
    "shown output with dots": ("console", "$ echo one; echo two; echo three\none\n...\nthree\n", {}),
    "the said exit code": ("sh", "exit 3\n", {"exits": "3"}),
    "not run, with a reason": ("sh", "false\n", {"not run": "needs a key"}),
    "a file for the blocks below": ("python", "print('only compiled')\n", {"file": "tool.py"}),
}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_block_passes(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    language, text, marks = SOUND[name]
    assert check_block(Block(CLONE / "README.md", 1, language, text, marks), folder) is None


def test_marks_belong_to_the_block_directly_below_them(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- exits: 3 -->\n<!-- file: a.sh -->\n\n```sh\nfalse\n```\n\n<!-- fragment -->\nText.\n\n"
        "1. item\n\n   ```yaml\n   a:\n     - b\n   ```\n"
    )
    first, second = blocks(page)
    assert (first.marks, first.line) == ({"exits": "3", "file": "a.sh"}, 4)
    assert (second.marks, second.text) == ({}, "a:\n  - b\n")


def test_a_fence_without_end_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\ntrue\n")
    with pytest.raises(ValueError, match="not closed"):
        list(blocks(page))
