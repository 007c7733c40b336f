"""The installed tools as cards: what each reads, writes and reaches, its publisher, and the rule on its calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from strands_cli.api import InstalledTools, StrandsCliError, counted, shortened
from strands_cli_ui.frame.ui_forms import text_table
from strands_cli_ui.frame.ui_frame import page_response
from strands_cli_ui.frame.ui_state import Ui
from strands_cli_ui.pages.html_text import escape, facts, icon, isolated, preformatted
from strands_cli_ui.pages.run_parts import section
from strands_cli_ui.pages.value_tree import ValueTree

if TYPE_CHECKING:
    from starlette.responses import Response

    from strands_cli.api import ToolRecord

# The source of each is looked for its publisher.
PER_PAGE = 60
_LONG = 100_000


def show_tools(ui: Ui, request: Any) -> Response:
    """Return the list of tools, with the decision of policy on a call of each."""
    tools = InstalledTools(ui.folder)
    text = request.query_params.get("text", "").strip().lower()
    chosen = [
        tool for tool in tools.all() if text in f"{tool.ref_name} {tool.distribution} {tool.description or ''}".lower()
    ]
    findings = "".join(f"<li>{preformatted(str(finding))}</li>" for finding in tools.findings)
    search = (
        '<form method="get" action="/tools" role="search"><label><span class="hidden">Text</span><input type="search" '
        f'name="text" placeholder="Search" value="{escape(text)}"></label><button class="nojs">Show</button></form>'
    )
    cards = "".join(_card(record, tools) for record in chosen[:PER_PAGE])
    more = (
        f"<p>{counted(len(chosen) - PER_PAGE, 'tool')} not shown: search for one.</p>" if len(chosen) > PER_PAGE else ""
    )
    body = (
        f'<div id="live"><div class="filters"><h1>Tools <span class="kind">{len(chosen):,}</span></h1>{search}</div>'
        f'{_warning(tools)}<ul class="plain cards">{cards}</ul>{"" if cards else "<p>No tool fits.</p>"}{more}'
        f"{section('Findings', f'<ul>{findings}</ul>') if findings else ''}</div>"
    )
    return page_response("Tools", body)


def show_tool(ui: Ui, request: Any) -> Response:
    """Return the page of one tool."""
    tools = InstalledTools(ui.folder)
    record = tools.find(request.query_params.get("name", ""))
    claims = {key: value for key, value in record.as_dict().items() if value not in (None, [], {}) and key != "source"}
    source = {key: value for key, value in tools.source_of(record).items() if value not in (None, ())}
    parts = [
        f"<h1><code>{isolated(record.ref_name)}</code></h1>{_warning(tools)}",
        f"<p>{isolated(record.description or '')}</p>",
        section("What it may do", _scope(record)),
        section("Policy", _policy(record, tools)),
        section("Lock", _lock(record, tools)),
        section("Source", ValueTree(_LONG).html(source)),
        section("Manifest", ValueTree(_LONG).html(claims)),
    ]
    return page_response(record.ref_name, "".join(parts), under="Tools")


def _warning(tools: InstalledTools) -> str:
    """Return the error of the policy files as HTML; empty without one."""
    error = tools.policy_error
    if error is None:
        return ""
    wrong = "".join(preformatted(str(finding)) for finding in error.findings) or preformatted(error.message)
    return f'<div class="error">{wrong}</div>'


def _card(record: ToolRecord, tools: InstalledTools) -> str:
    address = escape(f"/tool?{urlencode({'name': record.ref_name})}")
    about = shortened((record.description or "").strip().partition("\n")[0].partition(". ")[0], 120)
    publisher = tools.source_of(record).get("publisher")
    names = [str(value) for value in publisher.values() if value] if isinstance(publisher, Mapping) else []
    source = " ".join([record.distribution, record.version or "", "by" if names else "", *names])
    return (
        f'<li class="card"><h2>{icon("tools")}<a href="{address}"><code>{isolated(record.ref_name)}</code></a></h2>'
        f"<p>{isolated(about)}</p>{_scope(record)}<p>{_rule(record, tools)}</p>"
        f'<p class="soft">{isolated(source)}</p></li>'
    )


def _rule(record: ToolRecord, tools: InstalledTools) -> str:
    """Return the decision on a call as a coloured word with its reason; of a tool that cannot be used why not."""
    if record.status not in ("available", "unknown"):
        return f'<span class="badge failed">{record.status}</span> {isolated(record.reason or "")}'
    decisions = dict.fromkeys((explained.call.effect, explained.call.rule) for explained in tools.policy_of(record))
    colours = {"allow": "done", "ask": "waiting", "deny": "failed"}
    return "<br>".join(
        f'<span class="badge {colours.get(effect, "")}">{escape(effect)}</span> {isolated(shortened(str(rule), 90))}'
        for effect, rule in decisions
    )


def _scope(record: ToolRecord) -> str:
    """Return what a tool says that it reads, writes, reaches and starts."""
    stated, resources = record.strands_cli.get("capabilities"), record.strands_cli.get("resources") or {}
    if not isinstance(stated, Mapping):
        return '<p class="soft">It does not say what it reads, writes and reaches.</p>'
    places = [place for place in stated.get("filesystem") or () if isinstance(place, Mapping)]
    read, written = (
        [f"files in {place.get('path')}" for place in places if mode in str(place.get("mode"))]
        for mode in ("read", "write")
    )
    values = {
        "reads": _listed([*read, *(resources.get("reads") or ())]),
        "writes": _listed([*written, *(resources.get("writes") or ())]),
        "reaches": _listed("every host" if host == "*" else host for host in stated.get("network") or ()),
        "starts": "programs" if stated.get("subprocess") else "",
        "secrets": _listed(stated.get("secrets") or ()),
    }
    return facts(values.items()) or '<p class="soft">It reads, writes and reaches nothing outside itself.</p>'


def _listed(items: Iterable[Any]) -> str:
    return ", ".join(isolated(item) for item in items)


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
