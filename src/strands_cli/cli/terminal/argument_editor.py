"""The arguments of a call in a person's own editor: YAML, with the schema and the last problem as comments."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import re
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.cli.output.messages import real_stderr, say
from strands_cli.cli.terminal_text import one_line
from strands_cli.engine.waiting.edited_arguments import change_lines, changes_between
from strands_cli.errors import InvalidInput, UsageError, WaitingForPerson
from strands_cli.texts.canonical_json import digest_of, json_object
from strands_cli.texts.phrases import short_json

if TYPE_CHECKING:
    from strands_cli.engine.journal.journal_rows import Question

_HEAD = """\
# {prompt}
#
# Change the arguments, save and close. Without any of them the question waits still.
#
# The tool takes (* is needed):
"""
_MAX_SHOWN = 200
_CORRECT = "write all arguments as the tool's schema has them, in YAML or JSON"


def read_arguments(text: str, name: str, schema: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Read arguments from YAML or JSON; what the schema of their tool does not say, the permission check finds later.

    Raises:
        UsageError: They are neither, or do not fit the schema.
    """
    from strands_cli.tools.schema.schemas import SchemaFaultError, first_problem
    from strands_cli.yaml_files.document_reader import read_document

    problem: str | None = None
    try:
        document = read_document(name, text)
    except InvalidInput as error:
        raise UsageError(f"the changed arguments cannot be read: {error.whole_message}", fix=_CORRECT) from error
    if document.findings:
        problem = document.findings[0].message
    elif not isinstance(document.value, Mapping):
        problem = "they are not a mapping of names to values"
    with contextlib.suppress(SchemaFaultError):
        problem = problem or first_problem(schema or {}, document.value)
    if problem is not None:
        raise UsageError(f"the changed arguments do not fit: {problem}", fix=_CORRECT)
    return dict(document.value)


@dataclass(frozen=True, slots=True)
class ArgumentFile:
    """The file in which a person changes the arguments of a call; it stays until it is discarded."""

    path: Path
    question: Question

    @classmethod
    def written(cls, question: Question) -> ArgumentFile:
        """Make the file for a question about a call, with the arguments of the last try if it was refused."""
        call = question.call
        folder = Path(tempfile.mkdtemp(prefix="strands-approve-"))
        file = cls(folder / "arguments.yaml", question)
        file.path.touch(0o600)
        arguments = question.tried if question.tried is not None else call.arguments if call is not None else {}
        file.put(_yaml_of(arguments), question.problem)
        return file

    def put(self, text: str, problem: str | None) -> None:
        """Write arguments below the comments; a problem comes first."""
        head = _HEAD.format(prompt=one_line(self.question.prompt)) + "".join(_schema_lines(self.question.schema))
        first = f"# PROBLEM: {one_line(problem)}\n#\n" if problem else ""
        self.path.write_text(f"{first}{head}\n{text}", encoding="utf-8")

    def discard(self) -> None:
        """Remove the file."""
        self.path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # an editor has left a copy there
            self.path.parent.rmdir()

    def text(self) -> str:
        """Return the arguments without the comments above them; empty where the person has removed all.

        Raises:
            UsageError: The file is not text in UTF-8.
        """
        try:
            text = self.path.read_text(encoding="utf-8-sig")
        except FileNotFoundError:
            return ""
        except (OSError, ValueError) as error:
            raise UsageError(f"{self.path} cannot be read: {error}", fix="save it as text in UTF-8") from error
        return re.sub(r"\A(?:[ \t]*(?:#[^\n]*)?(?:\n|\Z))+", "", text)

    async def opened(self, stdin: int = 0) -> str | None:
        """Open the file in the person's editor and wait for its end; return why that was no success.

        Args:
            stdin: The descriptor of the keyboard.

        Raises:
            UsageError: There is no editor, or it does not start.
        """
        command = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
        fix = "name your editor: export EDITOR=nano; or give the arguments: --arguments FILE"
        try:
            words = shlex.split(command)
            if not words:
                raise UsageError("neither VISUAL nor EDITOR names an editor", fix=fix)
            # Results alone go to stdout.
            words, shown = [*words, str(self.path)], real_stderr()
            editor = subprocess.Popen(words, stdin=stdin, stdout=shown, stderr=shown)  # noqa: S603 - the person's own
        except (OSError, ValueError) as error:
            raise UsageError(f"the editor {command!r} does not start: {error}", fix=fix) from error
        try:
            with _left_to_editor():
                code = await asyncio.to_thread(editor.wait)
        finally:
            if editor.poll() is None:
                editor.terminate()
        return None if code == 0 else f"the editor {command!r} ended with {code}"


# Shows a hint and returns the line that a person types; None at the end of the input.
ReadLine = Callable[[str], str | None]


async def edit_until_it_fits(
    question: Question, read_line: ReadLine | None, stdin: int = 0
) -> tuple[ArgumentFile, Mapping[str, Any]]:
    """Open the arguments of a call in the person's editor, again where they do not fit; return them with their file.

    Args:
        read_line: Asks a person at the terminal; None without one.
        stdin: The descriptor of the keyboard.

    Raises:
        UsageError: There is no editor; or they do not fit, and without a terminal no person corrects them.
        WaitingForPerson: The person has cancelled.
    """
    file = ArgumentFile.written(question)
    while True:
        kept = f"your changes are kept in {file.path}"
        try:
            failure = await file.opened(stdin)
        except UsageError:
            file.discard()
            raise
        if failure is not None:
            raise WaitingForPerson(f"{failure}, so {question.key} waits still", fix=kept)
        if not (text := file.text()).strip():
            file.discard()
            message = f"no arguments are left in the file, so {question.key} waits still"
            raise WaitingForPerson(message, fix=f"to refuse the call: strands reject RUN {shlex.quote(question.key)}")
        try:
            return file, read_arguments(text, str(file.path), question.schema)
        except UsageError as error:
            problem = error.message
            if read_line is None:
                error.fix = f"{kept}; correct them and pass them: --arguments {file.path}"
                raise
        say(f"  {problem}")
        typed = await asyncio.to_thread(read_line, "  open the editor again? [Y/n] ")
        if typed is None or typed.strip().lower() in ("n", "no"):
            raise WaitingForPerson(f"{question.key} waits still", fix=kept)
        file.put(text, problem)


def with_arguments(question: Question, arguments: Mapping[str, Any]) -> Question:
    """Return the question about a call with the changed arguments; its answer is for this call alone."""
    if question.call is None:
        return question
    lines = change_lines(changes_between(question.call.arguments, arguments)) or ["nothing"]
    call = dataclasses.replace(
        question.call, arguments=arguments, digest=digest_of(arguments), grant="", diff="", unseen=""
    )
    return dataclasses.replace(question, prompt="\nchanged: ".join([question.prompt, *lines]), call=call, problem=None)


@contextlib.contextmanager
def _left_to_editor() -> Iterator[None]:
    """Leave Ctrl-C to the editor, which has the terminal."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _yaml_of(arguments: Mapping[str, Any]) -> str:
    """Return arguments as YAML, long texts as blocks; as JSON where our reader would read another value from that."""
    import json

    import yaml

    from strands_cli.yaml_files.document_reader import read_document

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def as_block(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)

    Dumper.add_representer(str, as_block)
    text = yaml.dump(dict(arguments), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
    with contextlib.suppress(InvalidInput):
        if read_document("arguments", text).value == arguments:
            return text
    return json.dumps(arguments, indent=2) + "\n"


def _schema_lines(schema: Mapping[str, Any] | None) -> Iterator[str]:
    needed = (schema or {}).get("required") or ()
    properties = json_object((schema or {}).get("properties"))
    for name, part in properties.items():
        about = {key: value for key, value in json_object(part).items() if key not in ("description", "title")}
        described = json_object(part).get("description")
        words = short_json(about, _MAX_SHOWN) + (f"  {described}" if described else "")
        yield f"#   {one_line(name)}{'*' if name in needed else ''}: {one_line(words)}\n"
    if not properties:
        yield "#   its schema names none\n"
