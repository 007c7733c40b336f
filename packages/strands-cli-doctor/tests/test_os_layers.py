"""What the doctor says of this machine's walls is what the machine does."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from strands_cli_doctor.os_layers import LAYERS, find_layers
from tests.wordings import Wording

WORDS = {"enforced", "best effort", "not available"}
linux = pytest.mark.skipif(sys.platform != "linux", reason="asks a Linux kernel")


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
def test_every_layer_has_one_of_three_words_on_every_platform(platform: str) -> None:
    assert {layer.on(platform) for layer in LAYERS} <= WORDS
    assert {found.here for found in find_layers(platform)} <= WORDS


def test_a_platform_that_cannot_be_asked_has_its_own_column_and_an_unknown_one_has_nothing() -> None:
    assert [found.here for found in find_layers("darwin")] == [layer.macos for layer in LAYERS]
    assert {found.here for found in find_layers("plan9")} == {"not available"}


@linux
def test_the_probe_changes_nothing_of_this_process() -> None:
    before = [Path(f"/proc/self/ns/{name}").readlink() for name in ("user", "net")]
    names = {found.layer.name for found in find_layers()}
    assert names == {layer.name for layer in LAYERS}
    assert [Path(f"/proc/self/ns/{name}").readlink() for name in ("user", "net")] == before


@linux
def test_namespaces_are_there_exactly_where_a_process_can_enter_them() -> None:
    (found,) = (found for found in find_layers() if found.layer.name == "namespaces")
    code = "import ctypes, sys; sys.exit(ctypes.CDLL(None).unshare(0x10000000 | 0x40000000) != 0)"
    entered = subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    assert (found.here == "enforced") is entered


def interpreter(folder: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Let this program take the place of the interpreter that the probe is given to."""
    file = folder / "python"
    file.write_text(f"#!{sys.executable}\nimport os, sys\n{textwrap.dedent(program)}\n")
    file.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(file))


@linux
def test_layers_that_a_kernel_refuses_are_not_available_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The same program under a kernel that knows none of these calls: their numbers are unused.
    interpreter(
        tmp_path,
        monkeypatch,
        """
        *options, program = sys.argv[1:]
        for number in ("444", "437", "prctl(22", "prctl(1,"):
            program = program.replace(number, number.replace("4", "9").replace("(", "(77"))
        os.execv(sys.executable, [sys.executable, *options, program])
    """,
    )
    here = {found.layer.name: (found.here, found.detail) for found in find_layers()}
    for name in ("landlock", "openat2"):
        assert here[name] == ("not available", "Function not implemented")
    assert here["seccomp"] == ("not available", "Invalid argument")
    assert here["parent-death signal"][0] == "not available"
    assert here["resource limits"][0] == "enforced"


@linux
@pytest.mark.parametrize("program", ["raise SystemExit(1)", "print('no JSON')", "print('[]')", "print('{}')"])
def test_a_probe_that_does_not_answer_makes_nothing_available(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, wording: Wording
) -> None:
    interpreter(tmp_path, monkeypatch, program)
    found = [one for one in find_layers() if one.layer.probe not in ("walk", "groups", "modes")]
    assert {one.here for one in found} == {"not available"}
    wording(sorted({one.detail for one in found}))
