"""The pages of a plugin index for people: all distributions, and one page for each with its tools and versions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from strands_cli.pages.html_text import escape, facts, isolated, preformatted, size_of, table
from strands_cli.pages.page_frame import document
from strands_cli.texts.phrases import counted

PLUGINS = "plugins"
_GROUPS = ("workflows", "agents", "skills")
_NOTE = "Made by <code>strands plugin index build</code>. The texts are those of the authors."
_HOME = '<a href="../index.html">All plugins</a>'


def index_pages(index: Mapping[str, Any]) -> dict[str, str]:
    """Return the pages of an index by their paths, from the document of its `index.json`."""
    releases: dict[str, list[Mapping[str, Any]]] = {}
    for one in index["releases"]:
        releases.setdefault(one["name"], []).append(one)
    pages = {f"{PLUGINS}/{name}.html": _plugin_page(name, versions) for name, versions in releases.items()}
    return {"index.html": _all_page(releases, index["libraries"]), **pages}


def _all_page(releases: Mapping[str, Sequence[Mapping[str, Any]]], libraries: Sequence[Mapping[str, Any]]) -> str:
    heads = "<tr>" + "".join(f'<th scope="col">{text}</th>' for text in _HEADS) + "</tr>"
    rows = "".join(_row(name, versions[0]) for name, versions in releases.items())
    count = counted(len(releases), "plugin")
    listed = table("Plugins", heads, rows) if releases else "<p>There are none.</p>"
    others = (
        f"<h2>Other distributions</h2><p>{counted(len(libraries), 'release')} that plugins may require: "
        f"{', '.join(escape(one['name'] + ' ' + one['version']) for one in libraries)}.</p>"
        if libraries
        else ""
    )
    body = (
        f"<h1>Plugin index</h1><p>{count}. Search them with <code>strands plugin search WORD --index URL</code>, "
        "where URL is the address of this page without <code>index.html</code>; pip reads "
        f'<a href="simple/index.html">simple/</a>.</p>{listed}{others}'
    )
    return document("Plugin index", body, note=_NOTE)


_HEADS = ("Name", "Version", "Summary", "Tools", "Workflows, agents, skills", "Publisher", "Check")


def _row(name: str, newest: Mapping[str, Any]) -> str:
    tools = [tool["name"] for held in newest["tools"] for tool in (held, *(held["members"] or ()))]
    packaged = [folder["name"] for group in _GROUPS for folder in newest[group]]
    cells = (
        *(escape(newest["version"]), isolated(newest["summary"]), _names(tools), _names(packaged)),
        *(publisher_words(newest["publisher"]), check_words(newest["check"])),
    )
    head = f'<th scope="row"><a href="{PLUGINS}/{escape(name)}.html">{escape(name)}</a></th>'
    return f"<tr>{head}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _text(text: str | None) -> str:
    """Return a text as HTML; empty where there is none, so that `facts` leaves it out."""
    return isolated(text) if text else ""


def _names(names: Iterable[str]) -> str:
    return ", ".join(isolated(name) for name in names)


def publisher_words(publisher: Mapping[str, Any]) -> str:
    """Return the publisher as HTML; without proof it is unverified."""
    if publisher["status"] != "verified":
        return escape(publisher["status"])
    workflow = f" ({escape(publisher['workflow'])})" if publisher["workflow"] else ""
    return f"{escape(publisher['kind'])}:{escape(publisher['repository'])}{workflow}"


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
        ("Install", f"<code>{command.format(escape(name))}</code>"),
        ("Publisher", publisher_words(newest["publisher"])),
        ("Check", check_words(newest["check"])),
        ("Licence", _text(newest["licence"])),
        ("Python", escape(newest["requires_python"] or "")),
        ("Requires", escape(", ".join(newest["requires"]))),
        ("Hooks", _names(newest["hooks"])),
    ]
    adopt = "<p>It declares nothing for this program; its tools can be adopted.</p>" if newest["adopt"] else ""
    tools = "".join(_tool(tool, 3) for tool in newest["tools"])
    body = (
        f"<h1>{escape(name)} {escape(newest['version'])}</h1><p>{isolated(newest['summary'])}</p>{facts(pairs)}{adopt}"
        f"{f'<h2>Tools</h2>{tools}' if tools else ''}{_packaged(newest)}{_findings(newest['check'])}{_files(versions)}"
    )
    return document(f"{name} - plugin index", body, navigation=_HOME, note=_NOTE)


def _tool(tool: Mapping[str, Any], level: int) -> str:
    pairs = [
        ("Declares", escape(tool["permissions"])),
        ("Described by", escape(tool["described_by"])),
        ("Family", _text(tool["family"])),
        ("Broken", _text(tool["broken"])),
    ]
    schema = tool["input_schema"]
    shown = json.dumps(schema, ensure_ascii=False, indent=2) if schema is not None else ""
    details = f"<details><summary>Input of {isolated(tool['name'])}</summary>{preformatted(shown)}</details>"
    members = "".join(_tool(member, min(level + 1, 6)) for member in tool["members"] or ())
    return (
        f"<h{level}>{isolated(tool['name'])}</h{level}><p>{isolated(tool['description'] or 'Known after loading.')}</p>"
        f"{facts(pairs)}{details if shown else ''}{members}"
    )


def _packaged(newest: Mapping[str, Any]) -> str:
    parts = []
    for group in _GROUPS:
        names = [name for folder in newest[group] for name in (folder["files"] or [folder["name"]])]
        items = "".join(f"<li><code>{escape(newest['name'])}/{escape(name)}</code></li>" for name in names)
        parts.append(f"<h2>{group.capitalize()}</h2><ul>{items}</ul>" if items else "")
    return "".join(parts)


def _findings(check: Mapping[str, Any] | None) -> str:
    if check is None or not check["findings"]:
        return ""
    heads = '<tr><th scope="col">Code</th><th scope="col">Severity</th><th scope="col">Finding</th></tr>'
    rows = "".join(
        f'<tr><th scope="row">{escape(one["code"])}</th><td>{escape(one["severity"])}</td>'
        f"<td>{isolated(one['message'])}</td></tr>"
        for one in check["findings"]
    )
    return f"<h2>Findings of the check</h2>{table('Findings', heads, rows)}"


def _files(versions: Sequence[Mapping[str, Any]]) -> str:
    heads = '<tr><th scope="col">Wheel</th><th scope="col">Size</th><th scope="col">SHA-256</th></tr>'
    rows = "".join(
        f'<tr><th scope="row"><a href="../wheels/{escape(file["file"])}">{escape(file["file"])}</a></th>'
        f"<td>{size_of(file['size'])}</td><td><code>{file['sha256']}</code></td></tr>"
        for one in versions
        for file in one["files"]
    )
    return f"<h2>Versions</h2>{table('Versions', heads, rows)}"
