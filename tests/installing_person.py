"""Somebody with an environment, an installer and a folder, for commands that install."""

from __future__ import annotations

import ensurepip
import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.cli.clean import CLONE, make_environment
from tests.cli.strands import Ran

SECONDS = 300


@dataclass(frozen=True)
class Person:
    """Somebody with an environment, an installer, and a folder of their own."""

    scripts: Path
    site: Path
    work: Path
    environ: dict[str, str]

    def strands(self, *words: str | Path, **env: str) -> Ran:
        command = [str(self.scripts / "strands"), *map(str, words)]
        ran = subprocess.run(
            command,
            cwd=self.work,
            env={**self.environ, **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=SECONDS,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def has(self, name: str) -> bool:
        return bool(list(self.site.glob(f"{name.replace('-', '_')}-*.dist-info")))


def make_home(root: Path, *distributions: str, requires: Sequence[str] = ()) -> Path:
    """Make an environment with strands-cli and distributions of this clone in place and neither pip nor uv; pip beside.

    Args:
        requires: What else is installed there.

    Returns:
        The folder, for `person_of`.
    """
    made = make_environment(root, requires)
    for name in distributions:
        made.install_in_place(CLONE / "packages" / name)
    (bundled,) = Path(ensurepip.__file__).parent.glob("_bundled/pip-*.whl")
    zipfile.ZipFile(bundled).extractall(root / "pip")
    (root / "uv").mkdir()
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or shutil.which("uv")
    assert uv is not None
    (root / "uv" / "uv").symlink_to(uv)
    return root


def person_of(root: Path, folder: Path, installer: str) -> Iterator[Person]:
    """Yield somebody whose installer is `pip` or `uv`, and remove afterwards what was installed."""
    layout = {"base": str(root / "venv"), "platbase": str(root / "venv")}
    scripts, site = (Path(sysconfig.get_path(kind, "venv", vars=layout)) for kind in ("scripts", "purelib"))
    work, home = folder / "work", folder / "home"
    work.mkdir()
    home.mkdir()
    path = [str(scripts), os.defpath, *([str(root / "uv")] if installer == "uv" else [])]
    environ = {"HOME": str(home), "PATH": os.pathsep.join(path), "UV_OFFLINE": "1", "PIP_NO_INDEX": "1"}
    if installer == "pip":
        environ["PYTHONPATH"] = str(root / "pip")
    before = set(site.iterdir())
    yield Person(scripts, site, work, {**environ, "PYTHONPYCACHEPREFIX": str(root / "bytecode")})
    for left in set(site.iterdir()) - before:
        shutil.rmtree(left) if left.is_dir() else left.unlink()
