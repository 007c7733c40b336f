"""The installed tools: where each comes from, what it says of itself, what policy decides, and its lock."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from strands_cli.api import (
    Policy,
    StrandsCliError,
    UsageError,
    counted,
    escape,
    explain_policy,
    find_single_tool,
    isolated,
    preformatted,
    read_installation,
    require_locked,
    shortened,
)
from strands_cli_ui.frame.ui_forms import section, table
from strands_cli_ui.frame.ui_frame import page_response
from strands_cli_ui.frame.ui_state import Ui

if TYPE_CHECKING:
    from starlette.responses import Response

    from strands_cli.api import Installation, ToolRecord

PER_PAGE = 200


def show_tools(ui: Ui, request: Any) -> Response:
    """Return the list of tools, with what policy decides on a call of each."""
    machine, warning = _machine(ui)
    text = request.query_params.get("text", "").strip().lower()
    every = [one for record in machine.catalog.tools for one in (record.members or (record,))]
    chosen = [one for one in every if text in f"{one.ref_name} {one.distribution} {one.description or ''}".lower()]
    findings = "".join(f"<li>{preformatted(str(one))}</li>" for one in machine.catalog.findings)
    search = (
        '<form method="get" action="/tools" role="search"><label>Text <input type="search" name="text" '
        f'value="{escape(text)}"></label> <button>Show</button></form>'
    )
    rows = "".join(_row(one, machine) for one in chosen[:PER_PAGE])
    heads = "".join(f'<th scope="col">{name}</th>' for name in ("Tool", "Status", "From", "Its calls", "What it does"))
    listed = (
        '<div class="wide" role="region" tabindex="0" aria-label="Tools"><table class="stack tools"><thead><tr>'
        f"{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
    more = f"<p>{counted(len(chosen) - PER_PAGE, 'tool')} not shown.</p>" if len(chosen) > PER_PAGE else ""
    body = f"<h1>Tools</h1>{warning}{search}{listed if rows else '<p>No tool fits.</p>'}{more}"
    return page_response("Tools", body + (section("Findings", f"<ul>{findings}</ul>") if findings else ""))


def show_tool(ui: Ui, request: Any) -> Response:
    """Return the page of one tool."""
    machine, warning = _machine(ui)
    name = request.query_params.get("name", "")
    record = _record(machine, name)
    claims = {key: value for key, value in record.as_dict().items() if value not in (None, [], {}) and key != "source"}
    from strands_cli.api import find_provenance

    source = {**record.source, **find_provenance(record, machine.catalog).as_dict()}
    parts = [
        f"<h1><code>{isolated(record.ref_name)}</code></h1>{warning}",
        f"<p>{isolated(record.description or '')}</p>",
        section("Policy", _policy(record, machine)),
        section("Lock", _lock(ui, record, machine)),
        section("Source", table("Source", ("What", "Value"), [(key, _text(value)) for key, value in source.items()])),
        section("Manifest", preformatted(json.dumps(claims, ensure_ascii=False, indent=2, default=str))),
    ]
    return page_response(record.ref_name, "".join(parts), under="Tools")


def _machine(ui: Ui) -> tuple[Installation, str]:
    """Return this installation, and the HTML of what is wrong with its policy files."""
    try:
        return read_installation(folder=ui.folder), ""
    except StrandsCliError as error:
        wrong = "".join(preformatted(str(one)) for one in error.findings) or preformatted(error.message)
        return read_installation(policy=Policy()), f'<div class="error">{wrong}</div>'


def _record(machine: Installation, name: str) -> ToolRecord:
    every = [one for record in machine.catalog.tools for one in (record, *(record.members or ()))]
    found = next((one for one in every if one.ref_name == name), None)
    if found is None:
        raise UsageError(f"there is no tool {name!r}", fix="see the list of tools")
    return found


def _row(record: ToolRecord, machine: Installation) -> str:
    place = escape(f"/tool?{urlencode({'name': record.ref_name})}")
    link = f'<a href="{place}"><code>{isolated(record.ref_name)}</code></a>'
    cells = (
        record.status,
        f"{record.distribution} {record.version or ''}",
        shortened(_decision(record, machine), 90),
        shortened((record.description or "").strip().partition("\n")[0].partition(". ")[0], 120),
    )
    return f"<tr><td>{link}</td>{''.join(f'<td>{isolated(cell)}</td>' for cell in cells)}</tr>"


def _decision(record: ToolRecord, machine: Installation) -> str:
    if record.status not in ("available", "unknown"):
        return record.reason or ""
    found = [one.call for one in explain_policy(f"native:{record.ref_name}", machine)]
    return "; ".join(dict.fromkeys(f"{one.effect}: {one.rule}" for one in found))


def _policy(record: ToolRecord, machine: Installation) -> str:
    """Return what policy decides, the rules that it follows, and what would change it."""
    parts = []
    for one in explain_policy(f"native:{record.ref_name}", machine):
        rules = [(rule.effect, rule.pattern, rule.words) for rule in (*one.speaking, *one.conditional)]
        changes = "".join(f"<li>{isolated(change)}</li>" for change in one.changes)
        parts += [
            f"<p>To load it: {isolated(f'{one.load.effect}: {one.load.rule}')}</p>",
            f"<p>To call it: {isolated(f'{one.call.effect}: {one.call.rule}')}</p>",
            table("Rules", ("Effect", "Rule", "From"), rules),
            f"<ul>{changes}</ul>" if changes else "",
            f"<p>{isolated(one.note)}</p>" if one.note else "",
        ]
    return "".join(parts)


def _lock(ui: Ui, record: ToolRecord, machine: Installation) -> str:
    """Return whether the lock of the folder has the tool as it is."""
    try:
        tool = find_single_tool(f"native:{record.ref_name}", machine.catalog)
        require_locked(tool, ui.folder, machine.catalog, "this page")
    except StrandsCliError as error:
        return "".join(preformatted(str(one)) for one in error.findings) or preformatted(error.message)
    return "<p>The lock of this folder has it as it is.</p>"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
