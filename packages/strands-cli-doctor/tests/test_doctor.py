"""`strands doctor` finds what would go wrong, says how to correct it, and shows no secret."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from strands_cli_doctor.own_checks import check_path
from tests.cli.strands import Folder
from tests.distributions import broken_manifest, make_distribution, manifest_of, sound, tool
from tests.wordings import Wording

AUDIT = """\
from strands_cli.hooks import Check, hookimpl


@hookimpl
def strands_doctor_checks(context):
    return [Check("audit log", "warning", "7 lines", "rm audit.log")]
"""


def lines_of(folder: Folder, code: int = 0, **env: str) -> dict[str, list[dict[str, Any]]]:
    """Run the doctor, without self-tests of engines, and return its lines by name."""
    done = folder.strands("doctor", "--no-engines", "--json", **env)
    assert done.code == code, done.out + done.err
    assert done.document["ok"] == (code == 0)
    found: dict[str, list[dict[str, Any]]] = {}
    for line in done.document["checks"]:
        found.setdefault(line["name"], []).append(line)
    return found


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
    text = sane.strands("doctor", "--no-engines").out
    assert re.search(r"^ok +python\b", text, re.M)
    assert "fix: strands explain live-models" in text


def test_a_key_is_reported_as_present_and_never_shown(sane: Folder) -> None:
    done = sane.strands("doctor", "--no-engines", OPENAI_API_KEY="sk-very-secret", ANTHROPIC_API_KEY="sk-other-secret")
    lines = [line for line in done.out.splitlines() if re.search(r" (openai|anthropic) ", line)]
    assert [(line.startswith("ok"), "_API_KEY" in line) for line in lines] == [(True, False)] * 2
    assert "OPENAI_API_KEY" in lines_of(sane)["provider openai"][0]["message"]
    assert "secret" not in done.out + done.err


@pytest.mark.parametrize("store", ["postgresql://u@localhost/db", "not-an-address"])
def test_variables_that_name_no_usable_store_are_a_line_among_the_others(sane: Folder, store: str) -> None:
    runs = str(sane.root / "named-runs")
    lines = lines_of(sane, 18, STRANDS_RUNS_DIR=runs, STRANDS_STORE=store)
    (line,) = lines["store"]
    assert (line["status"], "STRANDS_STORE" in line["message"], bool(line["fix"])) == ("failed", True, True)
    assert any(runs in one["message"] for one in lines["runs"])
    assert {"python", "tools", "policy"} <= lines.keys()


def test_tools_that_cannot_be_used_are_named_with_their_reason(sane: Folder) -> None:
    sound(sane.site, "needy", requires={"env": ["NEEDY_KEY"]})
    (warned,) = (line for line in lines_of(sane)["tools"] if line["status"] == "warning")
    assert re.search(r"'needy' .*\bstrands-tool-needy\b.*\bNEEDY_KEY\b", warned["message"])
    broken_manifest(sane.site, "broken")
    failed = [line for line in lines_of(sane, 18)["tools"] if line["status"] == "failed"]
    assert any(re.search(r"'broken' .*\bstrands-tool-broken\b", line["message"]) for line in failed)


def test_another_program_of_that_name_on_path_is_a_warning(sane: Folder, tmp_path: Path, wording: Wording) -> None:
    (other := tmp_path / "other").mkdir()
    (other / "strands").write_text("#!/bin/sh\n")
    (other / "strands").chmod(0o755)
    (line,) = lines_of(sane, PATH=os.pathsep.join([str(other), sane.environ["PATH"]]))["PATH"]
    assert (line["status"], str(other / "strands") in line["message"]) == ("warning", True)
    (line,) = lines_of(sane, PATH=os.defpath)["PATH"]
    assert (line["status"], "/strands" in line["message"]) == ("warning", False)
    wording(line["message"].partition(";")[0])


@pytest.mark.parametrize(
    ("place", "text", "whose"),
    [
        ("node_modules/@strands-agents/cli/bin/strands", "#!node\n", "@strands-agents/cli"),
        ("node_modules/strands/strands", "#!/usr/bin/env node\n", "strands"),
        (
            "bin/strands",
            "#!python\nimport sys\nfrom strands_agents_builder.strands import main\n",
            "strands_agents_builder",
        ),
    ],
)
def test_whose_program_is_in_the_way_is_reported(
    sane: Folder, tmp_path: Path, place: str, text: str, whose: str
) -> None:
    (other := tmp_path / "other" / place).parent.mkdir(parents=True)
    other.write_text(text)
    other.chmod(0o755)
    (folder := tmp_path / "on-path").mkdir()
    (folder / "strands").symlink_to(other)
    (line,) = lines_of(sane, PATH=os.pathsep.join([str(folder), sane.environ["PATH"]]))["PATH"]
    assert (line["status"], line["message"].count(f" {whose})")) == ("warning", 1), line
    (line,) = lines_of(sane, PATH=os.pathsep.join([sane.environ["PATH"], str(folder)]))["PATH"]
    assert (line["status"], line["message"].count(f" {whose})")) == ("ok", 1), line


def test_a_program_that_took_the_place_of_this_one_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = tmp_path / "strands"
    taken.write_text("#!python\nfrom strands_agents_builder.strands import main\n")
    taken.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    lines = check_path({"PATH": str(tmp_path)})
    (line,) = (line for line in lines if line.name == "PATH")
    assert (line.status, str(taken) in line.message) == ("warning", True)


def test_what_usable_tools_require_is_reported_as_present(sane: Folder) -> None:
    needs = {"env": ["LANG"], "modules": ["json"], "os": ["linux", "macos", "windows"], "python": ">=3"}
    sound(sane.site, "needy", requires=needs)
    (line,) = (line for line in lines_of(sane, LANG="C.UTF-8")["tools"] if ">=3" in line["message"])
    assert line["status"] == "ok"
    for named in (r" >=3,", r"\bjson\b", r"\bLANG\b", r"\blinux\b.*\bmacos\b.*\bwindows\b"):
        assert re.search(named, line["message"])


ENGINES = [
    {"engine": "weak", "available": False, "reason": "no box", "layers": {"wall": "not available"}},
    {"engine": "strong", "available": True, "reason": "", "layers": {"wall": "best effort"}},
]


def install_engines(folder: Folder, ran: Path) -> None:
    """Install a tool with a self-test that leaves a file."""
    described = tool("box", "strands_tool_box", strands_cli={"engines": "strands_tool_box.engines:engines"})
    source = f"def engines():\n    open({str(ran)!r}, 'w').close()\n    return {ENGINES!r}\n"
    files = {"strands_tool_box/__init__.py": "", "strands_tool_box/engines.py": source}
    make_distribution(
        folder.site,
        "strands-tool-box",
        "1.0",
        {"box": "strands_tool_box"},
        files,
        manifest_of("strands-tool-box", described),
    )


def test_engines_and_walls_are_reported_as_tables(sane: Folder, tmp_path: Path) -> None:
    install_engines(sane, tmp_path / "ran")
    done = sane.strands("doctor", "--json")
    (mine,) = (line for line in done.document["checks"] if line["name"] == "engines of box")
    assert re.fullmatch(r"strong .*\(wall best effort\); weak .*: no box", mine["message"])
    engines = [engine for engine in done.document["engines"] if engine["tool"] == "box"]
    assert [{key: value for key, value in engine.items() if key != "tool"} for engine in engines] == ENGINES
    layers = {layer["layer"]: layer for layer in done.document["layers"]}
    assert {"landlock", "seccomp", "namespaces", "openat2", "resource limits"} <= layers.keys()
    assert {layer["here"] for layer in layers.values()} <= {"enforced", "best effort", "not available"}
    text = sane.strands("doctor", "--no-engines").out
    assert re.search(r"^layer +here +Linux +macOS +Windows +prevents$", text, re.M)
    assert re.search(r"^landlock +\S.* +enforced +not available +not available +\S", text, re.M)


@pytest.mark.parametrize("why", ["--no-engines", "denied", "not locked"])
def test_no_self_test_runs_where_somebody_says_no(sane: Folder, tmp_path: Path, why: str, wording: Wording) -> None:
    install_engines(sane, tmp_path / "ran")
    text = {"denied": "rules: [{deny: box}]", "not locked": "locked: true"}
    if why in text:
        sane.write("strands-policy.yaml", f"version: 1\n{text[why]}\n")
    if why == "not locked":
        assert sane.strands("doctor").code == 21, "its distribution has to be locked as well"
        assert sane.strands("lock", "--update", "strands-cli-doctor").code == 0
    done = sane.strands("doctor", "--json", *(["--no-engines"] if why == "--no-engines" else []))
    lines = [line for line in done.document["checks"] if line["name"].startswith("engines")]
    assert lines
    assert not [line for line in lines if "strong" in line["message"]], lines
    assert why != "--no-engines" or why in lines[0]["message"]
    wording(lines[0]["message"])
    assert not (tmp_path / "ran").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no modes of files")
def test_a_lock_that_everybody_can_change_is_a_warning(sane: Folder) -> None:
    sane.tool("shout", "return answer('A')")
    sane.workflow([{"tool": "shout", "input": {"text": "a"}}])
    assert sane.strands("lock").code == 0
    (sane.work / "strands.lock").chmod(0o666)
    (line,) = lines_of(sane)["permissions"]
    assert (line["status"], "strands.lock" in line["message"]) == ("warning", True)


def test_policy_files_are_counted_and_one_that_does_not_parse_admits_nothing(sane: Folder) -> None:
    sane.write("strands-policy.yaml", "version: 1\nrules:\n  - {deny: calculator}\n")
    assert re.search(r"\b1 ", lines_of(sane)["policy"][0]["message"])
    sane.write("strands-policy.yaml", "version: 1\nrules:\n  - {denny: calculator}\n")
    ran = sane.strands("doctor", "--json")
    assert (ran.code, ran.document["error"]["findings"][0]["line"]) == (21, 3)


def test_a_lock_that_is_not_what_is_installed_fails_and_one_that_cannot_be_read_admits_nothing(sane: Folder) -> None:
    sane.tool("shout", "return answer('A')")
    sane.workflow([{"tool": "shout", "input": {"text": "a"}}])
    assert sane.strands("lock").code == 0
    assert lines_of(sane)["lock"][0]["status"] == "ok"
    code = sane.site / "strands_tool_shout" / "__init__.py"
    code.write_text(code.read_text() + "# more\n")
    (line,) = lines_of(sane, 18)["lock"]
    assert (line["status"], "strands-tool-shout" in line["message"]) == ("failed", True)
    sane.write("strands.lock", "version = 7\n")
    assert sane.strands("doctor", "--json").document["error"]["findings"][0]["code"] == "lock-broken"


def test_records_that_cannot_be_kept_fail(sane: Folder) -> None:
    file = sane.write("a-file", "")
    (line,) = lines_of(sane, 18, STRANDS_RUNS_DIR=str(file / "runs"))["runs"]
    assert (line["status"], str(file) in line["message"]) == ("failed", True)


def test_a_variable_that_nothing_reads_is_a_warning_with_the_nearest(sane: Folder) -> None:
    (line,) = lines_of(sane, STRANDS_RUN_DIR="/x")["environment"]
    assert (line["status"], "STRANDS_RUN_DIR" in line["message"], "STRANDS_RUNS_DIR" in line["fix"]) == (
        "warning",
        True,
        True,
    )


def test_the_variable_of_the_store_has_an_effect(sane: Folder) -> None:
    lines = lines_of(sane, code=18, STRANDS_RUNS_DIR="", STRANDS_STORE="postgresql://nobody@127.0.0.1:1/none")

    assert [line["status"] for line in lines["store"]] == ["failed"]
    assert {line["status"] for line in lines["environment"]} == {"ok"}


def test_hook_plugins_add_their_lines_and_a_missing_one_fails(sane: Folder) -> None:
    points = "[strands_cli.hooks]\naudit = strands_hooks_audit\n"
    make_distribution(sane.site, "strands-hooks-audit", "1.0", points, {"strands_hooks_audit.py": AUDIT})
    file = sane.root / "config" / "strands-cli" / "policy.yaml"
    file.parent.mkdir(parents=True, mode=0o755)
    file.write_text("version: 1\nhooks: [strands-hooks-audit]\n")
    here = {"XDG_CONFIG_HOME": str(sane.root / "config"), "APPDATA": str(sane.root / "config")}
    (line,) = lines_of(sane, **here)["audit log"]
    assert (line["plugin"], line["fix"]) == ("strands-hooks-audit", "rm audit.log")
    assert "[strands-hooks-audit]" in sane.strands("doctor", "--no-engines", **here).out
    file.write_text("version: 1\nhooks: [{name: strands-hooks-gone, required: true}]\n")
    lines = lines_of(sane, 18, **here)
    (line,) = lines["hook plugins"]
    assert not [one for one in lines["tools"] if "strands-hooks-gone" in one["message"]], "it is said once"
    assert (line["status"], "strands-hooks-gone" in line["message"]) == ("failed", True)
    file.write_text("version: 1\nhooks: [strands-hooks-gone, strands-hooks-audit]\n")
    absent, there = lines_of(sane, **here)["hook plugins"]
    assert (absent["status"], "strands-hooks-gone" in absent["message"]) == ("warning", True)
    assert (there["status"], there["message"]) == ("ok", "strands-hooks-audit")


def test_text_that_cannot_be_shown_is_a_warning(sane: Folder) -> None:
    (line,) = lines_of(sane, PYTHONIOENCODING="ascii")["terminal"]
    assert (line["status"], line["fix"]) == ("warning", "export LANG=C.UTF-8")
