"""Ctrl-C, SIGTERM and SIGHUP in the middle of a run: it ends soon, says how, and its record says the same."""

from __future__ import annotations

import re
import signal
import sys
import threading
from typing import Any

import pytest

from tests.cli.strands import SECONDS, STRANDS, Folder
from tests.fakes.model_server import ModelServer, Turn
from tests.wordings import Wording

if sys.platform == "win32":
    pytest.skip("signals as POSIX has them", allow_module_level=True)

pytestmark = pytest.mark.kills

HANG = "import threading\nprint('hanging', flush=True)\nthreading.Event().wait()"
ONE_STEP = [{"agent": "writer", "input": "Write."}]


def hanging_tool(folder: Folder, body: str = HANG) -> None:
    folder.tool("hang", body)
    agents = {"writer": {"prompt": "You write.", "tools": ["native:hang"]}}
    folder.workflow(ONE_STEP, {"steps.0": [{"calls": [{"hang": {}}]}, {"text": "done"}]}, agents=agents)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_during_a_hanging_sync_tool_ends_the_run_soon(
    folder: Folder, number: signal.Signals, code: int, wording: Wording
) -> None:
    hanging_tool(folder)
    run = folder.start("run", "flow.yaml", "--json")
    run.wait_for("| hanging")
    run.send(number)
    ran = run.end()
    assert ran.code == code
    assert ran.document["status"] == "interrupted"
    assert ran.document["error"]["exit_code"] == code
    _, _, since = ran.err.partition("| hanging\n")
    assert since.splitlines()[:1] == [""], "what the signal does is said on a line of its own"
    wording([since.splitlines()[1], re.sub(r"[\d.]+ m?s\b", "TIME", since.splitlines()[-1])])
    assert "Traceback" not in ran.err
    assert folder.record()["status"] == "interrupted"
    assert re.search(r"\binterrupted\b", ran.err), "the summary has the status"


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGHUP])
def test_further_signals_of_a_supervisor_change_nothing(folder: Folder, first: signal.Signals) -> None:
    slow_to_stop = (
        "TOOL_SPEC = {'name': 'hang', 'description': 'Hangs.', 'inputSchema': {'json': {'type': 'object'}},"
        " 'annotations': {'readOnlyHint': True}}\n"
        "import asyncio, os, signal\n\n\nasync def hang(tool, **kwargs):\n    print('hanging', flush=True)\n"
        "    try:\n        await asyncio.Event().wait()\n    finally:\n"
        "        for number in (15, 1, 15):\n            os.kill(os.getpid(), number)\n"
    )
    hanging_tool(folder)
    (folder.site / "strands_tool_hang" / "__init__.py").write_text(slow_to_stop)
    run = folder.start("run", "flow.yaml", "--json")
    run.wait_for("| hanging")
    run.send(first)
    ran = run.end()
    assert ran.code == 128 + first
    assert ran.document["status"] == "interrupted"
    assert folder.record()["status"] == "interrupted"


def test_a_signal_after_the_stop_does_not_end_the_process_by_itself(folder: Folder) -> None:
    """What was stopped is still being reported then."""
    hanging_tool(folder)
    last = "import atexit, os\natexit.register(lambda: [os.kill(os.getpid(), number) for number in (15, 1)])\n"
    module = folder.site / "strands_tool_hang" / "__init__.py"
    module.write_text(last + module.read_text())
    run = folder.start("run", "flow.yaml", "--json")
    run.wait_for("| hanging")
    run.send(signal.SIGTERM)
    ran = run.end()
    assert (ran.code, ran.document["status"]) == (143, "interrupted")


def test_a_run_under_nohup_continues_when_the_terminal_is_closed(folder: Folder) -> None:
    waits = "import os, signal\nprint('waiting', flush=True)\nos.kill(os.getpid(), signal.SIGHUP)\nreturn answer('ok')"
    hanging_tool(folder, waits)
    ran = folder.run(["nohup", STRANDS, "run", "flow.yaml", "--quiet"])
    assert (ran.code, ran.out) == (0, "done\n"), ran.err


def test_a_closed_terminal_ends_a_run_as_sigterm_does(folder: Folder) -> None:
    hanging_tool(folder)
    with folder.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"\| hanging")
        assert terminal.hang_up() == 129
    assert folder.record()["status"] == "interrupted"


def test_ctrl_c_while_a_model_keeps_silent_ends_the_run_soon(folder: Folder, wording: Wording) -> None:
    folder.workflow(ONE_STEP, runtime={"provider": "openai", "model_id": "m"})
    asked = threading.Event()

    def keep_silent(request: dict[str, Any]) -> Turn:
        asked.set()
        return Turn("too late", delay_s=3600)

    with ModelServer(keep_silent) as server:
        run = folder.start("run", "flow.yaml", OPENAI_API_KEY="any", OPENAI_BASE_URL=server.url)
        assert asked.wait(SECONDS)
        run.send(signal.SIGINT)
        ran = run.end()
    assert (ran.code, ran.out) == (130, "")
    assert folder.record()["status"] == "interrupted"
    assert re.search(r"\binterrupted\b", ran.err), "the summary has the status"
    wording(re.sub(r"[\d.]+ m?s\b", "TIME", ran.err.splitlines()[-1]))


def test_an_async_tool_that_will_not_be_cancelled_gives_way_to_a_second_signal_at_once(folder: Folder) -> None:
    stubborn = (
        "TOOL_SPEC = {'name': 'hang', 'description': 'Hangs.', 'inputSchema': {'json': {'type': 'object'}},"
        " 'annotations': {'readOnlyHint': True}}\n"
        "import asyncio\n\n\nasync def hang(tool, **kwargs):\n    print('hanging', flush=True)\n"
        "    while True:\n        try:\n            await asyncio.sleep(60)\n"
        "        except asyncio.CancelledError:\n            print('no', flush=True)\n"
    )
    hanging_tool(folder)
    (folder.site / "strands_tool_hang" / "__init__.py").write_text(stubborn)
    run = folder.start("run", "flow.yaml")
    run.wait_for("| hanging")
    run.send(signal.SIGINT)
    run.wait_for("| no")
    run.send(signal.SIGTERM)
    # Were it only given up after a while, the exit code would be that of the first signal.
    assert run.end().code == 143


def test_one_sigterm_is_enough_even_for_a_plugin_that_hangs_while_it_is_imported(folder: Folder) -> None:
    hanging_tool(folder)
    module = folder.site / "strands_tool_hang" / "__init__.py"
    module.write_text(
        module.read_text() + "\nimport sys, time\nprint('importing', file=sys.stderr, flush=True)\ntime.sleep(60)\n"
    )
    run = folder.start("run", "flow.yaml")
    run.wait_for("importing")
    run.send(signal.SIGTERM)
    ran = run.end()
    assert ran.code == 143


def test_a_thread_that_a_tool_leaves_behind_does_not_keep_the_process(folder: Folder) -> None:
    hanging_tool(
        folder,
        "import threading\nthreading.Thread(target=threading.Event().wait, daemon=False).start()\nreturn answer('ok')",
    )
    ran = folder.strands("run", "flow.yaml", "--quiet")
    assert (ran.code, ran.out) == (0, "done\n")


def test_ctrl_c_during_tools_run_ends_it(folder: Folder) -> None:
    hanging_tool(folder)
    run = folder.start("tools", "run", "hang", "--json")
    run.wait_for("| hanging")
    run.send(signal.SIGINT)
    ran = run.end()
    assert ran.code == 130
    assert ran.document["status"] == "error"


# The kernel may hand a signal to any thread; the loop, which waits in another, must wake all the same.
ELSEWHERE = """
import asyncio, signal, threading
from strands_cli.cli.foreign_output import run_to_end
from strands_cli.errors import Interrupted

def send():
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

async def work():
    threading.Timer(0.2, send).start()
    await asyncio.sleep(600)

try:
    run_to_end(work)
except Interrupted:
    print("stopped")
"""


def test_a_signal_wakes_a_loop_that_waits_for_nothing_else(folder: Folder) -> None:
    ran = folder.run([sys.executable, "-c", ELSEWHERE])
    assert (ran.out, ran.code) == ("stopped\n", 0)


ALIVE = """
import asyncio, signal, threading
from strands_cli.cli.foreign_output import go_on_after_stop, run_to_end
from strands_cli.errors import Interrupted

async def work():
    signal.raise_signal(signal.SIGINT)
    await asyncio.sleep(600)

before = signal.getsignal(signal.SIGINT)
for _ in range(2):
    try:
        run_to_end(work)
    except Interrupted:
        go_on_after_stop()
timers = [thread for thread in threading.enumerate() if isinstance(thread, threading.Timer)]
for timer in timers:
    timer.join()  # a cancelled one ends at once, another one ends the process
print(signal.getsignal(signal.SIGINT) is before)
"""


def test_a_process_that_goes_on_after_a_stop_is_not_ended_by_it(folder: Folder) -> None:
    ran = folder.run([sys.executable, "-c", ALIVE])
    assert (ran.out, ran.code) == ("True\n", 0)
