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
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
CLONE = Path(__file__).resolve().parent
VENV = CLONE / ".venv"
SCRIPTS = VENV / ("Scripts" if os.name == "nt" else "bin")
# Where a hook plugin is installed, commands say other things; the tests of providers import them from their sources.
# A store needs the client of a database, which only `nox -s postgres` installs.
NOT_INSTALLED = ("strands-cli-local", "strands-cli-postgres")
PYTHON = SCRIPTS / ("python.exe" if os.name == "nt" else "python")


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
        print(f"dev.py: this step failed: {' '.join(map(str, error.cmd))}", file=sys.stderr)
        hint = "install python3-venv" if "venv" in error.cmd else "remove .venv and try again"
        print(f"dev.py: {hint}", file=sys.stderr)
        return 1
    return become(arguments)


def prepare(lock: str) -> None:
    """Bring `.venv` to the state of `constraints/LOCK.txt` and this clone's own distributions."""
    if not PYTHON.exists():
        say("creating .venv")
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(VENV)], check=True)
    if is_prepared(lock) or (lock == "run" and is_prepared("dev")):
        return
    if subprocess.run([str(PYTHON), "-c", "import pip"], stderr=subprocess.DEVNULL, check=False).returncode:
        subprocess.run([str(PYTHON), "-m", "ensurepip"], check=True)
    say(f"installing constraints/{lock}.txt (once; a minute or two)")
    locked = str(CLONE / "constraints" / f"{lock}.txt")
    # Also as constraints: for a requirement with an extra (`pydantic[email]`) an older pip would take the newest
    # version, for which the lock has no hash.
    pip("--require-hashes", "-r", locked, "-c", locked)
    say("installing strands-cli and the first-party tools from this clone")
    pip("--no-deps", "--no-build-isolation", *editables())
    compile_sources()
    stamp(lock).write_text(fingerprint(lock), encoding="utf-8")


def pip(*arguments: str) -> None:
    """Run the environment's own pip; its output is kept to warnings and errors."""
    command = [str(PYTHON), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, cwd=CLONE)


def compile_sources() -> None:
    """Compile what is installed in place, as pip does with everything else.

    Where PYTHONDONTWRITEBYTECODE is set, each process would otherwise compile all that it imports.
    """
    sources = [str(place / "src") for place in distributions()]
    subprocess.run([str(PYTHON), "-m", "compileall", "-q", *sources], check=True)


def distributions() -> list[Path]:
    """Return the directories of this clone's own distributions, the core first."""
    packages = sorted(path.parent for path in CLONE.glob("packages/*/pyproject.toml"))
    return [CLONE, *(place for place in packages if not place.name.startswith(NOT_INSTALLED))]


def editables() -> list[str]:
    """Return pip arguments that install every distribution of this clone in place."""
    return [word for directory in distributions() for word in ("-e", str(directory))]


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


def say(text: str) -> None:
    """Tell the person what is going on, on stderr."""
    print(f"dev.py: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
