"""Messages about the end of runs that no person watches, by a command or a webhook, after the result."""

from __future__ import annotations

import asyncio
import json
import os
import re
import select
import shlex
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strands_tool_kit.loopback import LoopbackRequest, LoopbackServer, reply
from tests.cli.strands import Folder
from tests.wordings import Wording

GATE = {"type": "hitl", "prompt": "Publish?\n\x1b[2J'; $(rm -rf .) \u202e {{ last_response }} " + "x" * 2000}
STEPS = [{"agent": "writer", "input": "Write."}, GATE]
TURNS = {"steps.0": [{"text": "The key is s3cret-of-the-wiki."}]}
DATA = [
    "run",
    "workflow",
    "status",
    "reason",
    "host",
    "started_at",
    "ended_at",
    "seconds",
    "usage",
    "model_calls",
    "tool_calls",
    "cost_usd",
    "denials",
    "questions",
    "more_questions",
    "commands",
]
posix = pytest.mark.skipif(sys.platform == "win32", reason="the commands are for a POSIX shell")


@pytest.fixture
def server(start: Callable[..., LoopbackServer]) -> LoopbackServer:
    server = start()
    server.in_turn = [reply()]
    return server


def configure(folder: Folder, notify: Any, version: int = 1) -> Path:
    """Write the config file of the person."""
    path = folder.root / "home" / ".config" / "strands-cli" / "config.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"version": version, "notify": notify}), encoding="utf-8")
    return path


def webhook(server: LoopbackServer) -> dict[str, Any]:
    return {"url": server.url("/hook"), "secret": {"source": "env", "key": "HOOK_KEY"}}


@posix
def test_the_message_of_a_run_that_waits_is_pinned_and_its_command_answers_from_anywhere(
    folder: Folder, server: LoopbackServer
) -> None:
    folder.environ |= {"HOOK_KEY": "a secret of some length", "WIKI_API_KEY": "s3cret-of-the-wiki"}
    configure(folder, {"webhook": webhook(server), "command": ["/bin/sh", "-c", "cat > got; env > facts"]})
    folder.workflow(STEPS, TURNS)
    ran = folder.strands("run", "flow.yaml", "--json")
    assert (ran.code, ran.document["status"]) == (19, "waiting"), ran.err
    assert "warning" not in ran.err
    (request,) = server.asked
    home = folder.root / "home" / ".config" / "strands-cli"
    assert request.body == (home / "got").read_bytes()
    message = request.json
    assert list(message) == ["format", "type", "timestamp", "text", "data"]
    assert (message["format"], message["type"], message["text"]) == (1, "run.waiting", "flow waits for 1 answer")
    data = message["data"]
    assert list(data) == DATA
    (question,) = data["questions"]
    assert list(question) == ["key", "kind", "prompt", "approve_answers", "commands", "delegate"]
    assert question["approve_answers"] == "approved"
    assert question["prompt"].startswith("Publish?\n\\x1b[2J'; $(rm -rf .) \\u202e The key is [secret].")
    assert len(question["prompt"]) < 1100
    assert "s3cret" not in json.dumps(message) + (home / "facts").read_text().replace("WIKI_API_KEY=s3cret", "")
    run = ran.document["run"]
    assert f"STRANDS_RUN_ID={run}\n" in (home / "facts").read_text()
    assert "rm -rf" not in (home / "facts").read_text()

    # The person pastes the first command into a shell of another folder, without our variables.
    (away := folder.root / "away").mkdir()
    program, *words = shlex.split(question["commands"][0])
    assert program == "strands"
    answered = folder.strands(*words, cwd=away, STRANDS_RUNS_DIR="")
    assert (answered.code, answered.out) == (0, "approved\n"), answered.err
    last = server.asked[-1].json
    assert (last["type"], last["data"]["run"], last["data"]["questions"]) == ("run.completed", run, [])
    assert server.asked[-1].headers["webhook-id"] != request.headers["webhook-id"]
    folder.strands("resume", run)
    assert len(server.asked) == 2, "a run that was complete before has no second end"


def test_who_is_notified_depends_on_what_happened_and_who_watches(folder: Folder, server: LoopbackServer) -> None:
    folder.environ["HOOK_KEY"] = "a secret of some length"
    configure(folder, [{"webhook": webhook(server), "on": ["failed"]}])
    folder.workflow([{"agent": "writer", "input": "Write."}], {"steps.0": [{"text": "hi"}]})
    assert folder.strands("run", "flow.yaml").code == 0
    assert server.asked == []
    folder.tool("bad", "raise ValueError('no')")
    folder.workflow([{"tool": "native:bad", "input": {}}])
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == 10
    (request,) = server.asked
    assert (request.json["type"], request.json["data"]["status"]) == ("run.failed", "failed")
    assert request.json["data"]["reason"].startswith("steps.0: ")
    folder.strands("run", "no-such-file.yaml")
    assert len(server.asked) == 1, "what did not begin is no run"


def test_a_run_whose_calls_were_denied_says_so(folder: Folder, server: LoopbackServer) -> None:
    folder.environ["HOOK_KEY"] = "a secret of some length"
    configure(folder, {"webhook": webhook(server)})
    folder.tool("shout", "return answer('A')", annotations={})
    agents = {"writer": {"prompt": "You write.", "tools": ["native:shout"]}}
    turns = {"steps.0": [{"calls": [{"shout": {}}]}, {"text": "hi"}]}
    folder.workflow([{"agent": "writer", "input": "Write."}], turns, agents=agents)
    assert folder.strands("run", "flow.yaml", "--deny").code == 21
    (request,) = server.asked
    (denied,) = request.json["data"]["denials"]
    assert (denied["tool"], denied["no_person"]) == ("shout", True)
    assert request.json["type"] == "run.failed"


def test_what_is_not_sent_is_one_warning_after_the_result_and_changes_nothing_else(
    folder: Folder, server: LoopbackServer, wording: Wording
) -> None:
    folder.workflow([{"agent": "writer", "input": "Write."}], {"steps.0": [{"text": "hi"}]})
    before = folder.strands("run", "flow.yaml")
    configure(folder, [{"command": ["no-such-program"]}, {"webhook": webhook(server)}])
    after = folder.strands("run", "flow.yaml")
    assert (after.code, after.out) == (before.code, before.out) == (0, "hi\n")
    assert len(after.reported) == 2
    assert after.err.rstrip().endswith(after.reported[-1])
    wording(after.reported)
    assert server.asked == []


def test_a_config_file_that_is_wrong_stops_a_run_before_it_begins(folder: Folder) -> None:
    path = configure(folder, {"comand": ["x"]})
    folder.workflow([{"agent": "writer", "input": "Write."}], {"steps.0": [{"text": "hi"}]})
    ran = folder.strands("run", "flow.yaml")
    assert (ran.code, ran.codes) == (3, ["bad-config"])
    assert ran.places == [f"{path}:1:27  (/notify/comand)"]
    assert "'command'?" in ran.err
    assert not folder.runs.exists()
    done = folder.strands("doctor", "--no-engines", "--json")
    (line,) = (one for one in done.document["checks"] if one["name"] == "notifications")
    assert (done.code, line["status"], "'command'?" in line["fix"]) == (18, "failed", True)


def test_the_doctor_lists_the_targets_and_the_command_sends_a_test_when_asked(
    folder: Folder, server: LoopbackServer
) -> None:
    folder.environ["HOOK_KEY"] = "a secret of some length"

    def lines() -> list[str]:
        done = folder.strands("doctor", "--no-engines").out
        return re.findall(r"^(\w+) +notifications +.*", done, re.M)

    assert lines() == ["ok"]
    assert folder.strands("runs", "notify").code == 1
    configure(folder, [{"webhook": webhook(server)}, {"command": ["no-such-program"]}])
    assert lines() == ["ok", "ok"]
    listed = folder.strands("runs", "notify", "--json")
    assert (listed.code, [one["status"] for one in listed.document["targets"]]) == (0, ["ok", "ok"])
    assert server.asked == []
    tried = folder.strands("runs", "notify", "--test", "--json")
    assert (tried.code, tried.document["ok"]) == (18, False)
    assert [one["status"] for one in tried.document["targets"]] == ["ok", "failed"]
    (request,) = server.asked
    assert request.json["type"] == "test"
    assert list(request.json["data"]) == DATA
    earlier = folder.strands("doctor", "--no-engines", "--notify")
    assert earlier.code == 2
    assert "strands runs notify --test" in earlier.err


def test_a_policy_file_cannot_switch_it_on_twice_and_the_list_shows_what_does(
    folder: Folder, server: LoopbackServer
) -> None:
    def hooks_on() -> str | None:
        listed = folder.strands("plugin", "list", "--json").document["plugins"]
        return next(one["hooks_on"] for one in listed if one["name"] == "strands-cli-notify")

    assert hooks_on() is None
    refused = folder.strands("plugin", "enable", "strands-cli-notify")
    assert refused.code == 3
    assert "`notify`" in refused.err
    folder.environ["HOOK_KEY"] = "a secret of some length"
    path = configure(folder, {"webhook": webhook(server)})
    assert hooks_on() == str(path)
    path.with_name("policy.yaml").write_text("version: 1\nhooks: [strands-cli-notify]\n", encoding="utf-8")
    folder.workflow([{"agent": "writer", "input": "Write."}], {"steps.0": [{"text": "hi"}]})
    assert folder.strands("run", "flow.yaml").code == 0
    assert len(server.asked) == 1


def test_policy_and_the_lock_are_asked_before_it_is_imported(folder: Folder, server: LoopbackServer) -> None:
    folder.environ["HOOK_KEY"] = "a secret of some length"
    configure(folder, {"webhook": webhook(server)})
    folder.workflow([{"agent": "writer", "input": "Write."}], {"steps.0": [{"text": "hi"}]})
    policy = folder.write("strands-policy.yaml", "version: 1\nrules: [{deny: '*', distribution: strands-cli-notify}]\n")
    denied = folder.strands("run", "flow.yaml")
    assert (denied.code, denied.codes) == (21, ["part-denied"])
    assert not folder.runs.exists()
    policy.write_text("version: 1\nlocked: true\n", encoding="utf-8")
    assert folder.strands("run", "flow.yaml").code == 21
    locked = folder.strands("lock")
    assert locked.code == 0, locked.err
    assert "strands-cli-notify" in (folder.work / "strands.lock").read_text("utf-8")
    assert folder.strands("run", "flow.yaml").code == 0
    assert len(server.asked) == 1


@posix
@pytest.mark.hostile
def test_ctrl_c_ends_the_sending_and_neither_the_result_nor_the_exit_code_changes(
    folder: Folder, start: Callable[..., LoopbackServer]
) -> None:
    server, asked = start(), threading.Event()

    async def silent(request: LoopbackRequest, _: asyncio.StreamWriter) -> None:
        asked.set()
        await request.hung_up_within(60)

    server.in_turn = [silent]
    os.mkfifo(folder.work / "pipe")
    command = ["/bin/sh", "-c", f"exec cat '{folder.work / 'pipe'}'"]
    folder.environ["HOOK_KEY"] = "a secret of some length"
    configure(folder, [{"webhook": webhook(server)}, {"command": command}])
    folder.workflow([{"agent": "writer", "input": "Write."}], {"steps.0": [{"text": "hi"}]})
    run = folder.start("run", "flow.yaml")
    assert asked.wait(60)
    opened = os.open(folder.work / "pipe", os.O_WRONLY)  # waits until the command reads
    run.send(signal.SIGINT)
    ran = run.end()
    assert (ran.code, ran.out) == (0, "hi\n"), ran.err
    poll = select.poll()
    poll.register(opened, 0)  # which reports nothing but that no process reads any more
    assert poll.poll(60_000)
    os.close(opened)


@posix
@pytest.mark.kills
def test_a_killed_run_sends_nothing_and_its_continuation_does(folder: Folder, server: LoopbackServer) -> None:
    folder.environ["HOOK_KEY"] = "a secret of some length"
    configure(folder, {"webhook": webhook(server)})
    body = "import os, threading\nif not os.path.exists('go'):\n    print('hanging', flush=True)\n"
    folder.tool("hang", body + "    threading.Event().wait()\nreturn answer('went')")
    folder.workflow([{"tool": "native:hang", "input": {}}])
    for number, code in ((signal.SIGKILL, -9), (signal.SIGTERM, 143)):
        run = folder.start("resume", "last") if folder.runs.exists() else folder.start("run", "flow.yaml")
        run.wait_for("| hanging")
        run.send(number)
        assert run.end().code == code
    assert [one.json["type"] for one in server.asked] == ["run.interrupted"]
    show, resume = server.asked[0].json["data"]["commands"]
    folder.write("go", "")
    ran = folder.run(["/bin/sh", "-c", f"{show} && {resume}"])
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "went"), ran.err
    assert [one.json["type"] for one in server.asked] == ["run.interrupted", "run.completed"]


@posix
@pytest.mark.terminals
def test_a_run_that_is_watched_notifies_only_who_wants_all(
    folder: Folder, server: LoopbackServer, start: Callable[..., LoopbackServer]
) -> None:
    of_all = start()
    of_all.in_turn = [reply()]
    folder.environ["HOOK_KEY"] = "a secret of some length"
    configure(folder, [{"webhook": webhook(server)}, {"webhook": webhook(of_all), "runs": "all"}])
    folder.workflow([{"agent": "writer", "input": "Write."}], {"steps.0": [{"text": "hi"}]})
    for arguments in (["run", "flow.yaml"], ["run", "flow.yaml", "--detach"]):
        with folder.terminal(*arguments) as terminal:
            assert terminal.end() == 0
    assert [len(one.asked) for one in (server, of_all)] == [1, 2]


IMPORTED = """
import sys
from strands_cli.cli.commands.next_commands import EndNotice
EndNotice(watched=False)
print(*(name for name in sys.modules if name.startswith("strands_cli_notify")))
"""


def test_without_a_target_nothing_of_this_is_imported(folder: Folder) -> None:
    def imported() -> str:
        ran = folder.run([sys.executable, "-c", IMPORTED])
        assert ran.code == 0, ran.err
        return ran.out

    assert imported() == "\n"
    configure(folder, [])
    assert imported() == "\n"
    configure(folder, {"command": ["notify-me"]})
    assert "strands_cli_notify.hook" in imported()


@posix
def test_a_question_for_another_person_is_sent_again_with_the_command_that_changes_a_call(folder: Folder) -> None:
    pytest.importorskip("strands_tool_files")
    configure(folder, {"command": ["/bin/sh", "-c", "cat >> got; echo >> got; echo $STRANDS_MESSAGE_ID >> ids"]})
    folder.workflow([{"tool": "native:file_write", "input": {"path": "a", "content": "b"}}])
    assert folder.strands("run", "flow.yaml", "--detach").code == 19
    assert folder.strands("approve", "last", "--delegate", "ann").code == 0
    home = folder.root / "home" / ".config" / "strands-cli"
    first, second = (json.loads(line)["data"]["questions"][0] for line in (home / "got").read_text().splitlines())
    assert (first["delegate"], second["delegate"]) == ("", "ann")
    assert " --edit " in first["commands"][-1]
    assert len(set((home / "ids").read_text().split())) == 2, "another message, which no receiver leaves out"
