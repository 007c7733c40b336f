"""One stored run as a page: its inputs, answer, files and costs, why it stopped, and each of its effects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from strands_cli.api import counted, duration
from strands_cli_ui.pages.effect_list import EffectLink, effect_list
from strands_cli_ui.pages.html_text import badge, cut, escape, facts, moment, money, preformatted, size_of, table
from strands_cli_ui.pages.page_frame import document
from strands_cli_ui.pages.run_page import RunPage
from strands_cli_ui.pages.run_remarks import decisions, warnings
from strands_cli_ui.pages.safe_markdown import markdown_html
from strands_cli_ui.pictures.run_pictures import picture_sections

LONG_REASON = 4000
_WAITS = ("waiting", "needs-decision")
# Of a longer answer a page has the beginning, where it can link to the rest.
LONG_ANSWER = 10_000


def run_html(page: RunPage) -> str:
    """Return the one file that shows a run: it loads nothing, and needs no JavaScript."""
    run = page.summary.run
    note = f"<p>Made by strands-cli. The run itself: <code>{escape(page.show_command)}</code></p>"
    return document(f"{page.plain(run.workflow)}: {run.status} ({run.id})", run_body(page), note=note)


def run_body(
    page: RunPage, *, effect_link: EffectLink | None = None, answer_link: str = "", first: str = "", actions: str = ""
) -> str:
    """Return the content of a run's page.

    Args:
        effect_link: Returns the address of a whole effect by its key, where the page does not have it.
        answer_link: The address of a long answer, of which the page has only the beginning.
        first: HTML that comes directly after the title: the forms of its questions.
        actions: HTML that comes after the facts of the run.
    """
    effects = effect_list(page, effect_link)
    sections = [
        ("Warnings", warnings(page)),
        ("Questions", _questions(page)),
        ("Answer", _answer(page, answer_link)),
        ("Inputs", _inputs(page)),
        ("Artifacts", _artifacts(page)),
        *(picture_sections(page.pictures) if page.pictures is not None else ()),
        ("Decisions", decisions(page)),
        ("Effects", effects),
    ]
    return _header(page, first) + actions + "".join(_section(title, inside) for title, inside in sections if inside)


def _section(title: str, inside: str) -> str:
    name = title.lower()
    heading = f'<h2 id="h-{name}">{escape(title)}</h2>'
    return f'<section aria-labelledby="h-{name}" class="s-{name}">{heading}{inside}</section>'


def _header(page: RunPage, first: str) -> str:
    run, spent = page.summary.run, page.summary.spent
    tokens = f"{spent.usage.input_tokens:,} in, {spent.usage.output_tokens:,} out" if spent.model_calls else "none"
    values = {
        "run": f"<code>{escape(run.id)}</code>",
        "reason": _reason(page.plain(run.reason)) if run.reason else "",
        "file": f"<bdi>{page.text(run.file)}</bdi>",
        "started": moment(run.started_at),
        "waits since" if run.status in _WAITS else "ended": moment(run.ended_at) if run.ended_at is not None else "",
        "worked": duration(run.worked_s),
        "model": page.text(", ".join(page.summary.models)),
        "calls": f"{counted(spent.model_calls, 'model call')}, {counted(spent.tool_calls, 'tool call')}",
        "tokens": tokens,
        "cost": money(spent.cost) if spent.model_calls else "",
        "cut off": f"{counted(calls_cut_off, 'model call')}; the cost is not known"
        if (calls_cut_off := page.summary.cut_off)
        else "",
        **dict(_history(page)),
    }
    pattern = f' <span class="kind">{page.text(run.pattern)}</span>' if run.pattern else ""
    title = f"<h1><bdi>{page.text(run.workflow)}</bdi>{pattern} {badge(run.status)}</h1>"
    return f'<header class="run">{title}{first}{facts(values.items())}</header>'


def _reason(text: str) -> str:
    """Return why a run has ended; an error can quote a text as long as an answer."""
    beginning, note = cut(text, LONG_REASON)
    more = f' <span class="cut">{note}</span>' if note else ""
    return f"<bdi>{escape(beginning)}</bdi>{more}"


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


def _questions(page: RunPage) -> str:
    questions = "".join(
        f"<li><code>{escape(question['key'])}</code> {preformatted(str(question.get('prompt') or ''))}"
        f"{preformatted(str(question['context'])) if question.get('context') else ''}"
        f"{preformatted(_json(question['call'])) if question.get('call') else ''}</li>"
        for question in page.questions
    )
    if not questions:
        return ""
    lines = "\n".join(page.commands)
    return f'<ul class="plain">{questions}</ul><p>To answer:</p>{preformatted(lines)}'


def _answer(page: RunPage, link: str) -> str:
    if page.summary.response is None:
        return ""
    text = page.plain(page.summary.response)
    beginning, note = cut(text, LONG_ANSWER) if link else (text, "")
    more = f'<p class="cut">{note}: <a href="{escape(link)}">more of it</a></p>' if note else ""
    return markdown_html(beginning) + more


def _inputs(page: RunPage) -> str:
    inputs = page.summary.inputs
    return preformatted(_json(inputs)) if inputs else ""


def _artifacts(page: RunPage) -> str:
    rows = "".join(
        f"<tr><td><bdi>{page.text(artifact['path'])}</bdi></td><td>{size_of(int(artifact['size']))}</td>"
        f"<td><code>{escape(artifact['digest'])}</code></td></tr>"
        for artifact in page.summary.artifacts
    )
    return table("Artifacts", ("File", "Size", "Digest"), rows) if rows else ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=str)
