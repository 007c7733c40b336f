"""Notify people who do not watch a run that it waits or has ended, as their config file asks for."""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from strands_cli.cli.after_report import after_report
from strands_cli.cli.output.messages import say
from strands_cli.config import user_config_file
from strands_cli.errors import StrandsCliError
from strands_cli.texts.phrases import with_fix

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import StoredJournal
    from strands_cli.hooks.manager import Hooks
    from strands_cli.store_place import StorePlace

_WAITS = ("waiting", "needs-decision")


class EndNotice:
    """Calls the hook plugin of `notify:` when the work of this process on a run is done and printed.

    Without a config file nothing is imported or read, and nothing is called.

    Args:
        watched: Whether a person watches the run at a terminal.

    Raises:
        InvalidInput: The config file is not valid.
        NotEquipped: It has `notify`, and the plugin is not installed.
        Denied: Policy or a lock does not admit the plugin.
    """

    def __init__(self, *, watched: bool) -> None:
        self._began, self._watched = time.time(), watched
        self._hooks: Hooks | None = None
        config = user_config_file(os.environ)
        if config is not None and os.path.lexists(config):
            from strands_cli.parts.notify_hooks import notify_hooks

            self._hooks = notify_hooks()

    def send_later(self, place: StorePlace, run_id: str) -> None:
        """Send the messages about a run when the result and the errors of this command are printed."""

        def send() -> None:
            for line in self.send(place, run_id):
                say(line)

        if self._hooks is not None:
            after_report(send)

    def send(self, place: StorePlace, run_id: str) -> list[str]:
        """Send the messages about a run, and return a line for each that was not sent."""
        if self._hooks is None:
            return []
        from strands_cli.engine.stored_runs.opened_store import store_at

        lines: list[str] = []
        try:
            with (
                contextlib.closing(store_at(place)) as store,
                contextlib.closing(store.open(run_id, hold=False)) as journal,
            ):
                self._call(replace(self._hooks, tell=lines.append), journal)
        except StrandsCliError as error:
            lines.append(f"warning: not notified: {with_fix(error.message, error.fix)}")
        return lines

    def _call(self, hooks: Hooks, journal: StoredJournal) -> None:
        from strands_cli.engine.stored_runs.stored_secrets import stored_redactor
        from strands_cli.engine.waiting.run_hooks import ended_run
        from strands_cli.engine.waiting.sendable_questions import waiting_questions
        from strands_cli.hooks.hook_values import HookContext

        redact = stored_redactor(journal).text
        run = ended_run(journal, redact)
        is_repeated = run.status == "completed" and (run.ended_at or 0.0) < self._began
        if is_repeated or run.status not in (*_WAITS, "completed", "failed", "interrupted"):
            return
        context = HookContext(run=run.id)
        if run.status in _WAITS:
            hooks.question_waiting(waiting_questions(journal, redact), context)
        hooks.run_ended(replace(run, watched=self._watched), context)
