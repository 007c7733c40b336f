"""The installed tools: the source, the manifest, the policy and the lock of each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from strands_cli.api import InstalledTools, StrandsCliError, counted, shortened
from strands_cli_ui.frame.ui_forms import section, text_table
from strands_cli_ui.frame.ui_frame import page_response
from strands_cli_ui.frame.ui_state import Ui
from strands_cli_ui.pages.html_text import escape, isolated, preformatted, table

if TYPE_CHECKING:
    from starlette.responses import Response

    from strands_cli.api import ToolRecord

PER_PAGE = 200


def show_tools(ui: Ui, request: Any) -> Response:
    """Return the list of tools, with the decision of policy on a call of each."""
    tools = InstalledTools(ui.folder)
    text = request.query_params.get("text", "").strip().lower()
    chosen = [
        tool for tool in tools.all() if text in f"{tool.ref_name} {tool.distribution} {tool.description or ''}".lower()
    ]
    findings = "".join(f"<li>{preformatted(str(finding))}</li>" for finding in tools.findings)
    search = (
        '<form method="get" action="/tools" role="search"><label>Text <input type="search" name="text" '
        f'value="{escape(text)}"></label> <button>Show</button></form>'
    )
    rows = "".join(_row(record, tools) for record in chosen[:PER_PAGE])
    heads = ("Tool", "Status", "From", "Its calls", "What it does")
    listed = table("Tools", heads, rows, classes="stack tools") if rows else "<p>No tool fits.</p>"
    more = f"<p>{counted(len(chosen) - PER_PAGE, 'tool')} not shown.</p>" if len(chosen) > PER_PAGE else ""
    body = f"<h1>Tools</h1>{_warning(tools)}{search}{listed}{more}"
    return page_response("Tools", body + (section("Findings", f"<ul>{findings}</ul>") if findings else ""))


def show_tool(ui: Ui, request: Any) -> Response:
    """Return the page of one tool."""
    tools = InstalledTools(ui.folder)
    record = tools.find(request.query_params.get("name", ""))
    claims = {key: value for key, value in record.as_dict().items() if value not in (None, [], {}) and key != "source"}
    source = tools.source_of(record)
    parts = [
        f"<h1><code>{isolated(record.ref_name)}</code></h1>{_warning(tools)}",
        f"<p>{isolated(record.description or '')}</p>",
        section("Policy", _policy(record, tools)),
        section("Lock", _lock(record, tools)),
        section(
            "Source", text_table("Source", ("What", "Value"), [(key, _text(value)) for key, value in source.items()])
        ),
        section("Manifest", preformatted(json.dumps(claims, ensure_ascii=False, indent=2, default=str))),
    ]
    return page_response(record.ref_name, "".join(parts), under="Tools")


def _warning(tools: InstalledTools) -> str:
    """Return the error of the policy files as HTML; empty without one."""
    error = tools.policy_error
    if error is None:
        return ""
    wrong = "".join(preformatted(str(finding)) for finding in error.findings) or preformatted(error.message)
    return f'<div class="error">{wrong}</div>'


def _row(record: ToolRecord, tools: InstalledTools) -> str:
    address = escape(f"/tool?{urlencode({'name': record.ref_name})}")
    link = f'<a href="{address}"><code>{isolated(record.ref_name)}</code></a>'
    cells = (
        record.status,
        f"{record.distribution} {record.version or ''}",
        shortened(_decision(record, tools), 90),
        shortened((record.description or "").strip().partition("\n")[0].partition(". ")[0], 120),
    )
    return f"<tr><td>{link}</td>{''.join(f'<td>{isolated(cell)}</td>' for cell in cells)}</tr>"


def _decision(record: ToolRecord, tools: InstalledTools) -> str:
    if record.status not in ("available", "unknown"):
        return record.reason or ""
    decisions = [explained.call for explained in tools.policy_of(record)]
    return "; ".join(dict.fromkeys(f"{decision.effect}: {decision.rule}" for decision in decisions))


def _policy(record: ToolRecord, tools: InstalledTools) -> str:
    """Return the decisions of policy, the rules behind them, and the changes that would alter them."""
    parts = []
    for explained in tools.policy_of(record):
        rules = [(rule.effect, rule.pattern, rule.words) for rule in (*explained.speaking, *explained.conditional)]
        changes = "".join(f"<li>{isolated(change)}</li>" for change in explained.changes)
        parts += [
            f"<p>To load it: {isolated(f'{explained.load.effect}: {explained.load.rule}')}</p>",
            f"<p>To call it: {isolated(f'{explained.call.effect}: {explained.call.rule}')}</p>",
            text_table("Rules", ("Effect", "Rule", "From"), rules),
            f"<ul>{changes}</ul>" if changes else "",
            f"<p>{isolated(explained.note)}</p>" if explained.note else "",
        ]
    return "".join(parts)


def _lock(record: ToolRecord, tools: InstalledTools) -> str:
    """Return whether the lock of the folder has the tool as it is."""
    try:
        tools.require_locked(record, "this page")
    except StrandsCliError as error:
        return "".join(preformatted(str(finding)) for finding in error.findings) or preformatted(error.message)
    return "<p>The lock of this folder has it as it is.</p>"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
