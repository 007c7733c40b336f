"""The command `completion`: print the script with which a shell completes commands and options."""

from __future__ import annotations

import os
from typing import Annotated, Literal

import typer

from strands_cli.cli.output.results import print_response

VARIABLE = "_STRANDS_COMPLETE"
# The script sets the variable when it requests completions. Typer's preparation for that takes 40 ms.
COMPLETING = VARIABLE in os.environ
# Typer's scripts complete no part of a word: bash splits words at colons and equals signs too, and replaces only the
# text after the last of them, and zsh and fish compare the value of `--option=value` with the whole word.
_SCRIPTS = {
    "bash": r"""
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
    [[ ${#COMPREPLY[@]} -ne 1 || ${COMPREPLY[0]} != *= ]] || compopt -o nospace
}

complete -o default -F _strands_completion strands
""",
    "zsh": r"""
#compdef strands

_strands_completion() {
    local typed="${words[1,$CURRENT]}"
    compset -P '--*='
    eval $(env _TYPER_COMPLETE_ARGS="$typed" VARIABLE=complete_zsh strands)
}

compdef _strands_completion strands
# In a folder of $fpath this file is what completes the first line.
[[ $funcstack[1] != _strands ]] || _strands_completion
""",
    "fish": r"""
function _strands_completion
    set -l before (commandline -ct | string replace -rf '^(--[^=]*=).*' '$1'; or echo)
    env _TYPER_COMPLETE_FISH_ACTION=$argv[1] _TYPER_COMPLETE_ARGS=(commandline -cp) VARIABLE=complete_fish strands \
        | string replace -r '^' -- $before
    return $pipestatus[1]
end

complete -c strands -f -a '(_strands_completion get-args)' -n '_strands_completion is-args'
""",
}


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish", "powershell", "pwsh"], typer.Argument(help="Your shell.")],
) -> None:
    """Print the script that completes command lines in a shell.

    For bash, write `source ~/.strands.bash` into ~/.bashrc. zsh reads the script from a file _strands in a folder of
    $fpath, fish from ~/.config/fish/completions/strands.fish.

    Example: strands completion bash > ~/.strands.bash
    """
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    own = _SCRIPTS.get(shell, "").strip().replace("VARIABLE", VARIABLE)
    print_response(own or get_completion_script(prog_name="strands", complete_var=VARIABLE, shell=shell))
