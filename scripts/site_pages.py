"""What `mkdocs build` does to pages besides: links that leave `docs/`, and nothing fetched from elsewhere."""

from __future__ import annotations

import os
import re
from importlib import import_module
from pathlib import Path
from typing import Any

CLONE = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<target>[^)\s#]+)(?:#[^)\s]*)?\)")
_FENCE = re.compile(r"^ *```.*?^ *```", re.M | re.S)
# What a browser loads by itself, as against a link that a person follows.
_FETCHED = re.compile(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"'](?:https?:)?//[^\"']*")
# The theme has its own way to draw these, with a program that it fetches.
_DRAWN = re.compile(r"<(?:pre|div) class=[\"']mermaid")
_LINKED = re.compile(
    r"<link\b(?=[^>]*\brel=[\"']?(?:stylesheet|preload|preconnect|icon))[^>]*\bhref=[\"'](?:https?:)?//"
)


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the examples to the site, so that pages lead to them there as they do in the clone."""
    # By its name, since mkdocs is not part of the environment in which this file is checked.
    made = import_module("mkdocs.structure.files").File.generated
    for path in sorted((CLONE / "examples").rglob("*.yaml")):
        name = path.relative_to(CLONE).as_posix()
        files.append(made(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Write a link to a file of the clone that the site does not have as its text alone.

    A link to an example leads to it on the site; a link to nothing stays, and is reported.
    """
    folder = Path(page.file.abs_src_path).parent
    fences = _FENCE.findall(markdown)
    parts = [_LINK.sub(lambda link: _on_site(link, folder), part) for part in _FENCE.split(markdown)]
    return "".join(text for pair in zip(parts, [*fences, ""], strict=True) for text in pair)


def _on_site(link: re.Match[str], folder: Path) -> str:
    target = (folder / link["target"]).resolve()
    if not target.exists() or target.is_relative_to(CLONE / "docs"):
        return link[0]
    if target.is_relative_to(CLONE / "examples") and target.suffix == ".yaml":
        place = os.path.relpath(target, CLONE / folder.relative_to(CLONE / "docs"))
        return f"[{link['text']}]({Path(place).as_posix()})"
    return link["text"]


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Refuse a page for which a browser would fetch something from another machine.

    Raises:
        RuntimeError: the page does.
    """
    if found := _FETCHED.search(output) or _LINKED.search(output) or _DRAWN.search(output):
        raise RuntimeError(f"{page.file.src_uri} fetches from elsewhere: {found[0][:200]}")
    return output
