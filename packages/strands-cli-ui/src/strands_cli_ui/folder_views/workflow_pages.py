"""The workflows of the folder: the findings, the plan and the rights of each, and the form that starts it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from strands_cli.api import (
    SUFFIXES,
    Finding,
    RunRecordError,
    Runs,
    StrandsCliError,
    UsageError,
    WorkflowPreview,
    counted,
    shortened,
)
from strands_cli_ui.frame.ui_forms import field_of, form, text_table
from strands_cli_ui.frame.ui_frame import has_address, page_response
from strands_cli_ui.frame.ui_state import Ui
from strands_cli_ui.pages.html_text import ago, badge, escape, icon, isolated, preformatted
from strands_cli_ui.pages.run_parts import section
from strands_cli_ui.pictures.pattern_graph import pattern_graph_of
from strands_cli_ui.pictures.svg_pattern import svg_pattern
from strands_cli_ui.views.run_lines import RunLine, lines_of

if TYPE_CHECKING:
    from starlette.responses import Response

    from strands_cli.api import InputSpec, StoredRun, WorkflowPreview


_OVERWRITE = '<p><label><input type="checkbox" name="force" value="yes"> Overwrite artifacts that exist</label></p>'
# The most characters of one text in a table.
TEXT = 400
# So many of its last runs a workflow is shown with.
LAST_RUNS = 12


def show_workflows(ui: Ui, request: Any) -> Response:
    """Return the folder's workflows, each with its last runs."""
    titled = [(name, *titles) for name in workflow_names(ui) if (titles := titles_of(ui, name)) is not None]
    with ui.opened() as opened:
        runs = Runs.without_parts(opened.all()[0])
    cards = "".join(_card(file, name, about, last_runs(runs, file, name)) for file, name, about in titled)
    listed = f'<ul class="plain cards">{cards}</ul>' if cards else _NONE
    return page_response("Workflows", f'<h1>Workflows</h1><p class="soft">{isolated(ui.folder)}</p>{listed}')


_NONE = (
    '<div class="card none"><h2>No workflow in this folder</h2><p>Make one in a terminal, and load this page again:</p>'
    "<pre>strands new</pre></div>"
)


def last_runs(runs: Iterable[StoredRun], file: str, name: str) -> list[StoredRun]:
    """Return the last runs of a workflow, the newest first."""
    own = (run for run in runs if run.workflow == name and PurePath(run.file).name == file)
    return list(itertools.islice(own, LAST_RUNS))


def _card(file: str, name: str, about: str, runs: Sequence[StoredRun]) -> str:
    link = f'<a href="/workflows/{quote(file, safe="")}">{isolated(name or file)}</a>'
    dots = "".join(
        f'<a class="dot {run.status}" href="/runs/{quote(run.id)}" title="{run.status}">'
        f'<span class="hidden">{run.status} {escape(run.id)}</span></a>'
        for run in reversed(runs)
    )
    last = f"{badge(runs[0].status)} {ago(runs[0].started_at)}" if runs else "No runs yet"
    return (
        f'<li class="card"><h2>{icon("workflows")}{link}</h2><p>{isolated(shortened(about, TEXT))}</p>'
        f'<p class="soft">{last} <span class="dots">{dots}</span></p><code class="soft">{isolated(file)}</code></li>'
    )


def show_workflow(ui: Ui, request: Any) -> Response:
    """Return the page of a workflow: how it starts and its last runs, its graph, its plan and its rights."""
    name = request.path_params["name"]
    title = f"<h1><code>{isolated(name)}</code></h1>"
    try:
        preview = seen_workflow(ui, name)
    except StrandsCliError as error:
        if not error.findings:
            raise
        return page_response(name, f"{title}{_findings(error.findings)}", 409, under="Workflows")
    spec = preview.plan.spec
    _, about = titles_of(ui, name) or ("", "")
    with ui.opened() as opened:
        runs = last_runs(Runs.without_parts(opened.all()[0]), name, spec.name)
        lines = lines_of(ui, opened, runs)
    picture = svg_pattern(pattern_graph_of(spec.pattern))
    last = "".join(_last_run(run, lines.get(run.id)) for run in runs)
    body = [
        f'<h1>{isolated(spec.name)} <code class="kind">{isolated(name)}</code></h1>',
        f"<p>{isolated(about)}</p>" if about else "",
        f'<div class="workflow"><div>{section("Start", _start(preview, name, request))}',
        section("Last runs", f'<ul class="plain last-runs">{last}</ul>' if last else ""),
        f"</div><div>{_findings(preview.findings) if preview.findings else ''}",
        section("Graph", picture),
        section("Plan", _plan(preview)),
        section("What it may do", _authority(preview)),
        "</div></div>",
    ]
    return page_response(name, "".join(body), under="Workflows")


def _last_run(run: StoredRun, line: RunLine | None) -> str:
    about = (line.about if line else "") or run.id
    link = f'<a href="/runs/{quote(run.id)}"><bdi>{escape(about)}</bdi></a>'
    return f'<li>{badge(run.status)} {link} <span class="number">{ago(run.started_at)}</span></li>'


def _findings(findings: Iterable[Finding]) -> str:
    listed = "".join(f"<li>{preformatted(str(finding))}</li>" for finding in findings)
    return section("Findings", f'<ul class="plain">{listed}</ul>')


def _plan(preview: WorkflowPreview) -> str:
    """Return the steps, and the tools with the decisions of policy on their calls."""
    plan = preview.plan
    steps = [
        (
            step.key,
            step.kind,
            step.who,
            shortened(step.input, TEXT),
            f"{step.decision.effect}: {step.decision.rule}" if step.decision else "",
        )
        for step in plan.steps
    ]
    agents = [
        (
            agent.id,
            ", then ".join(model.label for model in agent.models),
            ", ".join(tool.name for tool in agent.tools),
        )
        for agent in plan.agents.values()
    ]
    tools = dict.fromkeys((tool.name, tool.ref, tool.decision_words()) for tool in plan.called())
    bounds = {"step": plan.bounds.steps, "model call": plan.bounds.model_calls, "tool call": plan.bounds.tool_calls}
    limits = ", ".join(
        f"{name}s unbounded" if most is None else f"at most {counted(most, name)}" for name, most in bounds.items()
    )
    return (
        f"{text_table('Steps', ('Step', 'Kind', 'Who', 'Input', 'Decision'), steps)}"
        f"{text_table('Agents', ('Agent', 'Model', 'Tools'), agents)}"
        f"{text_table('Tools', ('Tool', 'Reference', 'Its calls'), tools)}<p>{escape(limits)}</p>"
    )


def _authority(preview: WorkflowPreview) -> str:
    """Return the sentences about all that it starts, reads and sends."""
    return "".join(
        f"<h3>{escape(title)}</h3><ul>{''.join(f'<li>{isolated(sentence)}</li>' for sentence in sentences)}</ul>"
        for title, sentences in preview.sections.items()
        if sentences
    )


def _start(preview: WorkflowPreview, name: str, request: Any) -> str:
    """Return the form that starts a run, or the step that must come before."""
    address, hidden_fields = f"/workflows/{quote(name, safe='')}", {"seen": preview.digest}
    if not preview.can_run:
        return "<p>It cannot start before its errors are corrected.</p>"
    if preview.standing == "denied":
        return "<p>A rule of the policy denies what it starts and opens.</p>"
    if preview.standing == "unanswered":
        button = '<button class="main">Allow all of it, until it changes</button>'
        text = "<p>It starts or opens what no person has allowed yet. Read what it may do.</p>"
        return text + form(request, f"{address}/trust", button, hidden=hidden_fields)
    spec = preview.plan.spec.inputs
    fields = [
        field_of(f"input.{input_name}", input_name, kind.model_dump(), is_required=input_name in spec.required)
        for input_name, kind in {**spec.required, **spec.optional}.items()
    ]
    inner = "".join([*fields, _OVERWRITE if preview.overwrites else "", '<button class="main">Start</button>'])
    note = '<p class="soft">A tool call that asks waits in the inbox.</p>'
    return form(request, f"{address}/start", inner, hidden=hidden_fields) + note


def refusal(title: str, lines: Iterable[str], name: str) -> Response:
    """Return the page that says why nothing has started."""
    listed = "".join(f"<li>{preformatted(line)}</li>" for line in lines)
    back = f'<p><a href="/workflows/{quote(name, safe="")}">Look at it again</a></p>'
    return page_response(title, f'<h1>{escape(title)}</h1><ul class="plain">{listed}</ul>{back}', 409)


def inputs_of(spec: Mapping[str, InputSpec], fields: Mapping[str, list[str]]) -> tuple[dict[str, Any], list[str]]:
    """Return the inputs of a form in their types, and the faults of the others."""
    values: dict[str, Any] = {}
    faults = []
    for name, declared in spec.items():
        text = fields.get(f"input.{name}", [""])[-1]
        if text == "":
            continue
        try:
            values[name] = declared.coerced(text)
        except ValueError as error:
            faults.append(f"the input '{name}' does not fit: {error}")
    return values, faults


# The most files of a folder to look at.
FILES = 300


def workflow_names(ui: Ui) -> list[str]:
    """Return the files of the folder that may be workflows, by their names; one that is not UTF-8 has no address."""
    try:
        files = [
            path
            for path in ui.folder.iterdir()
            if path.suffix in SUFFIXES and has_address(path.name) and path.is_file()
        ]
    except OSError as error:
        raise UsageError(
            f"{ui.folder} cannot be read: {error.strerror or error}", fix="start the page again"
        ) from error
    return sorted(path.name for path in files)[:FILES]


def titles_of(ui: Ui, file: str) -> tuple[str, str] | None:
    """Return the name and the description of a workflow; None for a recording, or an agent, which lie beside them."""
    try:
        return WorkflowPreview.titles(ui.folder / file)
    except StrandsCliError:  # one with a mistake in it is shown with its findings
        return None if file.endswith((".json", ".recording.yaml")) else ("", "")


def seen_workflow(ui: Ui, name: str) -> WorkflowPreview:
    """Plan a workflow of the folder, without importing a plugin; a person allows or starts exactly this.

    Raises:
        RunRecordError: The folder has no such file.
        StrandsCliError: It is not a valid workflow.
    """
    if name not in workflow_names(ui):
        raise RunRecordError(f"there is no workflow {name} in {ui.folder}", fix="see the list of workflows")
    return WorkflowPreview.of(ui.folder / name, ui.place, folder=ui.folder)
