"""The site has every page on a shelf and fetches nothing from elsewhere; tables of written pages are made from code."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from scripts import marked_reference, site_pages
from strands_cli.hooks import hookspecs as specs
from tests.docs.pages import CLONE
from tests.yaml_texts import read_yaml

DOCS = CLONE / "docs"


def config() -> Any:
    return read_yaml((CLONE / "mkdocs.yml").read_text(encoding="utf-8"))


def on_shelves(node: Any) -> Iterator[str]:
    """Yield every page of a nav."""
    if isinstance(node, str):
        yield node
    else:
        for child in node.values() if isinstance(node, dict) else node:
            yield from on_shelves(child)


def page(name: str) -> Any:
    return SimpleNamespace(file=SimpleNamespace(abs_src_path=str(DOCS / name), src_uri=name))


def test_every_page_is_once_in_the_navigation_of_the_site() -> None:
    shelved = sorted(on_shelves(config()["nav"]))
    assert shelved == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def test_the_site_has_the_four_shelves_and_no_font_or_plugin_that_fetches() -> None:
    site = config()
    assert [next(iter(shelf)) for shelf in site["nav"]] == ["Start", "Learn", "Do", "Look up", "Understand"]
    assert site["theme"]["font"] is False
    assert site["plugins"] == ["search"]
    assert "extra_javascript" not in site
    assert "extra_css" not in site


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[tests](../../tests/conftest.py#L3)", "tests"),
        ("[one](../../examples/quickstart.yaml)", "[one](../examples/quickstart.yaml)"),
        ("[all](../../examples)", "all"),
        ("[the permission check](permission-check.md)", "[the permission check](permission-check.md)"),
        ("[gone](../../tests/nowhere.py)", "[gone](../../tests/nowhere.py)"),
        ("```text\n[x](../../README.md)\n```", "```text\n[x](../../README.md)\n```"),
    ],
)
def test_a_link_to_a_file_beside_the_pages_is_text_and_one_to_nothing_stays(written: str, shown: str) -> None:
    assert site_pages.on_page_markdown(f"a\n{written}\nb", page("explanation/permission-check.md")) == f"a\n{shown}\nb"


@pytest.mark.parametrize(
    "html",
    [
        '<script async src="https://example.com/x.js"></script>',
        "<img alt='x' src='//example.com/x.png'>",
        '<link rel="stylesheet" href="https://example.com/x.css">',
        '<link href="http://example.com/x.css" rel="preload">',
        '<pre class="mermaid"><code>flowchart</code></pre>',
    ],
)
def test_a_page_that_fetches_from_elsewhere_is_refused(html: str) -> None:
    with pytest.raises(RuntimeError, match=r"index\.md fetches from elsewhere"):
        site_pages.on_post_page(f"<p>{html}</p>", page("index.md"))


def test_a_link_that_a_person_follows_is_not_fetching() -> None:
    html = '<a href="https://example.com/">x</a><script src="assets/x.js"></script><link rel="canonical" href="https://x.y/">'
    assert site_pages.on_post_page(html, page("index.md")) == html


def test_every_hook_has_a_heading_with_its_arguments() -> None:
    text = (DOCS / "reference" / "hooks.md").read_text(encoding="utf-8")
    headings = "\n".join(line for line in text.splitlines() if line.startswith("## "))
    for name in specs.NAMES:
        assert f"{name}({', '.join(inspect.signature(getattr(specs, name)).parameters)})" in headings


def test_a_field_of_the_manifest_without_a_meaning_stops_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    written = (DOCS / "reference" / "manifest.md").read_text(encoding="utf-8")
    assert marked_reference.manifest_page(written) == written
    meanings = {name: text for name, text in marked_reference.MEANINGS["tool"].items() if name != "family"}
    monkeypatch.setitem(marked_reference.MEANINGS, "tool", meanings)
    with pytest.raises(SystemExit, match="the meanings of 'tool'"):
        marked_reference.manifest_page(written)


def test_a_table_changed_by_hand_is_put_right_and_lost_marks_are_named() -> None:
    path = Path(DOCS / "reference" / "hooks.md")
    written = path.read_text(encoding="utf-8")
    assert marked_reference.hooks_page(written.replace("Give records of tools;", "Give tools;")) == written
    with pytest.raises(SystemExit, match="lacks the marks of 'hooks'"):
        marked_reference.hooks_page(written.replace("<!-- end -->", ""))
