"""Text of others is nothing but text at every place that shows it, and none of it passes for a line of ours."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from tests.cli.screen import without_drawing
from tests.cli.strands import Folder
from tests.distributions import make_distribution, manifest_of, tool

pytestmark = pytest.mark.hostile

# A window title, the clipboard, colours, a cleared screen, bidi, zero width, C1, a carriage return, and a line of ours.
HOSTILE = (
    "\x1b]0;t\x07\x1b]52;c;aGk=\x07\x1b[31m\x1b[2J\u202e\u2066\u200b\x9b31m\x85\u2028\rover\nerror[forged]: a line"
)
RAW = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u2028\u202a-\u202e\u2066-\u2069]")
# What a forged line begins with, if it got to the beginning of one.
FORGED = re.compile(r"^(?:\x1b\[[0-9;]*m)?error\[forged\]", re.M)


def require_harmless(text: str, *, raw_returns: bool = False) -> None:
    """Check that nothing hidden is in a text, and that it was shown; a terminal's own line ends count as such."""
    assert "forged" in text, "the hostile text was not shown at all"
    plain = text.replace("\r\n", "\n")
    assert not RAW.search(plain.replace("\r", "") if raw_returns else plain), ascii(text)
    assert raw_returns or "\r" not in plain
    assert not FORGED.search(plain), text


@pytest.fixture
def hostile(folder: Folder) -> Folder:
    """Return a folder with a tool and a workflow that say hostile things wherever they may."""
    schema = {"type": "object", "properties": {"text": {"type": "string", "description": HOSTILE}}}
    spec = {"name": "sly", "description": HOSTILE, "inputSchema": {"json": schema}}
    spec |= {"annotations": {"title": HOSTILE, "destructiveHint": True}}
    spec |= {"strands_cli": {"engines": "strands_tool_sly:engines"}}
    source = (
        f"TOOL_SPEC = {spec!r}\n\n\ndef sly(tool, **kwargs):\n    print({HOSTILE!r})\n"
        f"    return {{'status': 'success', 'content': [{{'text': {HOSTILE!r}}}]}}\n\n\n"
        f"def engines():\n    return [dict(engine={HOSTILE!r}, available=False, reason={HOSTILE!r}, layers={{}})]\n"
    )
    described = tool(
        "sly",
        "strands_tool_sly",
        description=HOSTILE,
        input_schema=schema,
        annotations=spec["annotations"],
        requires={"env": ["PATH"]},
        deprecated={"since": HOSTILE, "replacement": HOSTILE},
        family=HOSTILE,
        strands_cli=spec["strands_cli"],
    )
    make_distribution(
        folder.site,
        "strands-tool-sly",
        "1.0",
        {"sly": "strands_tool_sly"},
        {"strands_tool_sly/__init__.py": source},
        manifest_of("strands-tool-sly", described),
    )
    write(folder, HOSTILE)
    return folder


def write(folder: Folder, said: str) -> Path:
    turns = [{"calls": [{"sly": {"text": said}}]}, {"text": said}]
    agents = {"writer": {"prompt": said, "tools": ["native:sly"]}}
    steps = [{"agent": "writer", "input": f"Say {said}"}, {"type": "hitl", "prompt": said, "context_display": said}]
    inputs = {"values": {"topic": said}}
    return folder.workflow(steps, {"steps.0": turns}, agents=agents, name=f"flow {said}", inputs=inputs)


@pytest.mark.parametrize(
    "words",
    ["list-tools --source", "tools show sly", "plan flow.yaml", "doctor"],
)
def test_a_command_that_shows_text_of_others_escapes_it(hostile: Folder, words: str) -> None:
    done = hostile.strands(*words.split())
    require_harmless(done.out + done.err)


def test_what_is_wrong_with_a_hostile_file_forges_no_line(folder: Folder) -> None:
    odd = {"prompt": "x", HOSTILE: 1}
    folder.write("keys.yaml", {"version": 2, HOSTILE: 1, "agents": {HOSTILE: odd, "writer": odd}})
    done = folder.strands("validate", "keys.yaml")
    assert done.code == 3
    require_harmless(done.out + done.err)
    folder.workflow([{"agent": "writer", "input": "x"}], env={"mounts": {"here": HOSTILE}})
    done = folder.strands("plan", "flow.yaml")
    assert "missing-mount" in done.err
    require_harmless(done.err)


def test_a_run_and_its_journal_escape_what_was_answered(hostile: Folder) -> None:
    ran = hostile.strands("run", "flow.yaml", "--yes", "-v")
    assert ran.code == 19, ran.err
    require_harmless(ran.err)
    (run,) = (directory.name for directory in hostile.runs.iterdir())
    for words in (["runs", "list"], ["runs", "show", run]):
        require_harmless(hostile.strands(*words).out)
    as_json = hostile.strands("runs", "show", run, "--json").out
    assert not RAW.search(as_json)
    assert HOSTILE in json.loads(as_json)["questions"][0]["prompt"]


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
def test_at_a_terminal_questions_the_live_view_and_the_answer_are_escaped(hostile: Folder) -> None:
    with hostile.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"\? .*\bwriter .*\bsly\b")
        terminal.wait_for(r"\[y/N[^\]]*\] $")
        terminal.type("y\n")
        terminal.wait_for(r"answer: $")
        terminal.type("ok\n")
        assert terminal.end() == 0
    require_harmless(without_drawing(terminal.text), raw_returns=True)


def test_an_error_that_quotes_a_tool_forges_no_line(folder: Folder) -> None:
    folder.tool("sly", f"raise RuntimeError({HOSTILE!r})")
    folder.workflow([{"tool": "sly", "input": {"text": "x"}}])
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == 10
    require_harmless(ran.err)
