"""The uses of this machine by a workflow, in sentences that commands, questions and the local page share."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.errors import Code, Denied, Finding, Where
from strands_cli.texts.phrases import shortened

if TYPE_CHECKING:
    from strands_cli.planning.data_flow.authority import Use
    from strands_cli.planning.data_flow.egress import OutgoingData
    from strands_cli.planning.data_flow.planned_authority import Authority
    from strands_cli.planning.data_flow.workflow_trust import Trust
    from strands_cli.planning.plan_values import Plan


_VERBS = {
    "program": "It starts the program `{}`",
    "file": "It reads the file {}",
    "variable": "It reads the variable {}",
    "store": "It asks for a secret of {}",
    "folder": "It opens the folder {}",
    "network": "It opens the private network {}",
    "address": "It sends to {}",
    "sending": "It may send private data away: {}",
}
# A command line is shown whole where possible: the end of it may matter most.
_TEXT = 2000


def use_lines(uses: Iterable[Use], *, is_marked: bool = True) -> list[str]:
    """Return a sentence for each use; with `is_marked` it marks those that a person is asked about."""
    return [_sentence(use, is_marked=is_marked) for use in uses]


def python_lines(trust: Trust) -> list[str]:
    """Return a sentence for each module of the folder that only a name allows."""
    allowed = "which is allowed by a name alone, in any folder"
    return [f"It imports the Python module {name} of {folder}, {allowed}" for name, folder in trust.unconfirmed_python]


def authority_sections(authority: Authority, *, is_complete: bool) -> dict[str, list[str]]:
    """Return sentences about all that a plan uses and sends, by the title of their section."""
    leaving = list(dict.fromkeys(map(_way_out, authority.outgoing))) or ["Nothing that is known."]
    unplanned = [] if is_complete else ["Parts with errors are not included here."]
    return {
        "What it starts and reads before and while it runs": use_lines(
            use for use in authority.uses if use.kind != "address"
        ),
        "What leaves this machine": [*leaving, *unplanned],
    }


def _sentence(use: Use, *, is_marked: bool) -> str:
    use_text = shortened(use.what, _TEXT)
    is_said = f"{use.what} ".startswith(f"{use.place} ")
    place_text = f", which is {shortened(use.place, _TEXT)}" if use.is_elsewhere and not is_said else ""
    if use.is_idle:
        not_done = {"program": "Not started", "variable": "Only hidden in texts"}.get(use.kind, "Not read")
        return f"{not_done}, since no tool or model takes it: {use_text} ({use.by})."
    to = f", for {', '.join(use.to)}" if use.to else ""
    asks = "; asked about before the first run" if use.asks and is_marked else ""
    return f"{_VERBS[use.kind].format(use_text)}{place_text} ({use.by}){to}{asks}."


def _way_out(way: OutgoingData) -> str:
    near = " (this machine or a private network)" if way.is_near else ""
    hosts = "any address" if "*" in (way.hosts or ()) else ", ".join(way.hosts or ())
    keys = f", with {', '.join(way.keys)}" if way.keys else ""
    match way.kind:
        case "model":
            at = f" at {hosts}" if hosts else ""
            return f"What {way.who} reads and writes goes to the model of {way.what}{at}{near}{keys}."
        case "trace":
            return f"Traces go to {hosts}{near}{keys}."
        case "server" if way.hosts is None:
            program = shortened(way.what, _TEXT)
            return f"The MCP server {way.who} is a program ({program}): it may send what it receives{keys}."
        case "server":
            return f"What the MCP server {way.who} receives goes to {hosts}{near}{keys}."
    if way.hosts is None:
        return f"The tool {way.who} does not declare whether it reaches the network{keys}."
    return f"The tool {way.who} can reach {hosts}{near}{keys}."


# Why a workflow does not run that no person has allowed, for commands and for the Python API.


UNTRUSTED_WORKFLOW = Code(
    "untrusted-workflow",
    "The workflow starts a program, or opens a folder, a file or a private network, which no person has allowed.",
    "Read it (strands explain FILE), then: strands workflows trust FILE",
    21,
)


def require_trust_in_package(plan: Plan) -> None:
    """Refuse a packaged workflow, or one with such a tool, whose uses no person has allowed.

    A program that names a file has read it; the content of a package changes with an upgrade. A workflow of others as a
    tool of the person's own is refused as well.

    Raises:
        Denied: It uses something, and no person has allowed that, or a rule denies it.
    """
    from strands_cli.planning.data_flow.workflow_trust import Trust

    if not Trust.is_about_packages(plan):
        return
    trust = Trust.of(plan)
    if trust.authority.foreign and trust.standing != "allowed":
        raise trust_refusal(trust)


def file_to_trust(plan: Plan) -> str:
    """Return the argument that names the file of a plan; that of an agent is a part of the workflow around it."""
    if plan.packaged:
        return plan.packaged
    if not plan.file.startswith("<"):
        return plan.file
    return next(iter(plan.files), "-") if plan.file.startswith("<atomic ") else "-"


def trust_refusal(trust: Trust) -> Denied:
    """Return the error with the uses that no person has allowed, or that a rule denies."""
    plan, is_denied = trust.plan, trust.standing == "denied"
    file = shlex.quote(file_to_trust(plan))
    # Another client's list of servers has nothing that `explain` could tell.
    how = "" if file.endswith(".json") else f" (strands explain {file})"
    fix = f"read it{how}, then allow it: strands workflows trust {file}"
    if file == "-":  # the next typed command has other standard input
        fix = "save it as FILE, read it (strands explain FILE), then allow it: strands workflows trust FILE"
    if is_denied:
        fix = f"have the rule changed that denies workflow:{file}"
    unanswered = trust.authority.asked_uses if trust.standing != "allowed" else ()
    lines = [line.removesuffix(".") for line in use_lines(unanswered, is_marked=False)] + python_lines(trust)
    findings = [Finding(UNTRUSTED_WORKFLOW, line, Where(file_to_trust(plan)), fix) for line in lines]
    message = "a rule denies" if is_denied else "no person has allowed"
    return Denied(f"{file_to_trust(plan)} does not run: {message} what it starts and opens", findings=findings)


# The declared effects of a tool, as a phrase for people.


def describe_permissions(record: ToolRecord) -> str:
    """Return a phrase for the hints and capabilities that a tool declares, and for those that it does not declare."""
    hints, claims = record.annotations, record.strands_cli
    phrases = ["only reads"] if hints.get("readOnlyHint") is True else []
    phrases += ["can destroy"] if hints.get("destructiveHint") is True else []
    phrases += ["asks each time"] if claims.get("requires_confirmation") else []
    if hints.get("readOnlyHint") is not True:
        phrases.append("changes something" if "readOnlyHint" in hints else "does not declare whether it only reads")
    declared = claims.get("capabilities")
    if not isinstance(declared, Mapping):
        return "; ".join([*phrases, "does not declare its capabilities"])
    capabilities = [f"{name} {_listed(value)}".strip() for name, value in declared.items() if value]
    return "; ".join([*phrases, *(capabilities or ["no capabilities"])])


def _listed(value: Any) -> str:
    if value is True:
        return ""
    return ", ".join(_item(item) for item in (value if isinstance(value, list) else [value]))


def _item(item: Any) -> str:
    return f"{item.get('path')} ({item.get('mode')})" if isinstance(item, Mapping) else str(item)
