"""The lock from the command line: what was locked runs, whatever has changed since is refused before any import."""

from __future__ import annotations

import importlib.util
import json
import marshal
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.cli.strands import EXAMPLES, Folder
from tests.cli.test_hook_plugins import hook_plugin, switch_on
from tests.distributions import module_source, twin, without_manifest
from tests.lock.kit import edit, install, upgrade, write_record
from tests.wordings import Wording

CALL = {"tool": "native:shout", "input": {"text": "hi"}}
WRITE, TURNS = {"agent": "writer", "input": "write"}, {"steps.0": [{"text": "written"}]}
PACKAGE = "strands_tool_shout"
DIST = "strands-tool-shout"
DIST_INFO = f"{PACKAGE}-1.0.dist-info"
MANIFEST = f"{PACKAGE}/strands_tools.json"


@pytest.fixture
def locked(folder: Folder) -> Folder:
    """Return a folder with a workflow that calls `shout`, installed and locked; importing it would leave a file."""
    install(folder.site, "shout", annotations={"readOnlyHint": True})
    folder.workflow([CALL])
    made = folder.strands("lock")
    assert (made.code, made.err) == (0, "")
    return folder


def describe(site: Path, description: str) -> None:
    """Write another manifest and a RECORD that fits it: what an upgrade without a new version would leave."""
    edit(site, MANIFEST, '"description": "Does shout."', f'"description": {json.dumps(description)}')
    write_record(site / DIST_INFO, site / PACKAGE)


def test_what_changed_after_the_lock_is_shown_and_not_run(locked: Folder) -> None:
    describe(locked.site, "Sends everything.")
    ran = locked.strands("run", "flow.yaml")
    assert (ran.code, ran.out) == (21, ""), ran.err
    assert "lock-changed" in ran.codes
    assert re.search(r'\bdescription .*"Does shout\.".*"Sends everything\."', ran.err)
    assert "strands lock --update strands-tool-shout" in ran.err
    assert not locked.runs.exists()
    assert locked.strands("lock", "--check").code == 21
    assert locked.strands("lock", "--update", DIST).code == 0
    assert locked.strands("lock", "--check").code == 0


def test_nothing_of_a_changed_plugin_is_imported(locked: Folder) -> None:
    sentinel = locked.root / "sprung"
    trap = f"open({str(sentinel)!r}, 'w').close()\n"
    for name in ("__init__.py", "shout.py"):
        path = locked.site / PACKAGE / name
        path.write_text(trap + path.read_text(encoding="utf-8"), encoding="utf-8")
    for command in (["plan"], ["run"], ["run", "--yes"]):
        assert locked.strands(*command, "flow.yaml").code == 21
    assert not sentinel.exists()
    (locked.work / "strands.lock").unlink()
    assert locked.strands("run", "flow.yaml").code == 0
    assert sentinel.exists(), "the trap works"


def test_what_is_as_it_was_locked_runs(locked: Folder) -> None:
    assert locked.strands("plan", "--locked", "flow.yaml").code == 0
    ran = locked.strands("run", "--locked", "flow.yaml")
    assert ran.code == 0, ran.err
    assert "hi" in ran.out


def test_validate_reads_no_lock(locked: Folder) -> None:
    locked.write("strands.lock", "no lock")
    assert locked.strands("validate", "flow.yaml").code == 0


def test_a_lock_that_cannot_be_trusted_lets_nothing_run(locked: Folder) -> None:
    locked.write("strands.lock", "<<<<<<< HEAD\n")
    for command in (["run", "flow.yaml"], ["lock", "--check"], ["lock", "--diff"], ["lock", "--update", DIST]):
        ran = locked.strands(*command)
        assert ran.code == 21
        assert "lock-broken" in ran.err
    assert locked.strands("lock").code == 0
    assert locked.strands("run", "flow.yaml").code == 0


def test_a_lock_counts_for_its_own_folder_from_any_directory(locked: Folder) -> None:
    edit(locked.site, f"{PACKAGE}/shout.py", "success", "succeed")
    ran = locked.strands("plan", locked.work / "flow.yaml", cwd=locked.root)
    assert ran.code == 21
    assert f"strands lock {locked.work / 'flow.yaml'} --update {DIST}" in ran.err


def test_locked_asks_for_a_lock(folder: Folder) -> None:
    install(folder.site, "shout")
    folder.workflow([CALL])
    assert folder.strands("plan", "flow.yaml").code == 0
    ran = folder.strands("run", "--locked", "--yes", "flow.yaml")
    assert ran.code == 21
    assert "lock-missing" in ran.err
    assert "--locked" in ran.err


def test_check_without_a_lock_says_that_there_is_none(folder: Folder) -> None:
    install(folder.site, "shout")
    folder.workflow([CALL])
    ran = folder.strands("lock", "--check")
    assert ran.code == 21
    assert "lock-missing" in ran.err


def test_every_difference_is_reported_at_once(locked: Folder) -> None:
    install(locked.site, "whisper")
    upgrade(locked.site)
    edit(locked.site, MANIFEST, "Does shout.", "Does more.")
    locked.workflow([CALL, {"tool": "native:whisper", "input": {"text": "hi"}}])
    ran = locked.strands("plan", "flow.yaml")
    for words in (r"\b1\.1\b", r"\bdescription\b", re.escape(MANIFEST), "lock-unlisted", "strands-tool-whisper"):
        assert re.search(words, ran.err)


def test_another_distribution_with_the_locked_name_is_not_taken_for_it(locked: Folder) -> None:
    shutil.rmtree(locked.site)
    twin(locked.site, "shout", "evil-shout")
    ran = locked.strands("run", "--yes", "flow.yaml")
    assert ran.code == 21
    assert "lock-unlisted" in ran.codes
    assert "evil-shout 1.0" in ran.err
    assert re.search(rf"\b{DIST}$", ran.err, re.MULTILINE)


def test_a_locked_distribution_that_is_gone_is_named(locked: Folder, wording: Wording) -> None:
    shutil.rmtree(locked.site)
    ran = locked.strands("run", "flow.yaml")
    assert ran.code == 3
    assert f"{DIST} 1.0 " in ran.err
    wording(ran.reported)
    assert "pip install" not in ran.err, "a lock may be as strange as the workflow beside it"


def test_an_edited_source_of_an_editable_installation_is_refused(folder: Folder) -> None:
    source = folder.root / "source"
    install(source, "shout", annotations={"readOnlyHint": True})
    folder.site.rmdir()
    folder.site.mkdir()
    shutil.move(source / DIST_INFO, folder.site / DIST_INFO)
    paths = {"PYTHONPATH": os.pathsep.join([str(folder.site), str(source)])}
    folder.workflow([CALL])
    assert folder.strands("lock", **paths).code == 0
    assert "editable = true" in (folder.work / "strands.lock").read_text(encoding="utf-8")
    assert folder.strands("run", "flow.yaml", **paths).code == 0
    edit(source, f"{PACKAGE}/shout.py", "success", "succeed")
    ran = folder.strands("run", "flow.yaml", **paths)
    assert ran.code == 21
    assert f"changed {PACKAGE}/shout.py" in ran.err


def test_a_second_lock_writes_the_same_bytes_and_says_so(locked: Folder) -> None:
    before = (locked.work / "strands.lock").read_bytes()
    again = locked.strands("lock", "--json").document
    assert (again["written"], again["differences"]) == (False, [])
    assert (locked.work / "strands.lock").read_bytes() == before
    (locked.work / "strands.lock").unlink()
    locked.strands("lock")
    assert (locked.work / "strands.lock").read_bytes() == before


def test_a_lock_covers_every_workflow_of_the_folder_and_agents_kept_elsewhere(folder: Folder) -> None:
    for name in ("shout", "whisper", "hum"):
        install(folder.site, name)
    folder.workflow([CALL])
    folder.write("notes.json", {"agents": "no workflow"})
    folder.write("broken.yaml", "a: [")
    folder.write("agents/hummer.yaml", {"agents": {"hummer": {"prompt": "You hum.", "tools": ["native:hum"]}}})
    other = json.loads((folder.work / "flow.yaml").read_text(encoding="utf-8"))
    other["agents"] = {"hummer": {"$ref": "agents/hummer.yaml"}, "writer": {"prompt": "W.", "tools": ["whisper"]}}
    steps = [{"agent": "hummer", "input": "hum"}, {"agent": "writer", "input": "write"}]
    folder.write("other.yml", {**other, "pattern": {"type": "chain", "config": {"steps": steps}}})
    made = folder.strands("lock", "--json")
    assert made.code == 0, made.err
    assert [one["name"] for one in made.document["distributions"]] == [
        f"strands-tool-{n}" for n in ("hum", "shout", "whisper")
    ]
    assert "broken.yaml" in made.err


def test_update_renews_one_distribution_and_leaves_the_others(locked: Folder) -> None:
    install(locked.site, "whisper")
    locked.workflow([CALL, {"tool": "native:whisper", "input": {"text": "hi"}}])
    assert locked.strands("lock", "--update", "Strands_Tool.Whisper").code == 0
    assert locked.strands("lock", "--check").code == 0
    edit(locked.site, f"{PACKAGE}/shout.py", "success", "succeed")
    edit(locked.site, "strands_tool_whisper/whisper.py", "success", "succeed")
    locked.strands("lock", "--update", "strands-tool-whisper")
    left = locked.strands("lock", "--check")
    assert left.code == 21
    assert DIST in left.out
    assert "whisper" not in left.out
    wrong = locked.strands("lock", "--update", "strands-tool-shut")
    assert wrong.code == 2
    assert f"'{DIST}'" in wrong.err


def test_update_renews_each_that_is_named(locked: Folder) -> None:
    install(locked.site, "whisper")
    locked.workflow([CALL, {"tool": "native:whisper", "input": {"text": "hi"}}])
    locked.strands("lock")
    edit(locked.site, f"{PACKAGE}/shout.py", "success", "succeed")
    edit(locked.site, "strands_tool_whisper/whisper.py", "success", "succeed")
    assert locked.strands("lock", "--update", DIST, "--update", "strands-tool-whisper").code == 0
    assert locked.strands("lock", "--check").code == 0


def test_diff_shows_and_writes_nothing(locked: Folder) -> None:
    before = (locked.work / "strands.lock").read_bytes()
    describe(locked.site, "Does \x1b[31mmore.")
    shown = locked.strands("lock", "--diff")
    assert shown.code == 0
    assert re.search(r"\bdescription .*Does shout\.", shown.out)
    assert "\x1b" not in shown.out
    document = locked.strands("lock", "--check", "--json").document
    change = next(one for one in document["differences"] if one["field"] == "description")
    assert (change["tool"], change["old"], change["new"]) == ("shout", "Does shout.", "Does \x1b[31mmore.")
    assert (locked.work / "strands.lock").read_bytes() == before


def test_what_no_workflow_uses_any_more_is_a_difference(locked: Folder, wording: Wording) -> None:
    locked.workflow([WRITE], TURNS)
    assert locked.strands("plan", "flow.yaml").code == 0
    checked = locked.strands("lock", "--check", "--json")
    assert checked.code == 21
    assert {one["owner"] for one in checked.document["differences"]} == {DIST}
    wording(checked.document["differences"])


def test_a_tool_that_is_not_known_is_not_forgotten_in_silence(locked: Folder) -> None:
    before = (locked.work / "strands.lock").read_bytes()
    shutil.rmtree(locked.site)
    ran = locked.strands("lock")
    assert ran.code == 3
    assert "unknown-tool" in ran.err
    assert (locked.work / "strands.lock").read_bytes() == before


def test_a_tool_known_only_when_loaded_is_locked_by_its_files(folder: Folder, wording: Wording) -> None:
    source = f"{module_source('shout')}\n\ndef provide():\n    return []\n"
    without_manifest(folder.site, "shout", source, "provide")
    folder.workflow([WRITE], TURNS, tools={"python": ["native:shout"]})
    made = folder.strands("lock")
    assert made.code == 0
    assert "shout" in made.err
    wording(made.err)
    assert "known_after_load = true" in (folder.work / "strands.lock").read_text(encoding="utf-8")


@pytest.mark.parametrize("arguments", [["--check", "--diff"], ["--update", "x", "--check"], ["-"], ["nowhere/x.yaml"]])
def test_a_lock_command_that_makes_no_sense_is_refused(folder: Folder, arguments: list[str]) -> None:
    assert folder.strands("lock", *arguments).code == 2


def test_a_folder_without_a_workflow_is_reported(folder: Folder, wording: Wording) -> None:
    ran = folder.strands("lock")
    assert ran.code == 2
    assert "strands lock " in ran.err
    wording(ran.reported)


def test_custom_python_is_locked_by_its_file_without_import(folder: Folder) -> None:
    module = folder.write("mine/tools.py", f"raise SystemExit('imported')\n{module_source('shout')}")
    folder.write("mine/__init__.py", "")
    ref = "mine.tools:shout"
    folder.workflow([WRITE], TURNS, tools={"python": [ref], "python_path": ["."]})
    allowed = {"STRANDS_CUSTOM_TOOL_ALLOWLIST": ref}
    made = folder.strands("lock", "--json")
    assert made.code == 0, made.err
    assert made.document["modules"] == [ref]
    assert folder.strands("plan", "flow.yaml", **allowed).code == 0
    module.write_text(module.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    ran = folder.strands("plan", "flow.yaml", **allowed)
    assert ran.code == 21
    assert "lock-changed" in ran.codes
    assert re.search(rf"\b{re.escape(ref)} .*\bmine/tools\.py", ran.err)
    assert folder.strands("lock", "--update", ref).code == 0
    assert folder.strands("plan", "flow.yaml", **allowed).code == 0


def test_a_stored_run_does_not_go_on_with_a_changed_tool(locked: Folder) -> None:
    steps = [{"type": "hitl", "prompt": "Go on?"}, CALL]
    locked.workflow(steps)
    assert locked.strands("run", "--detach", "flow.yaml").code == 19
    (run,) = (path.name for path in locked.runs.iterdir())
    edit(locked.site, f"{PACKAGE}/shout.py", "TOOL_SPEC = ", "# changed\nTOOL_SPEC = ")
    refused = locked.strands("approve", run)
    assert refused.code == 21, refused.err
    assert "lock-changed" in refused.err
    assert locked.strands("lock", "--update", DIST).code == 0
    assert locked.strands("approve", run).code == 0


def test_a_run_that_began_locked_needs_its_lock_to_go_on(locked: Folder) -> None:
    locked.workflow([{"type": "hitl", "prompt": "Go on?"}, CALL])
    assert locked.strands("run", "--detach", "--locked", "flow.yaml").code == 19
    (run,) = (path.name for path in locked.runs.iterdir())
    (locked.work / "strands.lock").unlink()
    refused = locked.strands("resume", run)
    assert refused.code == 21
    assert "lock-missing" in refused.err


def test_a_tool_called_by_hand_is_checked_against_the_lock_only_where_that_is_asked_for(locked: Folder) -> None:
    call = ["tools", "run", "shout", "--input", '{"text": "hi"}']
    assert locked.strands(*call, "--locked").code == 0
    edit(locked.site, f"{PACKAGE}/shout.py", "TOOL_SPEC = ", "# changed\nTOOL_SPEC = ")
    assert locked.strands(*call).code == 0
    assert locked.strands(*call, "--locked").code == 21
    locked.write("strands-policy.yaml", "version: 1\nlocked: true\n")
    refused = locked.strands(*call)
    assert refused.code == 21
    assert "lock-changed" in refused.err


def test_a_policy_file_can_ask_for_a_lock(locked: Folder) -> None:
    locked.write("strands-policy.yaml", "version: 1\nlocked: true\n")
    assert locked.strands("plan", "flow.yaml").code == 0
    (locked.work / "strands.lock").unlink()
    refused = locked.strands("plan", "flow.yaml")
    assert refused.code == 21
    assert "lock-missing" in refused.err
    assert "strands-policy.yaml:2" in refused.err


def plant(source: Path, code: str) -> None:
    """Leave compiled code beside a source as an attacker would: Python does not compare it with the source."""
    cache = Path(importlib.util.cache_from_source(str(source)))
    cache.parent.mkdir(exist_ok=True)
    flags = (0b01).to_bytes(4, "little")
    compiled = marshal.dumps(compile(code, str(source), "exec"))
    cache.write_bytes(importlib.util.MAGIC_NUMBER + flags + bytes(8) + compiled)


BY_HAND = ["tools", "run", "shout", "--input", '{"text": "hi"}']


@pytest.mark.parametrize("words", [["run", "flow.yaml"], [*BY_HAND, "--locked"]])
def test_code_in_a_pycache_folder_does_not_run_under_a_lock(locked: Folder, words: list[str]) -> None:
    source = locked.site / PACKAGE / "shout.py"
    evil = "open('evil', 'w').close()\n" + source.read_text(encoding="utf-8")
    plant(source, evil)
    assert locked.strands(*words).code == 0
    assert not (locked.work / "evil").exists()
    assert locked.strands(*BY_HAND).code == 0
    assert (locked.work / "evil").exists(), "what was planted would have run"
    (folder,) = (locked.root / "home").rglob("bytecode")
    assert folder.stat().st_mode & 0o777 == 0o700


AUDIT = "\n\n@hookimpl\ndef strands_after_call(record):\n    open('audited', 'w').close()\n"


@pytest.fixture
def hooked(locked: Folder) -> Folder:
    """Return the locked folder with a hook plugin that the user's file switches on, and that the lock has."""
    switch_on(locked, hook_plugin(locked, "strands-hooks-audit", AUDIT))
    assert locked.strands("lock").code == 0
    return locked


def test_a_changed_hook_plugin_is_not_imported(hooked: Folder) -> None:
    ran = hooked.strands("run", "flow.yaml", "--locked")
    assert ran.code == 0, ran.err
    assert (hooked.work / "audited").exists()
    edit(hooked.site, "strands_hooks_audit/__init__.py", "from pathlib", "open('evil', 'w').close()\nfrom pathlib")
    for words in (["plan", "flow.yaml"], ["run", "flow.yaml"], ["run", "flow.yaml", "--locked"]):
        ran = hooked.strands(*words)
        assert ran.code == 21, ran.err
        assert "lock-changed" in ran.codes
        assert "strands lock --update strands-hooks-audit" in ran.err
        assert not (hooked.work / "evil").exists()
    (hooked.work / "evil").unlink(missing_ok=True)
    assert hooked.strands("lock", "--update", "strands-hooks-audit").code == 0
    assert hooked.strands("run", "flow.yaml").code == 0


def test_a_hook_plugin_that_the_lock_does_not_have_is_refused_where_a_lock_is_required(locked: Folder) -> None:
    switch_on(locked, hook_plugin(locked, "strands-hooks-audit", AUDIT))
    assert locked.strands("run", "flow.yaml").code == 0
    ran = locked.strands("run", "flow.yaml", "--locked")
    assert (ran.code, "lock-unlisted" in ran.codes) == (21, True), ran.err
    assert "strands-hooks-audit" in ran.err


def test_a_hook_plugin_of_another_person_does_not_count(hooked: Folder) -> None:
    switch_on(hooked)
    assert hooked.strands("lock", "--check").code == 0
    assert hooked.strands("run", "flow.yaml", "--locked").code == 0


def test_only_tools_of_a_locked_server_whose_hints_ask_are_warned_about(folder: Folder) -> None:
    shelf = (EXAMPLES / "mcp" / "shelf.py").read_text()
    hint = '"annotations": {"readOnlyHint": True}, "inputSchema": TEXT'
    hinted = shelf.replace('"inputSchema": TEXT', hint, 1)
    assert hinted != shelf
    folder.write("shelf.py", hinted)
    server = {"id": "shelf", "command": sys.executable, "args": ["shelf.py"]}
    turns = {"steps.0": [{"calls": [{"find_books": {"about": "bees"}}]}, {"text": "written"}]}
    agents = {"writer": {"prompt": "You write.", "tools": ["mcp:shelf"]}}
    folder.workflow([WRITE], turns, agents=agents, tools={"mcp": [server]})
    folder.strands("workflows", "trust", "flow.yaml")
    unlocked = folder.strands("run", "flow.yaml").err
    assert re.search(r"^warning: .*'mcp:shelf'", unlocked, re.MULTILINE)
    assert folder.strands("lock", "--mcp").code == 0
    for options, ends in (([], "will wait for a person"), (["--deny"], "will be denied")):
        ran = folder.strands("run", "flow.yaml", *options)
        assert ran.code == 0, ran.err
        assert "\ndenied: " not in ran.err, "the lock makes the hint of the called tool count"
        warnings = re.findall(rf"^warning: calls of '(.*?)' {ends}", ran.err, re.MULTILINE)
        assert len(warnings) == 1
        assert "throw_away" in warnings[0]
        assert "that no rule allows" not in ran.err
    filtered = {**server, "tools": {"deny": ["throw_away"]}}
    folder.workflow([WRITE], turns, agents=agents, tools={"mcp": [filtered]})
    folder.strands("workflows", "trust", "flow.yaml")
    assert folder.strands("lock", "--mcp").code == 0
    assert "will wait for a person" not in folder.strands("run", "flow.yaml").err
    assert "will be denied" not in folder.strands("run", "flow.yaml", "--deny").err
