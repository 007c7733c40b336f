"""The pages of a plugin index: for people, with its tools and versions, and for pip (PEP 503), with its wheels."""

from __future__ import annotations

import base64
import functools
import hashlib
import html
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from strands_cli.api import counted, printable
from strands_cli_index.reading.site_files import WHEELS

PLUGINS = "plugins"
_GROUPS = ("workflows", "agents", "skills")
_NOTE = "Made by <code>strands plugin index build</code>. The texts are those of the authors."
_HOME = '<a href="../index.html">All plugins</a>'


def index_pages(index: Mapping[str, Any]) -> dict[str, str]:
    """Return the pages of an index by their paths, from the document of its `index.json`."""
    releases: dict[str, list[Mapping[str, Any]]] = {}
    for release in index["releases"]:
        releases.setdefault(release["name"], []).append(release)
    pages = {f"{PLUGINS}/{name}.html": _plugin_page(name, versions) for name, versions in releases.items()}
    return {"index.html": _all_page(releases, index["libraries"]), **pages}


def _all_page(releases: Mapping[str, Sequence[Mapping[str, Any]]], libraries: Sequence[Mapping[str, Any]]) -> str:
    rows = "".join(_row(name, versions[0]) for name, versions in releases.items())
    count = counted(len(releases), "plugin")
    listed = _table("Plugins", _HEADS, rows) if releases else "<p>There are none.</p>"
    others = (
        f"<h2>Other distributions</h2><p>{counted(len(libraries), 'release')} that plugins may require: "
        f"{', '.join(_escape(library['name'] + ' ' + library['version']) for library in libraries)}.</p>"
        if libraries
        else ""
    )
    body = (
        f"<h1>Plugin index</h1><p>{count}. Search them with <code>strands plugin search WORD --index URL</code>, "
        "where URL is the address of this page without <code>index.html</code>; pip reads "
        f'<a href="simple/index.html">simple/</a>.</p>{listed}{others}'
    )
    return _document("Plugin index", body)


_HEADS = ("Name", "Version", "Summary", "Tools", "Workflows, agents, skills", "Publisher", "Check")


def _row(name: str, newest: Mapping[str, Any]) -> str:
    tools = [tool["name"] for tool_value in newest["tools"] for tool in (tool_value, *(tool_value["members"] or ()))]
    packaged = [folder["name"] for group in _GROUPS for folder in newest[group]]
    cells = (
        *(_escape(newest["version"]), _isolated(newest["summary"]), _names(tools), _names(packaged)),
        *(publisher_words(newest["publisher"]), check_words(newest["check"])),
    )
    head = f'<th scope="row"><a href="{PLUGINS}/{_escape(name)}.html">{_escape(name)}</a></th>'
    return f"<tr>{head}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _text(text: str | None) -> str:
    """Return a text as HTML; empty where there is none, so that `facts` leaves it out."""
    return _isolated(text) if text else ""


def _names(names: Iterable[str]) -> str:
    return ", ".join(_isolated(name) for name in names)


def publisher_words(publisher: Mapping[str, Any]) -> str:
    """Return the publisher as HTML; without proof it is unverified."""
    if publisher["status"] != "verified":
        return _escape(publisher["status"])
    workflow = f" ({_escape(publisher['workflow'])})" if publisher["workflow"] else ""
    return f"{_escape(publisher['kind'])}:{_escape(publisher['repository'])}{workflow}"


def check_words(check: Mapping[str, Any] | None) -> str:
    """Return the result of the static check in a few words."""
    if check is None:
        return "not checked"
    counts = [counted(check[f"{kind}s"], kind) for kind in ("error", "warning") if check[f"{kind}s"]]
    return ", ".join(counts) or "no problems"


def _plugin_page(name: str, versions: Sequence[Mapping[str, Any]]) -> str:
    newest = versions[0]
    command = "strands plugin adopt {} --install" if newest["adopt"] else "strands plugin install {}"
    pairs = [
        ("Install", f"<code>{command.format(_escape(name))}</code>"),
        ("Publisher", publisher_words(newest["publisher"])),
        ("Check", check_words(newest["check"])),
        ("Licence", _text(newest["licence"])),
        ("Python", _escape(newest["requires_python"] or "")),
        ("Requires", _escape(", ".join(newest["requires"]))),
        ("Hooks", _names(newest["hooks"])),
    ]
    adopt = "<p>It declares nothing for this program; its tools can be adopted.</p>" if newest["adopt"] else ""
    tools = "".join(_tool(tool, 3) for tool in newest["tools"])
    title = f"<h1>{_escape(name)} {_escape(newest['version'])}</h1>"
    body = (
        f"{title}<p>{_isolated(newest['summary'])}</p>{_facts(pairs)}{adopt}"
        f"{f'<h2>Tools</h2>{tools}' if tools else ''}{_packaged(newest)}{_findings(newest['check'])}{_files(versions)}"
    )
    return _document(f"{name} - plugin index", body, _HOME)


def _tool(tool: Mapping[str, Any], level: int) -> str:
    pairs = [
        ("Declares", _escape(tool["permissions"])),
        ("Described by", _escape(tool["described_by"])),
        ("Family", _text(tool["family"])),
        ("Broken", _text(tool["broken"])),
    ]
    schema = tool["input_schema"]
    schema_text = json.dumps(schema, ensure_ascii=False, indent=2) if schema is not None else ""
    block = f'<pre dir="auto">{_escape(schema_text)}</pre>'
    details = f"<details><summary>Input of {_isolated(tool['name'])}</summary>{block}</details>"
    members = "".join(_tool(member, min(level + 1, 6)) for member in tool["members"] or ())
    return (
        f"<h{level}>{_isolated(tool['name'])}</h{level}>"
        f"<p>{_isolated(tool['description'] or 'Known after loading.')}</p>{_facts(pairs)}"
        f"{details if schema_text else ''}{members}"
    )


def _packaged(newest: Mapping[str, Any]) -> str:
    parts = []
    for group in _GROUPS:
        names = [name for folder in newest[group] for name in (folder["files"] or [folder["name"]])]
        items = "".join(f"<li><code>{_escape(newest['name'])}/{_escape(name)}</code></li>" for name in names)
        parts.append(f"<h2>{group.capitalize()}</h2><ul>{items}</ul>" if items else "")
    return "".join(parts)


def _findings(check: Mapping[str, Any] | None) -> str:
    if check is None or not check["findings"]:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{_escape(finding["code"])}</th><td>{_escape(finding["severity"])}</td>'
        f"<td>{_isolated(finding['message'])}</td></tr>"
        for finding in check["findings"]
    )
    return f"<h2>Findings of the check</h2>{_table('Findings', ('Code', 'Severity', 'Finding'), rows)}"


def _files(versions: Sequence[Mapping[str, Any]]) -> str:
    rows = "".join(
        f'<tr><th scope="row"><a href="../wheels/{_escape(file["file"])}">{_escape(file["file"])}</a></th>'
        f"<td>{_size(file['size'])}</td><td><code>{file['sha256']}</code></td></tr>"
        for version in versions
        for file in version["files"]
    )
    return f"<h2>Versions</h2>{_table('Versions', ('Wheel', 'Size', 'SHA-256'), rows)}"


def _document(title: str, body: str, navigation: str = "") -> str:
    """Return a whole page, whose policy lets it load nothing."""
    links = f'<nav aria-label="Pages">{navigation}</nav>' if navigation else ""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f"<title>{_escape(title)}</title><style>{_style()}</style></head>"
        f'<body><a class="skip" href="#main">Skip to the content</a>{links}'
        f'<main id="main" tabindex="-1">{body}</main><footer>{_NOTE}</footer></body></html>\n'
    )


@functools.cache
def _style() -> str:
    return Path(__file__).with_name("index_pages.css").read_text(encoding="utf-8")


def _escape(text: object) -> str:
    return html.escape(printable(str(text)), quote=True)


def _isolated(text: object) -> str:
    """Return a text whose direction does not change that of the text around it."""
    return f"<bdi>{_escape(text)}</bdi>"


def _facts(pairs: Iterable[tuple[str, str]]) -> str:
    """Return names with values in HTML as a list; pairs with an empty value are left out."""
    rows = [f"<div><dt>{_escape(name)}</dt><dd>{value}</dd></div>" for name, value in pairs if value]
    return f'<dl class="facts">{"".join(rows)}</dl>' if rows else ""


def _table(name: str, heads: Iterable[str], rows: str) -> str:
    """Return a table of rows in HTML; one too wide is scrolled by itself."""
    head = "".join(f'<th scope="col">{text}</th>' for text in heads)
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{_escape(name)}"><table><thead><tr>{head}</tr>'
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def _size(count: int) -> str:
    """Return a number of bytes as short text."""
    if count < 1000:
        return f"{count} bytes"
    return f"{count / 1000:,.1f} kB" if count < 1_000_000 else f"{count / 1_000_000:,.1f} MB"


_SIMPLE_HEAD = '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
_SIMPLE_HEAD += '<meta name="pypi:repository-version" content="1.1">\n'


def simple_pages(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the pages below `simple/` by their paths, for every wheel of the index."""
    links: dict[str, list[str]] = {}
    for entry in (*document["releases"], *document["libraries"]):
        links.setdefault(entry["name"], []).extend(_simple_link(entry, file) for file in entry["files"])
    names = [f'<a href="{name}/">{name}</a>' for name in sorted(links)]
    pages = {
        f"{name}/index.html": _simple_page(f"Links for {name}", page_links)
        for name, page_links in sorted(links.items())
    }
    return {"index.html": _simple_page("Simple index", names), **pages}


def _simple_link(entry: Mapping[str, Any], file: Mapping[str, Any]) -> str:
    name = file["file"]
    python = entry["requires_python"]
    requires = f' data-requires-python="{html.escape(python, quote=True)}"' if python else ""
    # PEP 740 names a document with all attestations; a single one is another form.
    provenance = file.get("provenance", "")
    has_proof = provenance.endswith(".provenance")
    proof = f' data-provenance="../../{WHEELS}/{quote(provenance)}"' if has_proof else ""
    return f'<a href="../../{WHEELS}/{quote(name)}#sha256={file["sha256"]}"{requires}{proof}>{html.escape(name)}</a>'


def _simple_page(title: str, links: list[str]) -> str:
    heading = html.escape(title)
    body = "<br>\n".join(links)
    return f"{_SIMPLE_HEAD}<title>{heading}</title>\n</head>\n<body>\n<h1>{heading}</h1>\n{body}\n</body>\n</html>\n"
