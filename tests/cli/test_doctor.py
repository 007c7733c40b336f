"""`strands doctor` finds what would go wrong, says how to mend it, and shows no secret."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from strands_cli.upkeep.machine import filesystem_of
from tests.cli.strands import Folder
from tests.distributions import broken_manifest, make_distribution, sound

AUDIT = """\
from strands_cli.hooks import Check, hookimpl


@hookimpl
def strands_doctor_checks(context):
    return [Check("audit log", "warning", "nobody reads it", "read it")]
"""


def lines_of(folder: Folder, code: int = 0, **env: str) -> dict[str, list[dict[str, Any]]]:
    """Run the doctor and return its lines by name."""
    done = folder.strands("doctor", "--json", **env)
    assert done.code == code, done.out + done.err
    assert done.document["ok"] == (code == 0)
    found: dict[str, list[dict[str, Any]]] = {}
    for line in done.document["checks"]:
        found.setdefault(line["name"], []).append(line)
    return found


@pytest.fixture
def sane(folder: Folder) -> Folder:
    """Return a folder with a home and a PATH on which this program is."""
    (folder.root / "home").mkdir()
    folder.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.defpath])
    return folder


def test_where_all_is_well_every_line_is_ok_but_for_the_missing_key(sane: Folder) -> None:
    lines = lines_of(sane)
    bad = {line["name"]: line for group in lines.values() for line in group if line["status"] != "ok"}
    assert bad.keys() <= {"providers"}
    assert {
        "python",
        "strands-cli",
        "strands-agents",
        "dependencies",
        "tools",
        "policy",
        "lock",
        "runs",
    } <= lines.keys()
    text = sane.strands("doctor").out
    assert "ok       python" in text
    assert "fix: docs/how-to/live-model.md" in text


def test_a_key_is_told_to_be_there_and_never_shown(sane: Folder) -> None:
    done = sane.strands("doctor", OPENAI_API_KEY="sk-very-secret", ANTHROPIC_API_KEY="sk-other-secret")
    assert "client installed, key there: ready" in done.out
    assert "secret" not in done.out + done.err


def test_tools_that_cannot_be_used_are_named_with_their_reason(sane: Folder) -> None:
    sound(sane.site, "needy", requires={"env": ["NEEDY_KEY"]})
    (warned,) = (line for line in lines_of(sane)["tools"] if line["status"] == "warning")
    assert "'needy' of strands-tool-needy: unmet, needs the environment variable NEEDY_KEY" in warned["message"]
    broken_manifest(sane.site, "broken")
    failed = [line for line in lines_of(sane, 18)["tools"] if line["status"] == "failed"]
    assert any("'broken' of strands-tool-broken" in line["message"] for line in failed)


def test_another_program_of_that_name_on_path_is_a_warning(sane: Folder, tmp_path: Path) -> None:
    (other := tmp_path / "other").mkdir()
    (other / "strands").write_text("#!/bin/sh\n")
    (other / "strands").chmod(0o755)
    (line,) = lines_of(sane, PATH=os.pathsep.join([str(other), sane.environ["PATH"]]))["PATH"]
    assert (line["status"], str(other / "strands") in line["message"]) == ("warning", True)
    (line,) = lines_of(sane, PATH=os.defpath)["PATH"]
    assert "no 'strands' is on PATH" in line["message"]


def test_a_policy_file_that_does_not_parse_fails_with_its_line(sane: Folder) -> None:
    sane.write("strands-policy.yaml", "version: 1\nrules:\n  - {deny: calculator}\n")
    assert "1 rule" in lines_of(sane)["policy"][0]["message"]
    sane.write("strands-policy.yaml", "version: 1\nrules:\n  - {denny: calculator}\n")
    assert "strands-policy.yaml:3" in lines_of(sane, 18)["policy"][0]["message"]


def test_a_lock_that_is_not_what_is_installed_fails(sane: Folder) -> None:
    sane.tool("shout", "return answer('A')")
    sane.workflow([{"tool": "shout", "input": {"text": "a"}}])
    assert sane.strands("lock").code == 0
    assert lines_of(sane)["lock"][0]["message"] == "strands.lock: nothing differs"
    code = sane.site / "strands_tool_shout" / "__init__.py"
    code.write_text(code.read_text() + "# more\n")
    (line,) = lines_of(sane, 18)["lock"]
    assert "files of strands-tool-shout are not what was locked" in line["message"]
    sane.write("strands.lock", "version = 7\n")
    assert lines_of(sane, 18)["lock"][0]["status"] == "failed"


def test_records_that_cannot_be_kept_fail(sane: Folder) -> None:
    file = sane.write("a-file", "")
    assert "is not a directory" in lines_of(sane, 18, STRANDS_RUNS_DIR=str(file / "runs"))["runs"][0]["message"]


def test_a_filesystem_is_that_of_the_nearest_mount(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    real = os.path.realpath(tmp_path).replace(" ", "\\040")
    mounts.write_text(f"host:/x {real} nfs4 rw 0 0\n/dev/b {real}-other xfs rw 0 0\nshort\n/dev/a / ext4 rw 0 0\n")
    assert filesystem_of(tmp_path, mounts) == "nfs4"
    assert filesystem_of(tmp_path.parent, mounts) == "ext4"
    assert filesystem_of(tmp_path, tmp_path / "none") is None


def test_a_variable_that_nothing_reads_is_a_warning_with_the_nearest(sane: Folder) -> None:
    (line,) = lines_of(sane, STRANDS_RUN_DIR="/x")["environment"]
    assert (line["message"], line["fix"]) == ("nothing reads STRANDS_RUN_DIR", "did you mean STRANDS_RUNS_DIR?")


def test_hook_plugins_add_their_lines_and_a_missing_one_fails(sane: Folder) -> None:
    points = "[strands_cli.hooks]\naudit = strands_hooks_audit\n"
    make_distribution(sane.site, "strands-hooks-audit", "1.0", points, {"strands_hooks_audit.py": AUDIT})
    file = sane.root / "config" / "strands-cli" / "policy.yaml"
    file.parent.mkdir(parents=True, mode=0o755)
    file.write_text("version: 1\nhooks: [strands-hooks-audit]\n")
    here = {"XDG_CONFIG_HOME": str(sane.root / "config"), "APPDATA": str(sane.root / "config")}
    (line,) = lines_of(sane, **here)["audit log"]
    assert (line["plugin"], line["fix"]) == ("strands-hooks-audit", "read it")
    assert "[strands-hooks-audit]" in sane.strands("doctor", **here).out
    file.write_text("version: 1\nhooks: [strands-hooks-gone]\n")
    (line,) = lines_of(sane, 18, **here)["hook plugins"]
    assert "is switched on and not installed" in line["message"]


def test_text_that_cannot_be_shown_is_a_warning(sane: Folder) -> None:
    (line,) = lines_of(sane, PYTHONIOENCODING="ascii")["terminal"]
    assert (line["status"], line["fix"]) == ("warning", "export LANG=C.UTF-8")
