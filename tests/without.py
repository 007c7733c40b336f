"""An environment like this one, but without one distribution of this project."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Without:
    """The interpreter of such an environment, and a folder for commands and their home."""

    python: Path
    work: Path

    def strands(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run one command."""
        return self.run("-P", "-m", "strands_cli", *words, cwd=cwd)

    def assert_absent(self, named: str, distribution: str, *words: str) -> None:
        """Assert that a command says which distribution of this project is missing, and how to install it."""
        ran = self.strands(*words)
        assert ran.returncode == 18, ran.stdout + ran.stderr
        assert f"`{named}` comes with {distribution}" in ran.stderr
        assert f"pip install 'strands-cli[{distribution.removeprefix('strands-cli-')}]'" in ran.stderr

    def run(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run the interpreter."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("STRANDS_", "PYTHON"))}
        return subprocess.run(
            [str(self.python), *words],
            cwd=cwd or self.work,
            env={**environment, "HOME": str(self.work)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )


def without(distribution: str, folder: Path) -> Without:
    """Make an environment in a folder with links to all that is installed here, except for a distribution."""
    venv.create(folder / "venv", symlinks=True)
    base = dict.fromkeys(("base", "platbase"), str(folder / "venv"))
    site = Path(sysconfig.get_path("purelib", "venv", vars=base))
    package = distribution.replace("-", "_")
    for entry in map(Path, sys.path):
        if entry.name == "site-packages":
            for installed in entry.iterdir():
                # Its record, and what makes a clone importable: `_editable_impl_PACKAGE.pth` and others.
                if package not in installed.name and not (site / installed.name).exists():
                    (site / installed.name).symlink_to(installed)
    work = folder / "work"
    work.mkdir()
    return Without(folder / "venv" / "bin" / "python", work)
