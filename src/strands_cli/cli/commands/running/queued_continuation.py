"""Continue a run that was submitted: it waits in its queue again, and a worker works on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import print_json
from strands_cli.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from strands_cli.cli.commands.command_options import RunFlags
    from strands_cli.cli.commands.running.change import Change
    from strands_cli.engine.ports.store_port import StoredJournal


def is_of_workers(journal: StoredJournal) -> bool:
    """Return whether workers continue a run; those of a directory never do."""
    if journal.place.directory is not None or journal.get("ticket") is None:
        return False
    from strands_cli.workers.submitted.waiting_again import is_submitted

    return is_submitted(journal)


def wait_for_worker(
    journal: StoredJournal,
    changes: Mapping[str, Any],
    change: Change,
    act: Callable[[], None],
    known: dict[str, Any],
    flags: RunFlags,
) -> int:
    """Do a command's own work on the journal of a submitted run, and let it wait for a worker.

    Args:
        journal: The journal, held; it is closed when the run waits.
        act: The command's own work.
        known: Gets the status of the run, for `--json`.

    Raises:
        UsageError: The run is given what only this machine has.
        StrandsCliError: It cannot be given what it is given.
    """
    from strands_cli.engine.run_start.run_facts import stored_request
    from strands_cli.engine.waiting.allowed_calls import store_permissions
    from strands_cli.queues.engine_choice import queue_at
    from strands_cli.workers.submitted.waiting_again import raise_limits, wait_again

    _require_for_workers(changes, change)
    if change.budgets:
        raise_limits(journal, change.budgets)
    store_permissions(journal, stored_request(journal, changes))
    with closing(queue_at(journal.place)) as queue:
        act()
        ticket = wait_again(journal)
        journal.close()
        queue.put(ticket)
    known["status"] = "queued"
    if flags.as_json:
        print_json(known)
    elif not flags.quiet:
        say(f"{ticket.run_id} waits in the queue {ticket.queue} for a worker; --here continues it here")
    return ExitCode.OK


def _require_for_workers(changes: Mapping[str, Any], change: Change) -> None:
    given = [f"--{name.replace('_', '-')}" for name in ("out_dir", "policy", "record") if changes.get(name) is not None]
    if change.spec is not None:
        given.append("--spec")
    if given:
        raise UsageError(
            f"the run was submitted, so a worker continues it, and {', '.join(given)} would be of this machine",
            fix=f"omit {given[0]}, or continue it here: --here",
        )
