"""The authority of a plan: its programs, files and addresses, who gets each, data that leaves, and the questions."""

# Strings and os.path, as the uses beside it have them.
# ruff: noqa: PTH113, PTH118, PTH122
from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.errors import StrandsCliError
from strands_cli.planning.data_flow.authority import OF_MODELS, Use, is_outside, uses_in
from strands_cli.planning.data_flow.egress import OutgoingData, find_outgoing, find_writers
from strands_cli.planning.data_flow.exposure import PRIVATE_DATA_SENT, RISKY_COMBINATION
from strands_cli.planning.data_flow.secret_values import secret_name, secret_takers
from strands_cli.planning.plan_values import Plan, all_workflows_in, with_parts
from strands_cli.planning.planned_tool import McpTool
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.canonical_json import digest_of
from strands_cli.workflow.packaged_listing import project_root

if TYPE_CHECKING:
    from strands_cli.planning.plan_values import Plan


# Which workflows are not a person's own: those of packages, those outside the project, those changed under a lock.


# Installers write code of others here, also where a virtual environment is inside a project.
_INSTALLED = frozenset({"site-packages", "dist-packages"})


def foreign_reason(plan: Plan, digest: str) -> str:
    """Return why a workflow is not the person's own, as a clause after "it"; empty for their own.

    Args:
        digest: The digest of the workflow's uses, which a lock has.
    """
    return foreign_place(plan) or ("uses other things than its lock has" if _differs_from_lock(plan, digest) else "")


def foreign_place(plan: Plan) -> str:
    """Return why the place of a workflow is not the person's own, as a clause after "it"; empty for their own.

    Their own are those in the project folder: the working directory and below, or the git work tree around it.
    """
    if plan.packaged:
        return f"is the file of a package, {plan.packaged}"
    # One without a file belongs to its folder: a text, standard input, or the workflow around one agent.
    path = Path(os.path.realpath(plan.base_dir if plan.file.startswith("<") else plan.file))
    root = project_root(Path.cwd())
    if not path.is_relative_to(root):
        return f"is outside the project folder {root}"
    return "is in a folder of installed packages" if is_installed(path.relative_to(root)) else ""


def is_installed(file: Path) -> bool:
    """Return whether a file is where installers write."""
    return not _INSTALLED.isdisjoint(file.parts)


def _differs_from_lock(plan: Plan, digest: str) -> bool:
    from strands_cli.lock.lock_reader import lock_file

    file = lock_file(plan.project)
    if not file.is_file():
        return False
    from strands_cli.lock.lock_reader import read_lock

    with suppress(StrandsCliError):  # a broken lock is reported where it is compared
        lock = read_lock(file)
        workflow = lock.workflows.get(Path(plan.file).name) if lock is not None else None
        return workflow is not None and workflow.authority != digest
    return False


# The code in the folder of a workflow that the words of a command name, by its content.


_SUFFIXES = frozenset(
    {".bat", ".cjs", ".cmd", ".jar", ".js", ".mjs", ".php", ".pl", ".ps1", ".py", ".pyz", ".rb", ".sh", ".ts", ".wasm"}
)


def code_named_in(command: str, folder: Path) -> list[str]:
    """Return the files of code in a folder that a command names, each with its digest.

    A word names a file, as `./run` and `server.py`, or a module, as in `python -m server`; so do the words inside a
    word, as in `sh -c './run now'`. A file is code if its suffix says so or it may be executed: data may change.
    """
    from strands_cli.catalog.installed_files import digest_of_file

    files = {os.path.relpath(file, folder): file for word in _words(command) for file in _files(word, folder)}
    return [f"{name.replace(os.sep, '/')} {digest_of_file(file)}" for name, file in sorted(files.items())]


def _words(command: str) -> set[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    return {*words, *command.split(), *(part.strip("'\";&|()") for word in words for part in word.split())}


def _files(word: str, folder: Path) -> Iterator[str]:
    for name in (word, word.replace(".", os.sep) + ".py", os.path.join(word.replace(".", os.sep), "__main__.py")):
        path = os.path.join(os.path.realpath(folder), name)
        if "\0" not in name and _is_code(path) and not is_outside(os.path.realpath(path), folder):
            yield path


def _is_code(path: str) -> bool:
    return os.path.isfile(path) and (os.path.splitext(path)[1].lower() in _SUFFIXES or os.access(path, os.X_OK))


@dataclass(frozen=True, slots=True)
class Authority:
    """The uses of this machine by a plan, and the data that leaves.

    `writers` are the tools that may write files, each with whether it says so. `digest` covers the text of its files
    about this, and the targets of links; it is the same on every machine and in every folder. `places` are their files
    and folders on this one. `foreign` is the reason why the workflow is not the person's own, so that they are asked
    about all of its uses, and `whole` is the digest of these; both are empty for their own. In their own workflow with
    one of others as a tool, this holds for the uses of the tool.
    """

    uses: tuple[Use, ...]
    outgoing: tuple[OutgoingData, ...]
    writers: tuple[tuple[str, bool], ...]
    digest: str
    places: tuple[str, ...] = ()
    foreign: str = ""
    whole: str = ""

    @property
    def asked_uses(self) -> tuple[Use, ...]:
        """Return the uses that a person is asked about before the first run."""
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
    """Return the uses of a plan, those of the workflows among its tools included.

    With `whole`, uses of no step count too, for a command that starts a part that the file declares.
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
    sending_uses = [(part, use) for part in parts for use in _sending(part)]
    foreign, of_all = foreign_reason(plan, digest) if named or sending_uses else "", ""
    # Of a person's own workflow those parts are asked about whole that others wrote. A part has a place, and many uses.
    used = {part.file: part for part, _ in (*named, *sending_uses)}.values()
    strange = [part for part in used if foreign or foreign_place(part)]
    if strange:
        foreign = foreign or _strange_part(strange[0])
        files = {part.file for part in strange}
        planned = [(part, _asking_use(use, part) if part.file in files else use) for part, use in planned]
        planned += [(part, _asking_use(use, part)) for part, use in sending_uses if part.file in files]
        every = [
            [use.kind, use.what, use.by, use.exact]
            for part, use in (*named, *sending_uses)
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


def _asking_use(use: Use, plan: Plan) -> Use:
    """Return a use of a workflow of others: asked about, unless it is idle or the person's own word."""
    return replace(use, asks=use.asks or not (use.is_idle or _is_of_person(use, plan)))


def _is_of_person(use: Use, plan: Plan) -> bool:
    """Return whether a use needs no question: the command line names it, or it is in the workflow's own folder."""
    is_own = use.kind in ("file", "folder") and not plan.packaged and not is_outside(use.place, plan.base_dir)
    return is_own or _is_typed(use, plan)


def _is_typed(use: Use, plan: Plan) -> bool:
    """Return whether a use is the word of the command line, not of the workflow."""
    return plan.host_is_typed and use.kind in ("address", "network") and use.by.startswith(OF_MODELS)


def _written(use: Use, plan: Plan) -> list[str]:
    """Return the text of the files about a use, the target of a link, and the code in the folder for a program.

    Which program a name means differs by machine.
    """
    parts, folder = [use.kind, use.what, use.by, use.exact], plan.base_dir
    if use.kind == "program":
        is_server = use.by.startswith("the MCP server ")
        return [*parts, *code_named_in(use.what, plan.spec.folder_of_servers(folder) if is_server else folder)]
    if not use.is_elsewhere or use.what.startswith("~"):
        return parts
    return [*parts, use.place if os.path.isabs(use.what) else _relative(use.place, folder)]  # noqa: PTH117


def _relative(path: str, folder: Path) -> str:
    try:
        return os.path.relpath(path, os.path.realpath(folder))
    except ValueError:  # on another drive of Windows
        return path


def _planned(plan: Plan, of_file: str, whole: bool) -> Iterator[Use]:
    """Yield the uses of one workflow, with who gets each by its plan."""
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
