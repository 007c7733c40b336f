"""What a person sees while a run works: that it is loading, the text of models, the progress of tools."""

from __future__ import annotations

import contextlib
import io
import sys

import pytest

from strands_cli.cli.terminal.live_view import View
from strands_cli.events import Event, ModelCallFinished, ModelCallStarted, ModelText, Usage
from tests.cli.strands import Folder
from tests.distributions import make_distribution

posix = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
SPEC = {
    "name": "count",
    "description": "Counts.",
    "inputSchema": {"json": {"type": "object", "properties": {}}},
    "annotations": {"readOnlyHint": True},
}
SOURCE = f"""import pathlib

TOOL_SPEC = {SPEC!r}


async def count(tool, **kwargs):
    yield "one of two\\x1b[31m\\nlines"
    yield {{"done": 2}}
    while pathlib.Path("wait").exists():
        yield {{"done": 2}}
    yield {{"status": "success", "content": [{{"text": "counted"}}]}}
"""


def counting(folder: Folder) -> None:
    package = "strands_tool_count"
    make_distribution(folder.site, "strands-tool-count", "1.0", {"count": package}, {f"{package}/__init__.py": SOURCE})
    folder.workflow([{"tool": "native:count", "input": {}}])


def test_progress_of_a_tool_is_shown_with_v_and_by_tools_run(folder: Folder) -> None:
    counting(folder)
    shown = "count: one of two\\x1b[31m lines"
    verbose = folder.strands("run", "flow.yaml", "--verbose")
    assert (verbose.code, verbose.out, shown in verbose.err) == (0, "counted\n", True)
    assert 'count: {"done": 2}' in verbose.err
    assert shown not in folder.strands("run", "flow.yaml").err
    by_hand = folder.strands("tools", "run", "count")
    assert (by_hand.out, shown in by_hand.err) == ("counted\n", True)


@posix
def test_a_terminal_shows_progress_of_a_tool_and_that_the_run_is_loading(folder: Folder) -> None:
    counting(folder)
    folder.write("wait", "")
    with folder.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"run 2\d+-")
        terminal.wait_for(r"flow loads .*\r")
        terminal.wait_for(r'steps\.0  count: \{"done": 2\}')
        (folder.work / "wait").unlink()
        assert terminal.end() == 0


def texts(*pieces: tuple[str, str]) -> list[Event]:
    return [ModelText(0.0, f"branches.{branch}.steps.0/model.0", text) for branch, text in pieces]


def asked(*branches: str) -> list[Event]:
    return [ModelCallStarted(0.0, f"branches.{one}.steps.0/model.0", one, "m") for one in branches]


def answered(*branches: str) -> list[Event]:
    return [ModelCallFinished(0.0, f"branches.{one}.steps.0/model.0", one, "m", Usage(), 0.1) for one in branches]


def shown(*events: Event) -> list[str]:
    view, stderr = View(verbose=True), io.StringIO()
    with contextlib.redirect_stderr(stderr):
        for event in events:
            view(event)
        view.line("ours")
    return stderr.getvalue().splitlines()


def test_branches_that_answer_at_once_get_lines_of_their_own() -> None:
    together = texts(("a", "one "), ("b", "eins "), ("a", "two\nthree"), ("b", "zwei"))
    assert shown(*asked("a", "b"), *together, *answered("a", "b")) == [
        "  > branches.a.steps.0: one two",
        "  > branches.a.steps.0: three",
        "  > branches.b.steps.0: eins zwei",
        "ours",
    ]


def test_a_single_answer_streams_as_it_comes() -> None:
    assert shown(*asked("a"), *texts(("a", "one "), ("a", "two\nthree")), *answered("a")) == [
        "  > one two",
        "  > three",
        "ours",
    ]
