"""Tools of the older collection as it is really published: adapted, asked about by us, and never by themselves."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.errors import InvalidInput
from strands_cli.tools.tool_loading import REFUSAL
from tests.cli.strands import Folder
from tests.cli.test_resume import run_id
from tests.distributions import make_distribution

pytestmark = pytest.mark.wheels

# What the tools below import and this environment may lack; the collection itself asks for five times as much.
NEEDED = (
    "prompt-toolkit",
    "wcwidth",
    "dill",
    "requests",
    "charset-normalizer",
    "idna",
    "urllib3",
    "certifi",
    "markdownify",
    "beautifulsoup4",
    "soupsieve",
    "six",
    "aws-requests-auth",
)
COLLECTION = "strands-agents-tools==0.8.10"
if sys.platform == "win32":
    pytest.skip("its tools import termios", allow_module_level=True)


@pytest.fixture(scope="session")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the collection into a folder of its own, once; where no index can be reached, skip (but not in CI)."""
    site = tmp_path_factory.mktemp("collection")
    install = [sys.executable, "-m", "uv", "pip", "install", "--python", sys.executable]
    command = [*install, "--quiet", "--target", str(site), "--no-deps", COLLECTION, *NEEDED]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode and not os.environ.get("CI"):
        pytest.skip(f"the package index cannot be reached: {done.stderr[-300:]}")
    assert done.returncode == 0, done.stderr
    return site


@pytest.fixture
def folder(tmp_path: Path, collection: Path) -> Folder:
    made = Folder(tmp_path)
    made.work.mkdir()
    made.site.mkdir()
    # Our own tool would be taken for the older name: an earlier copy of its distribution, without tools, hides it.
    make_distribution(made.site, "strands-tool-http-request", "0.0")
    made.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(made.site), str(collection), os.environ.get("PYTHONPATH")])
    )
    return made


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Serve a page that anything may be posted to."""

    class Page(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"posted")

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    thread.join()
    server.server_close()


def loaded_modules() -> set[str]:
    return {name for name in sys.modules if name.partition(".")[0] in ("strands_tools", "prompt_toolkit")}


def test_every_tool_of_the_collection_is_resolved_without_being_imported(collection: Path) -> None:
    catalog = discover_catalog([str(collection)])
    names = sorted(path.stem for path in (collection / "strands_tools").glob("[a-z]*.py"))
    assert len(names) > 40
    found, several = {}, []
    for name in names:
        try:
            found[name] = catalog.resolve(f"strands_tools.{name}")
        except InvalidInput as error:
            several.append((name, error.fix or error.findings[0].fix))
    # A module with several tools names none of them by itself; the fix has their names.
    assert {name for name, fix in several if "strands_tools." in str(fix)} == {name for name, _ in several}
    assert len(found) > 35
    assert {record.distribution for record in found.values()} == {"strands-agents-tools"}
    assert all(isinstance(record, ToolRecord) and not record.annotations for record in found.values())
    assert loaded_modules() == set()


def calls_of(url: str) -> dict[str, dict[str, Any]]:
    return {
        "shell": {"command": "echo from the shell > shell.txt"},
        "python_repl": {"code": "open('repl.txt', 'w').write('x')", "interactive": False},
        "http_request": {"method": "POST", "url": url, "body": "x"},
        "editor": {"command": "create", "path": "./edited.txt", "file_text": "x"},
        "environment": {"action": "set", "name": "SEEN_HERE", "value": "1"},
    }


PROMPTED = ("proceed", "Do you want", "[y/*]", "consent", "DEPRECATION")


def ask_for(folder: Folder, calls: dict[str, dict[str, Any]]) -> None:
    turns = [{"calls": [{name: given} for name, given in calls.items()]}, {"text": "done"}]
    tools = [f"strands_tools.{name}" for name in calls]
    agents = {"writer": {"prompt": "You write.", "tools": tools}}
    folder.workflow([{"agent": "writer", "input": "Do."}], {"steps.0": turns}, agents=agents)


def results(folder: Folder) -> dict[str, str]:
    import contextlib

    from strands_cli.engine.journal.sqlite_journal import SqliteJournal

    with contextlib.closing(SqliteJournal.open(folder.runs / run_id(folder), hold=False)) as journal:
        return {row.key.rpartition(".")[2]: json.dumps(row.output) for row in journal.rows("tool")}


def nothing_happened(folder: Folder) -> bool:
    return {path.name for path in folder.work.iterdir()} == {"flow.yaml", "flow.recording.yaml"}


def test_in_a_pipe_they_wait_with_what_would_allow_each(folder: Folder, url: str) -> None:
    calls = calls_of(url)
    ask_for(folder, calls)
    ran = folder.strands("run", "flow.yaml")
    assert (ran.code, ran.out) == (19, ""), ran.err
    warned = re.findall(r"^ *warning: calls of '(\w+)' will wait .*\(allow: --allow (\w+)\)$", ran.err, re.MULTILINE)
    assert warned == [(name, name) for name in calls]
    assert results(folder) == {}
    assert nothing_happened(folder)
    assert not [word for word in PROMPTED if word in ran.err]
    went_on = folder.strands("resume", run_id(folder), *(word for name in calls for word in ("--allow", name)))
    assert (went_on.code, went_on.out) == (0, "done\n"), went_on.err
    assert "posted" in results(folder)["http_request"]


def test_each_is_denied_with_what_would_allow_it(folder: Folder, url: str) -> None:
    ask_for(folder, calls_of(url))
    ran = folder.strands("run", "flow.yaml", "--deny")
    assert (ran.code, ran.out) == (21, ""), ran.err
    denied = results(folder)
    assert list(denied) == list(calls_of(url))
    for name, said in denied.items():
        assert f"--allow {name}" in said
        older = re.findall(rf"^warning\[legacy-tool\]: .*\bstrands_tools\.{name}'", ran.err, re.MULTILINE)
        assert older == [], "only an installed tool is named in its place"
    assert nothing_happened(folder)
    assert not [word for word in PROMPTED if word in ran.err]


def test_what_is_allowed_is_called_without_a_prompt_of_its_own(folder: Folder, url: str) -> None:
    ask_for(folder, calls_of(url))
    ran = folder.strands("run", "flow.yaml", *(word for name in calls_of(url) for word in ("--allow", name)))
    assert (ran.code, ran.out) == (0, "done\n"), ran.err
    found = results(folder)
    assert list(found) == list(calls_of(url))
    assert not [name for name, said in found.items() if '"status": "error"' in said], found
    assert "posted" in found["http_request"]
    assert {"shell.txt", "repl.txt", "edited.txt"} <= {path.name for path in folder.work.iterdir()}
    assert not [word for word in PROMPTED if word in ran.err]


def test_at_a_terminal_the_only_question_is_ours(folder: Folder, url: str) -> None:
    ask_for(folder, {"shell": calls_of(url)["shell"]})
    with folder.terminal("run", "flow.yaml") as terminal:
        terminal.wait_for(r"\? .*\bwriter .*\bshell .*\bstrands-agents-tools\?")
        terminal.type("y\n")
        assert terminal.end() == 0
    assert (folder.work / "shell.txt").read_text() == "from the shell\n"
    assert not [word for word in PROMPTED if word in terminal.text]


def test_a_tool_called_by_hand_is_not_asked_about_at_all(folder: Folder) -> None:
    ran = folder.strands("tools", "run", "strands_tools.shell", "--input", '{"command": "echo hello > by-hand.txt"}')
    assert ran.code == 0, ran.err
    assert (folder.work / "by-hand.txt").exists()


def test_what_hands_over_to_a_person_waits_for_that_person(folder: Folder) -> None:
    ask_for(folder, {"handoff_to_user": {"message": "Which <b>colour</b>?"}})
    waits = folder.strands("run", "flow.yaml", "--allow", "handoff_to_user")
    assert waits.code == 19, waits.err
    assert "asks: Agent requested user input: Which colour?" in waits.err
    ran = folder.strands("approve", run_id(folder), "--answer", "blue")
    assert (ran.code, ran.out) == (0, "done\n"), ran.err
    assert "User response received: blue" in results(folder)["handoff_to_user"]


NESTED = """
import asyncio, os, sys
sys.path[:0] = [{site!r}]
from strands_cli.tools import tool_loading as legacy
from strands_cli.tools.tool_forms import RawTool
with legacy.replaced_prompts("strands_tools.shell"):
    from strands_tools import shell

async def inside(tool_use, state, progress, answers):
    return shell.shell(command="touch nested.txt")

(raw,) = legacy.adapted([RawTool("use_agent", {{}}, inside)], "strands_tools.use_agent")
print(asyncio.run(raw.invoke({{"toolUseId": "1"}}, {{}}, print)))
print(shell.shell(command="touch nested.txt"))
print(sorted(name for name in sys.modules if name == "prompt_toolkit"))
"""


def test_a_call_from_inside_another_tool_has_nobodys_consent(folder: Folder, collection: Path) -> None:
    ran = folder.run([sys.executable, "-c", NESTED.format(site=str(collection))])
    assert ran.code == 0, ran.err
    assert ran.out.count(REFUSAL.removeprefix("n: ")) == 2
    assert ran.out.endswith("[]\n")  # what it would prompt with is not even imported
    assert not (folder.work / "nested.txt").exists()
