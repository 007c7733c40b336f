"""The command `plan`: show the steps of a run before it, as text, JSON or a Mermaid diagram."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from strands_cli.cli.commands.command_options import SPEC, Chosen, with_run_options
from strands_cli.cli.commands.watch_option import WATCH
from strands_cli.cli.output.messages import error_document, report_error, say_findings
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.cli.terminal.workflow_summary import about_document, about_lines
from strands_cli.cli.terminal_text import one_line
from strands_cli.config import user_config_file
from strands_cli.errors import ExitCode, StrandsCliError
from strands_cli.texts.phrases import shortened

if TYPE_CHECKING:
    from strands_cli.cli.commands.plan_money import PlannedMoney
    from strands_cli.planning.plan_values import Alternate, Bounds, Plan, PlannedAgent, PlannedTool
    from strands_cli.providers import ModelSettings

# The most characters that a line shows of a value, and of the input of a step.
_TEXT, _INPUT = 120, 400


@with_run_options(without=("detach", "fail_on_denied", "record", "runs_dir"))
def plan(
    *,
    spec: SPEC,
    output: Annotated[Literal["text", "json", "mermaid"], typer.Option("--format", help="Output format.")] = "text",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    chosen: Chosen,
    _watch: WATCH = False,
) -> int:
    """Show what a run would do, without calling a model or importing a tool.

    Example: strands plan report.yaml --var topic=bees
    """
    output = "json" if as_json else output
    try:
        request = chosen.request()
        from strands_cli import app

        planned = app.plan(spec, request)
    except StrandsCliError as error:
        if output == "json":
            problem = error_document(error)
            print_json({"file": spec, "error": problem, "findings": problem.pop("findings")})
        raise
    from strands_cli.cli.commands.plan_money import PlannedMoney

    money = PlannedMoney(planned)
    if output == "json":
        print_json({**plan_document(planned), "money": money.document()})
    else:
        print_result(plan_mermaid(planned) if output == "mermaid" else plan_text(planned, money.lines()))
    return _report(planned, money, quiet=output == "json")


def _report(planned: Plan, money: PlannedMoney, *, quiet: bool) -> int:
    """Print the findings (unless the JSON document has them) and return the exit code that `run` would give."""
    from strands_cli.planning.plan_builder import require_runnable

    if not quiet:
        say_findings(planned.findings)
    try:
        require_runnable(planned)
    except StrandsCliError as error:
        return error.exit_code
    try:
        _require_notifications()
        for state in money.states:
            state.require()
    except StrandsCliError as error:
        return report_error(error)
    return ExitCode.OK


def _require_notifications() -> None:
    """Check that the notifications of the user's config file can be sent, as a run does before it begins.

    Raises:
        StrandsCliError: The file is not valid, or the distribution that sends them is not installed.
    """
    config = user_config_file(os.environ)
    if config is not None and os.path.lexists(config):
        from strands_cli.parts.notify_hooks import notify_part

        notify_part()


def plan_text(planned: Plan, money: Iterable[str] = ()) -> str:
    """Return the plan as text, with lines about its money."""
    from strands_cli.planning.authority_sentences import authority_sections
    from strands_cli.planning.data_flow.planned_authority import authority_of

    spec = planned.spec
    lines = [f"workflow  {spec.name} ({spec.pattern.type})  {planned.file}"]
    lines += about_lines(spec)
    described = {name: f"  ({text})" for name, text in about_document(spec)["inputs"].items()}
    texts = {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in planned.inputs.items()
    }
    lines += [f"input     {name} = {shortened(text, _TEXT)}{described.get(name, '')}" for name, text in texts.items()]
    if planned.default_model:
        lines.append(f"model     {planned.default_model}  (your default; see: strands models list)")
    for agent in planned.agents.values():
        lines.append(f"agent     {agent.id}: {model_words(agent)}")
        lines += [line for tool in agent.tools for line in _tool_lines(tool)]
        lines += [f"  shown   {words}" for words in shown_words(agent)]
        if agent.loops is not None and agent.loops.model_fields_set:
            lines += [f"  loops   {words}" for words in loop_words(agent)]
    for step in planned.steps:
        mark = "" if step.rendered else "  (rendered when it runs)"
        lines.append(f"step      {step.key}  {step.kind}  {step.who}{mark}")
        lines += [f"            ({step.about})"] if step.about else []
        lines += [f"            {step.decision.effect}: {step.decision.rule}"] if step.decision is not None else []
        lines += [f"            {line}" for line in shortened(step.input, _INPUT).splitlines()]
        lines += [f"            with {attachment}" for attachment in step.attachments]
    if of_steps := step_tools(planned):
        lines += ["tools of steps", *(line for tool in of_steps for line in _tool_lines(tool))]
    replaced = "  (replaces the file of this name)" if spec.outputs.overwrite else ""
    lines += [f"artifact  {artifact.path}{replaced}" for artifact in spec.outputs.artifacts]
    lines += [f"bounds    {bound_words(planned.bounds)}", *money]
    for title, sentences in authority_sections(authority_of(planned), is_complete=planned.is_complete).items():
        lines += [title, *(f"  {sentence}" for sentence in sentences)] if sentences else []
    return "\n".join(map(one_line, lines))


def _tool_lines(tool: PlannedTool) -> list[str]:
    line = f"  tool    {tool.name}  {tool.ref}  {_origin(tool)}  {tool.decision_words()}"
    lines = [line, *(f"            {rule.effect} {rule.pattern}: {rule.words}" for rule in tool.conditional)]
    lines += [
        f"            skill {name}: {shortened(', '.join(files), _TEXT)}" for name, files in skills_of(tool).items()
    ]
    return [*lines, *(f"    {inner}" for part in parts_of(tool) for inner in _tool_lines(part))]


def _origin(tool: PlannedTool) -> str:
    """Return where a tool comes from; the tools of an MCP server are known once it is started."""
    from strands_cli.planning.planned_tool import McpTool, reached_by

    if not isinstance(tool, McpTool):
        return tool.describe()
    hint = "" if tool.member is not None else "; its tools are listed when it is started"
    return f"(MCP server {reached_by(tool.server)}{hint})"


def skills_of(tool: PlannedTool) -> dict[str, list[str]]:
    """Return the files of each skill that a tool provides, by the skill's id."""
    definition = getattr(tool, "definition", None)
    return {folder.id: list(folder.texts) for folder in getattr(definition, "folders", ())}


def parts_of(tool: PlannedTool) -> list[PlannedTool]:
    """Return the parts of a tool that the workflow defines, each once; an agent's tools are shown with the agent."""
    parts: tuple[PlannedTool, ...] = () if tool.ref.startswith("agent:") else tool.parts
    return list({part.identity: part for part in parts}.values())


def step_tools(planned: Plan) -> list[PlannedTool]:
    """Return the tools of tool-call steps and of `tool_overrides`."""
    overrides = [tool for group in planned.override_tools.values() for tool in group]
    return [*planned.call_tools.values(), *overrides]


def model_words(agent: PlannedAgent) -> str:
    """Return an agent's model and its settings as text, and the models that go on in its place."""
    others = (f"{_words_of(other.model)} if {' or '.join(other.on)}" for other in agent.alternates)
    return "; then ".join([_words_of(agent.model), *others])


def _words_of(model: ModelSettings) -> str:
    settings = {"host": model.host, "region": model.region, "temperature": model.temperature, "top_p": model.top_p}
    settings["max_tokens"] = model.max_tokens
    return " ".join([model.label, *(f"{key}={value}" for key, value in settings.items() if value is not None)])


def shown_words(agent: PlannedAgent) -> list[str]:
    """Return how the model sees the tools of its agent; nothing where it sees all definitions."""
    from strands_cli.planning.planned_tool import AUTO_ABOVE, FINDER, McpTool

    servers = [tool.server.id for tool in agent.tools if isinstance(tool, McpTool) and tool.member is None]
    if not agent.tools or not (agent.defers(len(agent.tools)) or (servers and agent.tools_shown == "auto")):
        return []
    condition = "" if agent.defers(len(agent.tools)) else f", if they are more than {AUTO_ABOVE} with those of servers"
    always = agent.tools_shown if isinstance(agent.tools_shown, tuple) else ()
    but = f", but for {', '.join(always)}" if always else ""
    return [f"its model sees the names of its tools{but}, and loads definitions by {FINDER}{condition}"]


def loop_words(agent: PlannedAgent) -> list[str]:
    """Return when an agent that repeats its calls gets a hint, and when it is stopped; nothing without tools."""
    if agent.loops is None or not agent.tools:
        return []
    hint, stop = agent.loops.hint_after, agent.loops.stop_after
    words = [f"{word} after {after} times" for word, after in (("hint", hint), ("stop", stop)) if after != "off"]
    return [f"same calls with same results: {', '.join(words) or 'no limit'}"]


def bound_words(bounds: Bounds) -> str:
    """Return the bounds of a run as text."""
    named = {"steps": bounds.steps, "model calls": bounds.model_calls, "tool calls": bounds.tool_calls}
    return ", ".join(
        f"{label} unbounded" if n is None else f"at most {n} {label[:-1] if n == 1 else label}"
        for label, n in named.items()
    )


def plan_document(planned: Plan) -> dict[str, Any]:
    """Return the plan as one JSON document."""
    from strands_cli.planning.data_flow.planned_authority import authority_of

    return {
        "workflow": planned.spec.name,
        "file": planned.file,
        "about": about_document(planned.spec),
        "pattern": planned.spec.pattern.type,
        "digest": planned.digest,
        "inputs": dict(planned.inputs),
        **({"default_model": planned.default_model} if planned.default_model else {}),
        "agents": [_agent_document(agent) for agent in planned.agents.values()],
        "steps": [
            {
                **{name: getattr(step, name) for name in ("key", "kind", "who", "about", "input", "rendered")},
                "attachments": [attachment.as_dict() for attachment in step.attachments],
                "tools": list(step.tools),
                "permission": step.decision.effect if step.decision is not None else None,
            }
            for step in planned.steps
        ],
        "step_tools": [_tool_document(tool) for tool in step_tools(planned)],
        "artifacts": [artifact.path for artifact in planned.spec.outputs.artifacts],
        "overwrites": planned.spec.outputs.overwrite,
        "bounds": {name: getattr(planned.bounds, name) for name in ("steps", "model_calls", "tool_calls")},
        "authority": authority_of(planned).as_dict(),
        "findings": [finding.as_dict() for finding in planned.findings],
    }


def _agent_document(agent: PlannedAgent) -> dict[str, Any]:
    return {
        "id": agent.id,
        "model": _model_document(agent.model),
        **({"alternates": alternates} if (alternates := list(map(_alternate_document, agent.alternates))) else {}),
        **({"loops": agent.loops.model_dump()} if agent.loops is not None else {}),
        "tools_shown": list(agent.tools_shown) if isinstance(agent.tools_shown, tuple) else agent.tools_shown,
        "tools": [_tool_document(tool) for tool in agent.tools],
    }


def _model_document(model: ModelSettings) -> dict[str, Any]:
    names = ("provider", "model_id", "region", "host", "temperature", "top_p", "max_tokens")
    return {name: getattr(model, name) for name in names}


def _alternate_document(alternate: Alternate) -> dict[str, Any]:
    return {"on": list(alternate.on), **_model_document(alternate.model)}


def _tool_document(tool: PlannedTool) -> dict[str, Any]:
    from strands_cli.planning.planned_tool import McpTool

    return {
        "name": tool.name,
        "ref": tool.ref,
        "distribution": tool.distribution,
        "version": tool.record.version,
        "permission": tool.decision.effect,
        "rule": tool.decision.rule,
        "conditional": [
            *_for_reading(tool),
            *({"effect": rule.effect, "pattern": rule.pattern, "rule": rule.words} for rule in tool.conditional),
        ],
        **({"server": tool.server.id, "known_after_start": tool.member is None} if isinstance(tool, McpTool) else {}),
        **({"made_of": [_tool_document(part) for part in parts_of(tool)]} if tool.is_composed else {}),
        **({"skills": skills} if (skills := skills_of(tool)) else {}),
    }


def _for_reading(tool: PlannedTool) -> list[dict[str, str]]:
    """Return the decision on calls that only read, in the form of the rules on arguments beside it."""
    if tool.when_reading is None:
        return []
    pattern = f"{tool.name}({tool.reading_words})"
    return [{"effect": tool.when_reading.effect, "pattern": pattern, "rule": tool.when_reading.rule}]


def plan_mermaid(planned: Plan) -> str:
    """Return the plan as a Mermaid flowchart: the steps and their edges."""
    lines = ["flowchart TD"]
    for step in planned.steps:
        opening, closing = ("{{", "}}") if step.kind == "gate" else ("[[", "]]") if step.kind == "call" else ("[", "]")
        lines.append(f'  {_node(step.key)}{opening}"{_label(step.key)}: {_label(step.who)}"{closing}')
    lines += _parts_mermaid(planned)
    for before, after, text in planned.spec.pattern.edges():
        # Quoted, since a condition may contain braces, which Mermaid reads as shapes.
        label = f'|"{_label(text)}"|' if text else ""
        lines.append(f"  {_node(before)} -->{label} {_node(after)}")
    return "\n".join(lines)


def _parts_mermaid(planned: Plan) -> list[str]:
    """Return the tools that the workflow defines, and a dotted line to each from every caller."""
    nodes: dict[str, str] = {}
    lines: dict[str, None] = {}

    def draw(caller: str, tools: Iterable[PlannedTool], within: str) -> None:
        for tool in (tool for tool in tools if isinstance(tool, WorkflowTool)):
            name = _node(f"{within}tool:{tool.ref}")
            lines[f"  {caller} -.-> {name}"] = None
            if name not in nodes:
                nodes[name] = f'  {name}[["{_label(tool.ref)}"]]'
                inner = f"{within}{tool.ref}/" if tool.ref.startswith("workflow:") else within
                draw(name, tool.parts, inner)

    from strands_cli.planning.plan_values import WorkflowTool, tools_in_step
    from strands_cli.workflow.steps import AgentStep, CallStep

    for placed in planned.spec.pattern.placed:
        step, caller = placed.step, _node(placed.key)
        if isinstance(step, CallStep):
            draw(caller, filter(None, [planned.call_tools.get(step.tool)]), "")
        elif isinstance(step, AgentStep):
            draw(caller, tools_in_step(step, planned.agents, planned.override_tools), "")
    return [*nodes.values(), *lines]


def _node(key: str) -> str:
    # Hexadecimal for characters that Mermaid interprets, so that two keys never share a node.
    return "n_" + re.sub(r"[^A-Za-z0-9]", lambda match: f"_{ord(match[0]):x}_", key)


def _label(text: str) -> str:
    return re.sub(r"[\"|<>&#`\n\\]", lambda match: f"#{ord(match[0])};", text)
