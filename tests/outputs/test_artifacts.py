from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from strands_cli.errors import ArtifactError, ExitCode
from strands_cli.outputs.artifacts import ArtifactPlaces, ArtifactWriter, obstacle, place_artifact, write_artifact
from strands_cli.planning.run_request import RunRequest
from tests.wordings import Wording

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="POSIX links and modes")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


@pytest.mark.parametrize(
    "path", ["../a", "a/../../b", "a/..", "/etc/passwd", "", " ", ".", "./", "a\0b", "a\ud800b", "//a"]
)
def test_a_path_that_names_no_file_inside_the_directory_is_refused(path: str, out: Path) -> None:
    with pytest.raises(ArtifactError) as raised:
        place_artifact(out, path)
    assert repr(path) in raised.value.message
    assert raised.value.exit_code == ExitCode.ARTIFACT == 12


@pytest.mark.parametrize("path", ["a", "a/b/c.txt", "./a", "..a", "a..b", "~", "-rf", "ä ö.md", "a" * 255])
def test_any_other_path_is_placed_inside(path: str, out: Path) -> None:
    target = place_artifact(out, path)
    assert target == out / path
    assert write_artifact(target, "x", force=False)["size"] == 1


@POSIX
def test_a_directory_that_is_a_link_to_elsewhere_is_refused(out: Path, tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "elsewhere").mkdir()
    (out / "link").symlink_to(tmp_path / "elsewhere")
    (out / "inside").symlink_to(out)
    (out / "loop").symlink_to(out / "loop")
    for path in ("link/a", "link/b/c", "loop/a"):
        with pytest.raises(ArtifactError) as raised:
            place_artifact(out, path)
        wording(raised.value)
    assert place_artifact(out, "inside/a") == out / "inside" / "a"


@POSIX
@pytest.mark.parametrize("aims_at", ["there", "nowhere"])
def test_a_file_that_is_a_link_is_taken_and_with_force_replaced_but_never_followed(
    aims_at: str, out: Path, tmp_path: Path
) -> None:
    (tmp_path / "there").write_text("precious")
    (out / "a").symlink_to(tmp_path / aims_at)
    target = place_artifact(out, "a")
    assert ArtifactPlaces(force=False).collision(target, "precious") is not None
    with pytest.raises(ArtifactError) as raised:
        write_artifact(target, "new", force=False)
    assert "--force" in str(raised.value.fix)
    write_artifact(target, "new", force=True)
    assert not target.is_symlink()
    assert target.read_text() == "new"
    assert (tmp_path / "there").read_text() == "precious"
    assert not (tmp_path / "nowhere").exists()


def test_what_is_written_is_reported_by_path_digest_and_size(out: Path) -> None:
    written = write_artifact(out / "sub" / "a", "né\r\n", force=False)
    encoded = "né\r\n".encode()
    assert written == {
        "path": str(out / "sub" / "a"),
        "digest": hashlib.sha256(encoded).hexdigest(),
        "size": len(encoded),
    }
    assert (out / "sub" / "a").read_bytes() == encoded


def test_half_a_surrogate_pair_does_not_lose_the_rest(out: Path) -> None:
    write_artifact(out / "a", "one \ud83d two", force=False)
    assert (out / "a").read_text() == "one \\ud83d two"


def test_a_file_that_exists_is_kept_unless_forced(out: Path, wording: Wording) -> None:
    (out / "a").write_text("mine")
    with pytest.raises(ArtifactError) as raised:
        write_artifact(out / "a", "yours", force=False)
    wording(raised.value)
    assert "--force" in str(raised.value.fix)
    assert (out / "a").read_text() == "mine"
    write_artifact(out / "a", "yours", force=True)
    assert (out / "a").read_text() == "yours"
    assert [path.name for path in out.iterdir()] == ["a"]


def test_a_file_that_holds_the_very_text_is_not_an_obstacle(out: Path) -> None:
    (out / "a").write_text("same")
    os.utime(out / "a", (1, 1))
    assert write_artifact(out / "a", "same", force=False)["size"] == 4
    assert (out / "a").stat().st_mtime == 1, "it was not touched"


@POSIX
@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_the_permissions_are_those_of_the_umask(umask: int, mode: int, out: Path) -> None:
    before = os.umask(umask)
    try:
        write_artifact(out / "a", "x", force=False)
        write_artifact(out / "a", "y", force=True)
    finally:
        os.umask(before)
    assert (out / "a").stat().st_mode & 0o777 == mode


@pytest.mark.parametrize("force", [True, False])
def test_a_write_that_fails_leaves_no_part_of_a_file(force: bool, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    (out / "b").write_text("old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ArtifactError, match="No space left on device"):
        write_artifact(out / ("b" if force else "a"), "new", force=force)
    assert (out / "b").read_text() == "old"
    assert [path.name for path in out.iterdir()] == ["b"]


def no_links(*_: Any, **__: Any) -> None:
    raise OSError(errno.EPERM, "Operation not permitted")


def test_a_file_system_without_hard_links_takes_artifacts_too(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", no_links)
    write_artifact(out / "a", "x", force=False)
    assert (out / "a").read_text() == "x"
    with pytest.raises(ArtifactError) as raised:
        write_artifact(out / "a", "y", force=False)
    assert "--force" in str(raised.value.fix)
    assert (out / "a").read_text() == "x"
    assert [path.name for path in out.iterdir()] == ["a"]


def test_a_file_that_appears_meanwhile_is_not_overwritten(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fsync = os.fsync

    def appears(handle: int) -> None:
        fsync(handle)
        (out / "a").write_text("theirs")

    monkeypatch.setattr(os, "fsync", appears)
    with pytest.raises(ArtifactError) as raised:
        write_artifact(out / "a", "mine", force=False)
    assert "--force" in str(raised.value.fix)
    assert (out / "a").read_text() == "theirs"


def test_a_file_where_a_directory_must_be_is_an_error(out: Path, wording: Wording) -> None:
    (out / "a").write_text("a file")
    with pytest.raises(ArtifactError) as raised:
        write_artifact(out / "a" / "b", "x", force=False)
    wording(raised.value)
    (out / "d").mkdir()
    with pytest.raises(ArtifactError) as refused:
        write_artifact(out / "d", "x", force=True)
    wording(refused.value)


def test_collisions_are_found_before_anything_is_written(out: Path) -> None:
    (out / "b").write_text("mine")
    writer = ArtifactWriter(out, force=False)
    with pytest.raises(ArtifactError) as raised:
        writer([("a", "1"), ("b", "2"), ("./a", "3"), ("a/c", "4")])
    assert [finding.code for finding in raised.value.findings] == [
        "artifact-exists",
        "artifact-twice",
        "artifact-twice",
    ]
    assert [path.name for path in out.iterdir()] == ["b"]
    with pytest.raises(ArtifactError, match=r"\.\./x"):
        writer([("a", "1"), ("../x", "2")])
    assert [path.name for path in out.iterdir()] == ["b"]
    assert [w["size"] for w in ArtifactWriter(out, force=True)([("a", "1"), ("b", "22")])] == [1, 2]


@pytest.mark.parametrize("pair", [("a", "a"), ("a", "a/b"), ("a/b", "a"), ("a/b/c", "a"), ("a", "a/b/c")])
def test_two_artifacts_cannot_have_one_place_not_even_with_force(pair: tuple[str, str], out: Path) -> None:
    first, second = (out / path for path in pair)
    places = ArtifactPlaces(force=True)
    assert places.collision(first) is None
    assert places.collision(out / "other") is None
    found = places.collision(second)
    assert found is not None
    assert found.code == "artifact-twice"


def test_what_is_in_the_way_of_a_directory_is_named(out: Path, tmp_path: Path, wording: Wording) -> None:
    assert obstacle(out) is None
    assert obstacle(out / "new" / "newer") is None
    (tmp_path / "file").touch()
    wording(obstacle(tmp_path / "file" / "x"))


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_may_not_be_written_is_an_obstacle(out: Path) -> None:
    out.chmod(0o500)
    assert str(out) in str(obstacle(out))


def test_a_tool_that_changes_the_working_directory_moves_no_artifact(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    options = RunRequest(out_dir=Path("out"))
    os.chdir("elsewhere")
    (written,) = ArtifactWriter(options.out_dir, force=False, beside=options.beside)([("a.md", "x")])
    assert (tmp_path / "out/a.md").read_text() == "x"
    assert written["path"] == str(Path("out/a.md")), "told as it was given"


KILLED = """
import os, sys
from pathlib import Path
from strands_cli.outputs.artifacts import write_artifact
step = sys.argv[1]
real = getattr(os, step)
def killed(*given, **named):
    made = real(*given, **named)
    os.kill(os.getpid(), 9)
setattr(os, step, killed)
write_artifact(Path("x.txt"), "new" * 9999, force=sys.argv[2] == "force")
"""


@pytest.mark.kills
@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs files without a name")
@pytest.mark.parametrize("step", ["fsync", "link"])
@pytest.mark.parametrize("force", ["force", "careful"])
def test_a_kill_in_the_middle_leaves_no_part_of_a_file(tmp_path: Path, step: str, force: str) -> None:
    run = subprocess.run([sys.executable, "-c", KILLED, step, force], cwd=tmp_path, capture_output=True, check=False)
    assert run.returncode == -9, run
    assert [path.name for path in tmp_path.iterdir()] == (["x.txt"] if step == "link" else [])
    assert step != "link" or (tmp_path / "x.txt").read_text() == "new" * 9999


@POSIX
def test_old_temporary_files_of_the_same_user_are_removed(out: Path) -> None:
    old, young, other = ".0123456789abcdef.partial", ".fedcba9876543210.partial", ".x.partial"
    for name in (old, young, other):
        (out / name).write_text("left")
    for name in (old, other):
        os.utime(out / name, (0, 0))
    write_artifact(out / "a", "x", force=False)
    assert sorted(path.name for path in out.iterdir()) == sorted([young, other, "a"])
