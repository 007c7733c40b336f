"""Serves the local page until the process is asked to stop; streams of events do not hold up the end."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from strands_cli_ui.children.child_commands import Children
from strands_cli_ui.frame.ui_state import Ui
from strands_cli_ui.live.change_hub import ChangeHub, Changes, RunsChanges
from strands_cli_ui.security.admission import Admission
from strands_cli_ui.security.request_guard import RequestGuard
from strands_cli_ui.ui_options import UiOptions

if TYPE_CHECKING:
    import uvicorn

# How many connections are accepted before others are read: so few that one with a sent cookie is seen in time.
ACCEPTED_AT_ONCE = 16
# How long requests under way may still take at the end, in seconds.
GRACE_S = 2


async def serve(options: UiOptions, announce: Callable[[str], None]) -> None:
    """Serve the page until this task is cancelled.

    Args:
        options: Where.
        announce: Is given each address that admits a browser: the first one, and a new one after each used one.

    Raises:
        UsageError: It cannot be served there.
    """
    options.require_allowed()
    with contextlib.closing(options.bound()) as listening:
        port = listening.getsockname()[1]
        admission = Admission(lambda token: announce(options.address(port, token)))
        hub = ChangeHub(lambda topic: _changes(options, topic))
        ui = Ui(options.folder, options.place, hub, Children(options.folder, options.place.address))
        server = _server(ui, admission, options, port)
        admission.renew()
        serving = asyncio.ensure_future(server.serve(sockets=[listening]))
        try:
            await asyncio.shield(serving)
        finally:
            hub.close()
            server.should_exit = True
            await serving


def _changes(options: UiOptions, topic: str) -> Changes:
    """Return the watcher of changes of a run, or of the list of runs."""
    from strands_cli.api import Runs

    return RunsChanges(Runs(options.place).store, topic)


def _server(ui: Ui, admission: Admission, options: UiOptions, port: int) -> uvicorn.Server:
    import uvicorn

    from strands_cli_ui.security.connections import guarded_protocol
    from strands_cli_ui.web_app import web_app

    class Server(uvicorn.Server):
        """The command line handles signals, as for every other command."""

        @contextlib.contextmanager
        def capture_signals(self) -> Iterator[None]:
            yield

    # Cookies do not tell ports apart, so the name does. The prefix lets a browser take it over TLS only.
    cookie = f"{'__Host-' if options.is_secure else ''}strands-ui-{port}"
    guard = RequestGuard(web_app(ui), admission, options.origins(port), cookie)
    config = uvicorn.Config(
        guard,
        http=guarded_protocol(guard.is_known),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=ACCEPTED_AT_ONCE,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_S,
        ssl_certfile=os.fspath(options.certificate) if options.certificate else None,
        ssl_keyfile=os.fspath(options.key) if options.key else None,
    )
    return Server(config)
