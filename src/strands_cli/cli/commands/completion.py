"""The command `completion`: print the script with which a shell completes commands and options."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer

from strands_cli.cli.output import print_response

VARIABLE = "_STRANDS_COMPLETE"
# The script sets the variable when it requests completions. Typer's preparation for that takes 40 ms.
COMPLETING = VARIABLE in os.environ
# Typer's script for bash does not know that bash splits words at colons and equals signs too, and replaces only
# what follows the last of them: this one joins such words, and cuts what is before from each completion.
_BASH = r"""
_strands_completion() {
    local IFS=$'\n' line=${COMP_LINE:0:COMP_POINT} words=() before part
    for part in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
        [[ ${#words[@]} -gt 0 && $line != [[:space:]]* ]] || words+=("")
        line=${line#"${line%%[![:space:]]*}"}
        [[ $line == "$part"* ]] || part=$line
        before=${words[-1]} words[-1]+=$part line=${line#"$part"}
    done
    [[ $part != [:=] ]] || before+=$part
    [[ $before != --*=* ]] || before=${before#*=}
    before=${before//[\"\'\\]/}
    mapfile -t COMPREPLY < <(env COMP_WORDS="${words[*]}" COMP_CWORD=$((${#words[@]} - 1)) VARIABLE=complete_bash "$1")
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
}

complete -o default -F _strands_completion strands
""".replace("VARIABLE", VARIABLE)


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish", "powershell", "pwsh"], typer.Argument(help="Your shell.")],
) -> None:
    """Print the script that completes commands, options, tools, providers, runs and workflow files in a shell.

    For bash, write `source ~/.strands.bash` into ~/.bashrc. zsh reads the script from a file _strands in a folder of
    $fpath, fish from ~/.config/fish/completions/strands.fish.

    Example: strands completion bash > ~/.strands.bash
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    of_typer = get_completion_script(prog_name="strands", complete_var=VARIABLE, shell=shell)
    print_response(_BASH if shell == "bash" else of_typer)
