"""The pages of an index: sound HTML that loads nothing, with texts of strangers as texts."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest
from index_kit import built

from tests.distributions.wheels import tool_wheel
from tests.parsed_page import Parsed

# They make wheels, indexes or keys.
pytestmark = pytest.mark.wheels

HOSTILE = "</p><script>alert(1)</script><img src=x onerror=y> & \u202etxt.exe"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    (folder / "wheels").mkdir()
    tool_wheel(folder / "wheels", "evil", description=HOSTILE, family="</dd>", input_schema={"type": HOSTILE})
    tool_wheel(folder / "wheels", "evil", "2.0", description=HOSTILE)
    tool_wheel(folder / "wheels", "good", annotations={"readOnlyHint": True})
    built(folder / "wheels", folder / "site")
    return folder / "site"


def test_the_pages_are_sound_and_load_nothing(site: Path) -> None:
    pages = [site / "index.html", *sorted((site / "plugins").iterdir())]
    assert len(pages) == 3
    for page in pages:
        text = page.read_text("utf-8")
        parsed = Parsed(text)
        assert parsed.faults == [], page.name
        assert "script" not in parsed.tags
        assert "Content-Security-Policy" in text
        assert parsed.headings[0] == 1
        for link in parsed.links:
            assert link[:1] == "#" or (page.parent / link).is_file(), link
    evil = Parsed((site / "plugins" / "strands-tool-evil.html").read_text("utf-8"))
    assert "<script>alert(1)</script>" in evil.text
    assert "\u202e" not in evil.text


class Links(HTMLParser):
    """The links of a page for pip."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if tag == "a" and name == "href"]


def test_the_pages_for_pip_name_every_wheel_with_its_digest(site: Path) -> None:
    assert Links((site / "simple" / "index.html").read_text()).found == ["strands-tool-evil/", "strands-tool-good/"]
    page = site / "simple" / "strands-tool-evil" / "index.html"
    found = Links(page.read_text()).found
    assert len(found) == 2
    for link in found:
        path, _, digest = link.partition("#sha256=")
        assert (page.parent / path).resolve().is_file()
        assert len(digest) == 64
