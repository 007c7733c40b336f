"""The fixture `wording`: sentences are pinned in `tests/golden/wordings.json`, so better English touches no test."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import filelock
import pytest

from tests.golden import HERE

PINNED = HERE / "wordings.json"
RENEW = "UPDATE_GOLDEN"
CLONE = str(HERE.parent.parent)
# What differs from run to run, and the words of the interpreter, of libraries and services, which differ by version.
CHANGING = {
    r"\b(127\.0\.0\.1|localhost):\d+": r"\1:PORT",
    r"\b\d{8}-\d{6}-[0-9a-f]{6}\b": "RUN",
    r"(has been answered by )[^:]+": r"\1WHO",
    r"(.)\1{40,}": r"\1...",
    r"PointerToNowhere: [^\n]*": "PointerToNowhere...",
    r"(Expecting|Illegal|Out of range|maximum recursion|Circular|\[Errno|Error code:|expected token) [^\n]*": "...",
    r"not traced: ValueError: [^\n]*": "not traced: ...",
    r"(lstat: )?embedded null [^\n]*": "...",
    r"'utf-8' codec [^\n]*|Object of type \w+ is not JSON serializable": "...",
    r"[^\s:]+ is (not of type|a required property|not valid under|too (?!long for)|greater |less )[^\n]*": "...",
}
Wording = Callable[[Any], None]


@pytest.fixture
def wording(request: pytest.FixtureRequest, tmp_path: Path) -> Wording:
    """Compare a text, an exception or what holds texts with what is pinned under the name of the test and its call.

    Paths, ports, ids of runs and the words of others are left out. `UPDATE_GOLDEN=1` pins what is found instead.
    """
    name = f"{request.path.stem}: {name_of(request.node)}"
    calls = 0

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(key): plain(part) for key, part in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(part) for part in value]
        if value is None or isinstance(value, (bool, int, float)):
            return value
        text = str(value).replace(str(tmp_path), "FOLDER").replace(CLONE, "CLONE")
        for pattern, short in CHANGING.items():
            text = re.sub(pattern, short, text)
        return text

    def compare(value: Any) -> None:
        nonlocal calls
        calls += 1
        key = name if calls == 1 else f"{name} ({calls})"
        found = plain(value)
        if os.environ.get(RENEW) == "1":
            _pin(key, found)
            return
        assert found == _pinned().get(key), f"{key}: other words than in {PINNED.name}; if meant: {RENEW}=1 pytest"

    return compare


def name_of(node: pytest.Item) -> str:
    """Return a test's name with `argument7` for a long text, as newer versions of pytest name it by themselves."""
    name = node.name
    if (call := getattr(node, "callspec", None)) is None:
        return name
    for argument, value in call.params.items():
        if isinstance(value, str) and len(value) > 100:
            written = value.encode("unicode_escape").decode("ascii")
            name = re.sub(rf"(?<=[\[-]){re.escape(written)}(?=[]-])", f"{argument}{call.indices[argument]}", name)
    return name


def _pinned() -> dict[str, Any]:
    return dict(json.loads(PINNED.read_text(encoding="utf-8"))) if PINNED.exists() else {}


def _pin(key: str, found: Any) -> None:
    # The tests may run in several processes.
    with filelock.FileLock(Path(tempfile.gettempdir()) / f"{PINNED.name}.lock"):
        pinned = dict(sorted({**_pinned(), key: found}.items()))
        PINNED.write_text(json.dumps(pinned, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
