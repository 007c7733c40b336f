from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import importlib_metadata
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_cli.catalog.distributions.entry_points import GROUP
from strands_cli.catalog.distributions.scan import scan_path, search_path
from tests.distributions import broken_manifest, make_distribution, sound

Declared = list[tuple[str, str]]


def ours(path: list[str]) -> Declared:
    return [(point.name, point.value) for one in scan_path(path).distributions for point in one.entry_points]


def oracle(path: list[str]) -> Declared | None:
    """What importlib_metadata says of the group, first of each normalised name; None where it raises."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", path)
        try:
            return [(point.name, point.value) for point in importlib_metadata.entry_points(group=GROUP)]
        except Exception:
            return None


LINES = st.sampled_from(
    [
        f"[{GROUP}]",
        "[console_scripts]",
        "[ strands_cli.tools ]",
        f"[[{GROUP}]]",
        "[]",
        "",
        "# a comment",
        "foo = pkg.foo",
        "  bar=pkg:bar  ",
        "baz = pkg.baz:baz [extra]",
        "foo = a = b",
        "ключ = пакет",
        "= nameless",
        "nothing here",
        "[unclosed = x",
        "unopened] = y",
        "\ufeff[strands_cli.tools]",
        "x = y\x0b[strands_cli.tools]",
    ]
)
# Any text that is likely to mean something to either reader, on top of whole lines that do.
ODD = st.text(alphabet=f"[]=#:; \t\n\r\x0b\x0c\x1c\x85\u2028ab._-'\"{GROUP[0]}", max_size=24)
TEXTS = (
    st.lists(LINES | ODD, max_size=8).map(lambda lines: "\n".join([f"[{GROUP}]", *lines]))
    | st.lists(LINES).map("\r\n".join)
    | ODD.map(lambda text: f"[{GROUP}]\n{text}")
)
NAMES = st.sampled_from(["foo", "Foo", "foo_bar", "foo-bar", "foo.bar", "Foo__Bar", "x"])
SUFFIXES = st.sampled_from([".dist-info", ".dist-info", ".egg-info", ""])
RECORDS = st.tuples(NAMES, st.sampled_from(["-1.0", "-2.0.post1", ""]), SUFFIXES, TEXTS | st.none())


@settings(deadline=None, max_examples=150)
@given(st.lists(st.lists(RECORDS, max_size=4), min_size=1, max_size=3))
def test_the_scan_equals_importlib_metadata_wherever_that_does_not_raise(
    tmp_path_factory: pytest.TempPathFactory, tree: list[list[tuple[str, str, str, str | None]]]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    path = []
    for index, records in enumerate(tree):
        directory = root / str(index)
        directory.mkdir()
        path.append(str(directory))
        for name, version, suffix, text in records:
            record = directory / f"{name}{version}{suffix}"
            record.mkdir(exist_ok=True)
            (record / "METADATA").write_text(f"Name: {name}\nVersion: 1.0\n")
            if text is not None:
                (record / "entry_points.txt").write_bytes(text.encode())
    expected = oracle(path)
    found = ours(path)
    if expected is not None:
        assert sorted(found) == sorted(expected)


def test_the_first_distribution_of_a_normalised_name_wins(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    make_distribution(first, "Strands.Tool_Foo", "1.0", {"foo": "first"})
    make_distribution(second, "strands-tool-foo", "2.0", {"foo": "second"})
    (only,) = scan_path([str(first), str(second)]).distributions
    assert (only.name, only.version, only.entry_points[0].value) == ("strands-tool-foo", "1.0", "first")


def test_a_copy_without_tools_hides_one_with_tools_behind_it(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    make_distribution(first, "strands-tool-foo")
    make_distribution(second, "strands-tool-foo", entry_points={"foo": "foo"})
    scan = scan_path([str(first), str(second)])
    assert scan.distributions == []
    assert scan.findings == []


def test_two_versions_in_one_directory_are_a_finding(tmp_path: Path) -> None:
    sound(tmp_path, "foo", "1.0")
    sound(tmp_path, "foo", "2.0")
    scan = scan_path([str(tmp_path)])
    assert [finding.code for finding in scan.findings] == ["duplicate-distribution"]
    assert len(scan.distributions) == 1


def test_two_versions_of_a_stranger_are_nobodys_business(tmp_path: Path) -> None:
    make_distribution(tmp_path, "requests", "1.0")
    make_distribution(tmp_path, "requests", "2.0")
    assert scan_path([str(tmp_path)]).findings == []


@pytest.mark.parametrize(
    ("contents", "line"),
    [
        (b"\xef\xbb\xbf[strands_cli.tools]\nfoo = foo\n", 1),
        (b"[strands_cli.tools]\nfoo = foo\nb\xff = b\n", 3),
        ("[strands_cli.tools]\nfoo = foo\n".encode("utf-16"), 1),
        (b"[strands_cli.tools]\nfoo = foo\nno equals sign\n", 3),
        (b"[console_scripts]\nrubbish\n[strands_cli.tools]\nfoo = foo\n", 2),
        (b"[strands_cli.tools]\nfoo = foo\n" + b"#" * 1_000_001, None),
    ],
    ids=["bom", "bad-utf8", "utf16", "malformed", "malformed-elsewhere", "huge"],
)
def test_a_damaged_entry_points_file_is_reported_and_hides_no_one(
    tmp_path: Path, contents: bytes, line: int | None
) -> None:
    make_distribution(tmp_path, "strands-tool-foo", entry_points=contents)
    sound(tmp_path, "bar")
    scan = scan_path([str(tmp_path)])
    assert [(finding.code, finding.where and finding.where.line) for finding in scan.findings] == [
        ("bad-entry-points", line)
    ]
    assert "strands-tool-bar" in [one.name for one in scan.distributions]


def test_a_strangers_malformed_line_is_not_even_looked_at(tmp_path: Path) -> None:
    make_distribution(tmp_path, "stranger", entry_points="[console_scripts]\nthis line has no equals sign\n\xff")
    sound(tmp_path, "foo")
    scan = scan_path([str(tmp_path)])
    assert scan.findings == []
    assert [one.name for one in scan.distributions] == ["strands-tool-foo"]


def test_an_unreadable_record_is_reported(tmp_path: Path) -> None:
    record = sound(tmp_path, "foo")
    (record / "entry_points.txt").unlink()
    (record / "entry_points.txt").symlink_to("entry_points.txt")  # a loop, which even root cannot read
    assert [finding.code for finding in scan_path([str(tmp_path)]).findings] == ["unreadable-directory"]


def test_missing_directories_and_plain_files_on_the_path_hold_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a zip")
    scan = scan_path([str(tmp_path / "absent"), str(tmp_path / "file")])
    assert scan.distributions == []
    assert scan.findings == []


def test_a_zip_archive_on_the_path_is_read_and_a_damaged_one_reported(tmp_path: Path) -> None:
    sound(tmp_path / "tree", "foo", "3.0")
    archive, damaged = tmp_path / "tools.zip", tmp_path / "damaged.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        for file in sorted((tmp_path / "tree").rglob("*")):
            opened.write(file, file.relative_to(tmp_path / "tree"))
    damaged.write_bytes(archive.read_bytes()[:-40] + archive.read_bytes()[-22:])
    scan = scan_path([str(damaged), str(archive)])
    assert [(one.name, one.version) for one in scan.distributions] == [("strands-tool-foo", "3.0")]
    assert [finding.code for finding in scan.findings] == ["unreadable-directory"]


def test_an_egg_takes_its_name_and_version_from_its_metadata(tmp_path: Path) -> None:
    egg = tmp_path / "strands_tool_foo-1.0-py3.11.egg"
    (egg / "EGG-INFO").mkdir(parents=True)
    (egg / "EGG-INFO" / "PKG-INFO").write_text(
        "Metadata-Version: 2.1\nName: Strands_Tool_Foo\nVersion: 1.0\n\nfoo: bar"
    )
    (egg / "EGG-INFO" / "entry_points.txt").write_text(f"[{GROUP}]\nfoo = foo\n")
    assert ours([str(egg)]) == oracle([str(egg)]) == [("foo", "foo")]
    (found,) = scan_path([str(egg)]).distributions
    assert (found.name, found.version) == ("strands-tool-foo", "1.0")


def test_the_default_path_leaves_out_the_current_and_every_relative_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, other = tmp_path / "here", tmp_path / "other"
    (here / "lib").mkdir(parents=True)
    other.mkdir()
    link = tmp_path / "link"
    link.symlink_to(here)
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "path", ["", ".", "lib", str(here), str(link), str(other), str(other)])
    assert search_path() == [str(other)]


def test_the_scripts_directory_is_left_out_unless_it_was_put_on_the_path_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, other = str(tmp_path / "bin"), str(tmp_path / "other")
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "bin" / "program.py")])
    monkeypatch.setattr(sys, "path", [folder, other])
    assert search_path() == [other]
    monkeypatch.setattr(sys, "path", [folder, other, folder])
    assert search_path() == [folder, other]
    monkeypatch.setattr(sys, "path", [other, folder])
    assert search_path() == [other, folder]


def test_a_path_that_is_given_is_taken_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert search_path(["", str(tmp_path)]) == [str(tmp_path)]


def test_a_current_directory_that_was_deleted_is_not_a_reason_to_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert search_path()


LISTING = (
    "import strands_cli; print([tool.name for tool in strands_cli.discover_catalog().tools if 'evil' in tool.name])"
)


@pytest.mark.parametrize("how", ["-c", "script", "-m"])
def test_a_hostile_folder_is_not_a_source_of_plugins(tmp_path: Path, how: str) -> None:
    sound(tmp_path, "evil")
    if how == "-c":
        command = ["-c", LISTING]
    elif how == "-m":
        command = ["-m", "strands_cli", "list-tools"]
    else:
        (tmp_path / "script.py").write_text(LISTING)
        command = [str(tmp_path / "script.py")]
    cwd = tmp_path if how != "script" else tmp_path.parent
    done = subprocess.run([sys.executable, *command], cwd=cwd, capture_output=True, text=True, check=True)
    assert "evil" not in done.stdout


def test_the_same_folder_named_on_purpose_is_one(tmp_path: Path) -> None:
    sound(tmp_path, "evil")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    command = [sys.executable, "-c", LISTING]
    done = subprocess.run(command, cwd=tmp_path.parent, env=environment, capture_output=True, text=True, check=True)
    assert "evil" in done.stdout


FOREIGN = """
import importlib.metadata, pathlib, sys
import strands_cli

class Record(importlib.metadata.Distribution):
    def read_text(self, name):
        if name == "METADATA":
            return "Metadata-Version: 2.1\\nName: strands-tool-far\\nVersion: 4.0\\n"
        return "[strands_cli.tools]\\nfar = far_away\\n" if name == "entry_points.txt" else None
    def locate_file(self, path):
        return pathlib.Path(path)

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return None
    @staticmethod
    def find_distributions(context):
        return [Record()]

class Broken(Finder):
    @staticmethod
    def find_distributions(context):
        raise RuntimeError("no")

sys.meta_path += [Broken, Finder]
catalog = strands_cli.discover_catalog()
far = catalog.get("far")
print(far.status, far.distribution, far.version, [finding.code for finding in catalog.findings])
"""


def test_a_foreign_finder_is_asked_and_a_broken_one_is_reported() -> None:
    done = subprocess.run([sys.executable, "-c", FOREIGN], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "broken strands-tool-far 4.0 ['unreadable-directory', 'missing-module']"


def test_a_broken_manifest_costs_the_scan_nothing(tmp_path: Path) -> None:
    broken_manifest(tmp_path, "foo")
    assert scan_path([str(tmp_path)]).findings == []


def test_a_version_is_found_by_every_spelling_of_the_name(tmp_path: Path) -> None:
    make_distribution(tmp_path, "strands-tool-foo", "1.0", "")
    scan = scan_path([str(tmp_path)])
    assert {scan.version(name) for name in ("strands-tool-foo", "Strands_Tool.Foo")} == {"1.0"}
