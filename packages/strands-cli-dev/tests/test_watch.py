"""`--watch`: again whenever a tool or the workflow has changed, after every change, in a process of its own."""

from __future__ import annotations

import os
import re
import select
import signal
import sys
from dataclasses import astuple
from pathlib import Path

import pytest

from tests.cli.strands import Folder, Started

if sys.platform == "win32":
    pytest.skip("signals as POSIX has them", allow_module_level=True)

# What ends it is in the line that is printed whenever nothing is under way.
WATCHING = "Ctrl-C"
STEPS = [{"tool": "native:odd", "input": {}}, {"tool": "native:odd", "input": {}}]
# In its first call the tool changes its own file, so that the change falls between two calls, whatever the machine.
CHANGES_ITSELF = """\
from pathlib import Path
here = Path(__file__)
text = here.read_text()
if text != text.replace({old!r}, {new!r}):
    here.write_text(text.replace({old!r}, {new!r}))
return answer('first')"""


def source_of(folder: Folder, name: str = "odd") -> Path:
    return folder.site / f"strands_tool_{name}" / "__init__.py"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def ctrl_c(started: Started) -> tuple[int, str, str]:
    """Wait until nothing is under way, press Ctrl-C and return how it ended."""
    started.wait_for(WATCHING)
    started.send(signal.SIGINT)
    ran = started.end()
    return ran.code, ran.out, ran.err


@pytest.mark.terminals
def test_a_changed_tool_is_called_again_and_ctrl_c_ends_it_well(folder: Folder) -> None:
    folder.tool("odd", "return answer('one')")
    started = folder.start("tools", "run", "odd", "--watch", PYTHONDONTWRITEBYTECODE="")
    started.wait_for(WATCHING)
    # Bytecode is known by the second and the size of its source: an edit as quick and as short must not go unseen.
    before = source_of(folder).stat().st_mtime_ns
    edit(source_of(folder), "'one'", "'two'")
    os.utime(source_of(folder), ns=(before, before ^ 1000))
    started.wait_for("__init__.py")
    started.wait_for(WATCHING)
    assert started.process.stderr is not None
    assert select.select([started.process.stderr], [], [], 1.0)[0] == [], "nothing happens without a change"
    started.send(signal.SIGINT)
    code, out, err = astuple(started.end())
    assert (code, out) == (0, "one\ntwo\n")
    assert "../site/strands_tool_odd/__init__.py" in err or str(source_of(folder)) in err


def test_a_changed_definition_is_reported_field_by_field(folder: Folder) -> None:
    folder.tool("odd", "return answer('one')")
    started = folder.start("tools", "run", "odd", "--watch")
    started.wait_for(WATCHING)
    edit(source_of(folder), "Does odd.", "Does even.")
    _, _, err = ctrl_c(started)
    assert re.search(r"'odd' .*\bstrands-tool-odd\b.*\bdescription\b.*\"Does odd\.\".*\"Does even\.\"", err)


@pytest.mark.terminals
@pytest.mark.parametrize("broken", ["return answer(", "raise SystemExit(3)", "return None"])
def test_a_broken_edit_shows_its_error_and_is_watched_on(folder: Folder, broken: str) -> None:
    folder.tool("odd", "return answer('one')")
    started = folder.start("tools", "run", "odd", "--watch")
    started.wait_for(WATCHING)
    edit(source_of(folder), "return answer('one')", broken)
    started.wait_for("__init__.py")
    started.wait_for(WATCHING)
    edit(source_of(folder), broken, "return answer('two')")
    started.wait_for("__init__.py")
    code, out, err = ctrl_c(started)
    assert (code, out) == (0, "one\ntwo\n")
    assert "Traceback" not in err


@pytest.mark.terminals
def test_ctrl_c_under_a_call_ends_the_call_and_is_exit_130(folder: Folder) -> None:
    folder.tool("odd", "import threading\nprint('hanging', flush=True)\nthreading.Event().wait()")
    started = folder.start("tools", "run", "odd", "--watch")
    started.wait_for("hanging")
    started.send(signal.SIGINT)
    ran = started.end()
    assert ran.code == 130
    # A second signal would have ended the call before it could say how it ended.
    assert ran.err.splitlines()[-1].startswith("error: "), ran.err


@pytest.mark.terminals
def test_what_is_read_from_standard_input_is_given_to_every_call(folder: Folder) -> None:
    folder.tool("odd", "return answer('one ' + tool['input']['text'])")
    started = folder.start("tools", "run", "odd", "--input", "-", "--watch", given='{"text": "more"}')
    started.wait_for(WATCHING)
    edit(source_of(folder), "'one '", "'two '")
    started.wait_for("__init__.py")
    assert ctrl_c(started)[:2] == (0, "one more\ntwo more\n")


@pytest.mark.terminals
def test_a_changed_tool_is_refused_where_a_lock_is_asked_for(folder: Folder) -> None:
    folder.tool("odd", "return answer('one')")
    folder.workflow(STEPS)
    assert folder.strands("lock").code == 0
    started = folder.start("tools", "run", "odd", "--watch", "--locked")
    started.wait_for(WATCHING)
    edit(source_of(folder), "'one'", "'two'")
    code, out, err = ctrl_c(started)
    assert (code, out) == (0, "one\n")
    assert "error[lock-changed]" in err


@pytest.mark.terminals
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("tools", "run", "calculator", "--watch", "--json"), 2, "--json"),
        (("tools", "run", "calculatr", "--watch"), 3, "'calculator'"),
        (("run", "-", "--watch"), 2, "standard input"),
        (("run", "nothing.yaml", "--watch"), 2, "'nothing.yaml'"),
    ],
)
def test_what_cannot_be_watched_is_reported_at_once(
    folder: Folder, words: tuple[str, ...], code: int, said: str
) -> None:
    folder.tool("odd", "return answer('one')")
    folder.workflow(STEPS)
    ran = folder.strands(*words)
    assert ran.code == code
    assert said in ran.err
    assert WATCHING not in ran.err


@pytest.mark.terminals
def test_a_changed_workflow_is_run_again_when_the_run_is_over(folder: Folder) -> None:
    folder.tool("odd", "return answer('one ' + tool['input'].get('text', ''))")
    flow = folder.workflow(STEPS)
    started = folder.start("run", "flow.yaml", "--watch")
    started.wait_for(WATCHING)
    edit(flow, '"native:odd", "input": {}}]', '"native:odd", "input": {"text": "more"}}]')
    started.wait_for("flow.yaml")
    started.wait_for(WATCHING)
    edit(flow, '"name": "flow"', '"nmae": "flow"')
    started.wait_for("flow.yaml")
    code, out, err = ctrl_c(started)
    assert (code, out) == (0, "one \none more\n")
    assert "error[unknown-key]" in err
    assert "`name`" in err
    assert len(list(folder.runs.iterdir())) == 2


@pytest.mark.terminals
def test_a_recording_that_the_workflow_names_counts_too(folder: Folder) -> None:
    folder.workflow([{"agent": "writer", "input": "Write."}], {"steps.0": [{"text": "one"}]})
    started = folder.start("run", "flow.yaml", "--watch")
    started.wait_for(WATCHING)
    edit(folder.work / "flow.recording.yaml", "one", "two")
    started.wait_for("flow.recording.yaml")
    code, out, err = ctrl_c(started)
    assert (code, out) == (0, "one\ntwo\n"), err


@pytest.mark.terminals
def test_a_tool_that_changes_during_a_run_is_used_by_the_next_run(folder: Folder) -> None:
    folder.tool("odd", CHANGES_ITSELF.format(old="answer('fi" + "rst')", new="answer('later')"))
    folder.workflow(STEPS)
    started = folder.start("run", "flow.yaml", "--watch")
    started.wait_for("__init__.py")
    assert ctrl_c(started)[:2] == (0, "first\nlater\n")


@pytest.mark.terminals
def test_a_definition_that_changes_during_a_run_is_shown_before_the_next_run(folder: Folder) -> None:
    folder.tool("odd", CHANGES_ITSELF.format(old="Does odd.", new="Does even."))
    folder.workflow(STEPS)
    started = folder.start("run", "flow.yaml", "--watch")
    started.wait_for("'odd'")
    assert ctrl_c(started)[1] == "first\nfirst\n"


@pytest.mark.terminals
def test_a_tool_that_breaks_during_a_run_fails_the_next_run_and_not_the_watching(folder: Folder) -> None:
    folder.tool("odd", CHANGES_ITSELF.format(old="answer('fi" + "rst')", new="answer("))
    folder.workflow(STEPS)
    started = folder.start("run", "flow.yaml", "--watch")
    started.wait_for("__init__.py")
    _, out, err = ctrl_c(started)
    assert out == "first\n"
    assert "error[" in err


@pytest.mark.terminals
def test_a_locked_tool_that_changes_during_a_run_is_refused_by_the_next_run(folder: Folder) -> None:
    folder.tool("odd", CHANGES_ITSELF.format(old="answer('fi" + "rst')", new="answer('later')"))
    folder.workflow(STEPS)
    assert folder.strands("lock").code == 0
    started = folder.start("run", "flow.yaml", "--watch")
    started.wait_for("error[lock-changed]")
    assert ctrl_c(started)[1] == "first\n"
    assert folder.record()["status"] == "completed"


@pytest.mark.terminals
def test_a_run_that_waits_is_left_as_it_is_and_a_change_starts_a_new_one(folder: Folder) -> None:
    flow = folder.workflow(
        [{"type": "hitl", "prompt": "Go on?"}, {"agent": "writer", "input": "Write."}], {"steps.1": [{"text": "one"}]}
    )
    started = folder.start("run", "flow.yaml", "--watch", "--detach")
    started.wait_for("strands approve ")
    started.wait_for(WATCHING)
    edit(flow, "Go on?", "Really?")
    started.wait_for("flow.yaml")
    started.wait_for("strands approve ")
    assert ctrl_c(started)[0] == 0
    assert len(list(folder.runs.iterdir())) == 2
