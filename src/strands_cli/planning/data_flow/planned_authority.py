"""The authority of a plan: what it starts, reads and opens, who gets each, what leaves, and what a person is asked."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from strands_cli.planning.data_flow.authority import OF_MODELS, Use, is_outside, uses_in
from strands_cli.planning.data_flow.egress import Outgoing, find_outgoing, find_writers
from strands_cli.planning.data_flow.exposure import PRIVATE_DATA_SENT
from strands_cli.planning.data_flow.foreign_workflows import foreign_place, foreign_reason
from strands_cli.planning.data_flow.injection_paths import RISKY_COMBINATION
from strands_cli.planning.data_flow.local_code import code_named_in
from strands_cli.planning.data_flow.secret_values import secret_name, secret_takers
from strands_cli.planning.plan.plan_values import Plan
from strands_cli.planning.planned_tools.planned_tool import McpTool
from strands_cli.planning.workflow_tools.tool_parts import all_workflows_in, with_parts
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.canonical_json import digest_of


@dataclass(frozen=True, slots=True)
class Authority:
    """What a plan uses of this machine, and what leaves it.

    `writers` are the tools that may write files, each with whether it says so. `digest` is that of all that its files
    say of this, and of where links lead; it is the same on every machine and in every folder. `places` are the files
    and folders that are meant on this one. `foreign` says why the workflow is not the person's own, so that they are
    asked about all that it uses, and `whole` is the digest of that; both are empty for their own. Of their own with a
    workflow of others as a tool, that is so for what the tool uses.
    """

    uses: tuple[Use, ...]
    outgoing: tuple[Outgoing, ...]
    writers: tuple[tuple[str, bool], ...]
    digest: str
    places: tuple[str, ...] = ()
    foreign: str = ""
    whole: str = ""

    @property
    def asked(self) -> tuple[Use, ...]:
        """Return what a person is asked about before the first run."""
        return tuple(use for use in self.uses if use.asks)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON of `plan` and `explain`."""
        return {
            "digest": self.digest,
            "uses": [use.as_dict() for use in self.uses],
            "outgoing": [asdict(way) for way in self.outgoing],
            "foreign": self.foreign or None,
        }


def authority_of(plan: Plan, environ: Mapping[str, str] | None = None, *, whole: bool = False) -> Authority:
    """Return what a plan uses, that of the workflows among its tools included.

    With `whole` also what no step of it uses counts, for a command that starts a part that the file declares.
    """
    parts = {part.file: part for part in (plan, *all_workflows_in(plan))}.values()
    named = [(part, use) for part in parts for use in uses_in(part)]
    written = [_written(use, part) for part, use in named if use.exact]
    places = tuple(use.place for _, use in named if use.exact)
    planned = [
        (part, use)
        for part in parts
        for use in _planned(part, "" if part is plan else f" of {Path(part.file).name}", whole)
    ]
    outgoing = find_outgoing(plan, os.environ if environ is None else environ)
    digest = f"sha256:{digest_of(written)}"
    # Of a person's own workflow it is a warning.
    sent = [(part, use) for part in parts for use in _sending(part)]
    foreign, of_all = foreign_reason(plan, digest) if named or sent else "", ""
    # Of a person's own workflow those parts are asked about whole that others wrote. A part has a place, and many uses.
    used = {part.file: part for part, _ in (*named, *sent)}.values()
    strange = [part for part in used if foreign or foreign_place(part)]
    if strange:
        foreign = foreign or _strange_part(strange[0])
        files = {part.file for part in strange}
        planned = [(part, _asked(use, part) if part.file in files else use) for part, use in planned]
        planned += [(part, _asked(use, part)) for part, use in sent if part.file in files]
        every = [
            [use.kind, use.what, use.by, use.exact]
            for part, use in (*named, *sent)
            if part.file in files and not _is_typed(use, part)
        ]
        of_all = f"sha256:{digest_of(every)}"
    uses = tuple(dict.fromkeys(use for _, use in planned))
    return Authority(uses, outgoing, find_writers(plan), digest, places, foreign, of_all)


def _strange_part(part: Plan) -> str:
    if part.packaged:
        return f"has the workflow of a package, {part.packaged}, as a tool"
    return f"has a workflow as a tool that {foreign_place(part)}, {part.file}"


def _sending(plan: Plan) -> Iterator[Use]:
    """Yield how private data may leave, as the warnings of the plan have it."""
    for finding in plan.findings:
        if finding.code in (PRIVATE_DATA_SENT, RISKY_COMBINATION):
            yield Use("sending", finding.message, str(finding.code))


def _asked(use: Use, plan: Plan) -> Use:
    """Return a use of a workflow that is not their own: asked about, unless it is their word or idle."""
    return replace(use, asks=use.asks or not (use.is_idle or _is_of_person(use, plan)))


def _is_of_person(use: Use, plan: Plan) -> bool:
    """Return whether a use needs no question: the command line names it, or it is in the workflow's own folder."""
    is_own = use.kind in ("file", "folder") and not plan.packaged and not is_outside(use.place, plan.base_dir)
    return is_own or _is_typed(use, plan)


def _is_typed(use: Use, plan: Plan) -> bool:
    """Return whether a use is the word of the command line, not of the workflow."""
    return plan.host_is_typed and use.kind in ("address", "network") and use.by.startswith(OF_MODELS)


def _written(use: Use, plan: Plan) -> list[str]:
    """Return what the files say of a use, where a link leads, and the code that the folder has for a program.

    Which program a name means differs by machine.
    """
    parts, folder = [use.kind, use.what, use.by, use.exact], plan.base_dir
    if use.kind == "program":
        is_server = use.by.startswith("the MCP server ")
        return [*parts, *code_named_in(use.what, plan.spec.folder_of_servers(folder) if is_server else folder)]
    if not use.is_elsewhere or use.what.startswith("~"):
        return parts
    return [*parts, use.place if os.path.isabs(use.what) else _relative(use.place, folder)]  # noqa: PTH117


def _relative(place: str, folder: Path) -> str:
    try:
        return os.path.relpath(place, os.path.realpath(folder))
    except ValueError:  # on another drive of Windows
        return place


def _planned(plan: Plan, of_file: str, whole: bool) -> Iterator[Use]:
    """Yield what one workflow uses, with who gets it by its plan."""
    takers, started = secret_takers(plan), _started(plan)
    secrets = {f"the secret {secret_name(secret)}" for secret in plan.spec.env.secrets}
    for use in uses_in(plan):
        to = use.to
        if use.by in secrets:
            to = takers.get(use.by.removeprefix("the secret "), ())
        elif use.kind == "program" and use.by not in started:
            to = ()
        to = None if whole and to == () else to
        yield replace(use, to=to, asks=use.asks and to != (), by=use.by + of_file)


def _started(plan: Plan) -> set[str]:
    """Return the MCP servers that a run starts, as uses name them."""
    tools = with_parts(plan.called(), of_others=False)
    return {
        f"the MCP server {tool.server.id}"
        for tool in tools
        if isinstance(tool, McpTool) and tool.decision.effect != "deny"
    }
