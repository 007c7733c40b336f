"""A lock that is not exactly what was written lets nothing run, and says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli.errors import Denied, ExitCode
from strands_cli.lock.lock_reader import MAX_BYTES, Lock, LockedDistribution, LockedTool, read_lock
from strands_cli.lock.lock_writer import render_lock
from tests.wordings import Wording

DIGEST = f"sha256:{'0' * 64}"
TOOL = LockedTool.of("shout", {"name": "shout", "description": "Shouts."})
SOUND = render_lock(Lock({"tool-a": LockedDistribution("tool-a", "1.0", {"a.py": DIGEST}, {"shout": TOOL})}))
CONFLICT = SOUND.replace("version = 1\n", "<<<<<<< HEAD\nversion = 1\n=======\nversion = 1\n>>>>>>> other\n", 1)


def refused(file: Path) -> str:
    with pytest.raises(Denied) as caught:
        read_lock(file)
    (finding,) = caught.value.findings
    assert caught.value.exit_code == ExitCode.DENIED
    assert (finding.code, finding.where and finding.where.file) == ("lock-broken", str(file))
    assert "strands lock" in (finding.fix or "")
    return str(finding)


@pytest.mark.parametrize(
    "text",
    [
        "not toml at all",
        "",
        SOUND[: len(SOUND) // 2],
        SOUND.replace("version = 1\n", "version = 2\n", 1),
        SOUND.replace("version = 1\n", "version = true\n", 1),
        SOUND + "\n[[cluster]]\nname = 'later'\n",
        SOUND.replace('version = "1.0"', 'trusted = "yes"'),
        CONFLICT,
        SOUND.replace("Shouts.", "Whispers."),
        SOUND.replace(TOOL.definition, DIGEST),
        SOUND.replace(f"{DIGEST}", "sha256:0"),
        SOUND.replace(f'"{DIGEST}"', "7"),
        SOUND.replace('name = "tool-a"', "name = 7"),
        SOUND.replace('name = "tool-a"\n', ""),
        SOUND.replace("{\n", "[\n").replace("}\n", "]\n"),
        SOUND.replace('version = "1.0"', 'version = "1.0"\neditable = "no"'),
        SOUND + SOUND.partition("\n\n")[2],
        "version = 1\ndistribution = 1\n",
        "version = 1\ndistribution = [1]\n",
        "version = 1\nx = " + "[" * 100_000,
        SOUND.replace('"description"', "[" * 100_000),
        SOUND.replace("[distribution.files]", "requires = 1\n[distribution.files]"),
        SOUND.replace("[distribution.files]", 'requires = {"kit" = ""}\n[distribution.files]'),
    ],
)
def test_a_lock_that_is_not_what_was_written_is_refused(tmp_path: Path, text: str, wording: Wording) -> None:
    (tmp_path / "strands.lock").write_text(text, encoding="utf-8")
    wording(refused(tmp_path / "strands.lock"))


def test_a_sound_lock_is_read(tmp_path: Path) -> None:
    (tmp_path / "strands.lock").write_text(SOUND, encoding="utf-8")
    lock = read_lock(tmp_path / "strands.lock")
    assert lock is not None
    assert lock.distributions["tool-a"].tools == {"shout": TOOL}


def test_no_lock_is_not_an_error(tmp_path: Path) -> None:
    assert read_lock(tmp_path / "strands.lock") is None


def test_what_is_there_and_is_not_a_file_is_refused(tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "strands.lock").mkdir()
    wording(refused(tmp_path / "strands.lock"))


def test_a_link_to_nowhere_is_not_taken_for_no_lock(tmp_path: Path) -> None:
    (tmp_path / "strands.lock").symlink_to(tmp_path / "gone")
    assert "link" in refused(tmp_path / "strands.lock")


def test_bytes_that_are_no_text_are_refused(tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "strands.lock").write_bytes(b"version = 1 # \xff")
    wording(refused(tmp_path / "strands.lock"))


def test_a_lock_of_no_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "strands.lock").write_bytes(b"#" * (MAX_BYTES + 1))
    assert "10 MB" in refused(tmp_path / "strands.lock")
