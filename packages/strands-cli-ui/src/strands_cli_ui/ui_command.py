"""The command `ui`: serve the local page until Ctrl-C."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from strands_cli.api import (
    DEFAULT_STORE,
    ExitCode,
    Interrupted,
    OutputClosed,
    StoreOptions,
    print_result,
    say,
    with_run_options,
)


@with_run_options()
def ui(
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="The port; 0 takes a free one.")] = 0,
    where: StoreOptions = DEFAULT_STORE,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Serve at another address of this machine.")
    ] = "127.0.0.1",
    i_know: Annotated[
        bool, typer.Option("--i-know", help="Allow a --host that other machines can reach; needs TLS.")
    ] = False,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Serve with TLS: the certificate, in PEM.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="The key of the certificate, in PEM.")] = None,
) -> int:
    """Show runs, questions, tools and the workflows of this folder in a browser, on this machine only.

    Prints an address that admits one browser, and a new one each time that one is used. Ctrl-C ends it; runs that it
    has started go on.

    Example: strands ui --port 8765
    """
    from strands_cli.api import run_to_end
    from strands_cli_ui.local_server import serve
    from strands_cli_ui.ui_options import UiOptions

    options = UiOptions(where.place, Path.cwd(), host, port, i_know, tls_cert, tls_key)
    options.require_allowed()

    def announce(address: str) -> None:
        with contextlib.suppress(OutputClosed):  # the page works without the reader of its addresses
            print_result(address)

    say("open this address in a browser; it works once, then a new one follows. Ctrl-C ends the page.")
    with contextlib.suppress(Interrupted):
        run_to_end(lambda: serve(options, announce))
    return ExitCode.OK
