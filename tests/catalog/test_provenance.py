from __future__ import annotations

import json
import os
import site
from pathlib import Path
from typing import Any

import pytest

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.catalog.publisher_records import Provenance, find_provenance
from tests.distributions import exits_on_import, sound, without_manifest


def provenance(*directories: Path, name: str = "foo") -> Provenance:
    found = discover_catalog([str(directory) for directory in directories])
    (record,) = [record for record in found.tools if record.name == name]
    return find_provenance(record, found)


@pytest.mark.parametrize(
    ("direct_url", "expected"),
    [
        (None, ("wheel", None, None)),
        ({"url": "file:///src", "dir_info": {"editable": True}}, ("editable", "file:///src", None)),
        ({"url": "file:///src", "dir_info": {}}, ("directory", "file:///src", None)),
        ({"url": "https://h.example/a.whl", "archive_info": {}}, ("archive", "https://h.example/a.whl", None)),
        (
            {"url": "https://me:token@h.example/r.git", "vcs_info": {"vcs": "git", "commit_id": "abc123"}},
            ("vcs", "https://h.example/r.git", "abc123"),
        ),
        ({"url": 3}, ("unknown", None, None)),
        ({}, ("unknown", None, None)),
        ([], ("unknown", None, None)),
    ],
)
def test_direct_url_tells_how_it_was_installed(
    tmp_path: Path, direct_url: Any, expected: tuple[str, str | None, str | None]
) -> None:
    record = sound(tmp_path, "foo")
    (record / "INSTALLER").write_text("pip\n")
    if direct_url is not None:
        (record / "direct_url.json").write_text(json.dumps(direct_url))
    found = provenance(tmp_path)
    assert (found.install, found.url, found.commit) == expected
    assert found.installer == "pip"


def test_a_damaged_direct_url_is_unknown(tmp_path: Path) -> None:
    (sound(tmp_path, "foo") / "direct_url.json").write_bytes(b"\xff{" + b"[" * 50_000)
    assert provenance(tmp_path).install == "unknown"


def test_the_place_is_named_by_what_makes_it_importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    places = {}
    for word in ("site", "user-site", "PYTHONPATH", "path"):
        sound(tmp_path / word, "foo")
    monkeypatch.setattr(site, "getusersitepackages", lambda: str(tmp_path / "user-site"))
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(tmp_path / "site")])
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(["", str(tmp_path / "PYTHONPATH"), str(tmp_path / "site")]))
    for word in ("site", "user-site", "PYTHONPATH", "path"):
        places[word] = provenance(tmp_path / word).place
    assert places == {word: word for word in places}


def test_the_definition_is_found_without_importing(tmp_path: Path) -> None:
    exits_on_import(tmp_path, "foo")
    found = provenance(tmp_path)
    assert (found.file, found.line) == (str(tmp_path / "strands_tool_foo" / "foo.py"), 4)


def test_the_definition_of_a_member_is_its_method(tmp_path: Path) -> None:
    without_manifest(tmp_path, "db", "class Db:\n    @tool\n    def query(self): 'Q.'\n", "Db")
    found = discover_catalog([str(tmp_path)])
    member = found.get("db.query")
    assert member is not None
    assert find_provenance(member, found).line == 3


def test_copies_further_down_the_path_are_shadowed(tmp_path: Path) -> None:
    sound(tmp_path / "a", "foo", "1.0")
    copy = sound(tmp_path / "b", "foo", "2.0")
    assert provenance(tmp_path / "a", tmp_path / "b").shadowed == (str(copy),)
