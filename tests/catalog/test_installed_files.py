"""Damaged and hostile installations are compared without a crash: each difference is a finding with a code."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.plugins.verify import verify_distribution
from tests.distributions import make_distribution
from tests.lock.kit import install, lock_site

NAME = "strands-tool-shout"
FOLDER = "strands_tool_shout-1.0.dist-info"
CODES = {"file-changed", "file-missing", "file-added", "not-recorded"}
HOSTILE = [
    b"/etc/passwd,sha256=x,1",
    b"../../../../../../etc/passwd,,",
    b"nul\0byte.py,,",
    b"\xff\xfe.py,,",
    b"strands_tool_shout/shout.py,sha512=x,-1",
    b"strands_tool_shout/shout.py,sha256=\xff,many",
    b"strands_tool_shout,,",
    b"strands_tool_shout/shout.py/below,,",
    b"a,b,c,d,e,f",
    b'"never closed,,',
    b"/dev/zero,sha256=x,1",
    b"x" * 5000 + b",,",
    b",,",
    b"",
]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(HOSTILE) | st.binary(max_size=20), max_size=6).map(b"\n".join))
def test_no_record_makes_verify_or_lock_raise(tmp_path_factory: pytest.TempPathFactory, record: bytes) -> None:
    site = tmp_path_factory.mktemp("site")
    install(site, "shout")
    (site / FOLDER / "RECORD").write_bytes(record)
    done = verify_distribution(NAME, discover_catalog([str(site)]))
    assert {finding.code for finding in done.findings} <= CODES
    # RECORD lists none of them truly, so every module shows as added or changed, and the lock has each.
    assert not done.ok
    assert "strands_tool_shout/shout.py" in lock_site(site).distributions[NAME].files


@pytest.mark.skipif(sys.platform == "win32", reason="needs links and named pipes")
def test_links_and_pipes_in_the_place_of_files_are_changed_files(tmp_path: Path) -> None:
    package = install(tmp_path, "shout")
    (package / "shout.py").unlink()
    os.mkfifo(package / "shout.py")
    (package / "__init__.py").unlink()
    (package / "__init__.py").symlink_to("/dev/zero")
    catalog = discover_catalog([str(tmp_path)])
    found = {(one.code, Path(one.where.file).name) for one in verify_distribution(NAME, catalog).findings if one.where}
    assert {("file-changed", "shout.py"), ("file-changed", "__init__.py")} <= found


def test_a_namespace_portion_of_another_distribution_is_not_added(tmp_path: Path) -> None:
    source = 'TOOL_SPEC = {"name": "shout"}\n'
    folder = make_distribution(tmp_path, NAME, "1.0", {"shout": "shared.shout"}, {"shared/shout/__init__.py": source})
    (folder / "RECORD").write_text(
        "shared/shout/__init__.py,,\n" + "".join(f"{folder.name}/{path.name},,\n" for path in sorted(folder.iterdir()))
    )
    (tmp_path / "shared" / "other").mkdir()
    (tmp_path / "shared" / "other" / "__init__.py").write_text("")
    done = verify_distribution(NAME, discover_catalog([str(tmp_path)]))
    assert [finding.code for finding in done.findings] == []


def test_a_hash_of_512_bits_is_compared_too(tmp_path: Path) -> None:
    import base64
    import hashlib

    install(tmp_path, "shout")
    code = tmp_path / "strands_tool_shout" / "shout.py"
    digest = base64.urlsafe_b64encode(hashlib.sha512(code.read_bytes()).digest()).decode().rstrip("=")
    record = tmp_path / FOLDER / "RECORD"
    lines = [line for line in record.read_text().splitlines() if "/shout.py" not in line]
    record.write_text("\n".join([*lines, f"strands_tool_shout/shout.py,sha512={digest},"]) + "\n")
    assert verify_distribution(NAME, discover_catalog([str(tmp_path)])).ok
    code.write_text("changed = True\n")
    assert not verify_distribution(NAME, discover_catalog([str(tmp_path)])).ok
