"""What every tool must do, the file tools do; needs strands-cli, which the tools themselves do not."""

from __future__ import annotations

from pathlib import Path

import pytest

testing = pytest.importorskip("strands_cli_dev")


class InFolder(testing.ToolContract):  # type: ignore[name-defined, misc]
    """A workspace with two files, one of them in a folder."""

    def prepare(self, workspace: Path) -> None:
        (workspace / "a.txt").write_text("a\n", encoding="utf-8")
        (workspace / "docs").mkdir()
        (workspace / "docs" / "b.txt").write_text("b\n" * 100, encoding="utf-8")


class TestFileRead(InFolder):
    tool = "strands_tool_files.file_read"
    examples = (
        {"path": "a.txt"},
        {"path": "docs/b.txt"},
        testing.Example({"path": "missing.txt"}, status="error"),
        testing.Example({"path": "../a.txt"}, status="error"),
    )


class TestFileList(InFolder):
    tool = "strands_tool_files.file_list"
    examples = ({}, {"path": "docs"}, testing.Example({"path": "missing"}, status="error"))


class TestFileWrite(InFolder):
    tool = "strands_tool_files.file_write"
    examples = (
        {"path": "c.txt", "content": "c"},
        {"path": "docs/c.txt", "content": "c"},
        testing.Example({"path": "../c.txt", "content": "c"}, status="error"),
    )


class TestHead(InFolder):
    tool = "strands_tool_files.head"
    examples = (
        {"path": "a.txt"},
        {"path": "docs/b.txt", "lines": 3, "bytes_limit": 5},
        testing.Example({"path": "missing.txt"}, status="error"),
        testing.Example({"path": "../a.txt"}, status="error"),
    )


class TestTail(InFolder):
    tool = "strands_tool_files.tail"
    examples = (
        {"path": "a.txt"},
        {"path": "docs/b.txt", "lines": 3, "bytes_limit": 5},
        testing.Example({"path": "missing.txt"}, status="error"),
        testing.Example({"path": "../a.txt"}, status="error"),
    )


class TestGrep(InFolder):
    tool = "strands_tool_files.grep"
    examples = (
        {"pattern": "^[ab]$", "path": ".", "max_matches": 5},
        {"pattern": "a", "path": "a.txt", "context_lines": 1, "ignore_case": True},
        testing.Example({"pattern": "(", "path": "."}, status="error"),
        testing.Example({"pattern": "a", "path": "../a.txt"}, status="error"),
    )


class TestSearch(InFolder):
    tool = "strands_tool_files.search"
    examples = (
        {"query": "b"},
        {"query": "A", "path": "a.txt", "ignore_case": True},
        {"query": "^a", "is_regex": True},
        testing.Example({"query": "a", "path": "../docs"}, status="error"),
    )
