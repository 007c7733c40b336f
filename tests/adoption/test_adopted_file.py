"""The adoption file: what is written is read again, and what others wrote is checked."""

from __future__ import annotations

import json
import os
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from strands_cli.catalog.adopted.adopted_file import (
    MAX_BYTES,
    AdoptedDistribution,
    AdoptedFile,
    AdoptedTool,
)
from strands_cli.catalog.manifest import MAX_DEPTH
from strands_cli.config import read_settings

DIGEST = f"sha256:{'0' * 64}"
DEFINITION = {
    "kind": "function",
    "description": "Say hello.",
    "input_schema": {"type": "object", "properties": {"name": {"type": "string"}}},
    "output_schema": None,
    "annotations": {"readOnlyHint": True},
    "strands_cli": {"capabilities": {"network": True}},
}
FILE = AdoptedFile(
    {
        "acme-tools": AdoptedDistribution(
            "acme-tools",
            "1.0",
            "2026-11-23",
            files={"acme/hello.py": DIGEST},
            tools={"greet": AdoptedTool("greet", "acme.hello:hello", "Say-Hello", DEFINITION)},
        )
    }
)


def written(tmp_path: Path, document: Any) -> Path:
    path = tmp_path / "strands-adopted.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
    return path


def changed(pointer: str, value: Any) -> dict[str, Any]:
    """The document of FILE with one value; `...` removes it."""
    document = deepcopy(FILE.as_dict())
    *parents, last = [part.replace("~1", "/") for part in pointer.split("/")[1:]]
    node: Any = document
    for part in parents:
        node = node[part]
    if value is ...:
        del node[last]
    else:
        node[last] = value
    return document


def test_what_is_written_is_read_again_and_equal_content_has_equal_bytes(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "strands-adopted.json"
    FILE.write(path)
    first = path.read_bytes()
    found, findings = AdoptedFile.read(path)
    assert (found, findings) == (FILE, [])
    found.write(path)
    assert path.read_bytes() == first
    assert first.endswith(b"}\n")
    assert list(json.loads(first)) == ["distributions", "version"]


def test_without_a_file_nothing_is_adopted(tmp_path: Path) -> None:
    assert AdoptedFile.read(tmp_path / "absent.json") == (AdoptedFile(), [])
    assert AdoptedFile.read(tmp_path / "absent" / "strands-adopted.json") == (AdoptedFile(), [])


def test_the_users_file_is_beside_the_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "APPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    path, settings = AdoptedFile.path(), read_settings()
    assert path is not None
    assert settings.user_policy is not None
    assert path == settings.user_policy.with_name("strands-adopted.json")


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_linked_file_stays_a_link(tmp_path: Path) -> None:
    target = written(tmp_path, FILE.as_dict())
    link = tmp_path / "linked.json"
    link.symlink_to(target)
    AdoptedFile().write(link)
    assert link.is_symlink()
    assert AdoptedFile.read(target) == (AdoptedFile(), [])


UNREADABLE = {
    "empty": "",
    "not-json": "adopted: yes",
    "byte-order-mark": "\ufeff{}",
    "nan": '{"version": NaN}',
    "array": "[]",
    "text": '"x"',
    "no-version": '{"distributions": {}}',
    "version-true": '{"version": true, "distributions": {}}',
    "version-0": '{"version": 0, "distributions": {}}',
    "no-distributions": '{"version": 1}',
    "repeated-key": '{"version": 1, "distributions": {"a": {}, "a": {}}}',
    "surrogate": '{"version": 1, "distributions": {"\\ud800": {}}}',
    "deep": '{"version": 1, "distributions": ' + "[" * (MAX_DEPTH + 5) + "]" * (MAX_DEPTH + 5) + "}",
    "very-deep": "[" * 200_000,
}


@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_cannot_be_read_adopts_nothing(text: str, tmp_path: Path) -> None:
    found, findings = AdoptedFile.read(written(tmp_path, text))
    assert found == AdoptedFile()
    assert {(finding.code, finding.severity) for finding in findings} == {("bad-adopted-file", "error")}


def test_a_file_of_a_later_version_says_what_to_upgrade(tmp_path: Path) -> None:
    found, [finding] = AdoptedFile.read(written(tmp_path, {"version": 2, "distributions": {}}))
    assert (found, finding.code, finding.fix) == (AdoptedFile(), "adopted-version", "upgrade strands-cli")


def test_a_file_that_is_too_large_is_not_parsed(tmp_path: Path) -> None:
    path = tmp_path / "strands-adopted.json"
    with path.open("wb") as stream:
        stream.truncate(100 * 1024 * 1024)
    found, [finding] = AdoptedFile.read(path)
    assert (found, finding.code) == (AdoptedFile(), "bad-adopted-file")
    assert f"{MAX_BYTES:,}" in finding.message


def test_a_folder_in_its_place_is_a_finding(tmp_path: Path) -> None:
    found, [finding] = AdoptedFile.read(tmp_path)
    assert (found, finding.code) == (AdoptedFile(), "bad-adopted-file")


DIST = "/distributions/acme-tools"
TOOL = f"{DIST}/tools/greet"
WRONG = {
    "distribution-list": (DIST, []),
    "day": (f"{DIST}/adopted", "yesterday"),
    "no-day": (f"{DIST}/adopted", ...),
    "no-files": (f"{DIST}/files", ...),
    "version-number": (f"{DIST}/version", 1),
    "version-lines": (f"{DIST}/version", "1\n0"),
    "imported-text": (f"{DIST}/imported", "no"),
    "digest": (f"{DIST}/files/acme~1hello.py", "sha256:0"),
    "digest-null": (f"{DIST}/files/acme~1hello.py", None),
    "path-up": (f"{DIST}/files/..~1..~1etc~1passwd", DIGEST),
    "path-up-inside": (f"{DIST}/files/acme~1..~1..~1secret.py", DIGEST),
    "path-absolute": (f"{DIST}/files/~1etc~1passwd", DIGEST),
    "path-drive": (f"{DIST}/files/C:~1windows", DIGEST),
    "path-backslash": (f"{DIST}/files/acme\\..\\x", DIGEST),
    "path-nul": (f"{DIST}/files/acme\0.py", DIGEST),
    "tool-list": (TOOL, []),
    "tool-name": (f"{DIST}/tools/Say-Hello", FILE.as_dict()["distributions"]["acme-tools"]["tools"]["greet"]),
    "entry-absent": (f"{TOOL}/entry", ...),
    "entry-code": (f"{TOOL}/entry", "os; system('x')"),
    "entry-path": (f"{TOOL}/entry", "../evil:tool"),
    "entry-escape": (f"{TOOL}/entry", "acme:\x1b[2J"),
    "called-lines": (f"{TOOL}/called", "a\nb"),
    "definition-list": (f"{TOOL}/definition", []),
    "no-kind": (f"{TOOL}/definition/kind", ...),
    "kind": (f"{TOOL}/definition/kind", "magic"),
    "schema-list": (f"{TOOL}/definition/input_schema", []),
    "schema-array": (f"{TOOL}/definition/input_schema", {"type": "array"}),
    "hint-text": (f"{TOOL}/definition/annotations", {"readOnlyHint": "yes"}),
    "name-inside": (f"{TOOL}/definition/name", "other"),
    "members-list": (f"{TOOL}/definition/members", []),
    "member-kind": (f"{TOOL}/definition/members", {"a": {}}),
}


@pytest.mark.parametrize(("pointer", "value"), WRONG.values(), ids=WRONG)
def test_a_fault_leaves_out_its_distribution_and_no_other(pointer: str, value: Any, tmp_path: Path) -> None:
    document = changed(pointer, value)
    sound = FILE.as_dict()["distributions"]["acme-tools"]
    document["distributions"]["other-tools"] = sound
    found, findings = AdoptedFile.read(written(tmp_path, document))
    assert list(found.distributions) == ["other-tools"]
    assert "error" in {finding.severity for finding in findings}
    assert all(finding.where is not None and finding.where.pointer.startswith(DIST) for finding in findings)


def test_a_distribution_has_its_normalised_name(tmp_path: Path) -> None:
    document = {"version": 1, "distributions": {"Acme.Tools": FILE.as_dict()["distributions"]["acme-tools"]}}
    found, [finding] = AdoptedFile.read(written(tmp_path, document))
    assert (found, finding.code) == (AdoptedFile(), "bad-adopted-file")


def test_an_unknown_field_is_a_warning_and_the_rest_is_used(tmp_path: Path) -> None:
    found, [finding] = AdoptedFile.read(written(tmp_path, changed(f"{TOOL}/entri", "x")))
    assert list(found.distributions) == ["acme-tools"]
    assert (finding.code, finding.severity, finding.where and finding.where.pointer) == (
        "adopted-field",
        "warning",
        f"{TOOL}/entri",
    )


def test_more_tools_than_are_read_are_refused_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("strands_cli.catalog.adopted.adopted_file.MAX_TOOLS", 0)
    found, [finding] = AdoptedFile.read(written(tmp_path, FILE.as_dict()))
    assert (found, finding.code) == (AdoptedFile(), "bad-adopted-file")
