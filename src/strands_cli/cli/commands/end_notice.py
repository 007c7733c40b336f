"""Tell people who do not watch a run that it waits or has ended, as their config file asks for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from strands_cli.cli.after_report import after_report
from strands_cli.cli.output.messages import say
from strands_cli.config import load_settings

if TYPE_CHECKING:
    from strands_cli.notifications.run_notices import Notify
    from strands_cli.store_place import StorePlace


def notice_of(*, detached: bool) -> Notify | None:
    """Return what notifies people of a run; without a config file nothing is imported or read.

    Args:
        detached: Whether no person watches the run.

    Raises:
        InvalidInput: The config file is not valid.
    """
    settings = load_settings()
    if settings.user_config is None or not os.path.lexists(settings.user_config):
        return None
    from strands_cli.notifications.run_notices import notify_of

    return notify_of(settings, detached=detached)


def notify_later(notice: Notify | None, place: StorePlace, run_id: str) -> None:
    """Send the messages about a run when the result and the errors of this command are printed."""
    if notice is not None:
        after_report(lambda: _send(notice, place, run_id))


def _send(notice: Notify, place: StorePlace, run_id: str) -> None:
    for line in notice(place, run_id):
        say(line)
