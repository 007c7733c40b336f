"""Continue a run that belongs to others, such as workers: what was decided is stored, and its owner continues it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import print_json
from strands_cli.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from strands_cli.cli.commands.command_options import RunFlags
    from strands_cli.cli.commands.running.change import Change
    from strands_cli.engine.ports.store_port import StoredJournal


def wait_for_owner(
    name: str,
    journal: StoredJournal,
    changes: Mapping[str, Any],
    change: Change,
    act: Callable[[], None],
    known: dict[str, Any],
    flags: RunFlags,
) -> int:
    """Do a command's own work on the journal of a run, and let the run wait for its owner.

    Args:
        name: That of the owner.
        journal: The journal, held; it is closed when the run waits.
        act: The command's own work.
        known: Gets the status of the run, for `--json`.

    Raises:
        UsageError: The run is given something of this machine.
        NotEquipped: The owner is not installed.
        StrandsCliError: The owner cannot be reached, or the run cannot be given this.
    """
    from strands_cli.engine.run_start.run_facts import stored_request
    from strands_cli.engine.stored_runs.run_owners import run_owner
    from strands_cli.engine.waiting.allowed_calls import store_permissions
    from strands_cli.handover.relocation import raise_limits

    _require_for_others(name, changes, change)
    owner = run_owner(name)
    if change.budgets:
        raise_limits(journal, change.budgets)
    store_permissions(journal, stored_request(journal, changes))
    line = owner.wait_again(journal, act)
    known["status"] = "queued"
    if flags.as_json:
        print_json(known)
    elif not flags.quiet:
        say(f"{line}; --here continues it here")
    return ExitCode.OK


def _require_for_others(name: str, changes: Mapping[str, Any], change: Change) -> None:
    given = [f"--{word.replace('_', '-')}" for word in ("out_dir", "policy", "record") if changes.get(word) is not None]
    if change.spec is not None:
        given.append("--spec")
    if given:
        raise UsageError(
            f"the run belongs to {name!r}, which continues it, and {', '.join(given)} would be of this machine",
            fix=f"omit {given[0]}, or continue it here: --here",
        )
