"""Few pinned texts that other people's scripts rely on, and the one way to compare or renew them."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

HERE = Path(__file__).parent


def check_golden(name: str, text: str) -> None:
    """Compare `text` with the pinned file `name`; with `UPDATE_GOLDEN=1` in the environment write it instead.

    Args:
        name: File name in `tests/golden/`.
        text: What the program says now.
    """
    path = HERE / name
    if os.environ.get("UPDATE_GOLDEN") == "1":
        path.write_text(text, encoding="utf-8")
    pinned = path.read_text(encoding="utf-8") if path.exists() else ""
    difference = "".join(
        difflib.unified_diff(pinned.splitlines(True), text.splitlines(True), f"tests/golden/{name}", "now")
    )
    assert not difference, (
        f"{difference}\nOther people's scripts rely on this. If the change is meant: UPDATE_GOLDEN=1 pytest, and a "
        "changelog fragment."
    )
