"""What a workflow uses of this machine, in sentences that commands, questions and the local page share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from strands_cli.texts.phrases import shortened

if TYPE_CHECKING:
    from strands_cli.planning.data_flow.authority import Use
    from strands_cli.planning.data_flow.egress import Outgoing
    from strands_cli.planning.data_flow.planned_authority import Authority
    from strands_cli.planning.data_flow.workflow_trust import Trust

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
# A command line is shown whole where that is possible: what is cut off may be what matters.
_TEXT = 2000


def use_lines(uses: Iterable[Use], *, is_marked: bool = True) -> list[str]:
    """Return a sentence for each use; with `is_marked` it says which are asked about."""
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
    what = shortened(use.what, _TEXT)
    is_said = f"{use.what} ".startswith(f"{use.place} ")
    place = f", which is {shortened(use.place, _TEXT)}" if use.is_elsewhere and not is_said else ""
    if use.is_idle:
        not_done = {"program": "Not started", "variable": "Only hidden in texts"}.get(use.kind, "Not read")
        return f"{not_done}, since no tool or model takes it: {what} ({use.by})."
    to = f", for {', '.join(use.to)}" if use.to else ""
    asks = "; asked about before the first run" if use.asks and is_marked else ""
    return f"{_VERBS[use.kind].format(what)}{place} ({use.by}){to}{asks}."


def _way_out(way: Outgoing) -> str:
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
