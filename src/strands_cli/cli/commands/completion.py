"""The command `completion`: print the script with which a shell completes commands and options."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer

from strands_cli.cli.output import print_response

VARIABLE = "_STRANDS_COMPLETE"
# The script sets the variable when it requests completions. Typer's preparation for that takes 40 ms.
COMPLETING = VARIABLE in os.environ


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish", "powershell", "pwsh"], typer.Argument(help="Your shell.")],
) -> None:
    """Print the script that completes commands, options, tools, providers, runs and workflow files in a shell.

    For bash, write `source ~/.strands.bash` into ~/.bashrc. zsh reads the script from a file _strands in a folder of
    $fpath, fish from ~/.config/fish/completions/strands.fish.

    Example: strands completion bash > ~/.strands.bash
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    print_response(get_completion_script(prog_name="strands", complete_var=VARIABLE, shell=shell))
