"""What is read of a `.dist-info`: the same as importlib_metadata wherever that library does not raise, and no crash."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from importlib_metadata import Distribution

from strands_cli.catalog.distributions import dist_info
from strands_cli.catalog.distributions.dist_info import (
    Origin,
    RecordedFile,
    open_distribution,
    read_origin,
    read_record,
)

FILES = ("a.py", "pkg/__init__.py", "pkg/b c.py", "with,comma.py", 'with"quote.py', "ключ.py")
Row = tuple[str, str | None, int | None]

PATHS = st.sampled_from(
    [*FILES, '"with,comma.py"', '"with""quote.py"', "./a.py", "pkg//b c.py", "../up.py", "absent.py"]
)
DIGESTS = st.sampled_from(["", "sha256=abc", "md5=x=y", "no-algorithm"])
SIZES = st.sampled_from(["", "0", "12", " 7 "])
LINES = st.tuples(PATHS, DIGESTS, SIZES).map(",".join) | PATHS | st.text(alphabet=',"=a.py/ \t\x0b\u2028', max_size=12)
RECORDS = (
    st.lists(LINES, max_size=8)
    .flatmap(lambda lines: st.sampled_from(["\n", "\r\n"]).map(lambda end: end.join(lines)))
    .filter(lambda text: "/.." not in text)
)  # the library calls `absent/../a.py` missing, which is `a.py`


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with files that a RECORD may list and an empty `.dist-info`."""
    site = tmp_path_factory.mktemp("site")
    (site / "x-1.0.dist-info").mkdir()
    for name in FILES:
        (site / name).parent.mkdir(exist_ok=True)
        (site / name).write_text("")
    return site


def library_record(folder: Path) -> list[Row] | None:
    """Return the rows that the library has, which leaves out missing files; None where it raises or has none."""
    try:
        files = Distribution.at(folder).files
    except Exception:
        return None
    return files and [(str(one), one.hash and f"{one.hash.mode}={one.hash.value}", one.size) for one in files]


def comparable(row: RecordedFile) -> Row:
    mode, _, value = row.digest.partition("=")
    return str(PurePosixPath(row.path)), f"{mode}={value}" if row.digest else None, int(row.size) if row.size else None


@pytest.mark.skipif(os.name == "nt", reason="the names are those of a POSIX system")
@settings(deadline=None, max_examples=150)
@given(RECORDS)
def test_a_record_has_the_files_hashes_and_sizes_that_the_library_finds(site: Path, text: str) -> None:
    folder = site / "x-1.0.dist-info"
    (folder / "RECORD").write_bytes(text.encode())
    expected = library_record(folder)
    rows = read_record(str(folder))
    assert rows is not None
    if expected is not None:
        found = [comparable(row) for row in rows if (site / row.path).exists()]
        # A row without a path is the directory itself to the library, and nothing here.
        assert [row for row in found if row[0] != "."] == [row for row in expected if row[0] != "."]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        *((path, "pkg/b c.py") for path in ("./pkg/b c.py", "pkg//b c.py", "pkg/./b c.py", ".//pkg/b c.py")),
        *((path, "pkg/b c.py") for path in ("pkg/../pkg/b c.py", "absent/../pkg/b c.py", "../{site}/pkg/b c.py")),
        *(
            (path, "pkg/b c.py")
            for path in ("pkg\\b c.py", ".\\pkg\\b c.py", "{whole}/pkg/b c.py", "{whole}//./pkg/b c.py")
        ),
        ("./absent.py", "absent.py"),
        ("../../bin/./x", "../../bin/x"),
        ("pkg/../../out.py", "../out.py"),
        ("{whole}x/a.py", "{whole}x/a.py"),
        ("/etc//passwd", "/etc/passwd"),
        (".hidden/a.py", ".hidden/a.py"),
        ("..a.py", "..a.py"),
    ],
)
def test_a_path_of_a_record_is_read_in_its_shortest_form(site: Path, written: str, read: str) -> None:
    folder, names = site / "x-1.0.dist-info", {"site": site.name, "whole": site.as_posix()}
    (folder / "RECORD").write_text(f"{written.format(**names)},sha256=x,1\n")
    assert read_record(str(folder)) == [RecordedFile(read.format(**names), "sha256=x", "1")]


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=60) | st.text(alphabet='",\n\r\0ab=é\u2028', max_size=60).map(str.encode))
def test_no_bytes_of_a_record_raise(site: Path, raw: bytes) -> None:
    folder = site / "x-1.0.dist-info"
    (folder / "RECORD").write_bytes(raw)
    assert all(row.path for row in read_record(str(folder)) or ())


def test_a_field_beyond_the_limit_of_csv_is_read_as_it_is_written(site: Path) -> None:
    folder = site / "x-1.0.dist-info"
    (folder / "RECORD").write_text(f'a.py,sha256=x,1\n"{"a" * 200_000}",,\n')
    rows = read_record(str(folder))
    assert rows is not None
    assert rows[0] == RecordedFile("a.py", "sha256=x", "1")


def test_an_unquoted_comma_belongs_to_the_path(site: Path) -> None:
    folder = site / "x-1.0.dist-info"
    (folder / "RECORD").write_text('with,comma.py,sha256=x,1\n"a.py",,\n')
    assert read_record(str(folder)) == [RecordedFile("with,comma.py", "sha256=x", "1"), RecordedFile("a.py")]


@pytest.mark.parametrize("make", ["nothing", "folder", "link-to-itself", "egg"])
def test_a_record_that_cannot_be_read_is_none(tmp_path: Path, make: str) -> None:
    record = tmp_path / "RECORD"
    if make == "folder":
        record.mkdir()
    elif make == "link-to-itself":
        record.symlink_to(record)
    elif make == "egg":
        (tmp_path / "SOURCES.txt").write_text("setup.py\n")
    assert read_record(str(tmp_path)) is None


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes in folders")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    for name in ("RECORD", "direct_url.json", "METADATA", "entry_points.txt"):
        os.mkfifo(tmp_path / name)
    assert read_record(str(tmp_path)) == []
    assert read_origin(str(tmp_path)).install == "unknown"
    assert not open_distribution(str(tmp_path)).requires
    assert not open_distribution(str(tmp_path)).entry_points


URLS = st.sampled_from(["file:///src", "https://h.example/a.whl", "https://me:token@h.example/r.git", "", 3, None])
PARTS = st.fixed_dictionaries(
    {},
    optional={
        "url": URLS,
        "dir_info": st.sampled_from([{}, {"editable": True}, {"editable": False}, {"editable": "yes"}, 7]),
        "vcs_info": st.sampled_from([{"vcs": "git", "commit_id": "abc"}, {"vcs": "git"}, {"commit_id": 3}, []]),
        "archive_info": st.sampled_from([{}, {"hash": "sha256=x"}]),
    },
)


def library_origin(folder: Path) -> Origin:
    """Return the origin by the library's reading of `direct_url.json` and the words of PEP 610."""
    found: Any = Distribution.at(folder).origin
    if not isinstance(getattr(found, "url", None), str):
        return Origin("unknown")
    url = found.url.replace("me:token@", "")
    vcs, folder_info = getattr(found, "vcs_info", None), getattr(found, "dir_info", None)
    if hasattr(vcs, "__dict__"):
        commit = getattr(vcs, "commit_id", None)
        return Origin("vcs", url, commit if isinstance(commit, str) else None)
    if hasattr(folder_info, "__dict__"):
        return Origin("editable" if getattr(folder_info, "editable", None) is True else "directory", url)
    return Origin("archive" if hasattr(found, "archive_info") else "unknown", url)


@settings(deadline=None, max_examples=100)
@given(PARTS)
def test_the_origin_is_what_the_library_reads(site: Path, document: dict[str, Any]) -> None:
    folder = site / "x-1.0.dist-info"
    (folder / "direct_url.json").write_text(json.dumps(document))
    assert read_origin(str(folder)) == library_origin(folder)


HEADERS = st.sampled_from(
    [
        "Name: x",
        "Version: 1.0",
        "Requires-Dist: a>=1",
        'Requires-Dist: b; extra == "c"',
        "Requires-Dist: what",
        "Provides-Extra: c",
        "Description: one\n  two",
        "no colon",
        "",
        ": nameless",
        " folded",
        "Keywords: a,b",
        "Summary: ключ\u2028x",
        "License-File: LICENSE",
        "Metadata-Version: 9.9",
    ]
)
METADATA = st.lists(HEADERS, max_size=8).map("\n".join).map(str.encode) | st.binary(max_size=80)
POINTS = st.lists(
    st.sampled_from(
        ["[console_scripts]", "a = b:c", "[]", "= x", "[open = y", "# c", "", "x\x0b=y", "[strands_cli.tools]"]
    )
).map("\n".join)


@settings(deadline=None, max_examples=100)
@given(METADATA, POINTS)
def test_requirements_and_entry_points_are_those_of_the_library(site: Path, metadata: bytes, points: str) -> None:
    folder = site / "x-1.0.dist-info"
    (folder / "METADATA").write_bytes(metadata)
    (folder / "entry_points.txt").write_bytes(points.encode())
    ours, library = open_distribution(str(folder)), Distribution.at(folder)
    for found, ask in ((ours.entry_points, lambda: library.entry_points), (ours.requires, lambda: library.requires)):
        with suppress(UnicodeDecodeError, TypeError, FileNotFoundError, AttributeError):
            assert found == ask()


def test_a_line_without_an_equals_sign_costs_that_line_only(tmp_path: Path) -> None:
    (tmp_path / "entry_points.txt").write_bytes(b"[console_scripts]\nno sign \xff\nshout = a:b\n")
    assert [point.name for point in open_distribution(str(tmp_path)).entry_points] == ["shout"]


def test_missing_metadata_is_not_a_requirement(tmp_path: Path) -> None:
    assert not open_distribution(str(tmp_path / "absent.dist-info")).requires
    assert open_distribution(str(tmp_path / "absent.dist-info")).metadata.get("Name") is None


def test_no_more_than_the_limit_is_read(tmp_path: Path) -> None:
    with (tmp_path / "METADATA").open("wb") as file:
        file.write(b"Name: x\nRequires-Dist: a\n\n")
        file.truncate(1 << 33)  # 8 GB without a block on the disk
    assert open_distribution(str(tmp_path)).requires == ["a"]
    assert dist_info.MAX_METADATA_BYTES < 1 << 24


AFTER = """
import strands_cli
before = [(tool.name, tool.status) for tool in strands_cli.discover_catalog().tools]
import importlib_metadata
after = strands_cli.discover_catalog()
assert before and [(tool.name, tool.status) for tool in after.tools] == before
print([finding.code for finding in after.findings])
"""


def test_the_finder_that_the_library_installs_changes_no_catalog() -> None:
    done = subprocess.run([sys.executable, "-c", AFTER], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
