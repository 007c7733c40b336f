"""A workspace in a temporary directory, and calls of the tools in it."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from strands_tool_files import (
    _directory,
    _openat2,
    _workspace,
    file_list,
    file_read,
    file_write,
    grep,
    head,
    search,
    tail,
)
from strands_tool_kit.testing import ToolAnswer, call_tool

_TOOLS: dict[str, ModuleType] = {
    "read": file_read,
    "write": file_write,
    "list": file_list,
    "head": head,
    "tail": tail,
    "grep": grep,
    "search": search,
}


@dataclass
class Room:
    """A workspace with one mount and one protected file, and the tools in it."""

    path: Path
    mount: Path
    config: dict[str, Any] = field(default_factory=dict)
    extra: dict[str, Any] = field(default_factory=dict)

    def call(self, verb: str, **given: Any) -> ToolAnswer:
        workspace = {"root": str(self.path), "mounts": {"data": str(self.mount)}, "protected": ["flow.yaml"]}
        module = _TOOLS[verb]
        tool = getattr(module, module.TOOL_SPEC["name"])
        return call_tool(tool, given, **{"workspace": workspace, "config": self.config, **self.extra})

    def read(self, path: str, **given: Any) -> ToolAnswer:
        return self.call("read", path=path, **given)

    def write(self, path: str, content: str = "new", **given: Any) -> ToolAnswer:
        return self.call("write", path=path, content=content, **given)

    def list(self, **given: Any) -> ToolAnswer:
        return self.call("list", **given)

    def grep(self, pattern: str, path: str = ".", **given: Any) -> ToolAnswer:
        return self.call("grep", pattern=pattern, path=path, **given)

    def search(self, query: str, **given: Any) -> ToolAnswer:
        return self.call("search", query=query, **given)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    """Make a workspace beside a secret that no call may reach."""
    (tmp_path / "secret.txt").write_text("the secret outside")
    for name in ("workspace/docs", "mount"):
        (tmp_path / name).mkdir(parents=True)
    workspace = tmp_path / "workspace"
    (workspace / "docs" / "a.txt").write_text("one\ntwo\nthree\n")
    (workspace / "flow.yaml").write_text("version: 1\n")
    (tmp_path / "mount" / "m.txt").write_text("mounted")
    return Room(workspace, tmp_path / "mount")


def _no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    if not _openat2.is_available():
        pytest.skip("this system has no openat2")


def _walk(monkeypatch: pytest.MonkeyPatch) -> None:
    if not _directory.HAS_DESCRIPTORS:
        pytest.skip("this system has no dir_fd")
    monkeypatch.setattr(_openat2, "is_available", lambda: False)


def _paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_workspace, "open_directory", _directory.PathDirectory.at)


_WAYS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {"openat2": _no_change, "walk": _walk, "paths": _paths}


@pytest.fixture(params=list(_WAYS))
def every_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a test with the kernel's resolution, with the component walk, and with paths (as on Windows)."""
    _WAYS[request.param](monkeypatch)
    return str(request.param)


@pytest.fixture(scope="module")
def _old_objects_set_aside() -> None:
    """Let each collection look at what the module's own tests have made: the rest takes a tenth of a second each."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def no_leaked_descriptors(_old_objects_set_aside: None) -> Any:
    """Fail a test that leaves descriptors open."""
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc")
    _openat2.is_available()
    gc.collect()  # what an earlier test has left is not to be closed meanwhile
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - one entry is the listing itself, both times
    yield
    # Fewer are no leak: a server of another package's tests may have let go of a connection.
    assert len(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208
