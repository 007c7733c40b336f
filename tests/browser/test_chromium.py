"""What the other tests of this folder look with does see what they look for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.chromium import Chromium, Window

pytestmark = pytest.mark.browser

FRAME = """<!doctype html><html lang="en"><head><meta charset="utf-8">{}<title>A page</title></head>
<body><main><h1>A page</h1>{}</main></body></html>"""
POLICY = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'">'


def written(folder: Path, inside: str, head: str = "") -> Path:
    path = folder / "page.html"
    path.write_text(FRAME.format(head, inside), encoding="utf-8")
    return path


def test_a_plain_page_asks_for_nothing_and_has_no_barrier(tmp_path: Path, window: Window) -> None:
    window.open(written(tmp_path, "<p>Some words.</p>"))
    assert len(window.requests) == 1
    assert (window.beyond(), window.barriers(), window.complaints) == (0, [], [])


def test_a_field_without_a_name_and_grey_on_grey_are_barriers(tmp_path: Path, window: Window) -> None:
    window.open(written(tmp_path, '<input><p style="color: #999; background: #aaa">Some words.</p>'))
    assert [line.split(":")[0] for line in window.barriers()] == ["serious color-contrast", "critical label"]


def test_barriers_are_found_on_a_page_that_allows_no_script(tmp_path: Path, window: Window) -> None:
    window.open(written(tmp_path, "<input>", POLICY))
    assert len(window.barriers()) == 1


def test_a_word_without_end_is_beyond_a_narrow_window(tmp_path: Path, chromium: Chromium) -> None:
    page = written(tmp_path, f"<p>{'x' * 60}</p>")
    with chromium.window(360) as narrow, chromium.window(1400) as wide:
        assert narrow.open(page).beyond() > 0
        assert wide.open(page).beyond() == 0


def test_what_a_page_asks_for_and_what_its_policy_refuses_is_seen(tmp_path: Path, window: Window) -> None:
    (tmp_path / "beside.png").write_bytes(b"")
    window.open(written(tmp_path, '<img src="beside.png" alt="">'))
    assert [address.rpartition("/")[2] for address in window.requests] == ["page.html", "beside.png"]
    window.open(written(tmp_path, '<script>document.title = "changed"</script>', POLICY))
    assert (window.page.title(), len(window.complaints)) == ("A page", 1)
    assert "Content Security Policy" in window.complaints[0]


def test_no_page_reaches_another_machine(tmp_path: Path, window: Window) -> None:
    window.open(written(tmp_path, '<img src="http://example.com/x.png" alt="">'))
    assert "ERR_NAME_NOT_RESOLVED" in window.complaints[0]
