"""The command `lock`: lock the tools that the workflows of a folder use, show the changes since, or check it."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from strands_cli.cli.commands import completions
from strands_cli.cli.output.messages import say, say_findings
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.errors import (
    ArtifactError,
    Denied,
    ExitCode,
    Finding,
    InvalidInput,
    NotEquipped,
    UsageError,
    Where,
    suggest,
)
from strands_cli.planning.machine.lock_check import LOCK_MISSING
from strands_cli.system.atomic_file import write_atomically
from strands_cli.texts.phrases import counted

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.lock.compare import Difference
    from strands_cli.lock.lock_reader import Lock, LockedServer
    from strands_cli.planning.plan_values import Plan


def lock(
    spec: Annotated[
        str | None,
        typer.Argument(
            metavar="[SPEC]",
            help="A workflow or a folder; default: the current one.",
            autocompletion=completions.workflow_files,
        ),
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit 21 if anything differs.")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="Write nothing; show what differs.")] = False,
    update: Annotated[
        list[str] | None,
        typer.Option("--update", metavar="NAME", help="Lock only this distribution or server; may be repeated."),
    ] = None,
    mcp: Annotated[
        bool, typer.Option("--mcp", help="Start the MCP servers of the workflows, to lock their tools.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Lock the tools of every workflow in a folder: versions, files and definitions, in strands.lock beside them.

    Where that file exists, `plan` and `run` refuse tools that differ from it.

    Example: strands lock report.yaml --diff
    """
    from strands_cli.cli.commands.running.run_command import json_on_failure

    if check + diff + bool(update) > 1:
        raise UsageError("--check, --diff and --update cannot be combined", fix="choose one")
    for name in update or ():
        if name.startswith("mcp:") and not mcp:
            raise UsageError(f"{name} must be started to show its tools", fix="add --mcp")
    with json_on_failure({"file": None} if as_json else None):
        folder, named = _lock_folder(spec)
        packaged = spec if spec is not None and _is_packaged(spec) else None
        now = _lock_now(folder, named, packaged, _LockOptions(mcp, not (check or diff), update or ()))
        if check or diff:
            return _show(folder, now, spec, check=check, as_json=as_json)
        return _write(folder, now, update or (), as_json=as_json)


def _lock_folder(spec: str | None) -> tuple[Path, Path | None]:
    """Return the folder of the lock, and the named workflow in it."""
    if spec == "-":
        raise UsageError("a lock belongs to a folder, and standard input has none", fix="name the workflow's file")
    if spec is None or Path(spec).is_dir() or _is_packaged(spec):
        return Path(spec if spec is not None and Path(spec).is_dir() else "."), None
    return Path(spec).parent, Path(spec)


def _is_packaged(spec: str) -> bool:
    """Return whether an argument names a workflow of an installed distribution, locked in this folder."""
    from strands_cli.workflow.packaged_listing import located

    return located(spec)[1] is not None


def _packaged_here(folder: Path, named: str | None) -> list[str]:
    """Return the packaged workflows to lock: the named one, and those of the lock that are still installed."""
    from strands_cli.catalog.packaged_files import find_packaged
    from strands_cli.lock.lock_reader import lock_file, read_lock

    try:
        lock = read_lock(lock_file(folder))
    except Denied:  # the next reader reports it
        lock = None
    packaged_names = lock.packaged if lock is not None else ()
    missing = [name for name in packaged_names if isinstance(find_packaged(name), Finding)]
    for name in missing:
        say(f"warning: {name} is in the lock, and not installed any more")
    return sorted({*packaged_names, *([named] if named else [])} - {*missing})


class _LockOptions(NamedTuple):
    """The options of the command for the lock.

    `mcp` starts MCP servers. `writes` writes the lock, which leaves out servers whose tools are unknown. `update` has
    the names to lock again.
    """

    mcp: bool
    writes: bool
    update: Sequence[str]


def _lock_now(folder: Path, named: Path | None, packaged: str | None, options: _LockOptions) -> Lock:
    """Return the lock as it would be written now; warn of parts that it does not cover.

    Args:
        named: A workflow in it.
        packaged: A workflow of an installed distribution, run in it.
    """
    from strands_cli.parts.named_parts import distributions_with_parts, parts_in_use
    from strands_cli.parts.notify_hooks import notify_part
    from strands_cli.parts.plugin_lock import locked_again
    from strands_cli.planning.machine.installation import Installation
    from strands_cli.planning.machine.lock_check import lock_of
    from strands_cli.planning.run_request import RunRequest, chosen_place
    from strands_cli.planning.workflow_folder import FolderPlans, plan_folder

    machine = Installation.for_listing(folder, RunRequest(tell=say))
    machine.require_hooks()
    say_findings(machine.warnings())
    # Commands are of no workflow: they are locked by their distribution's name, and stay locked.
    commands = distributions_with_parts((*options.update, *_locked_distributions(folder)), machine.catalog.scan)
    packages = _packaged_here(folder, packaged)
    # Parts that differ from the lock are imported only where a person has them locked again.
    try:
        with locked_again((options.update or None) if options.writes else ()):
            planned = plan_folder(folder, machine, named, packages, may_be_empty=bool(commands))
    except (Denied, InvalidInput, NotEquipped) as error:
        if not (options.writes and _are_of_no_workflow(options.update, commands, machine.catalog)):
            raise
        # Only these entries are written again, and no workflow is part of them.
        say(f"warning: the workflows here are not looked at: {error.brief or error.message}")
        planned = FolderPlans((), ())
    for line in planned.unread:
        say(f"warning: {line}")
    if options.mcp:
        from strands_cli.cli.commands.running.trust_command import require_trust

        for plan in planned.plans:  # they are planned without policy
            require_trust(dataclasses.replace(plan, rules=machine.policy.rules))
    plugins = [hook.word for hook in machine.policy.hooks]
    plugins += [part.distribution for part in (*parts_in_use(chosen_place()), notify_part()) if part is not None]
    plugins += commands
    now = lock_of(planned.plans, machine.catalog, plugins)
    for distribution in now.distributions.values():
        if unknown := [tool.name for tool in distribution.tools.values() if tool.after_load]:
            pinned = "its files are locked, but not its description and schema"
            say(f"warning: {', '.join(unknown)} of {distribution.name} is described only when it is loaded: {pinned}")
    return now._replace(servers=_servers_now(folder, planned.plans, mcp=options.mcp, writes=options.writes))


def _are_of_no_workflow(names: Sequence[str], commands: Sequence[str], catalog: Catalog) -> bool:
    """Return whether all these distributions have commands or other parts, and no tool that a workflow could name."""
    from strands_cli.catalog.distributions.entry_points import normalise

    distributions = {normalise(name) for name in names}
    return (
        bool(distributions)
        and distributions <= set(commands)
        and distributions.isdisjoint(tool.distribution for tool in catalog.tools)
    )


def _locked_distributions(folder: Path) -> list[str]:
    """Return the distributions of the existing lock."""
    from strands_cli.lock.lock_reader import lock_file, read_lock

    try:
        lock = read_lock(lock_file(folder))
    except Denied:  # the next reader reports it
        lock = None
    return list(lock.distributions) if lock is not None else []


def _servers_now(folder: Path, plans: Sequence[Plan], *, mcp: bool, writes: bool) -> dict[str, LockedServer]:
    """Return the MCP servers: as they are once started, or as the existing lock has them."""
    from strands_cli.planning.machine.lock_check import servers_in
    from strands_cli.planning.plan_values import with_parts

    if not any(servers_in(with_parts(plan.called())) for plan in plans):
        return {}
    from strands_cli.agents.mcp_definitions import lock_servers, servers_without_tools

    if mcp:
        from strands_cli.cli.foreign_output import captured_logs, run_to_end

        with captured_logs(say):
            return run_to_end(lambda: lock_servers(plans))
    from strands_cli.lock.lock_reader import lock_file, read_lock

    try:
        old = read_lock(lock_file(folder))
    except Denied:  # the next reader reports it
        old = None
    old_servers = old.servers if old is not None else {}
    now = {
        name: server._replace(tools=old_servers[name].tools) if name in old_servers else server
        for name, server in servers_without_tools(plans).items()
        if name in old_servers or not writes
    }
    if unseen := sorted({*servers_without_tools(plans)} - {*old_servers}):
        say(
            f"warning: {', '.join(unseen)}: tools of an MCP server are known only after its start (to lock them: --mcp)"
        )
    return now


def _lock_again(spec: str | None) -> str:
    return shlex.join(["strands", "lock", *([spec] if spec else [])])


def _show(folder: Path, now: Lock, spec: str | None, *, check: bool, as_json: bool) -> int:
    """Show the differences from the existing lock."""
    from strands_cli.lock.compare import compare_locks
    from strands_cli.lock.lock_reader import lock_file, read_lock

    file = lock_file(folder)
    old = read_lock(file)
    if old is None:
        message = f"there is no {file.name} in {folder}"
        fix = f"make it: {_lock_again(spec)}"
        raise Denied(message, findings=[Finding(LOCK_MISSING, message, Where(str(file)), fix)])
    differences = compare_locks(old, now)
    if as_json:
        print_json(_document(file, now, differences, written=False))
    else:
        print_result("\n".join(_lines(differences)) if differences else f"{file}: nothing differs, {_counted(now)}")
    if differences and check:
        if not as_json:
            say(f"when you have reviewed the change: {_lock_again(spec)} --update NAME")
        return ExitCode.DENIED
    return ExitCode.OK


def _write(folder: Path, now: Lock, update: Sequence[str], *, as_json: bool) -> int:
    """Write the lock, and report how it differs from the former one."""
    from strands_cli.lock.compare import compare_locks
    from strands_cli.lock.lock_reader import Lock, lock_file, read_lock
    from strands_cli.lock.lock_writer import render_lock

    file = lock_file(folder)
    old: Lock | None = None
    try:
        old = read_lock(file)
    except Denied:
        if update:  # an update needs the rest of the old lock; without --update a new one is written
            raise
    new_lock = now if not update else _updated(old or Lock(), now, update)
    written = _replace(file, render_lock(new_lock))
    differences = compare_locks(old, new_lock) if old is not None else []
    if as_json:
        print_json(_document(file, new_lock, differences, written=written))
    else:
        end = f"wrote {file}: {_counted(new_lock)}" if written else f"{file} is up to date: {_counted(new_lock)}"
        print_result("\n".join([*_lines(differences), end]))
    return ExitCode.OK


def _updated(old: Lock, now: Lock, names: Sequence[str]) -> Lock:
    """Return the old lock with the named distributions, servers and references of custom Python as they are now."""
    for name in names:
        old = _updated_one(old, now, name)
    return old


def _updated_one(old: Lock, now: Lock, name: str) -> Lock:
    from strands_cli.catalog.distributions.entry_points import normalise

    known_names = dict.fromkeys((*now.names, *old.names))
    target = name if name in known_names else normalise(name)
    if target not in known_names:
        fix = suggest(
            name,
            known_names,
            f"there are: {', '.join(known_names)}" if known_names else "strands lock writes one first",
        )
        raise UsageError(f"neither the lock nor a workflow here has '{name}'", fix=fix)
    parts = {
        part: {
            key: entry for key, entry in {**getattr(old, part), target: getattr(now, part).get(target)}.items() if entry
        }
        for part in ("distributions", "modules", "servers", "workflows")
    }
    # A package locked again is run here by the names of its workflows.
    named = {key: workflow for key, workflow in now.workflows.items() if key.startswith(f"{target}/")}
    return old._replace(**{**parts, "workflows": {**parts["workflows"], **named}})


def _replace(file: Path, text: str) -> bool:
    """Write a file atomically; return False if it has the text already."""
    raw = text.encode()
    try:
        if file.is_file() and file.read_bytes() == raw:
            return False
        write_atomically(file, raw, force=True, mode=0o666)
    except OSError as error:
        raise ArtifactError(f"{file} cannot be written: {error.strerror}", fix="correct its permissions") from error
    return True


def _lines(differences: Sequence[Difference]) -> list[str]:
    return [f"{'unlisted' if difference.unlisted else 'changed'}: {difference.message}" for difference in differences]


def _counted(lock: Lock) -> str:
    tools = sum(len(distribution.tools) for distribution in lock.distributions.values())
    tools += sum(len(server.tools) for server in lock.servers.values())
    counts = [
        (len(lock.distributions), "distribution"),
        (len(lock.servers), "MCP server"),
        (tools, "tool"),
        (len(lock.modules), "custom module"),
        (len(lock.workflows), "workflow"),
    ]
    return ", ".join(counted(number, noun) for number, noun in counts if number) or "no tools"


def _document(file: Path, lock: Lock, differences: Sequence[Difference], *, written: bool) -> dict[str, Any]:
    return {
        "file": str(file),
        "written": written,
        "distributions": [
            {
                "name": distribution.name,
                "version": distribution.version,
                "editable": distribution.editable,
                "publisher": distribution.publisher.as_dict() if distribution.publisher is not None else None,
                "tools": sorted(distribution.tools),
            }
            for distribution in lock.distributions.values()
        ],
        "modules": sorted(lock.modules),
        "servers": [
            {"name": server.name, "reached_by": server.reached_by, "tools": sorted(server.tools)}
            for server in lock.servers.values()
        ],
        "workflows": sorted(lock.workflows),
        "differences": [difference.as_dict() for difference in differences],
    }
