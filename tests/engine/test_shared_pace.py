"""The pace of requests that processes share: it follows what servers say, and survives a spoiled file."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import filelock
import pytest

from strands_cli.engine.effects.shared_pace import VARIABLE, SharedPace, folder_of_paces, reports_in
from tests.fakes.ports import FakeClock

WAIT_MAX = 60.0
HOLDER = """
import sys, time, filelock
lock = filelock.FileLock(sys.argv[1])
lock.acquire()
print("held", flush=True)
sys.stdin.read()
"""


def headers(left: int, reset: float, most: int = 10, kind: str = "requests") -> dict[str, str]:
    values = {"limit": most, "remaining": left, "reset": f"{reset}s"}
    return {f"x-ratelimit-{part}-{kind}": str(value) for part, value in values.items()}


class Machine:
    """Processes that share a folder, and a time that moves when one waits."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = FakeClock(elapsed=1000.0)
        self.said: list[float] = []

    def process(self, account: str = "a") -> SharedPace:
        return SharedPace(self.folder, account, self.clock)

    def turn(self, pace: SharedPace, tokens: int = 5, longest: float = WAIT_MAX) -> tuple[str, float]:
        return asyncio.run(pace.turn(lambda: tokens, longest, self.said.append))

    def waited(self, pace: SharedPace, tokens: int = 5) -> float:
        """Return how long a request waits, which then gets no answer."""
        before = self.clock.elapsed
        self.turn(pace, tokens)
        return round(self.clock.elapsed - before, 1)

    @property
    def file(self) -> Path:
        return self.folder / "a.json"


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "rates")


def test_headers_of_services_are_read() -> None:
    now = datetime(2026, 11, 27, 12, 0, 0, tzinfo=UTC).timestamp()

    def read(**named: str) -> Any:
        return reports_in({name.replace("_", "-"): text for name, text in named.items()}, now)

    openai = {"X_RateLimit_Limit_Requests": "60", "x_ratelimit_remaining_requests": "59"}
    assert read(**openai, x_ratelimit_reset_requests="1s") == {"requests": (60, 59, 1)}
    assert read(**openai, x_ratelimit_reset_requests="1m2.5s") == {"requests": (60, 59, 62.5)}
    assert read(**openai, x_ratelimit_reset_requests="120ms") == {"requests": (60, 59, 0.12)}
    of_tokens = {"x_ratelimit_limit_tokens": "100", "x_ratelimit_remaining_tokens": "0"}
    assert read(**of_tokens, x_ratelimit_reset_tokens="3") == {"tokens": (100, 0, 3)}
    anthropic = {"anthropic_ratelimit_input_tokens_limit": "100", "anthropic_ratelimit_input_tokens_remaining": "7"}
    moment = "anthropic_ratelimit_input_tokens_reset"
    assert read(**anthropic, **{moment: "2026-11-27T12:00:06.5Z"}) == {"input-tokens": (100, 7, 6.5)}
    assert read(**anthropic, **{moment: "2026-11-27T12:00:06Z"}) == {"input-tokens": (100, 7, 7)}
    assert read(ratelimit_limit="5", ratelimit_remaining="4", ratelimit_reset="9") == {"requests": (5, 4, 9)}
    for text in ("", "soon", "-1", "nan", "inf", "2026-99-99T", "1e999", "1 s", "0x5s"):
        assert read(**openai, x_ratelimit_reset_requests=text) == {}
        assert read(**{**openai, "x_ratelimit_remaining_requests": text}, x_ratelimit_reset_requests="1s") == {}
    assert read(**openai) == {}


def test_processes_send_no_more_than_the_server_takes_together(machine: Machine) -> None:
    first, second = machine.process(), machine.process()
    name, _ = machine.turn(first)
    first.hear(name, headers(left=3, reset=20))
    assert [machine.waited(pace) for pace in (second, first, second)] == [0, 0, 0]
    # The fourth waits for the reset, and asks what the server takes then; another one waits for that answer.
    assert machine.waited(first) == 20
    assert machine.said == [pytest.approx(20, abs=0.1)]
    name = next(reversed(json.loads(machine.file.read_text())["sent"]))
    first.hear(name, headers(left=9, reset=20))
    assert [machine.waited(second) for _ in range(6)] == [0] * 6


def test_one_asks_after_the_reset_and_another_one_if_it_gets_no_answer(machine: Machine) -> None:
    pace = machine.process()
    pace.hear(machine.turn(pace)[0], headers(left=0, reset=20))
    assert [machine.waited(pace) for _ in range(3)] == [20, 2, 2]


def test_after_a_quiet_period_all_may_go_at_once(machine: Machine) -> None:
    pace = machine.process()
    pace.hear(machine.turn(pace)[0], headers(left=0, reset=20))
    machine.clock.advance(41)
    assert [machine.waited(pace) for _ in range(11)] == [0] * 10 + [20]


def test_answers_that_overtake_each_other_leave_the_least(machine: Machine) -> None:
    pace = machine.process()
    names = [machine.turn(pace)[0] for _ in range(3)]
    for name, left in zip(names, (1, 0, 2), strict=True):
        pace.hear(name, headers(left=left, reset=20))
    assert machine.waited(pace) == 20


def test_a_request_without_a_word_about_limits_counts(machine: Machine) -> None:
    pace = machine.process()
    pace.hear(machine.turn(pace)[0], headers(left=1, reset=20))
    pace.end(machine.turn(pace)[0])
    assert machine.waited(pace) == 20


def test_tokens_count_as_they_are_estimated(machine: Machine) -> None:
    pace = machine.process()
    pace.hear(machine.turn(pace)[0], headers(left=100, reset=20, most=1000, kind="tokens"))
    assert machine.waited(pace, tokens=60) == 0
    assert machine.waited(pace, tokens=60) == 20
    pace = machine.process("b")
    pace.hear(machine.turn(pace)[0], headers(left=1000, reset=20, most=1000, kind="tokens"))
    assert machine.waited(pace, tokens=5000) == 0  # the server says itself that this is too long


def test_a_refusal_holds_for_all_and_a_longer_wait_is_not_waited(machine: Machine) -> None:
    first, second = machine.process(), machine.process()
    first.end(machine.turn(first)[0], refused_s=30)
    assert machine.waited(second) == 30
    first.end(machine.turn(first)[0], refused_s=3600)
    before = machine.clock.elapsed
    assert machine.turn(second)[1] == pytest.approx(3600)
    assert machine.clock.elapsed == before
    assert machine.waited(machine.process("another model")) == 0


def test_nothing_is_stored_before_a_server_says_something_and_no_key_ever(machine: Machine) -> None:
    pace = machine.process()
    name, _ = machine.turn(pace)
    pace.hear(name, {"content-type": "text/event-stream"})
    pace.end(name)
    assert not machine.folder.exists()
    pace.hear(name, headers(left=5, reset=1))
    assert machine.file.stat().st_mode & 0o077 == 0
    assert machine.folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "content",
    [
        *("", "{", "[]", "null", '"x"', '{"limits": 1}', "[" * 5000, "\xff\xfe"),
        '{"at": 0, "blocked": "x", "limits": {}, "sent": {}}',
        '{"at": 0, "blocked": Infinity, "limits": {}, "sent": {}}',
        '{"at": 0, "blocked": 0, "limits": {"requests": {}}, "sent": {}}',
        '{"at": 0, "blocked": 0, "limits": {"requests": {"most": "x", "left": 1, "until": 1, "period": 1, "sent": 1}}, '
        '"sent": {}}',
        '{"at": 0, "blocked": 0, "limits": {}, "sent": {"a": 1}}',
        # Of the time before the machine was started again.
        '{"at": 99999, "blocked": 99999, "limits": {}, "sent": {}}',
    ],
)
def test_a_damaged_file_is_replaced(machine: Machine, content: str) -> None:
    machine.folder.mkdir(mode=0o700)
    machine.file.write_text(content, encoding="latin-1")
    pace = machine.process()
    assert machine.waited(pace) == 0
    pace.hear(machine.turn(pace)[0], headers(left=0, reset=20))
    assert pace.fault is None
    assert machine.waited(machine.process()) == 20


def test_a_killed_holder_of_the_lock_holds_no_other_up(machine: Machine) -> None:
    pace = machine.process()
    pace.hear(machine.turn(pace)[0], headers(left=0, reset=20))
    command = [sys.executable, "-c", HOLDER, str(machine.file.with_suffix(".lock"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
    assert machine.waited(machine.process()) == 20


def test_a_process_that_keeps_the_lock_makes_others_go_on_alone(machine: Machine) -> None:
    pace = machine.process()
    pace.hear(machine.turn(pace)[0], headers(left=0, reset=20))
    with filelock.FileLock(machine.file.with_suffix(".lock")):
        assert machine.turn(pace, longest=0)[1] == pytest.approx(20, abs=0.1)  # as it knew itself
    assert pace.fault is None


def test_a_folder_that_cannot_be_used_is_reported_once(machine: Machine) -> None:
    machine.folder.write_text("a file")
    pace = machine.process()
    pace.hear(machine.turn(pace)[0], headers(left=0, reset=20))
    assert str(machine.folder) in str(pace.fault)
    pace.fault = None
    assert machine.waited(pace) == 20
    assert pace.fault is None


def test_a_folder_that_others_can_write_is_not_used(machine: Machine) -> None:
    machine.folder.mkdir()
    machine.folder.chmod(0o777)
    pace = machine.process()
    pace.hear(machine.turn(pace)[0], headers(left=0, reset=20))
    assert pace.fault is not None
    assert not machine.file.exists()


def test_the_folder_is_the_users_and_can_be_switched_off(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path), "HOME": str(tmp_path), "LOCALAPPDATA": str(tmp_path)}
    folder = folder_of_paces(environ)
    assert folder is not None
    assert folder.is_relative_to(tmp_path if sys.platform != "darwin" else Path.home())
    assert folder_of_paces({**environ, VARIABLE: "off"}) is None
    assert folder_of_paces({**environ, VARIABLE: ""}) == folder


def test_a_process_alone_follows_the_server_too(machine: Machine) -> None:
    pace = SharedPace(None, "a", machine.clock)
    pace.hear(machine.turn(pace)[0], headers(left=0, reset=20))
    assert machine.waited(pace) == 20
