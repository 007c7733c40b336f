"""Names `DIST/NAME`: which file each means, and why some mean none."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli.catalog.packaged_files import (
    AMBIGUOUS_PACKAGED,
    BAD_PACKAGED,
    UNKNOWN_PACKAGED,
    PackagedFile,
    PackagedFolder,
    files_in,
    find_packaged,
    is_packaged_name,
    scan_packaged,
)
from strands_cli.errors import Finding
from tests.packaged import SKILL, TRIAGE, make_packaged, make_triage


def found(site: Path, name: str, kind: str = "workflow") -> PackagedFile:
    file = find_packaged(name, kind, [str(site)])  # type: ignore[arg-type]
    assert isinstance(file, PackagedFile), file
    return file


def not_found(site: Path, name: str, kind: str = "workflow") -> Finding:
    finding = find_packaged(name, kind, [str(site)])  # type: ignore[arg-type]
    assert isinstance(finding, Finding), finding
    return finding


def test_the_folders_of_a_distribution_are_found_without_an_import(tmp_path: Path) -> None:
    package = make_triage(tmp_path)
    folders, findings = scan_packaged([str(tmp_path)])
    assert not findings
    assert [(one.kind, one.name, one.folder) for one in folders] == [
        ("agent", "all", str(package / "agents")),
        ("skill", "all", str(package / "skills")),
        ("workflow", "triage", str(package / "flows")),
    ]
    assert {(one.distribution, one.version, one.package) for one in folders} == {
        ("strands-flow-your-triage", "1.0", "strands_flow_your_triage")
    }


@pytest.mark.parametrize(
    ("name", "kind", "file"),
    [
        ("strands-flow-your-triage/triage", "workflow", "flows/triage.yaml"),
        ("Strands_Flow.Your_Triage/triage", "workflow", "flows/triage.yaml"),
        ("strands-flow-your-triage/reader", "agent", "agents/reader.yaml"),
        ("strands-flow-your-triage/tone", "skill", "skills/tone"),
    ],
)
def test_a_name_means_one_file(tmp_path: Path, name: str, kind: str, file: str) -> None:
    package = make_triage(tmp_path)
    one = found(tmp_path, name, kind)
    assert one.path == str(package / file)
    assert one.ref == f"strands-flow-your-triage/{name.partition('/')[2]}"


def test_the_entry_point_names_the_general_file_of_its_folder(tmp_path: Path) -> None:
    files = {"one/workflow.yaml": TRIAGE, "two/workflow.yaml": TRIAGE, "sk/SKILL.md": SKILL}
    points = {"workflows": ["first = PACKAGE:one", "second = PACKAGE:two"], "skills": "tone = PACKAGE:sk"}
    package = make_packaged(tmp_path, files, points)
    assert found(tmp_path, "strands-flow-your-triage/second").path == str(package / "two/workflow.yaml")
    assert found(tmp_path, "strands-flow-your-triage/tone", "skill").path == str(package / "sk")
    assert [file.name for folder in scan_packaged([str(tmp_path)])[0] for file in files_in(folder)[0]] == [
        "tone",
        "first",
        "second",
    ]


@pytest.mark.parametrize(
    "value",
    [
        "PACKAGE:../other",
        "PACKAGE:/etc",
        "PACKAGE:flows/../../x",
        "PACKAGE:a\\b",
        "PACKAGE:missing",
        "PACKAGE:flows/triage.yaml",
        "PACKAGE",
        "PACKAGE:",
        "absent_package:flows",
        "PACKAGE:C:/x",
    ],
)
def test_a_folder_outside_of_the_package_is_a_finding(tmp_path: Path, value: str) -> None:
    (tmp_path / "other").mkdir()
    make_packaged(tmp_path, {"flows/triage.yaml": TRIAGE}, {"workflows": f"triage = {value}"})
    folders, findings = scan_packaged([str(tmp_path)])
    assert not folders
    assert [(finding.code, finding.where and finding.where.line) for finding in findings] == [(BAD_PACKAGED, 2)]
    assert not_found(tmp_path, "strands-flow-your-triage/triage").code == UNKNOWN_PACKAGED


def test_links_that_lead_out_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "stolen.yaml").write_text(TRIAGE)
    package = make_triage(tmp_path / "site")
    (package / "flows" / "stolen.yaml").symlink_to(outside / "stolen.yaml")
    (package / "linked").symlink_to(outside)
    (package / "skills" / "bad").symlink_to(outside)
    assert not_found(tmp_path / "site", "strands-flow-your-triage/stolen").code == UNKNOWN_PACKAGED
    folders, _ = scan_packaged([str(tmp_path / "site")])
    faults = [finding for folder in folders for finding in files_in(folder)[1]]
    assert [finding.code for finding in faults] == [BAD_PACKAGED, BAD_PACKAGED]

    make_packaged(tmp_path / "more", {}, {"workflows": "x = PACKAGE:linked"}, "strands-flow-link")
    (tmp_path / "more" / "strands_flow_link" / "linked").symlink_to(outside)
    folders, findings = scan_packaged([str(tmp_path / "more")])
    assert (folders, [finding.code for finding in findings]) == ((), [BAD_PACKAGED])


def test_two_files_of_one_name_are_a_finding_with_both(tmp_path: Path) -> None:
    files = {"one/triage.yaml": TRIAGE, "two/triage.yaml": TRIAGE}
    package = make_packaged(tmp_path, files, {"workflows": ["one = PACKAGE:one", "two = PACKAGE:two"]})
    finding = not_found(tmp_path, "strands-flow-your-triage/triage")
    assert finding.code == AMBIGUOUS_PACKAGED
    assert all(str(package / name) in finding.message for name in files)


def test_one_folder_under_two_names_is_not_ambiguous(tmp_path: Path) -> None:
    make_packaged(tmp_path, {"one/a.yaml": TRIAGE}, {"workflows": ["one = PACKAGE:one", "two = PACKAGE:one"]})
    assert found(tmp_path, "strands-flow-your-triage/a").name == "a"


@pytest.mark.parametrize(
    ("name", "kind", "fix"),
    [
        ("strands-flow-triag/triage", "workflow", "strands run strands-flow-your-triage/triage"),
        ("strands-flow-your-triage/triaeg", "workflow", "strands run strands-flow-your-triage/triage"),
        ("strands-flow-your-triage/reader", "workflow", "strands workflows agent run strands-flow-your-triage/reader"),
        ("strands-flow-your-triage/tine", "skill", "package:strands-flow-your-triage/tone"),
        ("strands-flow-your-triage/zzzz", "agent", "reader"),
    ],
)
def test_a_mistyped_name_gets_the_right_one(tmp_path: Path, name: str, kind: str, fix: str) -> None:
    make_triage(tmp_path)
    finding = not_found(tmp_path, name, kind)
    assert finding.code == UNKNOWN_PACKAGED
    assert fix in str(finding.fix)


def test_only_two_plain_words_with_a_slash_are_such_a_name() -> None:
    assert is_packaged_name("strands-flow-your-triage/triage")
    for path in ("triage", "./a/b", "a/b/c", "/a/b", "a/b.yaml", "a/", "/b", "a/..", "~/b", "a b/c", "a/b\n", "-", ""):
        assert not is_packaged_name(path), path


def test_a_folder_with_ten_thousand_files_is_cut_off_with_a_warning(tmp_path: Path) -> None:
    package = make_triage(tmp_path)
    for number in range(1_100):
        (package / "flows" / f"a{number}.yaml").touch()
    folder: PackagedFolder = next(one for one in scan_packaged([str(tmp_path)])[0] if one.kind == "workflow")
    files, findings = files_in(folder)
    assert len(files) <= 1_000
    assert [(finding.code, finding.severity) for finding in findings] == [(BAD_PACKAGED, "warning")]
    assert found(tmp_path, "strands-flow-your-triage/triage").name == "triage"


def test_an_undecodable_file_of_entry_points_is_a_finding_and_hides_no_other(tmp_path: Path) -> None:
    make_triage(tmp_path)
    make_packaged(tmp_path, {}, {"workflows": "x = PACKAGE:x"}, "strands-flow-bad")
    record = tmp_path / "strands_flow_bad-1.0.dist-info"
    (record / "entry_points.txt").write_bytes(b"[strands_cli.workflows]\nx = \xff:y\n")
    folders, findings = scan_packaged([str(tmp_path)])
    assert len(folders) == 3
    assert [finding.code for finding in findings] == ["bad-entry-points"]
