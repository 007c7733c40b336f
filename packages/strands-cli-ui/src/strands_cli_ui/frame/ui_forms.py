"""Forms of the local page: each is posted, and has the secret of its session."""

from __future__ import annotations

import html
import secrets
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from strands_cli_ui.pages.html_text import escape, isolated, table

# The place of a request where a page is made for many: its forms have a secret that `own_forms` replaces.
EVERYONE = SimpleNamespace(scope={"session": SimpleNamespace(csrf=secrets.token_urlsafe(32))})


def own_forms(body: str, request: Any) -> str:
    """Return a page that was made for everyone with the forms of one session."""
    return body.replace(EVERYONE.scope["session"].csrf, request.scope["session"].csrf)


def form(request: Any, action: str, inner: str, *, hidden: Mapping[str, str] | None = None) -> str:
    """Return a form.

    Args:
        request: The request whose page has the form.
        action: Where it is sent.
        inner: The HTML of its fields and buttons.
        hidden: Further fields, not shown.
    """
    fields = {"csrf": request.scope["session"].csrf, **(hidden or {})}
    hidden_inputs = "".join(
        f'<input type="hidden" name="{escape(name)}" value="{_exact(value)}">' for name, value in fields.items()
    )
    return f'<form method="post" action="{escape(action)}">{hidden_inputs}{inner}</form>'


def choice(name: str, value: str, label: str, *, is_main: bool = False) -> str:
    """Return a button that sends one more field; the main one of a form is the first that a person sees."""
    kind = ' class="main"' if is_main else ""
    return f'<button name="{escape(name)}" value="{_exact(value)}"{kind}>{escape(label)}</button>'


def option(value: str, *, is_chosen: bool = False) -> str:
    """Return one value of a list; without an attribute of its own a browser would send it as it is shown."""
    return f'<option value="{_exact(value)}"{" selected" if is_chosen else ""}>{escape(value)}</option>'


def text_table(name: str, heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return texts as a table; empty without rows."""
    lines = "".join(f"<tr>{''.join(f'<td>{isolated(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return table(name, heads, lines) if lines else ""


def _exact(value: str) -> str:
    """Return a value for an attribute as it is, since it comes back: hidden characters stay."""
    return html.escape(value, quote=True)
