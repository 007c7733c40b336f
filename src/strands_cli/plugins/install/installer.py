"""The program that changes this environment: its own pip, or uv where it has none."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from strands_cli.errors import NotEquipped

_LAST_LINES = 8
_VENV = "make an environment of your own: python3 -m venv .venv && .venv/bin/pip install strands-cli"


@dataclass(frozen=True, slots=True)
class Installer:
    """How to call it; every call speaks of this interpreter's environment."""

    kind: Literal["pip", "uv"]
    program: tuple[str, ...]

    def run(self, *arguments: str) -> str:
        """Run one command of it and return what it printed.

        Raises:
            NotEquipped: it failed; the message has its last lines.
        """
        ran = subprocess.run(  # noqa: S603 - our interpreter or uv; what a person typed was parsed before
            [*self.program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            # uv reads settings of the folder it runs in and of those above; not a stranger's folder chooses the index.
            cwd=sys.prefix,
            env={**os.environ, "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
            check=False,
        )
        if ran.returncode:
            said = "\n".join(f"  | {line}" for line in ran.stdout.strip().splitlines()[-_LAST_LINES:])
            raise NotEquipped(f"{self.kind} failed (exit code {ran.returncode}); its last lines:\n{said}")
        return ran.stdout

    def wheel(self, wanted: str, folder: Path, *, build: bool) -> None:
        """Put the wheel of a folder, an archive or (pip) a requirement into `folder`, building it only if allowed."""
        if self.kind == "pip":
            binary = [] if build else ["--only-binary", ":all:"]
            self.run("wheel", "--no-deps", *binary, "--wheel-dir", str(folder), "--", wanted)
        else:
            uv = self.program[0]
            Installer("uv", (uv,)).run("build", "--wheel", "--python", sys.executable, "-o", str(folder), "--", wanted)

    def install(self, *arguments: str) -> None:
        """Install into this environment."""
        self._pip("install", *arguments)

    def uninstall(self, name: str) -> None:
        """Take a distribution out of this environment."""
        self._pip("uninstall", *(["--yes"] if self.kind == "pip" else []), name)

    def _pip(self, verb: str, *arguments: str) -> None:
        here = ["--python", sys.executable] if self.kind == "uv" else []
        self.run(*(["pip"] if self.kind == "uv" else []), verb, *here, *arguments)


def find_installer() -> Installer:
    """Return what installs into this environment, which must be one that belongs to the user who runs this.

    Raises:
        NotEquipped: it is the system's Python, or there is neither pip nor uv.
    """
    if reason := why_not_here():
        raise NotEquipped(reason, fix=_VENV)
    if find_spec("pip") is not None:
        # -P: else a file pip.py in the folder it runs in would be run.
        return Installer("pip", (sys.executable, "-P", "-m", "pip"))
    if uv := _find_uv():
        return Installer("uv", (uv,))
    raise NotEquipped(
        f"there is neither pip in this environment nor uv on PATH ({sys.prefix})",
        fix=f"{sys.executable} -m ensurepip, or install uv",
    )


def why_not_here() -> str | None:
    """Return why nothing must be installed into this interpreter's environment, None where it may be."""
    if sys.prefix != sys.base_prefix or (Path(sys.prefix) / "conda-meta").is_dir():
        return None
    if (Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED").exists():  # PEP 668
        return f"this Python belongs to the operating system ({sys.prefix}), whose own programs it would break"
    return f"this Python is not in a virtual environment ({sys.prefix}): what is installed here, everybody gets"


def owned_by_a_program() -> str | None:
    """Return the program that made this environment for strands-cli alone, and would not keep what others add."""
    receipts = {"uv-receipt.toml": "uv tool", "pipx_metadata.json": "pipx"}
    return next((name for file, name in receipts.items() if (Path(sys.prefix) / file).is_file()), None)


def _find_uv() -> str | None:
    import shutil

    # Relative entries of PATH name whatever folder one stands in.
    safe = os.pathsep.join(entry for entry in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(entry))  # noqa: PTH117
    return shutil.which("uv", path=safe)
