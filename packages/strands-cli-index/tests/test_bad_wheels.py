"""Wheels that are not what they seem are left out, each with its reason, and the others are in the index."""

from __future__ import annotations

import shutil
import stat
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from index_kit import built, document_of

from strands_cli_index.building import wheel_tree
from tests.distributions.wheels import make_wheel, tool_wheel
from tests.wordings import Wording

# They make wheels, indexes or keys.
pytestmark = pytest.mark.wheels

FILE = "strands_tool_bad-1.0-py3-none-any.whl"


def with_member(name: str, content: bytes = b"", mode: int = 0) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        wheel = tool_wheel(folder, "bad")
        member = zipfile.ZipInfo(name)
        member.external_attr = mode << 16
        with zipfile.ZipFile(wheel, "a") as opened:
            opened.writestr(member, content)

    return write


def renamed(name: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        tool_wheel(folder, "bad").rename(folder / name)

    return write


def with_bytes(content: bytes) -> Callable[[Path], None]:
    return lambda folder: (folder / FILE).write_bytes(content) and None


def without_metadata(folder: Path) -> None:
    with zipfile.ZipFile(folder / FILE, "w") as opened:
        opened.writestr("strands_tool_bad/__init__.py", "")


def stating(name: str, version: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        make_wheel(folder, name, version).rename(folder / FILE)

    return write


def cut(folder: Path) -> None:
    wheel = tool_wheel(folder, "bad")
    wheel.write_bytes(wheel.read_bytes()[:-200])


def damaged(folder: Path) -> None:
    wheel = tool_wheel(folder, "bad")
    with zipfile.ZipFile(wheel, "a", zipfile.ZIP_DEFLATED) as opened:
        opened.writestr("strands_tool_bad/more.py", "x = 1\n" * 500)
    raw = bytearray(wheel.read_bytes())
    packed = zlib.compress(b"x = 1\n" * 500)[2:-4]
    start = raw.find(packed[:8])
    raw[start : start + 8] = b"\xff" * 8
    wheel.write_bytes(bytes(raw))


def bomb(folder: Path) -> None:
    with zipfile.ZipFile(tool_wheel(folder, "bad"), "a", zipfile.ZIP_DEFLATED) as opened:
        for number in range(40):
            opened.writestr(f"strands_tool_bad/z{number}.py", bytes(wheel_tree.MAX_FILE_BYTES))


BAD = {
    "not a zip": with_bytes(b"this is no archive"),
    "empty": with_bytes(b""),
    "cut off": cut,
    "damaged": damaged,
    "no metadata": without_metadata,
    "climbs": with_member("../../evil.py", b"x"),
    "absolute": with_member("/etc/evil.py", b"x"),
    "drive": with_member("C:/evil.py", b"x"),
    "backslash": with_member("..\\evil.py", b"x"),
    "a link": with_member("strands_tool_bad/link.py", b"/etc/passwd", stat.S_IFLNK | 0o777),
    "control characters": with_member("strands_tool_bad/\x1b[31m.py", b"x"),
    "two metadata folders": with_member("other-1.0.dist-info/METADATA", b"Name: other\nVersion: 1.0\n"),
    "twice": with_member("strands_tool_bad/__init__.py", b"x"),
    "another name": stating("strands-tool-other", "1.0"),
    "another version": stating("strands-tool-bad", "2.0"),
    "not a file name": renamed("bad.whl"),
    "not a version": renamed("strands_tool_bad-later-py3-none-any.whl"),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_a_bad_wheel_is_left_out_with_its_reason(kind: str, tmp_path: Path, wording: Wording) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    tool_wheel(folder, "good")
    BAD[kind](folder)
    for tree in folder.glob("tree-*"):
        shutil.rmtree(tree)
    result = built(folder, tmp_path / "site")
    (finding,) = result.findings
    assert finding.code == "wheel-left-out"
    wording(finding.message)
    assert [one["name"] for one in document_of(tmp_path / "site")["releases"]] == ["strands-tool-good"]
    assert [path.name for path in (tmp_path / "site" / "wheels").iterdir()] == [
        "strands_tool_good-1.0-py3-none-any.whl"
    ]
    assert not list(tmp_path.rglob("evil.py"))


@pytest.mark.parametrize(("limit", "value"), [("MAX_READ_BYTES", 70_000_000), ("MAX_DECLARED_BYTES", 70_000_000)])
def test_a_zip_bomb_is_left_out_before_it_is_unpacked(
    limit: str, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheel_tree, limit, value)
    folder = tmp_path / "wheels"
    folder.mkdir()
    bomb(folder)
    result = built(folder, tmp_path / "site")
    assert [finding.code for finding in result.findings] == ["wheel-left-out"]
    assert document_of(tmp_path / "site")["releases"] == []


def test_a_wheel_with_too_many_files_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheel_tree, "MAX_MEMBERS", 3)
    folder = tmp_path / "wheels"
    folder.mkdir()
    tool_wheel(folder, "bad")
    assert len(built(folder, tmp_path / "site").findings) == 1


def test_a_second_wheel_of_a_version_must_have_the_same_tools(tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    tool_wheel(folder, "shout").rename(folder / "strands_tool_shout-1.0-py3-none-linux_x86_64.whl")
    tool_wheel(folder, "shout").rename(folder / "strands_tool_shout-1.0-py3-none-macosx_11_0_arm64.whl")
    tool_wheel(folder, "shout", description="Whispers.").rename(
        folder / "strands_tool_shout-1.0-py3-none-win_amd64.whl"
    )
    result = built(folder, tmp_path / "site")
    (shout,) = document_of(tmp_path / "site")["releases"]
    assert [file["file"].split("-")[-1] for file in shout["files"]] == ["linux_x86_64.whl", "macosx_11_0_arm64.whl"]
    assert [Path(finding.where.file).name for finding in result.findings if finding.where] == [
        "strands_tool_shout-1.0-py3-none-win_amd64.whl"
    ]


def test_a_source_archive_is_named_with_what_to_do(tmp_path: Path) -> None:
    folder = tmp_path / "wheels"
    folder.mkdir()
    (folder / "strands_tool_shout-1.0.tar.gz").touch()
    (finding,) = built(folder, tmp_path / "site").findings
    assert finding.severity == "warning"
    assert (finding.fix or "").startswith("build it: pip wheel -w ")
