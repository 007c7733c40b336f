"""Makes wheels and installs them with the installer of this machine, without an index and without its cache."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

GROUP = "strands_cli.tools"


def make_wheel(directory: Path, name: str, version: str, files: Mapping[str, str], entries: Mapping[str, str]) -> Path:
    """Write a wheel; `entries` are its entry points for tools."""
    escaped = name.replace("-", "_")
    info = f"{escaped}-{version}.dist-info"
    lines = "".join(f"{key} = {value}\n" for key, value in entries.items())
    record = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": f"[{GROUP}]\n{lines}",
    }
    record[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*record, f"{info}/RECORD"])
    directory.mkdir(parents=True, exist_ok=True)
    wheel = directory / f"{escaped}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in record.items():
            archive.writestr(path, text)
    return wheel


def install(wheel: Path, site: Path) -> None:
    """Install a wheel into a folder."""
    # The environment's own uv: it is locked with everything else, and an environment that nox makes has no pip.
    command = [sys.executable, "-m", "uv", "pip", "install", "--python", sys.executable, "--no-cache", "--quiet"]
    command += ["--no-index", "--no-deps", "--target", str(site), str(wheel)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
