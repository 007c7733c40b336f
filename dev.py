"""Set up this clone in `.venv` from the locked requirements, then run a program there.

Usage: python3 dev.py PROGRAM [ARGUMENT...]

    python3 dev.py strands run examples/quickstart.yaml
    python3 dev.py pytest
    python3 dev.py nox -s lint types

Needs Python 3.11 or newer with pip and venv, and nothing else. `strands` gets what the program needs to run; every
other program gets the whole development environment. A second call installs nothing unless the locks have changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

OLDEST = (3, 11)
CLONE = Path(__file__).resolve().parent
VENV = CLONE / ".venv"
SCRIPTS = VENV / ("Scripts" if os.name == "nt" else "bin")
# Where a hook plugin is installed, commands say other things; the tests of providers import them from their sources.
# A store needs the client of a database, which only `nox -s postgres` installs.
NOT_INSTALLED = ("strands-cli-local", "strands-cli-postgres")
PYTHON = SCRIPTS / ("python.exe" if os.name == "nt" else "python")
PIP = (str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
# So many pips work side by side where there is no uv; each costs a second to start.
AT_ONCE = min(4, max(2, os.cpu_count() or 2))
# At a terminal one line changes while a step works; a pipe and CI get a line for each step.
ONE_LINE = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb" and "CI" not in os.environ


def main(arguments: list[str]) -> int:
    """Install what the program needs, then become it."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    if sys.version_info < OLDEST:
        print("dev.py: needs Python %d.%d or newer, this is %s" % (*OLDEST, sys.version.split()[0]), file=sys.stderr)  # noqa: UP031 - old interpreters must be able to say so
        return 2
    try:
        prepare("run" if arguments[0] == "strands" else "dev")
    except subprocess.CalledProcessError as error:
        say(f"this step failed: {' '.join(map(str, error.cmd))}")
        say("install python3-venv" if "venv" in error.cmd else "remove .venv and try again")
        return 1
    except KeyboardInterrupt:
        say("stopped; the same command goes on from here")
        return 130
    return become(arguments)


def prepare(lock: str) -> None:
    """Bring `.venv` to the state of `constraints/LOCK.txt` and of this clone, and say how far it is."""
    has_venv = PYTHON.exists()
    if has_venv and (is_prepared(lock) or (lock == "run" and is_prepared("dev"))):
        return
    steps = Steps(2 if has_venv else 3)
    if not has_venv:
        steps.begin("creating .venv")
        steps.run(sys.executable, "-m", "venv", "--clear", str(VENV))
    if subprocess.run([str(PYTHON), "-c", "import pip"], stderr=subprocess.DEVNULL, check=False).returncode:
        steps.run(str(PYTHON), "-m", "ensurepip")
    path = CLONE / "constraints" / f"{lock}.txt"
    pins = pins_of(path)
    steps.begin(f"installing what constraints/{lock}.txt locks", len(pins))
    if not install_locked(pins, steps):
        # Also as constraints: for a requirement with an extra (`pydantic[email]`) an older pip would take the newest
        # version, for which the lock has no hash.
        steps.run(*PIP, "--require-hashes", "-r", str(path), "-c", str(path))
    steps.begin("installing strands-cli and the first-party tools from this clone")
    # One program compiles the few modules that it imports, and keeps them; the processes of tests would do it at once.
    # Where PYTHONDONTWRITEBYTECODE is set, each would do it again.
    compiled = [*site_packages(), *(str(place / "src") for place in distributions())]
    command = [str(PYTHON), "-m", "compileall", "-qq", "-j0", *compiled]
    compiling = [subprocess.Popen(command)] if lock == "dev" or sys.dont_write_bytecode else []
    # What fails says nothing: one installer tries it again.
    own = [*installer(), "--no-deps", "--no-build-isolation"]
    if not install([[*own, *editables(part)] for part in parts_of(distributions())], steps):
        steps.run(*own, *editables(distributions()))
    steps.succeed(compiling)
    stamp(lock).write_text(fingerprint(lock), encoding="utf-8")
    steps.end()


class Steps:
    """The steps of a set-up for a person: one line that changes at a terminal, and elsewhere a line for each step."""

    def __init__(self, count: int) -> None:
        """Start the clock."""
        self._count, self._number, self._text, self._packages = count, 0, "", 0
        self._began = time.monotonic()

    def begin(self, text: str, packages: int = 0) -> None:
        """Name the next step, and how many packages it installs."""
        self._number, self._text, self._packages = self._number + 1, text, packages
        if ONE_LINE:
            self._show()
        else:
            say(f"{self._number} of {self._count}: {text}" + f": {packages} packages" * bool(packages))

    def run(self, *command: str) -> None:
        """Run a command of the step; print its output and raise `CalledProcessError` if it fails."""
        with tempfile.TemporaryFile() as output:
            if not self.succeed([subprocess.Popen(command, cwd=CLONE, stdout=output, stderr=subprocess.STDOUT)]):
                output.seek(0)
                say(output.read().decode(errors="replace").strip())
                raise subprocess.CalledProcessError(1, command)

    def succeed(self, processes: list[subprocess.Popen[bytes]]) -> bool:
        """Wait for processes, and return whether all of them succeeded."""
        for process in processes:
            while ONE_LINE and process.poll() is None:
                self._show()
                time.sleep(0.2)
            process.wait()
        return not any(process.returncode for process in processes)

    def end(self) -> None:
        """Say how long it took."""
        say(f"ready after {time.monotonic() - self._began:.0f} s")

    def _show(self) -> None:
        there = sum(1 for place in site_packages() for _ in Path(place).glob("*.dist-info")) if self._packages else 0
        part = f": {min(there, self._packages)} of {self._packages} packages" * bool(self._packages)
        line = f"{self._number} of {self._count}: {self._text}{part} ({time.monotonic() - self._began:.0f} s)"
        say(line[: shutil.get_terminal_size().columns - 10], end="")


def pins_of(lock: Path) -> list[str]:
    """Return the requirements of a lock, each with its marker and its hashes."""
    return re.findall(r"^[\w.-]+==(?:.*\\\n)*.*$", lock.read_text(encoding="utf-8"), re.MULTILINE)


def install_locked(pins: list[str], steps: Steps) -> bool:
    """Install a complete lock, and return whether that worked: nothing is left to resolve."""
    with tempfile.TemporaryDirectory() as folder:
        commands = []
        for number, part in enumerate(parts_of(pins)):
            file = Path(folder, f"{number}.txt")
            file.write_text("\n".join(part) + "\n", encoding="utf-8")
            commands.append([*installer(), "--no-deps", "--require-hashes", "-r", str(file)])
        return install(commands, steps)


def parts_of(things: list[Any]) -> list[list[Any]]:
    """Return parts of a list that several pips install side by side, each package by one; uv does so by itself."""
    count = 1 if shutil.which("uv") else min(AT_ONCE, len(things))
    return [things[start::count] for start in range(count)]


def install(commands: list[list[str]], steps: Steps) -> bool:
    """Run installers side by side without their output, and return whether all of them succeeded."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": CLONE}
    return steps.succeed([subprocess.Popen(command, **quiet) for command in commands])  # type: ignore[call-overload]


def installer() -> list[str]:
    """Return the command that installs into `.venv`: of uv where a person has it, else of the environment's pip."""
    uv = shutil.which("uv")
    if uv:
        return [uv, "pip", "install", "--quiet", "--python", str(PYTHON)]
    return [*PIP, "--no-compile", "--retries", "2"]


def site_packages() -> list[str]:
    """Return the directories of `.venv` into which packages are installed."""
    return [str(place) for form in ("lib/python*", "Lib") for place in VENV.glob(f"{form}/site-packages")]


def distributions() -> list[Path]:
    """Return the directories of this clone's own distributions, the core first."""
    packages = sorted(path.parent for path in CLONE.glob("packages/*/pyproject.toml"))
    return [CLONE, *(place for place in packages if not place.name.startswith(NOT_INSTALLED))]


def editables(directories: list[Path]) -> list[str]:
    """Return pip arguments that install distributions in place."""
    return [word for directory in directories for word in ("-e", str(directory))]


def stamp(lock: str) -> Path:
    """Return the file that remembers which state of a lock is installed."""
    return VENV / f"dev-py-{lock}.stamp"


def is_prepared(lock: str) -> bool:
    """Return whether `.venv` holds this state of the lock and of the clone's distributions."""
    return stamp(lock).exists() and stamp(lock).read_text(encoding="utf-8") == fingerprint(lock)


def fingerprint(lock: str) -> str:
    """Digest everything whose change means that pip has work to do: the lock, the metadata, the place."""
    digest = hashlib.sha256(str(CLONE).encode())
    for path in (CLONE / "constraints" / f"{lock}.txt", *(place / "pyproject.toml" for place in distributions())):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def become(arguments: list[str]) -> int:
    """Run the program with the environment's scripts first on PATH, in the caller's current directory."""
    environment = {**os.environ, "VIRTUAL_ENV": str(VENV)}
    environment["PATH"] = os.pathsep.join([str(SCRIPTS), environment.get("PATH", os.defpath)])
    program = shutil.which(arguments[0], path=str(SCRIPTS))
    if program is None:
        say(f"no program {arguments[0]!r} in .venv")
        return 2
    if os.name != "nt":
        sys.stderr.flush()
        os.execve(program, [program, *arguments[1:]], environment)
    return subprocess.run([program, *arguments[1:]], env=environment, check=False).returncode


def say(text: str, end: str = "\n") -> None:
    """Tell the person what is going on, on stderr, in place of what the line has."""
    print("\r\033[K" * ONE_LINE + f"dev.py: {text}", end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
