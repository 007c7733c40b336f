"""The command `ask`: one question to a model, with tools, and with standard input as text."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.api import (
    ArtifactError,
    Chosen,
    ExitCode,
    RunFlags,
    StoreOptions,
    UsageError,
    print_json,
    run_in_terminal,
    say,
    with_run_options,
)

if TYPE_CHECKING:
    from strands_cli.api import Plan, RunRequest, RunResult
    from strands_cli_ask.conversation import Conversation, Question

STDIN = "-"
# More than a model takes: a larger file is refused by its size.
MOST_STDIN = 100_000_000
# The options of a run that a question has too.
OPTIONS = (
    *("host", "max_tokens", "allow", "yes", "deny", "fail_on_denied", "detach"),
    *("runs_dir", "store", "policy", "locked", "no_plugins"),
)
TOOL = Annotated[
    list[str] | None,
    typer.Option("--tool", "-T", metavar="TOOL", help="A tool it may call, such as calculator; again for more."),
]
MODEL = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="MODEL", help="PROVIDER/MODEL or an alias; your default if not given."),
]
ATTACH = Annotated[
    list[str] | None,
    typer.Option("--attach", "-a", metavar="FILE", help="A picture or document to send; `-`: stdin; again for more."),
]
SYSTEM = Annotated[str | None, typer.Option("--system", "-s", metavar="TEXT", help="The system prompt.")]


@with_run_options(only=OPTIONS)
def ask(
    question: Annotated[
        list[str] | None, typer.Argument(metavar="QUESTION", help="The question; standard input is added to it.")
    ] = None,
    *,
    tool: TOOL = None,
    attach: ATTACH = None,
    model: MODEL = None,
    system: SYSTEM = None,
    schema: Annotated[
        Path | None, typer.Option("--schema", metavar="FILE", help="A JSON Schema that the answer must satisfy.")
    ] = None,
    goes_on: Annotated[bool, typer.Option("--continue", "-c", help="Go on with the last question.")] = False,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Write the workflow in place of asking.")
    ] = None,
    chosen: Chosen,
    flags: RunFlags,
) -> int:
    """Ask a model one question, with tools and with standard input; the run is journaled like any other.

    Example: strands ask "What is 17 * 23?" -T calculator
    """
    from strands_cli_ask.conversation import (
        Conversation,
        attached,
        joined,
        last_conversation,
        read_schema,
        tool_reference,
        with_file,
    )

    files = attach or []
    is_piped = STDIN in files
    if is_piped and save is not None:
        raise UsageError("a saved workflow has no standard input", fix="attach a file: -a FILE")
    asked = replace(
        read_question(question or (), has_text=not is_piped),
        files=tuple(attached(file) for file in files if file != STDIN),
    )
    request = chosen.request()
    before, earlier = (
        last_conversation(StoreOptions(request.runs_dir, request.store).place) if goes_on else ("", Conversation())
    )
    tools = tuple(tool_reference(name) for name in tool or ())
    answer_schema = read_schema(schema) if schema is not None else None
    conversation = joined(earlier, asked, tools, model=model, system=system, schema=answer_schema)
    if save is not None:
        return save_workflow(conversation, save, as_json=flags.as_json)
    if is_piped:
        with tempfile.TemporaryDirectory(prefix="strands-ask-") as folder:
            return run_turn(with_file(conversation, read_stdin(Path(folder))), before, chosen, flags)[0]
    return run_turn(conversation, before, chosen, flags)[0]


def read_stdin(folder: Path) -> str:
    """Write standard input to a file, and return its path; the journal has its bytes before the model is asked.

    Raises:
        UsageError: It is a terminal.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise UsageError("-a - attaches standard input, and this is a terminal", fix="... | strands ask -a - '...'")
    file = folder / "stdin"
    file.write_bytes(sys.stdin.buffer.read(MOST_STDIN))
    return str(file)


def read_question(words: list[str] | tuple[str, ...], *, has_text: bool = True) -> Question:
    """Return the question that was typed, and the text on standard input if it `has_text`.

    Raises:
        UsageError: There is neither.
    """
    from strands_cli_ask.conversation import Question

    text = ""
    if has_text and sys.stdin is not None and not sys.stdin.isatty():
        try:
            text = sys.stdin.buffer.read().decode("utf-8").strip()
        except UnicodeDecodeError as error:
            raise UsageError(f"standard input is not text: {error}", fix="attach it: strands ask -a - '...'") from None
    asked = Question(" ".join(words).strip(), text)
    if not asked.whole:
        raise UsageError("there is no question", fix='strands ask "..."; or a text on standard input')
    return asked


def save_workflow(conversation: Conversation, file: Path, *, as_json: bool) -> int:
    """Write the workflow of a conversation to a new file.

    Raises:
        ArtifactError: The file exists, or cannot be written.
    """
    from strands_cli_ask.conversation import beside

    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(beside(conversation, file.parent).workflow_text())
    except FileExistsError:
        raise ArtifactError(f"{file} exists", fix="choose another name: --save FILE") from None
    except OSError as error:
        message = f"{file} cannot be written: {error.strerror or error}"
        raise ArtifactError(message, fix="choose another place: --save FILE") from error
    if as_json:
        print_json({"file": str(file)})
    else:
        say(f"wrote {file}: strands run {file}")
    return ExitCode.OK


def run_turn(
    conversation: Conversation, before: str, chosen: Chosen, flags: RunFlags, *, is_chat: bool = False
) -> tuple[int, str]:
    """Ask the last question of a conversation, and return the exit code and the id of the run.

    Args:
        conversation: All questions.
        before: The run that has answered all but the last one; empty for the first question.
        is_chat: Whether Ctrl-C ends the answer alone.

    Raises:
        StrandsCliError: The run did not complete.
    """
    from strands_cli.api import Runs, plan_turn

    made: list[str] = []

    def plan(request: RunRequest) -> Any:
        text = conversation.workflow_text()
        if not before:
            return plan_turn(text, request)
        place = StoreOptions(request.runs_dir, request.store).place
        with Runs(place) as runs, runs.open(before) as run:
            return plan_turn(text, request, run.journal, conversation.last_key)

    def note(_plan: Plan, result: RunResult) -> dict[str, str]:
        made.append(result.run_id)
        return {}

    shown = flags if flags.verbose else replace(flags, quiet=True)
    code = run_in_terminal(plan, chosen, shown, note, goes_on=is_chat)
    return code, made[0] if made else ""
