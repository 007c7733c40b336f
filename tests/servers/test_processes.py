"""Servers that are processes: started once, with only what they need, and gone when the run is over."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from strands_cli.errors import ExitCode
from strands_cli.tools.mcp import server as mcp_server
from strands_cli.tools.mcp import transports as mcp_process
from tests.cli.strands import SECONDS
from tests.servers.conftest import Site, lives, tool
from tests.yaml_texts import write_yaml

# Each test starts processes, and waits for them.
pytestmark = pytest.mark.hostile

linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's own ending of children")


def test_a_server_is_started_once_and_its_tools_are_called(site: Site) -> None:
    site.add(calls={"read": {"text": "a page"}})
    two = {"type": "chain", "config": {"steps": [{"agent": "a", "input": "one"}, {"agent": "a", "input": "two"}]}}
    ran = site.run(("read", {"text": "x"}), more={"pattern": two})
    assert ran.error is None, ran.error
    assert "a page" in str(site.world.requests[1]["messages"])
    assert site.called() == [("read", {"text": "x"})]
    assert len(site.started()) == 1
    assert site.alive() == []


def test_a_server_gets_only_what_is_configured(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKI_KEY", "hush-hush-7")
    monkeypatch.setenv("UNRELATED", "x")
    site.add(settings={"env": {"TOKEN": "Bearer ${secrets.WIKI_KEY}", "PLAIN": "p"}}, calls={"read": {"text": "k"}})
    ran = site.run(("read", {}), more={"env": {"secrets": [{"key": "WIKI_KEY"}]}})
    assert ran.error is None, ran.error
    environment = site.started()[0]["started"]
    assert (environment["TOKEN"], environment["PLAIN"]) == ("Bearer hush-hush-7", "p")
    assert environment["PATH"] == os.environ["PATH"]
    assert not {"OPENAI_API_KEY", "UNRELATED", "WIKI_KEY"} & environment.keys()
    assert site.started()[0]["folder"] == str(site.world.folder)


@pytest.mark.parametrize("place", ["working", "workflow"])
def test_a_server_runs_in_the_folder_that_the_workflow_says(
    site: Site, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    elsewhere = site.world.folder / "elsewhere"
    elsewhere.mkdir()
    program = (elsewhere if place == "working" else site.world.folder) / "serve"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    program.chmod(0o700)
    site.add(settings={"command": "./serve"})
    monkeypatch.chdir(elsewhere)
    ran = site.run(more={"tools": {"mcp_folder": place}})
    assert ran.error is None, ran.error
    assert site.started()[0]["folder"] == str(program.parent)
    assert {"PATH", "HOME"} <= site.started()[0]["started"].keys() & os.environ.keys()


def test_a_secret_that_a_server_sends_is_hidden(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WIKI_KEY", "hush-hush-7")
    site.add(settings={"env": {"TOKEN": "${secrets.WIKI_KEY}"}}, calls={"read": {"text": "it is hush-hush-7"}})
    site.run(("read", {}), more={"env": {"secrets": [{"key": "WIKI_KEY"}]}})
    assert "hush-hush-7" not in str(site.world.requests)
    assert "it is" in site.results()[0]


@pytest.mark.parametrize("script", [{"stubborn": True}, {"child": True}], ids=["stubborn", "with a child"])
def test_nothing_of_a_server_is_left(site: Site, script: dict[str, bool]) -> None:
    site.add(**script)
    assert site.run(("read", {})).error is None
    assert site.log()
    wait_until(lambda: site.alive() == [])


def test_servers_are_stopped_when_the_run_fails(site: Site) -> None:
    from tests.fakes.model_server import Turn

    site.add()
    site.world.turns = [Turn(status=400)]
    ran = site.world.run(site.text())
    assert ran.error is not None
    assert len(site.started()) == 1
    assert site.alive() == []


@pytest.mark.parametrize(
    "printed",
    ["<!DOCTYPE html>", "<html><title>Sign in</title>", "HTTP/1.1 200 OK", "Traceback (most recent call last):"],
)
def test_a_program_that_prints_what_no_server_does_is_not_waited_for(
    site: Site, monkeypatch: pytest.MonkeyPatch, printed: str
) -> None:
    monkeypatch.setattr(mcp_process, "SILENT_S", 0.1)
    monkeypatch.setattr(mcp_process, "AFTER_TRACEBACK_S", 0.2)
    words = f"echo started; echo {shlex.quote(printed)}; echo more; exec sleep 600"
    site.add(settings={"startup_timeout": SECONDS, "command": "sh", "args": ["-c", words]})
    began = time.monotonic()
    ran = site.run()
    assert ran.error is not None
    assert ran.error.exit_code == ExitCode.NOT_EQUIPPED
    assert f"{printed} more" in ran.error.message
    assert time.monotonic() - began < SECONDS / 2


@pytest.mark.parametrize("printed", ["Loading the model", "Traceback (most recent call last):", "<3 welcome"])
def test_a_slow_server_may_log_before_it_answers(site: Site, monkeypatch: pytest.MonkeyPatch, printed: str) -> None:
    monkeypatch.setattr(mcp_process, "SILENT_S", 0.1)
    entry = site.add(calls={"read": {"text": "a page"}})
    words = (
        f"echo {shlex.quote(printed)}; sleep 1; echo going on; exec {shlex.join([entry['command'], *entry['args']])}"
    )
    entry |= {"command": "sh", "args": ["-c", words]}
    ran = site.run(("read", {}))
    assert ran.error is None, ran.error
    assert "a page" in site.results()[0]


def test_a_server_that_never_answers_is_named_with_its_last_words(site: Site) -> None:
    # A shell says its words sooner than Python starts, also on a busy machine.
    log = site.world.folder / "docs.log"
    words = "echo loading >&2; echo no licence: key-4711 >&2"
    stubborn = f"trap '' TERM; printf '{{\"pid\": %d, \"started\": 1}}\\n' $$ > '{log}'; {words}; exec sleep 600"
    site.add(settings={"startup_timeout": 1, "command": "sh", "args": ["-c", stubborn]})
    site.add("other")
    began = time.monotonic()
    ran = site.run()
    assert ran.error is not None
    assert ran.error.exit_code == ExitCode.NOT_EQUIPPED
    assert re.search(r"'docs' .*\b1 s\b", ran.error.message)
    assert "no licence: key-4711" in ran.error.message
    assert site.world.requests == []
    assert site.alive() == []
    assert time.monotonic() - began < SECONDS, "the server sleeps longer"


def test_every_server_that_does_not_start_is_named(site: Site) -> None:
    for name in ("one", "two"):
        site.add(name, {"args": ["-c", "import sys; sys.exit('no database')"]})
    ran = site.run()
    assert ran.error is not None
    assert [found.code for found in ran.error.findings] == ["server-fault", "server-fault"]
    assert "'one'" in ran.error.findings[0].message
    assert "no database" in ran.error.findings[0].message
    command = shlex.join([sys.executable, "-c", "import sys; sys.exit('no database')"])
    assert str(ran.error.findings[0].fix).endswith(command)


def test_the_command_of_a_server_that_does_not_start_shows_no_key(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "hush-hush-7")
    site.add(settings={"args": ["-c", "import sys; sys.exit(3)", "--key", "hush-hush-7"]})
    ran = site.run()
    assert ran.error is not None
    assert str(ran.error.fix or ran.error.findings[0].fix).endswith("--key [secret]")
    assert "hush-hush-7" not in f"{ran.error}{ran.error.fix}{ran.error.findings}"


def test_a_server_that_dies_is_reported_and_started_again(site: Site) -> None:
    site.add(calls={"write": {"die": 3}})
    ran = site.run(("write", {}), ("read", {"text": "b"}))
    assert ran.error is None, ran.error
    died, read = site.results()
    assert "unavailable" in died
    assert re.search(r"\b3\b", died)
    assert "read done" in read
    assert site.called() == [("write", {}), ("read", {"text": "b"})]
    assert len(site.started()) == 2
    assert site.alive() == []


def test_a_server_that_dies_again_and_again_is_left_alone(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "MAX_RESTARTS", 1)
    site.add(calls={"write": {"die": 1}})
    ran = site.run(("write", {}), ("write", {}), ("write", {}))
    assert ran.error is None, ran.error
    assert len(site.started()) == 2
    assert re.search(r"unavailable.*\b2\b", site.results()[-1])


def test_what_a_program_prints_beside_the_protocol_does_no_harm(site: Site) -> None:
    site.add(stdout=["Welcome!", "{not json"])
    ran = site.run(("read", {}))
    assert ran.error is None, ran.error
    assert "read done" in site.results()[0]


def test_a_flood_in_one_message_is_cut_off(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_process, "MAX_MESSAGE_BYTES", 200_000)
    site.add(calls={"read": {"bytes": 400_000}})
    ran = site.run(("read", {}))
    assert ran.error is None, ran.error
    assert "200,000" in site.results()[0]
    assert site.alive() == []


def test_a_large_result_is_capped(site: Site) -> None:
    site.add(calls={"read": {"bytes": 300_000}})
    site.run(("read", {}))
    assert "[output cut: at most 65536 of 300000 bytes are shown]" in site.results()[0]


def test_a_list_without_end_is_a_flood(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_server, "MAX_PAGES", 8)
    site.add(endless=True)
    ran = site.run()
    assert ran.error is not None
    assert ran.error.exit_code == ExitCode.NOT_EQUIPPED
    assert "'docs'" in ran.error.message
    assert site.alive() == []


def test_a_program_that_is_not_there_is_found_before_anything_starts(site: Site) -> None:
    site.add("good")
    site.add("bad", {"command": "no-such-program-here", "args": ["--root", "a b"]})
    ran = site.run()
    assert ran.error is not None
    assert ran.error.exit_code == ExitCode.NOT_EQUIPPED
    (found,) = ran.error.findings
    assert found.code == "tool-unmet"
    assert str(found.fix).endswith("no-such-program-here --root 'a b'"), "the whole command"
    assert site.log("good") == []


def test_a_program_that_may_not_be_executed_is_reported_as_such(site: Site) -> None:
    program = site.world.folder / "serve me.py"
    program.write_text("")
    site.add("bad", {"command": "./serve me.py", "args": ["--all"]})
    ran = site.run()
    assert ran.error is not None
    (found,) = ran.error.findings
    assert (found.code, "chmod" in str(found.fix)) == ("tool-unmet", True)
    assert shlex.join(["./serve me.py", "--all"]) in str(found.fix)


WAITS = {"calls": {"read": {"sleep": 600}}}


def _begun(site: Site, strands: str, script: dict[str, object]) -> subprocess.Popen[bytes]:
    """Return a run in a process of its own, once its server is inside a call."""
    site.add(**script)  # type: ignore[arg-type]
    (site.world.folder / "rec.yaml").write_text("recording: 1\nsteps: {steps.0: [{calls: [{read: {}}]}]}\n")
    runtime = {"provider": "replay", "recording": "rec.yaml"}
    file = site.world.folder / "flow.yaml"
    file.write_text(write_yaml({**site.world.document(site.text()), "runtime": runtime}))
    run = subprocess.Popen(
        [strands, "run", str(file), "--yes", "--allow", f"workflow:{file}"],
        cwd=site.world.folder,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: bool(site.called()))
    return run


def wait_until(holds: Callable[[], bool], seconds: float = SECONDS) -> None:
    """Look until something holds; there is no event to wait for."""
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    assert holds()


STRANDS = str(Path(sys.executable).with_name("strands"))


@pytest.mark.kills
@linux
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["SIGTERM", "SIGKILL"])
def test_no_server_outlives_the_process_of_its_run(site: Site, number: int) -> None:
    run = _begun(site, STRANDS, {**WAITS, "stubborn": True})
    server = site.started()[0]["pid"]
    assert lives(server)
    run.send_signal(number)
    assert run.wait(SECONDS) in (143, -9)
    wait_until(lambda: not lives(server))


@pytest.mark.kills
@linux
def test_ctrl_c_stops_the_servers(site: Site) -> None:
    run = _begun(site, STRANDS, WAITS)
    run.send_signal(signal.SIGINT)
    assert run.wait(SECONDS) == 130
    assert site.alive() == []


def test_two_servers_with_tools_of_one_name_are_a_clash(site: Site) -> None:
    site.add("one")
    site.add("two")
    ran = site.run()
    assert ran.error is not None
    assert ran.error.exit_code == ExitCode.INVALID
    assert "`as:`" in str(ran.error.fix)
    assert site.alive() == []


def test_a_prefix_tells_them_apart(site: Site) -> None:
    site.add("one", {"prefix": "one"}, tools=[tool("read")])
    site.add("two", {"prefix": "two-"}, tools=[tool("read")])
    site.run(("one_read", {}), ("two-read", {}))
    assert site.world.tools(0) == ["one_read", "two-read"]
    assert [site.called(name) for name in ("one", "two")] == [[("read", {})], [("read", {})]]
