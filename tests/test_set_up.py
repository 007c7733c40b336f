"""`dev.py` sets up a clone by pip alone, says how far it is, and does nothing the second time."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

CLONE = Path(__file__).parents[1]
PACKAGES = ("alpha", "beta", "gamma", "delta", "epsilon")
METADATA = "Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: by-hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
BACKEND = """import zipfile

def build_editable(folder, config_settings=None, metadata_directory=None):
    name = "greeting-1.0-py3-none-any.whl"
    with zipfile.ZipFile(f"{{folder}}/{{name}}", "w") as wheel:
        wheel.writestr("greeting.py", "import alpha, beta, gamma, delta, epsilon\\n\\ndef main(): print('hello')\\n")
        wheel.writestr("greeting-1.0.dist-info/METADATA", {metadata!r})
        wheel.writestr("greeting-1.0.dist-info/WHEEL", {wheel!r})
        wheel.writestr("greeting-1.0.dist-info/entry_points.txt", "[console_scripts]\\nstrands = greeting:main\\n")
        wheel.writestr("greeting-1.0.dist-info/RECORD", "")
    return name
"""
PYPROJECT = """[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "greeting"
version = "1.0"
"""


def clone_with(root: Path, spoiled: str = "") -> Path:
    """Make a clone with a distribution of its own and a lock of five packages; the hash of `spoiled` is a wrong one."""
    (root / "constraints").mkdir(parents=True)
    (root / "wheels").mkdir()
    shutil.copy(CLONE / "dev.py", root)
    (root / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    metadata = METADATA.format(name="greeting")
    (root / "backend.py").write_text(BACKEND.format(metadata=metadata, wheel=WHEEL), encoding="utf-8")
    pins = []
    for name in PACKAGES:
        path = root / "wheels" / f"{name}-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr(f"{name}.py", "")
            wheel.writestr(f"{name}-1.0.dist-info/METADATA", METADATA.format(name=name))
            wheel.writestr(f"{name}-1.0.dist-info/WHEEL", WHEEL)
            wheel.writestr(f"{name}-1.0.dist-info/RECORD", "")
        digest = hashlib.sha256(b"" if name == spoiled else path.read_bytes()).hexdigest()
        pins.append(f"{name}==1.0 ; python_version >= '3' \\\n    --hash=sha256:{digest}\n")
    (root / "constraints" / "run.txt").write_text("".join(pins), encoding="utf-8")
    return root


def set_up(clone: Path) -> subprocess.CompletedProcess[str]:
    settings = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(clone / "wheels"), "PIP_CONFIG_FILE": os.devnull}
    without = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "UV_"))}
    return subprocess.run(
        [sys.executable, "dev.py", "strands"],
        cwd=clone,
        env={**without, **settings, "PATH": os.defpath},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.wheels
def test_a_clone_is_set_up_by_pip_alone_step_by_step_and_once(tmp_path: Path) -> None:
    clone = clone_with(tmp_path)
    first, second = set_up(clone), set_up(clone)
    assert (first.returncode, first.stdout) == (0, "hello\n"), first.stderr
    lines = first.stderr.splitlines()
    assert [line.partition(": ")[2].partition(":")[0] for line in lines[:-1]] == ["1 of 3", "2 of 3", "3 of 3"]
    assert f"{len(PACKAGES)} packages" in lines[1]
    assert list((clone / ".venv").glob("**/__pycache__/epsilon.*.pyc"))
    assert (second.returncode, second.stdout, second.stderr) == (0, "hello\n", "")


@pytest.mark.wheels
def test_a_package_without_the_hash_of_its_lock_ends_the_set_up_with_the_words_of_pip(tmp_path: Path) -> None:
    clone = clone_with(tmp_path, spoiled="delta")
    done = set_up(clone)
    assert done.returncode == 1
    assert "delta" in done.stderr
    assert "--require-hashes" in done.stderr
    assert "3 of 3" not in done.stderr
