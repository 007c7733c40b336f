"""Every picture of the docs is shown by a page, described for those who do not see it, and small."""

from __future__ import annotations

import re

from tests.docs.pages import CLONE

PICTURES = CLONE / "docs" / "pictures"
# Bytes.
MOST = 150_000


def test_every_picture_is_small_and_shown_with_a_description() -> None:
    pages = [*(CLONE / "docs").rglob("*.md"), CLONE / "README.md"]
    found = [
        pair for page in pages for pair in re.findall(r"!\[([^\]]+)\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
    ]
    shown = {address.rpartition("/")[2] for described, address in found if len(described.split()) > 3}
    taken = sorted(PICTURES.glob("*.png"))
    assert taken
    assert [path.name for path in taken if path.name not in shown] == []
    assert [path.name for path in taken if path.stat().st_size > MOST] == []
    assert [path.name for path in taken if path.read_bytes()[:8] != b"\x89PNG\r\n\x1a\n"] == []
