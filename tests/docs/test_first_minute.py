"""The picture of the first minute shows what the quickstart prints today, to everybody and from nowhere else."""

from __future__ import annotations

import re
import sys
from xml.etree import ElementTree

import pytest

from tests.docs.pages import CLONE

PICTURE = CLONE / "docs" / "pictures" / "first-minute.svg"


@pytest.mark.docs
@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_the_picture_is_what_the_quickstart_prints_today() -> None:
    from scripts import first_minute

    drawn = first_minute.svg_of(first_minute.recorded())
    assert PICTURE.read_text(encoding="utf-8") == drawn, "python -m scripts.first_minute"


def test_the_picture_is_small_and_fetches_nothing_and_moves_only_where_motion_is_wanted() -> None:
    text = PICTURE.read_text(encoding="utf-8")
    assert len(text.encode()) < 60_000
    assert re.findall(r"https?://[^\"' ]+", text) == ["http://www.w3.org/2000/svg"]
    assert not re.search(r"url\(|@import|href|<script|<image|\bon\w+=", text)
    assert text.index("prefers-reduced-motion:no-preference") < text.index("animation:"), "motion is for the others"
    assert "prefers-color-scheme:dark" in text


def test_the_picture_has_a_description_with_all_that_it_shows() -> None:
    picture = ElementTree.parse(PICTURE).getroot()
    name = "{http://www.w3.org/2000/svg}"
    described = (picture.findtext(f"{name}desc") or "").splitlines()
    shown = [text.text or "" for text in picture.iter(f"{name}text") if "gone" not in text.get("class", "")]
    assert picture.get("role") == "img"
    assert described == shown
    readme = (CLONE / "README.md").read_text(encoding="utf-8")
    assert re.search(r"!\[[^\]]{40,}\]\(docs/pictures/first-minute\.svg\)", readme)
