"""The parts of a run's page, and the report: why it stopped, its answer, files and costs, and each of its effects."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from strands_cli.api import counted, duration, shortened
from strands_cli_ui.pages.cost_parts import budgets_html, costs_html
from strands_cli_ui.pages.effect_rows import EffectLink, opening_rows
from strands_cli_ui.pages.html_text import (
    anchor_of,
    badge,
    cut,
    escape,
    facts,
    isolated,
    moment,
    money,
    preformatted,
    size_of,
    table,
)
from strands_cli_ui.pages.page_frame import document
from strands_cli_ui.pages.run_page import RunPage
from strands_cli_ui.pages.run_remarks import decisions, warnings
from strands_cli_ui.pages.safe_markdown import markdown_html
from strands_cli_ui.pages.value_tree import ValueTree
from strands_cli_ui.pictures.svg_pattern import svg_pattern

LONG_REASON = 4000
_LONG_TREE = 100_000
_WAITS = ("waiting", "needs-decision")
# Of a longer answer a page has the beginning, where it can link to the rest; one longer than this is folded.
LONG_ANSWER, FOLDED_ANSWER, FOLDED_LINES = 10_000, 900, 12
_STOPPED = {
    "failed": "Why it failed",
    "interrupted": "It was interrupted",
    "cancelled": "It was cancelled",
    "needs-decision": "It cannot go on without a decision",
    "waiting": "What it waits for",
}


def run_html(page: RunPage) -> str:
    """Return the one file that shows a run: it loads nothing, and needs no JavaScript."""
    run = page.summary.run
    note = f"<p>Made by strands-cli. The run itself: <code>{escape(page.show_command)}</code></p>"
    return document(f"{page.plain(run.workflow)}: {run.status} ({run.id})", run_body(page), note=note)


def run_body(page: RunPage) -> str:
    """Return the content of a report."""

    def link(key: str) -> str:
        return f"#{anchor_of(key)}"

    run = page.summary.run
    parts = [
        title_html(page),
        top_html(
            section("Questions", _questions(page)) + stopped(page, link) + section("Answer", answer(page)),
            numbers(page, moment(run.started_at), f"<code>{escape(run.id)}</code>"),
            warnings(page, link),
        ),
        section("Steps", opening_rows(page)),
        *(section(name, inside()) for name, inside in later_parts(page, link).items()),
        section("About", about(page)),
    ]
    return "".join(parts)


def later_parts(page: RunPage, link: EffectLink) -> dict[str, Callable[[], str]]:
    """Return what makes the parts beside the steps, by their titles, as far as the run has them."""
    graph, inputs, pictures = page.pictures.pattern, page.summary.inputs, page.pictures
    parts: dict[str, Callable[[], str]] = {}
    if graph is not None and graph.nodes:
        parts["Graph"] = lambda: svg_pattern(graph, link)
    if inputs:
        parts["Inputs"] = lambda: ValueTree(_LONG_TREE).html(inputs)
    if page.summary.artifacts:
        parts["Artifacts"] = lambda: _artifacts(page)
    if pictures.budgets or pictures.costs.by_agent or pictures.costs.by_tool:
        parts["Costs"] = lambda: budgets_html(pictures.budgets) + costs_html(pictures.costs) + _decisions(page)
    return parts


def section(title: str, inside: str, classes: str = "card") -> str:
    """Return a part of a page with its heading; empty where it has no content."""
    name = f"s-{title.lower().replace(' ', '-')}"
    heading = f'<h2 id="{name}">{escape(title)}</h2>'
    return f'<section aria-labelledby="{name}" class="{classes}">{heading}{inside}</section>' if inside else ""


def title_html(page: RunPage, actions: str = "") -> str:
    """Return the title of a run, with buttons beside it."""
    run = page.summary.run
    words = shortened(" ".join(main_input(page.summary.inputs)[:2000].split()), 200)
    subject = f'<p class="soft" dir="auto">{page.text(words)}</p>' if words else ""
    title = f"<h1><bdi>{page.text(run.workflow)}</bdi> {badge(run.status)}</h1>"
    return f'<header class="run">{title}{actions}{subject}</header>'


def top_html(first: str, numbers: str, warned: str) -> str:
    """Return what a page begins with, and the numbers of the run beside it."""
    warned = section("Warnings", warned, "card callout waiting")
    return f'<div class="run-top"><div>{first}</div><div>{numbers}{warned}</div></div>'


def main_input(inputs: Any) -> str:
    """Return the longest input that is a text, or else the first one."""
    values = list(inputs.values()) if isinstance(inputs, Mapping) else []
    texts = [value for value in values if isinstance(value, str) and value.strip()]
    return max(texts, key=len, default=json.dumps(values[0], ensure_ascii=False, default=str) if values else "")


def numbers(page: RunPage, started: str, run: str) -> str:
    """Return how long a run took, its costs and its calls.

    Args:
        started: The HTML of the time when it started.
        run: The HTML of its id.
    """
    spent, usage = page.summary.spent, page.summary.spent.usage
    calls = {"model call": spent.model_calls, "tool call": spent.tool_calls}
    values = {
        "took": duration(page.summary.run.worked_s),
        "cost": money(spent.cost) if spent.model_calls else "",
        "tokens": f"{usage.input_tokens:,} in, {usage.output_tokens:,} out" if usage.total_tokens else "",
        "calls": ", ".join(counted(count, name) for name, count in calls.items() if count),
        "started": started,
        "run": run,
    }
    return f'<div class="card numbers">{facts(values.items())}</div>'


def about(page: RunPage) -> str:
    """Return the further facts of a run, and the command that shows it."""
    run, summary = page.summary.run, page.summary
    ended = moment(run.ended_at) if run.ended_at is not None else ""
    values = {
        "run": f"<code>{escape(run.id)}</code>",
        "file": f"<bdi>{page.text(run.file)}</bdi>",
        "pattern": page.text(run.pattern),
        "started": moment(run.started_at),
        "waits since" if run.status in _WAITS else "ended": ended,
        "models": page.text(", ".join(summary.models)),
        "cut off": f"{counted(summary.cut_off, 'model call')}; the cost is not known" if summary.cut_off else "",
        **dict(_history(page)),
        "as text": f"<code>{escape(page.show_command)}</code>",
    }
    return facts(values.items())


def _history(page: RunPage) -> Iterator[tuple[str, str]]:
    summary = page.summary
    if summary.origin:
        yield "rerun of", page.text(f"{summary.origin['run']} from {summary.origin['from']}")
    if summary.worked_on is not None and not summary.worked_on.is_known:
        yield "worked on", page.text(summary.worked_on.words)
    if summary.corrections:
        yield "corrected", page.text("; ".join(", ".join(names) or "nothing" for names in summary.corrections))
    if summary.python_tools:
        yield "tools of a program", page.text(", ".join(summary.python_tools))


def stopped(page: RunPage, link: EffectLink, more: str = "") -> str:
    """Return why a run has stopped, with the effect that is the cause; empty for one that is complete or goes on.

    Args:
        link: Returns the address of an effect by its key.
        more: The HTML of what to do now.
    """
    run = page.summary.run
    if run.status == "running":
        return section("It works on", _worked_on(page, link), "card callout running")
    if run.status not in _STOPPED or page.questions:
        return section("Parts", more) if more and run.status == "completed" else ""
    # An error can quote a text as long as an answer.
    beginning, note = cut(page.plain(run.reason or ""), LONG_REASON)
    reason = f'<p class="reason">{isolated(beginning)}</p>' if beginning else ""
    cause = cause_of(page) if run.status == "failed" else None
    place = f'<p><a href="{escape(link(cause))}">Show where: <code>{page.text(cause)}</code></a></p>' if cause else ""
    cut_note = f'<p class="cut">{note}</p>' if note else ""
    return section(_STOPPED[run.status], f"{reason}{cut_note}{place}{more}", f"card callout {run.status}")


def _worked_on(page: RunPage, link: EffectLink) -> str:
    """Return links to the effects that have begun and not ended, without those that have such ones below them."""
    busy = [branch for _, branch in page.waterfall.rows if branch.status == "running" and branch.effect is not None]
    leaves = [branch for branch in busy if not any(child.status == "running" for child in branch.children)]
    items = "".join(
        f'<li><a href="{escape(link(branch.key))}"><code>{page.text(branch.key)}</code></a> '
        f'<bdi class="soft">{page.text(branch.who)}</bdi></li>'
        for branch in leaves[-5:]
    )
    return f"<ul>{items}</ul>" if items else "<p>It has just begun.</p>"


def cause_of(page: RunPage) -> str | None:
    """Return the key of the effect for which a run waits or has failed: the deepest of the last that did."""
    status = {"failed": "failed", "waiting": "waiting"}.get(page.summary.run.status)
    found = [(depth, branch.key) for depth, branch in page.waterfall.rows if branch.status == status and branch.effect]
    if not found:
        return None
    last_top = found[-1][1].partition("/")[0]
    return max((row for row in found if row[1].partition("/")[0] == last_top), key=lambda row: row[0])[1]


def _questions(page: RunPage) -> str:
    questions = "".join(
        f"<li><code>{escape(question['key'])}</code> {preformatted(str(question.get('prompt') or ''))}"
        f"{preformatted(str(question['context'])) if question.get('context') else ''}"
        f"{ValueTree(_LONG_TREE).html(question['call']) if question.get('call') else ''}</li>"
        for question in page.questions
    )
    if not questions:
        return ""
    lines = "\n".join(page.commands)
    return f'<ul class="plain">{questions}</ul><p>To answer:</p>{preformatted(lines)}'


def answer(page: RunPage, address: str = "") -> str:
    """Return the answer of a run; a long one is folded.

    Args:
        address: Where all of it is, if the page has only the beginning.
    """
    if page.summary.response is None:
        return ""
    text = page.plain(page.summary.response)
    beginning, note = cut(text, LONG_ANSWER) if address else (text, "")
    more = f'<p class="cut">{note}: <a href="{escape(address)}">more of it</a></p>' if note else ""
    if not address or (len(text) < FOLDED_ANSWER and text.count("\n") < FOLDED_LINES):
        return markdown_html(beginning) + more
    unfold = "<details><summary>All of the answer</summary></details>"
    return f'<div class="fold">{markdown_html(beginning)}{more}</div>{unfold}'


def _artifacts(page: RunPage) -> str:
    rows = "".join(
        f"<tr><td><bdi>{page.text(artifact['path'])}</bdi></td><td>{size_of(int(artifact['size']))}</td>"
        f"<td><code>{escape(artifact['digest'])}</code></td></tr>"
        for artifact in page.summary.artifacts
    )
    return table("Artifacts", ("File", "Size", "Digest"), rows) if rows else ""


def _decisions(page: RunPage) -> str:
    listed = decisions(page)
    return f"<h3>Decisions on tool calls</h3>{listed}" if listed else ""
