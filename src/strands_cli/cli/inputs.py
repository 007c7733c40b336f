"""Inputs as people type them: `--var`, `--vars-file`, and the questions of `--ask`."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.errors import Finding, UsageError
from strands_cli.planning.options import RunOptions

if TYPE_CHECKING:
    from strands_cli.planning.plan import Plan


def read_given(words: Sequence[str]) -> dict[str, str]:
    """Read `NAME=VALUE` words; the last of equal names wins.

    Raises:
        UsageError: a word has no name or no `=`; all of them are reported.
    """
    bad = [word for word in words if "=" not in word or not word.partition("=")[0].strip()]
    if bad:
        findings = [
            Finding("bad-var", f"--var {word!r} is not NAME=VALUE", fix="write --var NAME=VALUE") for word in bad
        ]
        raise UsageError("the inputs cannot be read", findings=findings)
    return {name.strip(): value for name, _, value in (word.partition("=") for word in words)}


def read_values(files: Sequence[Path]) -> dict[str, Any]:
    """Read inputs from YAML or JSON files, later files over earlier ones.

    Raises:
        UsageError: a file is not a mapping of names to values.
    """
    values: dict[str, Any] = {}
    for file in files:
        from strands_cli.spec.document import read_document

        document = read_document(file)
        if not isinstance(document.value, dict):
            finding = Finding("bad-var", "a file of inputs maps names to values", document.where(""))
            raise UsageError(f"{file} does not hold inputs", findings=[finding, *document.findings])
        if document.findings:
            raise UsageError(f"{file} does not hold inputs", findings=document.findings)
        values |= document.value
    return values


def ask_for_missing(planned: Plan, options: RunOptions) -> RunOptions:
    """Ask on the terminal for every required input that has no value.

    Raises:
        UsageError: there is no terminal to ask on.
    """
    missing = {name: spec for name, spec in planned.spec.inputs.required.items() if name not in planned.inputs}
    if missing and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("--ask needs a terminal", fix=f"pass --var {next(iter(missing))}=VALUE")
    answers: dict[str, str] = {}
    for name, spec in missing.items():
        choices = f" [{' | '.join(map(str, spec.enum))}]" if spec.enum else ""
        sys.stderr.write(f"{name} ({spec.type}){f', {spec.description}' if spec.description else ''}{choices}: ")
        sys.stderr.flush()
        answers[name] = sys.stdin.readline().rstrip("\n")
    return dataclasses.replace(options, given={**options.given, **answers})
