"""The workflows of the folder: the findings, the plan and the rights of each, and the form that starts it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from strands_cli.api import (
    SUFFIXES,
    Finding,
    RunRecordError,
    StrandsCliError,
    UsageError,
    WorkflowPreview,
    counted,
    shortened,
)
from strands_cli_ui.frame.ui_forms import form, option, section, text_table
from strands_cli_ui.frame.ui_frame import has_address, page_response
from strands_cli_ui.frame.ui_state import Ui
from strands_cli_ui.pages.html_text import escape, isolated, preformatted
from strands_cli_ui.pictures.pattern_graph import pattern_graph_of
from strands_cli_ui.pictures.svg_pattern import svg_pattern

if TYPE_CHECKING:
    from starlette.responses import Response

    from strands_cli.api import InputSpec, WorkflowPreview


_OVERWRITE = '<p><label><input type="checkbox" name="force" value="yes"> Overwrite artifacts that exist</label></p>'
# The most characters of one text in a table.
TEXT = 400
_NUMBERS = {"integer": ' inputmode="numeric" pattern="-?[0-9]+"', "number": ' inputmode="decimal"'}


def show_workflows(ui: Ui, request: Any) -> Response:
    """Return the list of the folder's workflows."""
    titled = ((name, titles_of(ui, name)) for name in workflow_names(ui))
    rows = "".join(_row(name, *titles) for name, titles in titled if titles is not None)
    listed = (
        f'<ul class="plain titled">{rows}</ul>' if rows else "<p>There is no workflow in this folder: strands new</p>"
    )
    return page_response("Workflows", f"<h1>Workflows</h1><p>{isolated(ui.folder)}</p>{listed}")


def _row(file: str, name: str, about: str) -> str:
    link = f'<a href="/workflows/{quote(file, safe="")}">{isolated(name or file)}</a>'
    text = f"<br>{isolated(shortened(about, TEXT))}" if about else ""
    return f'<li>{link} <code class="soft">{isolated(file)}</code>{text}</li>'


def show_workflow(ui: Ui, request: Any) -> Response:
    """Return the page of a workflow."""
    name = request.path_params["name"]
    title = f"<h1><code>{isolated(name)}</code></h1>"
    try:
        preview = seen_workflow(ui, name)
    except StrandsCliError as error:
        if not error.findings:
            raise
        return page_response(name, f"{title}{_findings(error.findings)}", 409, under="Workflows")
    about = preview.plan.spec.metadata.description if preview.plan.spec.metadata else None
    body = [
        title,
        f"<p>{escape(about)}</p>" if about else "",
        _findings(preview.findings) if preview.findings else "",
        _pattern(preview),
        _plan(preview),
        _authority(preview),
        _start(preview, name, request),
    ]
    return page_response(name, "".join(body), under="Workflows")


def _findings(findings: Iterable[Finding]) -> str:
    listed = "".join(f"<li>{preformatted(str(finding))}</li>" for finding in findings)
    return section("Findings", f'<ul class="plain">{listed}</ul>')


def _pattern(preview: WorkflowPreview) -> str:
    """Return the picture of its steps and of the ways from one to the next."""
    picture = svg_pattern(pattern_graph_of(preview.plan.spec.pattern))
    return section("Pattern", picture) if picture else ""


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
            ", then ".join("/".join(filter(None, [model.provider, model.model_id])) for model in agent.models),
            ", ".join(tool.name for tool in agent.tools),
        )
        for agent in plan.agents.values()
    ]
    tools = dict.fromkeys((tool.name, tool.ref, tool.decision_words()) for tool in plan.called())
    bounds = {"step": plan.bounds.steps, "model call": plan.bounds.model_calls, "tool call": plan.bounds.tool_calls}
    limits = ", ".join(
        f"{name}s unbounded" if most is None else f"at most {counted(most, name)}" for name, most in bounds.items()
    )
    return section(
        "Plan",
        f"{text_table('Steps', ('Step', 'Kind', 'Who', 'Input', 'Decision'), steps)}"
        f"{text_table('Agents', ('Agent', 'Model', 'Tools'), agents)}"
        f"{text_table('Tools', ('Tool', 'Reference', 'Its calls'), tools)}<p>{escape(limits)}</p>",
    )


def _authority(preview: WorkflowPreview) -> str:
    """Return the sentences about all that it starts, reads and sends."""
    sections = "".join(
        f"<h3>{escape(title)}</h3><ul>{''.join(f'<li>{isolated(sentence)}</li>' for sentence in sentences)}</ul>"
        for title, sentences in preview.sections.items()
        if sentences
    )
    return section("What it may do", sections)


def _start(preview: WorkflowPreview, name: str, request: Any) -> str:
    """Return the form that starts a run, or the step that must come before."""
    address, hidden_fields = f"/workflows/{quote(name, safe='')}", {"seen": preview.digest}
    if not preview.can_run:
        return section("Start", "<p>It cannot start before the errors above are corrected.</p>")
    if preview.standing == "denied":
        return section("Start", "<p>A rule of the policy denies what it starts and opens.</p>")
    if preview.standing == "unanswered":
        button = "<button>Allow all of the above, until it changes</button>"
        text = "<p>It starts or opens what no person has allowed yet. Read what it may do.</p>"
        return section("Start", text + form(request, f"{address}/trust", button, hidden=hidden_fields))
    spec = preview.plan.spec.inputs
    fields = [_field(input_name, kind, is_required=True) for input_name, kind in spec.required.items()]
    fields += [_field(input_name, kind, is_required=False) for input_name, kind in spec.optional.items()]
    inner = "".join([*fields, _OVERWRITE if preview.overwrites else "", "<button>Start</button>"])
    note = "<p>A tool call that asks waits in the inbox.</p>"
    return section("Start", note + form(request, f"{address}/start", inner, hidden=hidden_fields))


def _field(name: str, spec: InputSpec, *, is_required: bool) -> str:
    """Return the field of an input; an empty one has its default."""
    default = "" if spec.default is None else _text(spec.default)
    about = f' <span class="soft">{escape(spec.description)}</span>' if spec.description else ""
    default_note = f' <span class="soft">default: {escape(shortened(default, 80))}</span>' if default else ""
    label = (
        f'<bdi>{escape(name)}</bdi> <span class="kind">{escape(spec.type)}{"" if is_required else ", optional"}</span>'
    )
    control = _control(f"input.{name}", spec, is_required=is_required)
    return f"<p><label>{label}{about}{default_note}<br>{control}</label></p>"


def _control(name: str, spec: InputSpec, *, is_required: bool) -> str:
    needed = " required" if is_required else ""
    values = spec.enum or ((True, False) if spec.type == "boolean" else None)
    if values is not None:
        listed = "".join(option(_text(value)) for value in values)
        return f'<select name="{escape(name)}"{needed}><option value=""></option>{listed}</select>'
    if spec.type in _NUMBERS:
        return f'<input name="{escape(name)}" autocomplete="off"{_NUMBERS[spec.type]}{needed}>'
    return f'<textarea name="{escape(name)}" rows="2"{needed}></textarea>'


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


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
