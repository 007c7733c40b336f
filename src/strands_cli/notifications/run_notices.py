"""Notify people of one run when its process has done its work."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence

from strands_cli.config import Settings
from strands_cli.engine.stored_runs.opened_store import store_at
from strands_cli.errors import StrandsCliError
from strands_cli.hooks.hook_values import Check
from strands_cli.notifications.config_file import read_targets
from strands_cli.notifications.delivery import Delivery, deliver
from strands_cli.notifications.message import message_of, trial_message
from strands_cli.notifications.targets import Target
from strands_cli.store_place import StorePlace

# Takes the store and the id of a run, and returns a line for each message that was not sent.
Notify = Callable[[StorePlace, str], list[str]]

NAME = "notifications"


def notify_of(settings: Settings, *, detached: bool) -> Notify | None:
    """Return what sends the messages about a run after its end; None if there is no target.

    Args:
        detached: Whether no person watches the run.

    Raises:
        InvalidInput: The user's config file is not valid.
    """
    targets = [one for one in read_targets(settings.user_config) if detached or one.runs == "all"]
    if not targets:
        return None
    began = time.time()
    return lambda place, run_id: _notify(place, run_id, targets, began, detached=detached)


def _notify(place: StorePlace, run_id: str, targets: Sequence[Target], began: float, *, detached: bool) -> list[str]:
    try:
        with (
            contextlib.closing(store_at(place)) as store,
            contextlib.closing(store.open(run_id, hold=False)) as journal,
        ):
            run, message = message_of(journal)
    except StrandsCliError as error:
        return [_warning(error.message)]
    if run.status == "completed" and (run.ended_at or 0.0) < began:
        return []  # it was complete before: this process has only repeated its result
    wanted = [one.way for one in targets if one.wants(run.status, detached=detached)]
    return [_warning(f"{one.way}: {one.problem}", one.fix) for one in deliver(message, wanted) if one.problem]


def _warning(problem: str, fix: str | None = None) -> str:
    line = " ".join(f"warning: not notified: {problem}".split())
    return f"{line}\n  fix: {fix or 'strands doctor --notify'}"


def check_notifications(settings: Settings, *, send: bool) -> Iterator[Check]:
    """Report the targets of the user's config file.

    Args:
        send: Whether each gets a message, so that its line reports what became of it.
    """
    try:
        targets = read_targets(settings.user_config)
    except StrandsCliError as error:
        for finding in error.findings:
            yield Check(NAME, "failed", f"{finding.where}: {finding.message}", finding.fix)
        return
    if not targets:
        yield Check(NAME, "ok", f"none: {settings.user_config or 'no home directory'} has no target")
    elif not send:
        for target in targets:
            yield Check(NAME, "ok", f"{target.way} on {', '.join(target.on)} of {target.runs} runs")
    else:
        yield from map(_line_of, deliver(trial_message(), [target.way for target in targets]))


def _line_of(one: Delivery) -> Check:
    if one.problem is None:
        return Check(NAME, "ok", f"{one.way} got a test message")
    return Check(NAME, "failed", f"{one.way}: {one.problem}", one.fix or "correct the target, or what it names")
