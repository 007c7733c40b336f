"""Markdown of models as HTML that loads nothing, runs nothing, and links only to the web and to mail."""

from __future__ import annotations

import functools
from collections.abc import MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

from strands_cli.api import printable
from strands_cli_ui.pages.html_text import escape, preformatted

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# A longer text is shown as it is: Markdown of this size is nothing to read, and hostile text of it takes long.
LONG_MARKDOWN = 100_000
_SCHEMES = ("http://", "https://", "mailto:")


def markdown_html(text: str, *, level: int = 3) -> str:
    """Return Markdown as HTML.

    Tags in the text are shown as text, so are links other than http, https and mailto; images are their description.

    Args:
        level: The level of its highest headings; none leaves out a level.
    """
    if len(text) > LONG_MARKDOWN:
        return preformatted(text, LONG_MARKDOWN)
    printable_text = printable(text.replace("\r\n", "\n"))
    tokens = _parser().parse(printable_text)
    _relevel(tokens, level)
    return f'<div class="markdown" dir="auto">{_parser().renderer.render(tokens, _parser().options, {})}</div>'


@functools.cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    parser.validateLink = _is_safe  # type: ignore[method-assign,assignment]
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_open", _link)
    parser.add_render_rule("table_open", _table_open)
    parser.add_render_rule("table_close", _table_close)
    for cell in ("th_open", "td_open"):
        parser.add_render_rule(cell, _cell)
    return parser


def _is_safe(address: str) -> bool:
    return address.strip().lower().startswith(_SCHEMES)


def _image(_: Any, tokens: Sequence[Token], index: int, options: Any, env: MutableMapping[str, Any]) -> str:
    token = tokens[index]
    return f'<span class="image">[image: {escape(token.content)} {escape(token.attrGet("src") or "")}]</span>'


def _link(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: MutableMapping[str, Any]) -> str:
    token = tokens[index]
    token.attrSet("rel", "noreferrer noopener nofollow")
    return str(renderer.renderToken(tokens, index, options, env))


def _cell(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: MutableMapping[str, Any]) -> str:
    """Align a cell by a class: the policy of a page refuses an attribute `style`."""
    alignment = str(tokens[index].attrs.pop("style", "")).removeprefix("text-align:")
    if alignment in ("right", "center"):
        tokens[index].attrSet("class", alignment)
    return str(renderer.renderToken(tokens, index, options, env))


def _table_open(*_: Any) -> str:
    return '<div class="wide" role="group" tabindex="0" aria-label="Table"><table>'


def _table_close(*_: Any) -> str:
    return "</table></div>"


def _relevel(tokens: Sequence[Token], top: int) -> None:
    """Put headings below those of the page, each at most one level below the one before it."""
    before = top - 1
    for token in tokens:
        if token.type == "heading_open":
            before = min(before + 1, top - 1 + int(token.tag[1:]), 6)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{before}"
