"""Inputs from the command line: `--var`, `--vars-file`, and the questions of `--ask`."""

from __future__ import annotations

import dataclasses
import functools
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.cli.output.messages import say
from strands_cli.errors import Code, Finding, UsageError
from strands_cli.planning.row_planner import WrittenValues
from strands_cli.planning.run_request import RunRequest

if TYPE_CHECKING:
    from strands_cli.workflow.model import LoadedWorkflow
    from strands_cli.workflow.sections import InputSpec

BAD_VAR = Code(
    "bad-var",
    "A --var is not NAME=VALUE, or the file of NAME=@FILE cannot be read.",
    "Write --var NAME=VALUE; `@@` is an at sign.",
    2,
)
STDIN = "-"
MAX_TEXT = 10 * 1024 * 1024


def read_variables(words: Sequence[str]) -> dict[str, str]:
    """Read `NAME=VALUE` arguments, with the text of a file for `NAME=@FILE`, and of stdin for `NAME=-`.

    The last of equal names wins. `@@` is an at sign at the begin of a text.

    Raises:
        UsageError: An argument has no name or no `=`, or a file cannot be read; all such arguments are reported.
    """
    bad = [word for word in words if "=" not in word or not word.partition("=")[0].strip()]
    findings = [Finding(BAD_VAR, f"--var {word!r} is not NAME=VALUE") for word in bad]
    texts: dict[str, str] = {}
    for name, _, value in (word.partition("=") for word in words if word not in bad):
        try:
            texts[name.strip()] = _text_of(value)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            fix = f"check the path; for a text that begins with an at sign: {shlex.join(['--var', f'{name}=@{value}'])}"
            findings.append(Finding(BAD_VAR, f"--var {name}={value}: the file cannot be read: {reason}", None, fix))
    if findings:
        raise UsageError("the inputs cannot be read", findings=findings)
    return texts


def _text_of(value: str) -> str:
    """Return the text that an argument gives.

    Raises:
        OSError: The file cannot be read.
        ValueError: It is not text in UTF-8, or too large.
    """
    if value in (STDIN, f"@{STDIN}"):
        return text_of_stdin()
    if not value.startswith("@") or value.startswith("@@"):
        return value.removeprefix("@") if value.startswith("@@") else value
    with Path(value[1:]).open("rb") as stream:
        return _decoded(stream.read(MAX_TEXT + 1))


@functools.cache
def text_of_stdin() -> str:
    """Return all of standard input, which is there once: a second planning reads the same.

    Raises:
        ValueError: It is not text in UTF-8, or too large.
    """
    return _decoded(sys.stdin.buffer.read(MAX_TEXT + 1))


def _decoded(data: bytes) -> str:
    if len(data) > MAX_TEXT:
        raise ValueError(f"it has more than {MAX_TEXT // 1024**2} MB")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"byte 0x{data[error.start]:02x} at offset {error.start} is not UTF-8") from error


def require_one_reader(typed: Mapping[str, Any]) -> None:
    """Check that not more than one argument of a command reads standard input.

    Raises:
        UsageError: Two do.
    """
    readers = [f"the {word.upper()}" for word in ("spec", "rows") if typed.get(word) == STDIN]
    readers += ["--vars-file -" for file in typed.get("values") or () if str(file) == STDIN]
    words = [*(typed.get("variables") or ()), *(typed.get("var") or ())]
    for name, _, value in (word.partition("=") for word in words if isinstance(word, str)):
        if value in (STDIN, f"@{STDIN}"):
            readers.append(f"--var {name}={value}")
    if len(readers) > 1:
        raise UsageError(f"{readers[0]} and {readers[1]} both read stdin", fix="name a file for one of them")


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
        from strands_cli.yaml_files.document import escape
        from strands_cli.yaml_files.document_reader import read_document

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


def ask_for_missing(workflow: LoadedWorkflow, request: RunRequest) -> RunRequest:
    """Ask on the terminal for every required input without a value, until each answer has its type.

    Raises:
        UsageError: There is no terminal, or its input ended.
    """
    from strands_cli.planning.row_planner import resolve_inputs

    if workflow.spec is None:
        return request
    inputs = workflow.spec.inputs
    resolved, _ = resolve_inputs(inputs, request.variables, request.values, workflow.document)
    missing = {name: spec for name, spec in inputs.required.items() if name not in resolved}
    if not missing:
        return request
    from strands_cli.cli.terminal.terminal_human import is_interactive

    if not is_interactive():
        raise UsageError("--ask needs a terminal", fix=f"pass --var {next(iter(missing))}=VALUE")
    answers = {name: _ask(name, spec) for name, spec in missing.items()}
    return dataclasses.replace(request, variables={**request.variables, **answers})


def _ask(name: str, spec: InputSpec) -> str:
    from strands_cli.cli.terminal.terminal_human import Keyboard

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
    """Return the fault of an answer, with the message that a run would give."""
    from strands_cli.planning.row_planner import resolve_inputs
    from strands_cli.workflow.sections import Inputs
    from strands_cli.yaml_files.document import Document

    no_document = Document("", "", None, {})
    _, findings = resolve_inputs(Inputs(required={name: spec}), {name: typed}, {}, no_document)
    return findings[0].message if findings else None
