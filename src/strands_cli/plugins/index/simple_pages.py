"""The pages that pip reads (PEP 503): one for each distribution, with its wheels and their digests."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from strands_cli.indexes.site_files import WHEELS

_HEAD = '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
_HEAD += '<meta name="pypi:repository-version" content="1.1">\n'


def simple_pages(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the pages below `simple/` by their paths, for every wheel of the index."""
    links: dict[str, list[str]] = {}
    for entry in (*document["releases"], *document["libraries"]):
        links.setdefault(entry["name"], []).extend(_link(entry, file) for file in entry["files"])
    names = [f'<a href="{name}/">{name}</a>' for name in sorted(links)]
    pages = {f"{name}/index.html": _page(f"Links for {name}", found) for name, found in sorted(links.items())}
    return {"index.html": _page("Simple index", names), **pages}


def _link(entry: Mapping[str, Any], file: Mapping[str, Any]) -> str:
    name = file["file"]
    python = entry["requires_python"]
    wanted = f' data-requires-python="{html.escape(python, quote=True)}"' if python else ""
    # PEP 740 names a document with all attestations; a single one is another form.
    provenance = file.get("provenance", "")
    has_proof = provenance.endswith(".provenance")
    proof = f' data-provenance="../../{WHEELS}/{quote(provenance)}"' if has_proof else ""
    return f'<a href="../../{WHEELS}/{quote(name)}#sha256={file["sha256"]}"{wanted}{proof}>{html.escape(name)}</a>'


def _page(title: str, links: list[str]) -> str:
    heading = html.escape(title)
    body = "<br>\n".join(links)
    return f"{_HEAD}<title>{heading}</title>\n</head>\n<body>\n<h1>{heading}</h1>\n{body}\n</body>\n</html>\n"
