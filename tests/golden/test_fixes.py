"""Every command that a fix names exists: `strands ...` in the parser, `pip install ...` of what is known."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from strands_cli.cli.program import program
from strands_cli.codes import declared_codes

GOLDEN = Path(__file__).parent
CLONE = GOLDEN.parent.parent
# A command in a text: words, then options; a name in capitals or quotes is for the reader to fill in.
COMMAND = re.compile(r"(?<![\w./-])strands((?: [a-z][a-z-]*)+)((?: --[a-z-]+)*)")
PIP = re.compile(r"pip install (?:--[a-z-]+ )*'?([A-Za-z0-9_.-]+)(?:\[([a-z_,]+)\])?")
PROGRAM = typer.main.get_command(program)


def fixes() -> Iterator[str]:
    """Yield every fix that the pinned wordings have, and the remedy of each code."""
    for line in (GOLDEN / "findings.txt").read_text("utf-8").splitlines():
        if line.startswith("  fix: "):
            yield line[7:]
    for texts in json.loads((GOLDEN / "wordings.json").read_text("utf-8")).values():
        yield from (str(text).rpartition(" | ")[2] for text in (texts if isinstance(texts, list) else [texts]))
    yield from (code.remedy for code in declared_codes().values())


def commands() -> list[tuple[str, str]]:
    return sorted({found.groups() for fix in fixes() for found in COMMAND.finditer(fix)})


@pytest.mark.parametrize(("words", "options"), commands())
def test_a_command_in_a_fix_is_one_that_the_program_has(words: str, options: str) -> None:
    command = PROGRAM
    for word in words.split():
        known = getattr(command, "commands", None)
        if known is None:
            break
        assert word in known, f"strands{words}"
        command = known[word]
    assert not hasattr(command, "commands"), f"strands{words} names a group"
    known_options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    assert set(options.split()) <= known_options


def extras() -> set[str]:
    return set(tomllib.loads((CLONE / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"])


def test_an_extra_that_a_fix_installs_is_one_of_this_program() -> None:
    named = {extra for fix in fixes() for name, extra in PIP.findall(fix) if extra and name == "strands-cli"}
    assert named
    assert named <= extras()
    assert not [fix for fix in fixes() if "strands-agents[" in fix]


def test_the_extras_of_this_program_can_be_installed_beside_it_without_an_index() -> None:
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "strands-cli[tools]"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
