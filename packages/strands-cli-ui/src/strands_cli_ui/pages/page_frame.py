"""The frame of every page: its head, its style, its landmarks, and the policy that lets it load nothing."""

from __future__ import annotations

import base64
import functools
import hashlib
from pathlib import Path

from strands_cli_ui.pages.html_text import ICONS, escape

# The first line of every file that `document` makes.
MARK = "<!doctype html><!-- strands-cli page -->"


def document(
    title: str, body: str, *, navigation: str = "", script: str = "", has_policy: bool = True, note: str = ""
) -> str:
    """Return a whole page.

    Args:
        title: Its title, as text.
        body: The HTML of its main part, with the one heading of level 1.
        navigation: The HTML of the bar above it, with links to other pages.
        script: JavaScript that the page has; a file has none.
        has_policy: Whether the page itself has its `Content-Security-Policy`; a server sends `content_policy` instead.
        note: The HTML of the foot.
    """
    policy = f'<meta http-equiv="Content-Security-Policy" content="{content_policy(script)}">' if has_policy else ""
    foot = f'<footer class="foot">{note}</footer>' if note else ""
    code = f"<script>{script}</script>" if script else ""
    return (
        f'{MARK}\n<html lang="en"><head><meta charset="utf-8">{policy}'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f"<title>{escape(title)}</title><style>{stylesheet()}</style></head>"
        f'<body>{ICONS}<a class="skip" href="#main">Skip to the content</a>{navigation}'
        f'<main id="main" tabindex="-1">{body}</main>{foot}{code}</body></html>\n'
    )


def content_policy(script: str = "", *, more: str = "") -> str:
    """Return the `Content-Security-Policy` of a page with this script: nothing is loaded from anywhere.

    Args:
        script: The JavaScript of the page.
        more: Further directives, such as `connect-src 'self'`, which only the header of a server may have.
    """
    scripts = f"; script-src '{_digest(script)}'" if script else ""
    directives = f"default-src 'none'; style-src '{_digest(stylesheet())}'; img-src data:; base-uri 'none'{scripts}"
    return f"{directives}; {more}" if more else f"{directives}; form-action 'none'"


@functools.cache
def stylesheet() -> str:
    """Return the style of all pages, without comments and indents."""
    text = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    return "\n".join(line.strip() for line in text.splitlines() if line.strip() and not line.startswith("/*"))


@functools.cache
def _digest(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
