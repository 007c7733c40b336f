"""Inputs from the command line: `--var`, `--vars-file`, and the questions of `--ask`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.cli.output import say
from strands_cli.errors import Code, Finding, UsageError
from strands_cli.input_values import WrittenValues
from strands_cli.planning import RunRequest

if TYPE_CHECKING:
    from strands_cli.workflow import Loaded
    from strands_cli.workflow.sections import InputSpec

BAD_VAR = Code("bad-var", "A --var is not of the form NAME=VALUE.", "Write --var NAME=VALUE.", 2)


def read_variables(words: Sequence[str]) -> dict[str, str]:
    """Read `NAME=VALUE` arguments; the last of equal names wins.

    Raises:
        UsageError: An argument has no name or no `=`; all such arguments are reported.
    """
    bad = [word for word in words if "=" not in word or not word.partition("=")[0].strip()]
    if bad:
        findings = [Finding(BAD_VAR, f"--var {word!r} is not NAME=VALUE") for word in bad]
        raise UsageError("the inputs cannot be read", findings=findings)
    return {name.strip(): value for name, _, value in (word.partition("=") for word in words)}


def read_limits(words: Sequence[str]) -> dict[str, str]:
    """Read `NAME=LIMIT` arguments.

    Raises:
        UsageError: An argument has no `=`.
    """
    bad = [word for word in words if "=" not in word]
    if bad:
        raise UsageError(f"--budget {bad[0]!r} is not NAME=LIMIT", fix="write --budget max_tokens=50000")
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def read_values(files: Sequence[Path]) -> dict[str, Any]:
    """Read inputs from YAML or JSON files; later files override earlier ones.

    Raises:
        UsageError: A file cannot be read, or is not a mapping of names to values.
    """
    values = WrittenValues()
    for file in files:
        from strands_cli.errors import InvalidInput
        from strands_cli.workflow.yaml import escape, read_document

        try:
            document = read_document(file)
        except InvalidInput as error:  # exit code 3 is for the workflow's file
            raise UsageError(f"{file} does not hold inputs", findings=error.findings) from error
        findings = list(document.findings)
        if not isinstance(document.value, dict):
            findings.insert(0, Finding(BAD_VAR, "a file of inputs maps names to values", document.where("")))
        if findings:
            raise UsageError(f"{file} does not hold inputs", findings=findings)
        pointers = {name: document.text_at(f"/{escape(name)}") for name in document.value}
        values = values.with_those(document.value, {name: text for name, text in pointers.items() if text is not None})
    return values


def ask_for_missing(loaded: Loaded, request: RunRequest) -> RunRequest:
    """Ask on the terminal for every required input that has no value, until each answer has its type.

    Raises:
        UsageError: There is no terminal, or its input ended.
    """
    from strands_cli.planning import resolve_inputs

    if loaded.spec is None:
        return request
    inputs = loaded.spec.inputs
    known, _ = resolve_inputs(inputs, request.variables, request.values, loaded.document)
    missing = {name: spec for name, spec in inputs.required.items() if name not in known}
    if not missing:
        return request
    from strands_cli.cli.terminal import is_interactive

    if not is_interactive():
        raise UsageError("--ask needs a terminal", fix=f"pass --var {next(iter(missing))}=VALUE")
    answers = {name: _ask(name, spec) for name, spec in missing.items()}
    return dataclasses.replace(request, variables={**request.variables, **answers})


def _ask(name: str, spec: InputSpec) -> str:
    from strands_cli.cli.terminal import Keyboard

    about = f", {spec.description}" if spec.description else ""
    choices = f" [{' | '.join(map(str, spec.enum))}]" if spec.enum else ""
    while True:
        typed = Keyboard().read_line(f"{name} ({spec.type}){about}{choices}: ")
        if typed is None:
            say("")
            raise UsageError(f"the input '{name}' has no value", fix=f"pass --var {name}=VALUE")
        problem = _problem(name, spec, typed) if typed else "an answer is needed"
        if problem is None:
            return typed
        say(f"  {problem}")


def _problem(name: str, spec: InputSpec, typed: str) -> str | None:
    """Return what is wrong with an answer, with the message that a run would give."""
    from strands_cli.planning import resolve_inputs
    from strands_cli.workflow.sections import Inputs
    from strands_cli.workflow.yaml import Document

    no_document = Document("", "", None, {})
    _, findings = resolve_inputs(Inputs(required={name: spec}), {name: typed}, {}, no_document)
    return findings[0].message if findings else None
