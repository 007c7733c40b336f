"""A batch at a terminal: its progress is one line that is drawn in place, and gone at the end."""

from __future__ import annotations

import sys
import threading

import pytest

if sys.platform == "win32":
    pytest.skip("a pseudo-terminal as POSIX has it", allow_module_level=True)

from batch_kit import OUT, Rows

pytestmark = pytest.mark.terminals


def test_progress_is_drawn_in_place_and_ctrl_c_leaves_what_to_do_next(rows: Rows) -> None:
    topics = [f"topic {number}" for number in range(20)]
    rows.csv(*topics)
    rows.model.held = {"topic 15": threading.Event()}
    environ = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": rows.server.url}
    with rows.folder.terminal(
        "batch", "flow.yaml", "rows.csv", "-o", OUT, "--limit", "openai=2", **environ
    ) as terminal:
        drawn = terminal.wait_for(r"\r[^\n]*19 of 20 rows done, 1 run in progress[^\n]*tokens")
        assert "\n" not in drawn[0]
        terminal.type("\x03")
        terminal.wait_for(r"strands batch resume \S+")
        assert terminal.end() == 130
    assert len(rows.lines()) == 19
    rows.model.held = {}
    with rows.folder.terminal("batch", "resume", "last", **environ) as terminal:
        terminal.wait_for(r"20 of 20 rows done")
        assert terminal.end() == 0
    assert rows.responses() == [topic.upper() for topic in topics]


def test_quiet_and_a_json_log_say_nothing_else(rows: Rows) -> None:
    rows.csv("bees", "ants")
    assert rows.batch("--quiet").err == ""
    ran = rows.batch("--log", "json", "--again", "-o", "log.jsonl")
    import json

    assert ran.code == 0
    assert all(json.loads(line)["level"] for line in ran.err.splitlines())
    ran = rows.batch("--verbose", "--again", "-o", "verbose.jsonl")
    assert sum("completed flow-" in line for line in ran.err.splitlines()) == 2
