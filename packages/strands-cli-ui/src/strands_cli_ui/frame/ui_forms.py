"""Forms of the local page: each is posted, and has the secret of its session."""

from __future__ import annotations

import html
import json
import secrets
from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any

from strands_cli.api import shortened
from strands_cli_ui.pages.html_text import escape, isolated, table

_NUMBERS = {"integer": ' inputmode="numeric" pattern="-?[0-9]+"', "number": ' inputmode="decimal"'}
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


def field_of(name: str, title: str, schema: Mapping[str, Any], *, is_required: bool, value: Any = None) -> str:
    """Return the field of a value with its type, its meaning and its default.

    Args:
        name: The name of the field.
        title: The name that a person sees.
        schema: `type`, `enum`, `description` and `default`, as a JSON Schema has them.
        value: The value before; with None the field is empty.
    """
    kind, default = str(schema.get("type") or "JSON"), schema.get("default")
    notes = [
        str(schema.get("description") or ""),
        f"default: {shortened(text_of(default), 80)}" if default is not None else "",
    ]
    about = "".join(f' <span class="soft">{escape(note)}</span>' for note in notes if note)
    label = f'<bdi>{escape(title)}</bdi> <span class="kind">{escape(kind)}{"" if is_required else ", optional"}</span>'
    control = _control(f'name="{escape(name)}"{" required" if is_required else ""}', kind, schema.get("enum"), value)
    return f'<p class="field"><label>{label}{control}{about}</label></p>'


def _control(attributes: str, kind: str, choices: Any, value: Any) -> str:
    text = "" if value is None else text_of(value)
    values = choices if isinstance(choices, list | tuple) else (True, False) if kind == "boolean" else ()
    if values:
        texts = dict.fromkeys(["", *map(text_of, values), text])
        return f"<select {attributes}>{''.join(option(one, is_chosen=one == text) for one in texts)}</select>"
    if kind in _NUMBERS:
        return f'<input {attributes} autocomplete="off"{_NUMBERS[kind]} value="{_exact(text)}">'
    # A browser leaves out a line end at the beginning.
    rows = min(12, max(2 if kind != "string" or len(text) > 60 else 1, text.count("\n") + 1))
    return f'<textarea {attributes} rows="{rows}">\n{_exact(text)}</textarea>'


def text_of(value: Any) -> str:
    """Return a text as it is, any other value as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def text_table(name: str, heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return texts as a table; empty without rows."""
    lines = "".join(f"<tr>{''.join(f'<td>{isolated(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return table(name, heads, lines) if lines else ""


def _exact(value: str) -> str:
    """Return a value for an attribute as it is, since it comes back: hidden characters stay."""
    return html.escape(value, quote=True)
