"""Actions of a person on the page of a run: each is a command line, in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from strands_cli.api import ExitCode, UsageError
from strands_cli_ui.frame.ui_frame import failure, go_to
from strands_cli_ui.frame.ui_state import Ui, store_words
from strands_cli_ui.security.request_guard import form_of
from strands_cli_ui.views.argument_fields import changed_arguments

if TYPE_CHECKING:
    from starlette.responses import Response

    from strands_cli_ui.children.child_commands import Child

# How long a page waits for a command line that does not run a workflow, in seconds.
PATIENCE_S = 60.0
# How long for one that does, in case it fails at once.
SOON_S = 1.0


def answer(ui: Ui, request: Any) -> Response:
    """Store an answer, and let the run continue when no question is left."""
    fields = {name: values[-1] for name, values in form_of(request).items()}
    run, key = _run_id(ui, request), fields.get("key", "")
    if "\0" in key:  # a command line cannot have it
        raise UsageError("no question has this key", fix="load the page again")
    if fields.get("do") in ("redo", "skip"):
        # The run continues in the same process, which gets the result of a call by stdin.
        flags = [f"--redo={key}"] if fields["do"] == "redo" else [f"--skip={key}", "--result", "-"]
        text = (fields.get("result") or "null") if fields["do"] == "skip" else None
        return _continued(run, ui.children.start(_words(ui, "resume", run, *flags, "--detach"), text))
    words, text = _answer_words(ui, run, key, fields)
    with ui.one_at_a_time[run]:
        if fields.get("do") != "fail":
            _require_open(ui, run, key)
        child = ui.children.start(words, text)
        # The person wants it to have failed.
        code = ExitCode.RUN_FAILED if fields.get("do") == "fail" else ExitCode.OK
        if child.wait(PATIENCE_S) != code:
            return failure(run, child)
        if fields.get("do") == "fail" or _still_waits(ui, run):
            return go_to(f"/runs/{quote(run)}")
        return _continued(run, ui.children.start(_words(ui, "resume", run, "--detach")))


def resume(ui: Ui, request: Any) -> Response:
    """Continue a run."""
    run = _run_id(ui, request)
    with ui.opened() as runs:
        command = runs.get(run).command
    words = _words(ui, f"{command} resume", run) if command is not None else _words(ui, "resume", run, "--detach")
    return _continued(run, ui.children.start(words))


def cancel(ui: Ui, request: Any) -> Response:
    """End a run for good."""
    run = _run_id(ui, request)
    with ui.opened() as runs:
        command = runs.get(run).command or "runs"
    child = ui.children.start(_words(ui, f"{command} cancel", run))
    return go_to(f"/runs/{quote(run)}") if child.wait(PATIENCE_S) == ExitCode.OK else failure(run, child)


def _answer_words(ui: Ui, run: str, key: str, fields: Mapping[str, str]) -> tuple[list[str], str | None]:
    """Return the command line that stores an answer, and the text for its stdin."""
    if fields.get("do") == "fail":
        return _words(ui, "resume", run, f"--fail={key}"), None
    if fields.get("do") == "reject":
        return _words(ui, "reject", run, "--reason", "-", "--no-resume", key=key), fields.get("reason", "")
    if fields.get("do") == "approve":
        with ui.opened() as runs, runs.open(run) as opened:
            questions = {question["key"]: question for question in opened.questions()}
        changed = changed_arguments(questions.get(key, {}), fields)
        if changed is None:
            return _words(ui, "approve", run, "--no-resume", key=key), None
        return _words(ui, "approve", run, "--arguments", "-", "--no-resume", key=key), json.dumps(changed)
    answer = fields.get("word") or fields.get("text", "")
    return _words(ui, "approve", run, "--answer", "-", "--no-resume", key=key), answer


def _words(ui: Ui, verb: str, run: str, *flags: str, key: str | None = None) -> list[str]:
    """Return a command line in which a key cannot be taken for an option."""
    names = [run] if key is None else [run, key]
    return [*verb.split(), *flags, *store_words(ui.place), "--", *names]


def _run_id(ui: Ui, request: Any) -> str:
    with ui.opened() as runs:
        return runs.find(request.path_params["run"])


def _require_open(ui: Ui, run: str, key: str) -> None:
    """Raise `UsageError` with the answer that a question has got already, also while the run goes on with it."""
    with ui.opened() as runs, runs.open(run) as opened:
        opened.require_waiting(key)


def _still_waits(ui: Ui, run: str) -> bool:
    with ui.opened() as runs, runs.open(run) as opened:
        return bool(opened.questions())


def _continued(run: str, child: Child) -> Response:
    """Go to the page of a run that continues, unless it has failed to begin."""
    code = child.wait(SOON_S)
    # A run that fails says so on its own page.
    if code in (None, ExitCode.OK, ExitCode.WAITING, ExitCode.RUN_FAILED, ExitCode.BUDGET, ExitCode.AGENT_LOOP):
        return go_to(f"/runs/{quote(run)}")
    return failure(run, child)
