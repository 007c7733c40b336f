"""Messages to real servers on loopback and to real programs: signed, within a limit, and never an exception."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import os
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from strands_cli.api import UsageError
from strands_cli_notify.delivery import deliver
from strands_cli_notify.message import Message
from strands_cli_notify.targets import Command, Webhook
from strands_cli_notify.webhook import key_of
from strands_tool_kit.loopback import LoopbackRequest, LoopbackServer, moved, reply
from tests.wordings import Wording

KEY = base64.b64encode(b"a key of thirty-two bytes or so!").decode()
DATA = {"run": "r1", "status": "failed", "questions": [], "more_questions": 0}
MESSAGE = Message("msg_1", {"format": 1, "type": "run.failed", "text": "a\u202eb", "data": DATA})
ACCEPTED = reply(status="204 No Content")
LONG = 60.0
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")


@pytest.fixture
def server(start: Callable[..., LoopbackServer]) -> LoopbackServer:
    return start()


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK_KEY", f"whsec_{KEY}")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")


def webhook(url: str) -> Webhook:
    return Webhook(url, lambda: os.environ["HOOK_KEY"])


def is_signed(request: LoopbackRequest, key: bytes) -> bool:
    """Check a signature as the specification of standard-webhooks describes it."""
    head = ".".join((request.headers["webhook-id"], request.headers["webhook-timestamp"]))
    expected = hmac.new(key, f"{head}.".encode() + request.body, hashlib.sha256).digest()
    return request.headers["webhook-signature"] == f"v1,{base64.b64encode(expected).decode()}"


def test_a_webhook_gets_the_message_signed_with_its_secret_and_without_a_proxy(server: LoopbackServer) -> None:
    server.in_turn = [ACCEPTED]
    (sent,) = deliver(MESSAGE, [webhook(server.url("/hook?x=1"))])
    assert sent.problem is None
    (request,) = server.asked
    assert (request.method, request.target, request.json) == ("POST", "/hook?x=1", MESSAGE.document)
    assert request.headers["content-type"] == "application/json"
    assert request.body.isascii()
    assert is_signed(request, base64.b64decode(KEY))
    assert not is_signed(request, b"another key, of the same length!")


def test_a_webhook_elsewhere_is_reached_by_the_proxy_of_the_environment(
    server: LoopbackServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("no_proxy", "NO_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("https_proxy", server.url())
    server.in_turn = [reply(status="403 Forbidden")]
    (sent,) = deliver(MESSAGE, [webhook("https://hooks.invalid/x")], LONG)
    assert sent.problem is not None
    assert {(one.method, one.target) for one in server.asked} == {("CONNECT", "hooks.invalid:443")}


def test_a_known_signature_is_the_one_of_other_programs() -> None:
    # The example of the specification's reference libraries.
    from strands_cli_notify.webhook import signed_headers

    key = key_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    headers = signed_headers(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("first", ["500 Down", "503 Busy", "429 Slowly"])
def test_a_server_that_asks_for_it_gets_the_message_once_more_under_the_same_id(
    server: LoopbackServer, first: str
) -> None:
    server.in_turn = [reply(status=first), ACCEPTED]
    (sent,) = deliver(MESSAGE, [webhook(server.url())], LONG)
    assert sent.problem is None
    assert [one.headers["webhook-id"] for one in server.asked] == ["msg_1", "msg_1"]


def test_a_redirect_is_followed_nowhere(server: LoopbackServer, start: Callable[..., LoopbackServer]) -> None:
    elsewhere = start()
    server.in_turn = [moved(elsewhere.url("/stolen"), status="307 Temporary Redirect")]
    (sent,) = deliver(MESSAGE, [webhook(server.url())])
    assert "307" in str(sent.problem)
    assert (len(server.asked), elsewhere.asked) == (1, [])


def test_servers_that_do_not_take_the_message_are_each_a_reason(server: LoopbackServer, wording: Wording) -> None:
    server.answers = {
        "/no": reply(status="403 Forbidden"),
        "/garbage": b"\x00\xff\n\n",
    }
    with socket.create_server(("127.0.0.1", 0)) as unused:
        refused = f"http://127.0.0.1:{unused.getsockname()[1]}/"
    outcomes = deliver(MESSAGE, [*(webhook(server.url(path)) for path in server.answers), webhook(refused)], LONG)
    assert all(outcome.problem for outcome in outcomes)
    wording([str(outcome.problem) for outcome in outcomes])


def test_servers_that_never_end_their_answer_are_given_up(server: LoopbackServer) -> None:
    asked, ended = [threading.Event(), threading.Event()], threading.Event()

    async def silent(request: LoopbackRequest, _: asyncio.StreamWriter) -> None:
        asked[0].set()
        await request.hung_up_within(LONG)

    async def dripping(request: LoopbackRequest, writer: asyncio.StreamWriter) -> None:
        asked[1].set()
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while not await request.hung_up_within(0.02):
            writer.write(b"x: y\r\n")
        ended.set()

    server.answers = {"/silent": silent, "/slow": dripping}
    seconds = 1.0
    while not all(event.is_set() for event in asked):  # on a loaded machine a connection takes its time
        outcomes = deliver(MESSAGE, [webhook(server.url(path)) for path in server.answers], seconds)
        assert all(outcome.problem for outcome in outcomes)
        seconds *= 2
    assert ended.wait(LONG)


@pytest.mark.parametrize("secret", ["whsec_not base64!", "whsec_c2hvcnQ=", "tiny", ""])
def test_a_secret_that_protects_nothing_sends_nothing(
    server: LoopbackServer, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_KEY", secret)
    (sent,) = deliver(MESSAGE, [webhook(server.url())])
    assert sent.problem is not None
    assert not secret or secret not in sent.problem
    assert server.asked == []


def program(folder: Path, body: str) -> Command:
    path = folder / "tell"
    path.write_text(f"#!{sys.executable}\n{body}", encoding="utf-8")
    path.chmod(0o755)
    return Command(("./tell", "$HOME; rm -rf *"), folder)


@posix
def test_a_program_gets_json_facts_and_its_own_arguments(tmp_path: Path) -> None:
    body = "import json, os, sys\nprint('garbage\\x00' * 99999)\n"
    body += "facts = {k: v for k, v in os.environ.items() if k.startswith('STRANDS_RUN')}\n"
    body += "open('got.json', 'w').write(json.dumps([sys.argv[1:], json.load(sys.stdin), facts]))\n"
    (sent,) = deliver(MESSAGE, [program(tmp_path, body)], LONG)
    assert sent.problem is None
    arguments, document, facts = json.loads((tmp_path / "got.json").read_text("utf-8"))
    assert (arguments, document) == (["$HOME; rm -rf *"], MESSAGE.document)
    assert facts == {
        "STRANDS_RUN_EVENT": "run.failed",
        "STRANDS_RUN_ID": "r1",
        "STRANDS_RUN_QUESTIONS": "0",
        "STRANDS_RUN_STATUS": "failed",
    }


@posix
@pytest.mark.hostile
def test_programs_that_fail_or_hang_are_each_a_reason_and_leave_no_process(tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    failing = program(tmp_path / "a", "import sys\nsys.exit('\\x1b[31mno\\n' + 'x' * 9999)\n")
    os.mkfifo(tmp_path / "pipe")
    hanging = Command(("/bin/sh", "-c", "exec cat pipe"), tmp_path)
    missing = Command(("no-such-program", "x"), tmp_path)
    folder = Command((str(tmp_path),), tmp_path)
    found = deliver(MESSAGE, [failing, missing, folder, Command(("./a/tell",), tmp_path / "b")], LONG)
    wording([str(one.problem) for one in [*found, *deliver(MESSAGE, [hanging], seconds=1)]])
    with pytest.raises(OSError, match=r"ENXIO|No such device"):  # no process reads it any more
        os.open(tmp_path / "pipe", os.O_WRONLY | os.O_NONBLOCK)


def no_secret() -> str:
    raise UsageError("the file no-file does not exist", fix="write it")


def test_whatever_goes_wrong_is_a_line_and_not_an_exception() -> None:
    (sent,) = deliver(MESSAGE, [Webhook("http://127.0.0.1:1/", no_secret)])
    assert (sent.problem, sent.fix) == ("the file no-file does not exist", "write it")
