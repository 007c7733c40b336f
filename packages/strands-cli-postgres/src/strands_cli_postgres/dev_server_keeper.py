"""Starts the Postgres of one user, starts it again when it dies, and stops it when no process uses it.

Usage: python -I -S dev_server_keeper.py FOLDER PROGRAMS SOCKETS

It needs the standard library alone, and is run as a file. Three files are locked, and the kernel releases the locks of
a process that dies, so that no process id is ever compared:

- `keeper.lock` by the one keeper;
- `users.lock`, shared, by each process that uses the server; the keeper stops it when it gets this lock alone;
- `server.lock` by all processes of the server, which inherit it; the keeper gets it when the last of them is gone.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import IO

if sys.platform != "win32":
    import fcntl

DATABASE = ROLE = "strands"
SUPERUSER = "postgres"
# Linux's number for a new user namespace, clone(2).
CLONE_NEWUSER = 0x1000_0000
# The user that the kernel shows for those who are not in the namespace, user_namespaces(7).
OVERFLOW = 65534
# As often as this it is started again after a crash, before it is given up.
CRASHES = 5
START_S, STOP_S = 120, 60
SETTINGS = {
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_permissions": "0700",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
}


class Keeper:
    """The keeper of one server: changes of the locks come as events."""

    def __init__(self, folder: Path, programs: Path, sockets: Path) -> None:
        self.folder, self.programs, self.sockets = folder, programs, sockets
        version = "".join(letter for letter in programs.parent.name if letter.isdigit()) or "16"
        self.data = folder / f"data-{version}"
        self.events: queue.Queue[str] = queue.Queue()
        self.user = become_a_user()

    def keep(self) -> None:
        """Keep the server until no process uses it."""
        self.report("unused", self.folder / "users.lock")
        for _ in range(CRASHES):
            self.ensure_started()
            if self.events.get() == "unused":
                self.stop()
                return
        raise SystemExit(f"Postgres ended {CRASHES} times")

    def ensure_started(self) -> None:
        """Start the server, unless it still runs because only its keeper has died."""
        lock = (self.folder / "server.lock").open("ab")
        if not locked(lock) and self.runs():
            lock.close()
        else:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a dying server ends before a new one begins
            self.make_cluster()
            self.start(lock)
        self.make_database()
        self.report("ended", self.folder / "server.lock")

    def report(self, event: str, path: Path) -> None:
        """Have an event when this process gets a lock alone."""

        def wait() -> None:
            # It stays open: the keeper's work then must end before others get the lock.
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            if event == "ended":
                os.close(descriptor)
            self.events.put(event)

        threading.Thread(target=wait, daemon=True).start()

    def make_cluster(self) -> None:
        """Make an empty cluster, unless there is one; one that was interrupted is made again."""
        if not (self.data / "PG_VERSION").exists():
            unfinished = self.folder / "data-unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)
            ran = self.call("initdb", "-D", str(unfinished), "-U", SUPERUSER, "-A", "peer", "-E", "UTF8", "--locale=C")
            if ran.returncode:
                raise SystemExit((ran.stderr or ran.stdout).decode(errors="replace").strip())
            unfinished.rename(self.data)
        # Each time, since the user may have another name by now.
        (self.data / "pg_hba.conf").write_text("local all all peer map=owner\n")
        name = '"' + self.user.replace('"', '""') + '"'
        (self.data / "pg_ident.conf").write_text(f"owner {name} {ROLE}\nowner {name} {SUPERUSER}\n")

    def start(self, lock: IO[bytes]) -> None:
        """Start the server, whose processes inherit the lock, and return when it accepts connections."""
        settings = {**SETTINGS, "unix_socket_directories": '"' + str(self.sockets).replace('"', '""') + '"'}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        # The lock holds it off, not the id that an earlier process has left; another one may have the id by now.
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        with (self.folder / "postgres.log").open("wb") as log:
            server = subprocess.Popen(  # noqa: S603 - a program of the wheel
                [str(self.programs / "postgres"), "-D", str(self.data), *words],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[lock.fileno()],
                start_new_session=True,
            )
        lock.close()
        threading.Thread(target=server.wait, daemon=True).start()
        until = time.monotonic() + START_S
        while self.psql("SELECT 1").returncode:
            if server.poll() is not None or time.monotonic() > until:
                server.send_signal(signal.SIGINT)  # a silent server is not left behind
                raise SystemExit("Postgres did not start")
            time.sleep(0.05)

    def make_database(self) -> None:
        """Make the role and its database, unless they exist."""
        if not self.psql(f"SELECT FROM pg_roles WHERE rolname = '{ROLE}'").stdout.count(b"(1 row)"):
            self.psql(f"CREATE ROLE {ROLE} LOGIN CREATEDB")
        if not self.psql(f"SELECT FROM pg_database WHERE datname = '{DATABASE}'").stdout.count(b"(1 row)"):
            outcome = self.psql(f"CREATE DATABASE {DATABASE} OWNER {ROLE}")
            if outcome.returncode:
                raise SystemExit(outcome.stderr.decode(errors="replace"))

    def psql(self, statement: str) -> subprocess.CompletedProcess[bytes]:
        """Run a statement as the superuser."""
        return self.call("psql", "-X", "-h", str(self.sockets), "-U", SUPERUSER, "-c", statement, SUPERUSER)

    def runs(self) -> bool:
        """Return whether the server has its first process, which starts the others."""
        return self.call("pg_ctl", "-D", str(self.data), "status").returncode == 0

    def stop(self) -> None:
        """Stop the server; its connections are ended."""
        words = ("-D", str(self.data), "stop", "-t", str(STOP_S), "-m")
        if self.call("pg_ctl", *words, "fast").returncode:
            self.call("pg_ctl", *words, "immediate")

    def call(self, program: str, *words: str) -> subprocess.CompletedProcess[bytes]:
        """Run a program of Postgres to its end."""
        return subprocess.run(  # noqa: S603 - a program of the wheel
            [str(self.programs / program), *words], stdin=subprocess.DEVNULL, capture_output=True, check=False
        )


def locked(file: IO[bytes]) -> bool:
    """Lock a file alone; return whether it worked."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def become_a_user() -> str:
    """Return the name of this user, after becoming one that Postgres accepts: it refuses root and ids without a name.

    In a user namespace the process has another id, and to the rest of the system the old one: its files belong to this
    user, and no one else can enter it. A name is taken that the kernel shows for no one else.
    """
    import pwd

    with contextlib.suppress(KeyError):
        if os.geteuid():
            return pwd.getpwuid(os.geteuid()).pw_name
    named = next(each for each in pwd.getpwall() if each.pw_uid not in (0, OVERFLOW))
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "unshare") or libc.unshare(CLONE_NEWUSER):
        reason = os.strerror(ctypes.get_errno()) if hasattr(libc, "unshare") else "no user namespaces"
        raise SystemExit(f"Postgres refuses to run as root, and this system gives it no other user ({reason}): use one")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{named.pw_uid} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{named.pw_gid} {group} 1")
    return named.pw_name


def main(words: list[str]) -> None:
    """Keep the server of a folder, unless another keeper does."""
    folder, programs, sockets = map(Path, words)
    os.umask(0o077)
    with (folder / "keeper.lock").open("ab") as lock:
        if not locked(lock):
            return
        with contextlib.suppress(OSError):
            os.ftruncate(sys.stderr.fileno(), 0)  # the reasons of an earlier start are not those of this one
        keeper = Keeper(folder, programs, sockets)
        signal.signal(signal.SIGTERM, lambda *_: keeper.events.put("unused"))
        keeper.keep()


if __name__ == "__main__":
    main(sys.argv[1:])
