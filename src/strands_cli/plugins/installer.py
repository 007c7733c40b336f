"""The program that installs into this environment: its own pip, or uv if there is no pip."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from strands_cli.errors import NotEquipped, UsageError

# The distribution to install: by name, as a wheel, or as a folder or archive to build a wheel from.


_FIX = "name a distribution (NAME or NAME==1.2), a wheel, or a project folder (./folder)"
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\s*(\[[^\]]*\])?\s*([<>=!~(].*)?", re.DOTALL)
_ARCHIVES = (".whl", ".tar.gz", ".zip")


@dataclass(frozen=True, slots=True)
class InstallTarget:
    """A distribution by name, or by a file or folder of this machine (`path`), whose name is not known yet.

    `extras` is `[a,b]` or empty; `specifier` is a version specifier or empty.
    """

    name: str | None = None
    extras: str = ""
    specifier: str = ""
    path: Path | None = None

    @property
    def requirement(self) -> str:
        """The requirement as an argument for installers."""
        return str(self.path) if self.path is not None else f"{self.name}{self.extras}{self.specifier}"


def parse_install_target(text: str) -> InstallTarget:
    """Parse the argument of `plugin install`; options and addresses, which installers would accept, are refused.

    Raises:
        UsageError: The text has another form, or the file does not exist.
    """
    if text.startswith("-") or not text.isprintable():
        raise UsageError(f"{text!r} is not a distribution", fix=_FIX)
    if "://" in text or "@" in text.partition("[")[0]:
        raise UsageError(f"{text!r} is an address; plugins are installed from an index or from a file", fix=_FIX)
    if "/" in text or "\\" in text or text in (".", "..") or text.lower().endswith(_ARCHIVES):
        return InstallTarget(path=_existing(text))
    return _by_name(text)


def _existing(text: str) -> Path:
    path = Path(text).absolute()
    if path.is_dir():
        if not (path / "pyproject.toml").is_file() and not (path / "setup.py").is_file():
            raise UsageError(f"{path} is not a project: it has no pyproject.toml", fix=_FIX)
    elif not path.is_file():
        raise UsageError(f"there is no file {path}", fix=_FIX)
    elif not text.lower().endswith(_ARCHIVES):
        raise UsageError(f"{path} is neither a wheel nor a source archive", fix=_FIX)
    return path.resolve()


def _by_name(text: str) -> InstallTarget:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        if not _REQUIREMENT.fullmatch(text):
            raise InvalidRequirement("only a name, extras and a version")
        parsed = Requirement(text)
    except InvalidRequirement as error:
        raise UsageError(f"{text!r} is not a distribution: {str(error).splitlines()[0]}", fix=_FIX) from None
    if parsed.url or parsed.marker:
        raise UsageError(f"{text!r} has more than a name and a version", fix=_FIX)
    extras = f"[{','.join(sorted(parsed.extras))}]" if parsed.extras else ""
    return InstallTarget(parsed.name, extras, str(parsed.specifier))


_LAST_LINES = 8
_VENV = "create a virtual environment: python3 -m venv .venv && .venv/bin/pip install strands-cli"


@dataclass(frozen=True, slots=True)
class Installer:
    """The command line of pip or uv; every call concerns this interpreter's environment."""

    kind: Literal["pip", "uv"]
    program: tuple[str, ...]

    def run(self, *arguments: str) -> str:
        """Run one of its commands and return the output.

        Raises:
            NotEquipped: The command fails; the message has its last lines.
        """
        ran = subprocess.run(  # noqa: S603 - our interpreter or uv; the person's input was parsed before
            [*self.program, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            # uv reads settings from its current folder and the parents; a downloaded folder must not choose the index.
            cwd=sys.prefix,
            env={**os.environ, "PIP_NO_INPUT": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
            check=False,
        )
        if ran.returncode:
            lines = "\n".join(f"  | {line}" for line in ran.stdout.strip().splitlines()[-_LAST_LINES:])
            message = f"{self.kind} failed (exit code {ran.returncode}); its last lines:\n{lines}"
            raise NotEquipped(message, fix="check the name, and the package index and network that pip uses")
        return ran.stdout

    def wheel(self, requirement: str, folder: Path, *, build: bool) -> None:
        """Write the wheel of a folder, an archive or (pip) a requirement to `folder`; build it only if allowed."""
        if self.kind == "pip":
            binary = [] if build else ["--only-binary", ":all:"]
            self.run("wheel", "--no-deps", *binary, "--wheel-dir", str(folder), "--", requirement)
        else:
            uv = self.program[0]
            Installer("uv", (uv,)).run(
                "build", "--wheel", "--python", sys.executable, "-o", str(folder), "--", requirement
            )

    def install(self, *arguments: str) -> None:
        """Install into this environment."""
        self._pip("install", *arguments)

    def uninstall(self, name: str) -> None:
        """Uninstall a distribution from this environment."""
        self._pip("uninstall", *(["--yes"] if self.kind == "pip" else []), name)

    def _pip(self, verb: str, *arguments: str) -> None:
        here = ["--python", sys.executable] if self.kind == "uv" else []
        self.run(*(["pip"] if self.kind == "uv" else []), verb, *here, *arguments)


def find_installer() -> Installer:
    """Return the program that installs into this environment, which must be a virtual one.

    Raises:
        NotEquipped: This is the system's Python, or there is neither pip nor uv.
    """
    if reason := why_not_here():
        raise NotEquipped(reason, fix=_VENV)
    if find_spec("pip") is not None:
        # -P: otherwise a file pip.py in the current folder would run.
        return Installer("pip", (sys.executable, "-P", "-m", "pip"))
    if uv := _find_uv():
        return Installer("uv", (uv,))
    raise NotEquipped(
        f"there is neither pip in this environment nor uv on PATH ({sys.prefix})",
        fix=f"{shlex.quote(sys.executable)} -m ensurepip, or install uv",
    )


def why_not_here() -> str | None:
    """Return why installing into this interpreter's environment is not allowed; None if it is."""
    if sys.prefix != sys.base_prefix or (Path(sys.prefix) / "conda-meta").is_dir():
        return None
    if (Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED").exists():  # PEP 668
        return f"this Python belongs to the operating system ({sys.prefix}), whose programs might break"
    return f"this Python is not in a virtual environment ({sys.prefix}): an installation would concern every user"


def owned_by_a_program() -> str | None:
    """Return the program that made this environment for strands-cli only, and removes other packages; else None."""
    receipts = {"uv-receipt.toml": "uv tool", "pipx_metadata.json": "pipx"}
    return next((name for file, name in receipts.items() if (Path(sys.prefix) / file).is_file()), None)


def _find_uv() -> str | None:
    import shutil

    # Relative entries of PATH depend on the current folder.
    safe = os.pathsep.join(entry for entry in os.environ.get("PATH", "").split(os.pathsep) if os.path.isabs(entry))  # noqa: PTH117
    return shutil.which("uv", path=safe)
