"""The command `workflows lsp`: the language server, and the corrections of `strands validate --fix`."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from strands_cli_lsp.fix_command import fix

lsp_app = typer.Typer()
lsp_app.command(hidden=True)(fix)


@lsp_app.callback(invoke_without_command=True)
def lsp(
    context: typer.Context,
    limit: Annotated[float, typer.Option("--limit", min=0.1, help="The most seconds that one answer may take.")] = 20,
    stdio: Annotated[bool, typer.Option("--stdio", hidden=True, help="Changes nothing: editors pass it.")] = False,
) -> None:
    """Serve an editor: findings, corrections, completion, hover and definitions in workflow files.

    Example: strands workflows lsp
    """
    if context.invoked_subcommand is None:
        from strands_cli_lsp.server import make_server

        server = make_server(limit)
        # The editor's pipes under other numbers: nothing else may write between messages, nor meets a closed stream.
        streams = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        try:
            server.start_io(*streams)
        finally:
            server.end()
