"""The command `lsp`: the language server, and the corrections of `strands validate --fix`."""

from __future__ import annotations

import typer

from strands_cli_lsp.fix_command import fix

lsp_app = typer.Typer()
lsp_app.command(hidden=True)(fix)


@lsp_app.callback(invoke_without_command=True)
def lsp(context: typer.Context) -> None:
    """Serve an editor: findings, corrections, completion, hover and definitions in workflow files.

    Example: strands lsp
    """
