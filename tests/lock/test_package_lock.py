"""A lock of packages: the digest of each file, what their YAML files say, and the field that an upgrade has changed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from strands_cli.catalog.distributions.scan import scan_installed
from strands_cli.catalog.packaged_files import scan_packaged
from strands_cli.cli.program import run_program
from strands_cli.lock.compare import compare_distribution
from strands_cli.lock.lock_reader import Lock, LockedDistribution, read_lock
from strands_cli.lock.lock_writer import render_lock
from strands_cli.lock.package_documents import lock_package
from tests.lock.kit import write_record

EXAMPLES = Path(__file__).parents[2] / "examples" / "packages"

TRIAGE, MINUTES = "strands_flow_your_triage", "strands_flow_your_minutes"
FILE = f"{TRIAGE}/workflows/triage.yaml"
POINTS = {
    TRIAGE: "[strands_cli.workflows]\ntriage = {0}:workflows\n[strands_cli.agents]\nsorter = {0}:workflows\n",
    MINUTES: "[strands_cli.workflows]\nminutes = {0}:workflows\n[strands_cli.skills]\nminutes-style = {0}:workflows\n",
}


def install(site: Path, package: str, version: str = "0.1.0") -> Path:
    """Install one of the example packages as an installer does; return its folder of workflows."""
    name = package.replace("_", "-")
    for old in site.glob(f"{package}*"):
        shutil.rmtree(old)
    shutil.copytree(EXAMPLES / name / "src" / package, site / package, ignore=shutil.ignore_patterns("__pycache__"))
    home = site / f"{package}-{version}.dist-info"
    home.mkdir()
    (home / "METADATA").write_text(f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    (home / "entry_points.txt").write_text(POINTS[package].format(package), encoding="utf-8")
    write_record(home, site / package)
    return site / package / "workflows"


def record(site: Path, package: str) -> None:
    """Write the RECORD again, as a wheel with the present files would have it."""
    (home,) = site.glob(f"{package}-*.dist-info")
    write_record(home, site / package)


def locked(site: Path, known: LockedDistribution | None = None, package: str = TRIAGE) -> LockedDistribution:
    name = package.replace("_", "-")
    folders = [one for one in scan_packaged([str(site)])[0] if one.distribution == name]
    return lock_package(name, folders, scan_installed([str(site)]), (), known)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "site").mkdir()
    install(tmp_path / "site", TRIAGE)
    return tmp_path / "site"


def edit(site: Path, old: str, new: str, name: str = FILE) -> None:
    text = (site / name).read_text(encoding="utf-8")
    assert old in text
    (site / name).write_text(text.replace(old, new, 1), encoding="utf-8")


def test_every_file_has_its_digest_and_what_the_yaml_files_say_is_there(site: Path) -> None:
    found = locked(site)
    data = {name for name in found.files if name.startswith(f"{TRIAGE}/workflows/")}
    assert data == {f"{TRIAGE}/workflows/{name}.yaml" for name in ("triage", "triage.recording", "sorter")}
    assert set(found.documents) == {FILE, f"{TRIAGE}/workflows/sorter.yaml"}, (
        "a recording is locked by its digest alone"
    )
    assert found.documents[FILE].fields["agents"]["sorter"] == {"$ref": "sorter.yaml"}
    assert (found.version, found.tools) == ("0.1.0", {})


def test_it_is_written_and_read_back(site: Path, tmp_path: Path) -> None:
    lock = Lock({"strands-flow-your-triage": locked(site)})
    file = tmp_path / "strands.lock"
    file.write_text(render_lock(lock), encoding="utf-8")
    assert read_lock(file) == lock


def test_an_upgrade_names_the_file_the_field_and_both_values(site: Path) -> None:
    old = locked(site)
    install(site, TRIAGE, "0.2.0")
    edit(site, "in two sentences", "in three sentences")
    edit(site, "$ref: sorter.yaml", "$ref: sorter.yaml, prompt: Sort it")
    record(site, TRIAGE)
    found = compare_distribution(old, locked(site, old), whole=True)
    fields = {(one.file, one.field): (one.old, one.new) for one in found}
    assert fields[None, "version"] == ("0.1.0", "0.2.0")
    assert fields[FILE, "/agents/sorter/prompt"] == (None, "Sort it")
    old_prompt, new_prompt = fields[FILE, "/agents/writer/prompt"]
    assert ("two sentences" in old_prompt, "three sentences" in new_prompt) == (True, True)
    (files,) = [one for one in found if one.field == "files"]
    assert FILE in files.message
    assert [one.as_dict()["file"] for one in found if one.file] == [FILE, FILE]


@pytest.mark.parametrize("change", ["recording", "skill", "comment"])
def test_what_has_no_fields_is_named_as_a_file(site: Path, change: str) -> None:
    install(site, MINUTES)
    name = {
        "recording": f"{MINUTES}/workflows/minutes.recording.yaml",
        "skill": f"{MINUTES}/workflows/minutes-style/SKILL.md",
        "comment": f"{MINUTES}/workflows/minutes.yaml",
    }[change]
    old = locked(site, package=MINUTES)
    (site / name).write_bytes((site / name).read_bytes() + b"\n# one line more\n")
    record(site, MINUTES)
    (found,) = compare_distribution(old, locked(site, old, MINUTES), whole=True)
    assert (found.field, name in found.message) == ("files", True)


def test_one_changed_byte_behind_the_back_of_the_installer_is_a_difference(site: Path) -> None:
    old = locked(site)
    edit(site, "in two sentences", "in 22 sentences")
    found = compare_distribution(old, locked(site, old), whole=True)
    assert {one.field for one in found} == {"files", "/agents/writer/prompt"}


@pytest.mark.parametrize(
    ("line", "is_shown"),
    [
        ("password: hunter2-hunter2", False),
        (f"note: use {'sk-proj-' + 'a1B2c3D4' * 4} here", False),
        ("authorization: Bearer abcdef123456", False),
        ("key: BEES_KEY", True),
        ("token: ${secrets.BEES}", True),
    ],
)
def test_what_may_be_a_secret_is_not_stored(site: Path, line: str, is_shown: bool) -> None:
    (site / FILE).write_text(f"pattern: {{}}\nagents: {{}}\nmore:\n  {line}\n", encoding="utf-8")
    text = render_lock(Lock({"strands-flow-your-triage": locked(site)}))
    value = line.partition(": ")[2]
    assert (value in text) is is_shown
    assert ("may be a credential" in text) is not is_shown


def test_a_long_text_is_stored_by_its_start_and_digest(site: Path) -> None:
    edit(site, "two sentences", "two sentences " + "very " * 1000 + "short")
    old = locked(site)
    assert len(json.dumps(old.documents[FILE].fields)) < 4000
    edit(site, "very short", "very long")
    (found,) = [one for one in compare_distribution(old, locked(site, old), whole=True) if one.file]
    assert found.field == "/agents/writer/prompt"
    assert found.old != found.new


@pytest.mark.parametrize("content", [b"\xff\xfe", b"a: [1", b"- 1\n- 2\n", b"x: " + b"y" * 300_000, b"a: &a [*a]"])
def test_a_file_that_cannot_be_shown_is_locked_by_its_digest(site: Path, content: bytes) -> None:
    (site / FILE).write_bytes(content)
    found = locked(site)
    assert FILE in found.files
    assert FILE not in found.documents


def test_with_equal_files_the_documents_of_the_lock_are_taken_over(site: Path) -> None:
    old = locked(site)
    earlier = old._replace(documents={})
    assert locked(site, earlier) == earlier, "whatever wrote it"


def test_many_changed_values_are_summed_up(site: Path) -> None:
    many: dict[str, Any] = {f"name{number}": number for number in range(100)}
    (site / FILE).write_text(json.dumps({"more": many}), encoding="utf-8")
    old = locked(site)
    (site / FILE).write_text(json.dumps({"more": dict.fromkeys(many, -1)}), encoding="utf-8")
    found = [one for one in compare_distribution(old, locked(site, old), whole=True) if one.file]
    assert len(found) == 41
    assert "60 more" in found[-1].message


def test_a_packaged_workflow_is_locked_in_the_folder_where_it_is_run(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def strands(*words: str, code: int = 0) -> str:
        assert run_program(list(words)) == code, capsys.readouterr()
        printed = capsys.readouterr()
        return printed.out + printed.err

    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.syspath_prepend(str(site))
    name = "strands-flow-your-triage/triage"
    assert "1 distribution, 1 workflow" in strands("lock", name)
    assert "nothing differs" in strands("lock", "--check")
    assert "up to date" in strands("lock"), "the lock itself says that it is run here"
    strands("plan", name)

    install(site, TRIAGE, "0.2.0")
    edit(site, "in two sentences", "in three sentences")
    record(site, TRIAGE)
    refused = strands("plan", name, code=21)
    assert "0.2.0" in refused
    assert f"{FILE} of strands-flow-your-triage: /agents/writer/prompt was" in refused
    differences = json.loads(strands("lock", "--check", "--json", code=21).partition("\n")[0])["differences"]
    assert [one["field"] for one in differences if one["file"] == FILE] == ["/agents/writer/prompt"]
    strands("lock", "--update", "strands-flow-your-triage")
    strands("plan", name)

    install(site, MINUTES)
    other = "strands-flow-your-minutes/minutes"
    fix = strands("plan", other, code=21).partition("strands lock ")[2].split("\n")[0]
    assert fix.split() == [other, "--update", "strands-flow-your-minutes"]
    strands("lock", *fix.split())
    strands("plan", other)
    assert "nothing differs" in strands("lock", "--check")


def test_the_package_of_an_agent_that_is_named_is_locked(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(site))
    step = "{agent: sorter, input: Where is my honey?}"
    text = (
        "version: 2\nname: use\nruntime: {provider: replay, recording: use.recording.yaml}\n"
        "agents: {sorter: {$ref: package:strands-flow-your-triage/sorter}}\n"
        f"pattern: {{type: chain, config: {{steps: [{step}]}}}}\n"
    )
    (tmp_path / "use.yaml").write_text(text, encoding="utf-8")
    turns = 'recording: 1\nsteps: {steps.0: [{text: \'{"topic": "order", "urgency": 2}\'}]}\n'
    (tmp_path / "use.recording.yaml").write_text(turns, encoding="utf-8")
    assert run_program(["lock"]) == 0
    assert run_program(["plan", "use.yaml"]) == 0
    edit(site, "maximum: 5", "maximum: 9", f"{TRIAGE}/workflows/sorter.yaml")
    capsys.readouterr()
    assert run_program(["plan", "use.yaml"]) == 21
    assert "/output_schema/properties/urgency/maximum was 5, is 9" in capsys.readouterr().err
