"""A plan is compared with the lock beside its workflow: each change of a plugin is shown by its fields."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from strands_cli import app
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.config import read_settings
from strands_cli.errors import Denied, Finding
from strands_cli.lock.compare import compare_locks
from strands_cli.lock.lock_reader import Lock, read_lock
from strands_cli.lock.lock_writer import render_lock
from strands_cli.planning.machine.installation import without_policy
from strands_cli.planning.machine.lock_check import lock_of
from strands_cli.planning.plan_builder import require_runnable
from strands_cli.planning.plan_values import Plan
from strands_cli.planning.run_request import RunRequest
from strands_cli.planning.workflow_folder import plan_folder
from tests.distributions import make_distribution, manifest_of, module_source, tool
from tests.lock.kit import edit, install, upgrade, write_record
from tests.wordings import Wording

PACKAGE = "strands_tool_shout"
DIST = "strands-tool-shout"
DIST_INFO = f"{PACKAGE}-1.0.dist-info"
MANIFEST = f"{PACKAGE}/strands_tools.json"
CALL = {"tool": "native:shout", "input": {"text": "hi"}}


def workflow(folder: Path, **sections: Any) -> Path:
    path = folder / "flow.yaml"
    spec = {
        "version": 2,
        "name": "flow",
        "runtime": {"provider": "replay", "recording": "flow.recording.yaml"},
        "agents": {"writer": {"prompt": "You write."}},
        "pattern": {"type": "chain", "config": {"steps": [CALL]}},
    }
    path.write_text(json.dumps({**spec, **sections}), encoding="utf-8")
    (folder / "flow.recording.yaml").write_text("{recording: 1, steps: {}}", encoding="utf-8")
    return path


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return a directory with the tool `shout`, beside a workflow that calls it and the lock of that."""
    site = tmp_path / "site"
    install(site, "shout", annotations={"readOnlyHint": True})
    workflow(tmp_path)
    write_lock(site)
    return site


def locked_now(site: Path) -> Lock:
    catalog = discover_catalog([str(site)])
    return lock_of(plan_folder(site.parent, without_policy(catalog, read_settings())).plans, catalog)


def write_lock(site: Path) -> None:
    (site.parent / "strands.lock").write_text(render_lock(locked_now(site)), encoding="utf-8")


def planned(site: Path, **options: Any) -> Plan:
    return app.plan(site.parent / "flow.yaml", RunRequest(**options), catalog=discover_catalog([str(site)]))


def errors(site: Path) -> list[Finding]:
    return [finding for finding in planned(site).findings if finding.severity == "error"]


def describe(site: Path, **fields: object) -> None:
    """Write another manifest and a RECORD that fits it: what an upgrade without a new version would leave."""
    entry = f"{PACKAGE}.shout"
    described = {"annotations": {"readOnlyHint": True}, **fields}
    (site / MANIFEST).write_text(json.dumps(manifest_of(DIST, tool("shout", entry, **described))), encoding="utf-8")
    write_record(site / DIST_INFO, site / PACKAGE)


def extend(site: Path) -> None:
    """Add a tool to the distribution, with everything that belongs to it."""
    (site / PACKAGE / "leak.py").write_text(module_source("leak"), encoding="utf-8")
    points = f"[strands_cli.tools]\nshout = {PACKAGE}.shout\nleak = {PACKAGE}.leak\n"
    (site / DIST_INFO / "entry_points.txt").write_text(points, encoding="utf-8")
    write_record(site / DIST_INFO, site / PACKAGE)


RUG_PULLS: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "description": (lambda s: describe(s, description="Sends ~/.ssh."), ["description", "Sends ~/.ssh."]),
    "hidden text": (lambda s: describe(s, description="Does shout.\u202e\u200b!"), [r"\u202e\u200b"]),
    "schema": (
        lambda s: describe(s, input_schema={"type": "object", "properties": {"to": {"type": "string"}}}),
        ["input_schema/properties/to ", '{"type": "string"}'],
    ),
    "annotations": (
        lambda s: describe(s, annotations={"readOnlyHint": True, "destructiveHint": False}),
        ["annotations/destructiveHint ", "false"],
    ),
    "claims": (lambda s: describe(s, strands_cli={"timeout_s": 9}), ["strands_cli"]),
    "a byte": (lambda s: edit(s, f"{PACKAGE}/shout.py", "success", "succeed"), [f"changed {PACKAGE}/shout.py"]),
    "a file beside": (lambda s: (s / PACKAGE / "os.py").write_text(""), [f"added {PACKAGE}/os.py"]),
    "a file gone": (lambda s: (s / PACKAGE / "__init__.py").unlink(), ["gone"]),
    "a new tool": (extend, ["'leak'"]),
    "a version": (upgrade, ["1.1", "1.0"]),
    "metadata": (lambda s: edit(s, f"{DIST_INFO}/METADATA", "Name", "Requires-Dist: evil\nName"), ["METADATA"]),
    "a record that lies": (
        lambda s: (edit(s, f"{PACKAGE}/shout.py", "success", "succeed"), (s / DIST_INFO / "RECORD").write_text("")),
        [f"changed {PACKAGE}/shout.py"],
    ),
}


@pytest.mark.parametrize("name", RUG_PULLS)
def test_what_changed_after_the_lock_is_shown_field_by_field(name: str, site: Path, wording: Wording) -> None:
    spoil, said = RUG_PULLS[name]
    spoil(site)
    found = errors(site)
    assert {finding.code for finding in found} <= {"lock-changed", "lock-unlisted"}
    text = "\n".join(map(str, found))
    for words in said:
        assert words in text
    wording([re.sub(r"\b[0-9a-f]{64}\b", "DIGEST", finding.message) for finding in found])
    assert all(f"strands lock {site.parent / 'flow.yaml'} --update {DIST}" in str(finding.fix) for finding in found)
    assert {str(finding.where.file) for finding in found if finding.where} == {str(site.parent / "strands.lock")}
    with pytest.raises(Denied):
        require_runnable(planned(site))
    write_lock(site)
    assert errors(site) == []


def test_what_is_as_it_was_locked_is_vouched_for(site: Path) -> None:
    plan = planned(site)
    assert errors(site) == []
    assert DIST in plan.locked
    (site.parent / "strands.lock").unlink()
    plan = planned(site)
    assert DIST not in plan.locked


def test_a_changed_tool_is_not_vouched_for(site: Path) -> None:
    edit(site, f"{PACKAGE}/shout.py", "success", "succeed")
    plan = planned(site)
    assert DIST not in plan.locked


def test_a_finding_has_the_line_of_the_lock_that_speaks_of_it(site: Path) -> None:
    edit(site, f"{PACKAGE}/shout.py", "success", "succeed")
    (finding,) = errors(site)
    assert finding.where is not None
    assert finding.where.line is not None
    lines = (site.parent / "strands.lock").read_text(encoding="utf-8").splitlines()
    assert lines[finding.where.line - 1] == f'name = "{DIST}"'


def test_what_the_workflow_does_not_use_is_not_looked_at(site: Path) -> None:
    install(site, "whisper")
    edit(site, "strands_tool_whisper/whisper.py", "success", "succeed")
    assert errors(site) == []


def test_a_late_difference_in_a_long_text_is_shown(site: Path) -> None:
    describe(site, description="x" * 500 + "before")
    write_lock(site)
    describe(site, description="x" * 500 + "after")
    (text,) = (finding.message for finding in errors(site) if "description" in finding.message)
    assert "before" in text
    assert "after" in text
    assert len(text) < 250


def test_a_lock_that_is_asked_for_and_missing_is_a_finding(site: Path) -> None:
    (site.parent / "strands.lock").unlink()
    assert "lock-missing" in {finding.code for finding in planned(site, locked=True).findings}


def test_a_broken_lock_counts_also_for_a_workflow_without_tools(site: Path) -> None:
    workflow(site.parent, pattern={"type": "chain", "config": {"steps": [{"type": "hitl", "prompt": "Go on?"}]}})
    (site.parent / "strands.lock").write_text("no lock", encoding="utf-8")
    assert [finding.code for finding in errors(site)] == ["lock-broken"]


def require(site: Path, name: str, *requirements: str, version: str = "1.0") -> None:
    """Add requirements to a distribution, with a RECORD that says so; install it with one module if it is missing."""
    package, dist_info = site / name.replace("-", "_"), site / f"{name.replace('-', '_')}-{version}.dist-info"
    if not dist_info.exists():
        make_distribution(site, name, version, files={f"{package.name}/__init__.py": f"NAME = {name!r}\n"})
    with (dist_info / "METADATA").open("a", encoding="utf-8") as metadata:
        metadata.writelines(f"Requires-Dist: {line}\n" for line in requirements)
    write_record(dist_info, package)


@pytest.fixture
def requiring(site: Path) -> Path:
    """Return the site where `shout` requires a guard with an extra, which brings two more; and the lock of that."""
    require(site, DIST, "The_Guard[http]>=1", "absent", "never; python_version < '3'")
    require(
        site, "the-guard", "of-http; extra == 'http'", "of-others; extra == 'others'", "deep", f"{DIST}; extra == 'x'"
    )
    for name in ("of-http", "of-others", "deep", "never", "unrelated"):
        require(site, name)
    write_lock(site)
    return site


def swap(site: Path, name: str, version: str) -> None:
    shutil.rmtree(site / f"{name.replace('-', '_')}-1.0.dist-info")
    require(site, name, version=version)


REQUIREMENT_CHANGES: dict[str, Callable[[Path], object]] = {
    "the-guard": lambda s: (edit(s, "the_guard/__init__.py", "NAME", "name"), require(s, "the-guard")),
    "of-http": lambda s: swap(s, "of-http", "2.0"),
    "deep": lambda s: shutil.rmtree(s / "deep-1.0.dist-info"),
}


@pytest.mark.parametrize("name", REQUIREMENT_CHANGES)
def test_a_change_of_what_a_tool_requires_names_both_and_lets_nothing_run(name: str, requiring: Path) -> None:
    REQUIREMENT_CHANGES[name](requiring)
    (found,) = errors(requiring)
    assert found.code == "lock-changed"
    assert {DIST, name} <= set(re.findall(r"[\w-]+", found.message))
    assert f"--update {DIST}" in str(found.fix)
    assert DIST not in planned(requiring).locked
    write_lock(requiring)
    assert errors(requiring) == []


@pytest.mark.parametrize("name", ["of-others", "never", "unrelated"])
def test_what_is_not_installed_for_the_tool_may_change(name: str, requiring: Path) -> None:
    swap(requiring, name, "2.0")
    assert errors(requiring) == []
    assert DIST in planned(requiring).locked


def test_the_versions_of_requirements_are_in_the_lock(requiring: Path) -> None:
    lock = read_lock(requiring.parent / "strands.lock")
    assert lock is not None
    pins = lock.distributions[DIST].requires
    assert {name: pin.partition(" sha256:")[0] for name, pin in pins.items()} == {
        "deep": "1.0",
        "of-http": "1.0",
        "the-guard": "1.0",
    }


def test_what_strands_cli_requires_is_left_to_the_installer(requiring: Path) -> None:
    require(requiring, "strands-cli", "of-http", version="0.1.0")
    write_lock(requiring)
    swap(requiring, "of-http", "2.0")
    assert errors(requiring) == []


def test_an_editable_requirement_is_locked_by_its_version(requiring: Path) -> None:
    origin = {"url": "file:///elsewhere", "dir_info": {"editable": True}}
    (requiring / "deep-1.0.dist-info" / "direct_url.json").write_text(json.dumps(origin), encoding="utf-8")
    write_lock(requiring)
    edit(requiring, "deep/__init__.py", "NAME", "name")
    require(requiring, "deep")
    assert errors(requiring) == []
    swap(requiring, "deep", "2.0")
    assert [finding.code for finding in errors(requiring)] == ["lock-changed"]


@pytest.mark.parametrize("place", ["elsewhere/deep/__init__.py", "elsewhere/deep.py", "site/deep/__init__.so"])
def test_what_python_would_import_in_place_of_a_requirement_is_a_difference(place: str, requiring: Path) -> None:
    file = requiring.parent / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("stolen = True\n", encoding="utf-8")
    catalog = discover_catalog([str(requiring.parent / "elsewhere"), str(requiring)])
    plan = app.plan(requiring.parent / "flow.yaml", RunRequest(), catalog=catalog)
    (found,) = [finding for finding in plan.findings if finding.severity == "error"]
    assert found.code == "lock-changed"
    assert {DIST, "deep"} <= set(re.findall(r"[\w-]+", found.message))
    assert place.partition("/")[2] in found.message
    assert DIST not in plan.locked


def differences_with_the_lock(site: Path) -> list[str | None]:
    lock = read_lock(site.parent / "strands.lock")
    assert lock is not None
    return [difference.field for difference in compare_locks(lock, locked_now(site))]


def test_a_comparison_of_whole_locks_finds_what_is_required_now_and_was_not(requiring: Path) -> None:
    require(requiring, "the-guard", "unrelated")
    assert differences_with_the_lock(requiring) == ["requires/the-guard", "requires/unrelated"]
