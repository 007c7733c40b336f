"""Where the program is run: odd homes and folders, hostile folders, broken distributions beside sound ones."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.cli.strands import STRANDS, Folder
from tests.distributions import (
    booby_trapped,
    broken_manifest,
    exits_on_import,
    make_distribution,
    twin,
)

# Each test starts the program in processes of its own.
pytestmark = pytest.mark.hostile

ONE_STEP = [{"agent": "writer", "input": "Write."}]
HELLO = {"steps.0": [{"text": "hello"}]}


def test_a_home_that_cannot_be_written_does_not_matter_if_nothing_is_stored(folder: Folder) -> None:
    folder.workflow(ONE_STEP, HELLO)
    for arguments in (
        ["list-tools"],
        ["plan", "flow.yaml"],
        ["validate", "flow.yaml"],
        ["tools", "run", "current_time"],
    ):
        assert folder.strands(*arguments, HOME="/proc/nowhere").code == 0
    ran = folder.strands("run", "flow.yaml", HOME="/proc/nowhere", STRANDS_RUNS_DIR="")
    assert ran.code == 17
    assert "--runs-dir" in ran.err
    assert "STRANDS_RUNS_DIR" in ran.err
    chosen = folder.strands("run", "flow.yaml", "--runs-dir", "here", HOME="/proc/nowhere", STRANDS_RUNS_DIR="")
    assert chosen.code == 0
    assert len(list((folder.work / "here").iterdir())) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be deleted there")
def test_a_current_directory_that_is_gone_is_reported_and_no_traceback(folder: Folder) -> None:
    spec = folder.workflow(ONE_STEP, HELLO)
    for words in ("list-tools", f"validate {spec}", f"run {spec}", "tools run calculator", "run flow.yaml"):
        for program in ("$STRANDS", "$PYTHON -m strands_cli"):
            script = f"mkdir gone; cd gone; rmdir ../gone; {program} {words}"
            ran = folder.run(["bash", "-c", script], STRANDS=STRANDS, PYTHON=sys.executable)
            assert ran.code in (0, 2), ran.err
            assert "Traceback" not in ran.err
            assert "fault" not in ran.err
            assert ran.code == 0 or ran.err.startswith("error")


def test_a_hostile_folder_is_not_a_source_of_modules_or_plugins(folder: Folder) -> None:
    spec = folder.workflow(ONE_STEP, HELLO, agents={"writer": {"prompt": "x", "tools": ["native:calculator"]}})
    sprung = folder.root / "sprung"
    trap = f"open({str(sprung)!r}, 'a').write(__name__)\n"
    for name in ("yaml", "json", "typer", "strands", "pluggy", "sitecustomize", "evil", "strands_tool_calculator"):
        folder.write(f"{name}.py", trap)
    make_distribution(folder.work, "strands-tool-evil", "1.0", {"evil": "evil"})
    make_distribution(folder.work, "strands-tool-calculator", "99.0", {"calculator": "evil"})
    for program in ([STRANDS], [sys.executable, "-m", "strands_cli"]):
        listed = folder.run([*program, "list-tools"])
        assert "evil" not in listed.out + listed.err
        assert "strands-tool-calculator 99" not in listed.out
        ran = folder.run([*program, "run", str(spec), "--quiet"])
        assert (ran.code, ran.out) == (0, "hello\n")
        assert folder.run([*program, "tools", "run", "evil"]).code == 3
        called = folder.run([*program, "tools", "run", "calculator", "--input", '{"expression": "1+1"}'])
        assert called.out == "2\n"
    assert not sprung.exists()


def break_distributions(folder: Folder) -> Path:
    """Install one of every broken kind, and return the file that an import of the trap would leave."""
    sprung = folder.root / "sprung"
    booby_trapped(folder.site, "trap", sprung)
    broken_manifest(folder.site, "garbled")
    exits_on_import(folder.site, "leaves")
    twin(folder.site, "twice", "strands-tool-one")
    twin(folder.site, "twice", "strands-tool-two")
    make_distribution(folder.site, "stranger", "1.0", b"\xff\xfe not text [")
    make_distribution(folder.site, "bad-lines", "1.0", "[strands_cli.tools]\nno value here\n= nothing\nodd = a b c\n")
    make_distribution(folder.site, "no-module", "1.0", {"absent": "no_such_module_anywhere"})
    return sprung


def test_broken_distributions_hinder_neither_listing_nor_running(folder: Folder) -> None:
    sprung = break_distributions(folder)
    folder.examples()
    listed = folder.strands("list-tools")
    assert listed.code == 0
    assert "calculator " in listed.out
    for name in ("bad-lines", "no-module", "garbled", "twice"):
        assert name in listed.out + listed.err
    for arguments in (["validate"], ["plan"], ["run", "--quiet"]):
        ran = folder.strands(arguments[0], "examples/quickstart.yaml", *arguments[1:])
        assert ran.code == 0, ran.err
        assert "stranger" not in ran.err
    assert not sprung.exists()
    assert "Traceback" not in listed.err


@pytest.mark.parametrize(
    ("tool", "code", "said"),
    [
        ("trap", 18, "this plugin was imported"),
        ("leaves", 18, "SystemExit"),
        ("twice", 3, "strands-tool-one"),
        ("absent", 18, "absent"),
        ("garbled", 18, "garbled"),
    ],
)
def test_a_workflow_that_names_a_broken_tool_gets_the_reason(folder: Folder, tool: str, code: int, said: str) -> None:
    break_distributions(folder)
    folder.workflow(ONE_STEP, HELLO, agents={"writer": {"prompt": "x", "tools": [f"native:{tool}"]}})
    ran = folder.strands("run", "flow.yaml")
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_custom_python_is_imported_only_when_the_allowlist_names_it(folder: Folder) -> None:
    function = "from strands import tool\n\n\n@tool\ndef greet(name: str) -> str:\n    'Greet.'\n    return name\n"
    folder.write("mine.py", f"open('imported', 'w').close()\n{function}")
    agents = {"writer": {"prompt": "x", "tools": ["mine:greet"]}}
    turns = {"steps.0": [{"calls": [{"greet": {"name": "bee"}}]}, {"when": "greet: success", "text": "greeted"}]}
    folder.workflow(ONE_STEP, turns, agents=agents, tools={"python_path": ["."]})
    denied = folder.strands("run", "flow.yaml", "--yes")
    assert denied.code == 21
    assert "error[custom-tool-denied]" in denied.err
    assert "STRANDS_CUSTOM_TOOL_ALLOWLIST" in denied.err
    assert not (folder.work / "imported").exists()
    allowed = folder.strands("run", "flow.yaml", "--yes", "--quiet", STRANDS_CUSTOM_TOOL_ALLOWLIST="mine:greet")
    assert (allowed.code, allowed.out) == (0, "greeted\n"), allowed.err


def test_the_warning_about_custom_python_holds_whatever_its_code_declares(folder: Folder) -> None:
    imports = "from strands import tool\nfrom strands_cli.metadata import tool_metadata\n\n\n"
    hint = f"{imports}@tool\n@tool_metadata(read_only=True)\n"
    folder.write("mine.py", f"{hint}def greet(name: str) -> str:\n    'Greet.'\n    return name\n")
    agents = {"writer": {"prompt": "x", "tools": ["mine:greet"]}}
    turns = {"steps.0": [{"calls": [{"greet": {"name": "bee"}}]}, {"when": "greet: success", "text": "greeted"}]}
    folder.workflow(ONE_STEP, turns, agents=agents, tools={"python_path": ["."]})
    ran = folder.strands("run", "flow.yaml", STRANDS_CUSTOM_TOOL_ALLOWLIST="mine:greet")
    assert (ran.code, ran.out) == (0, "greeted\n"), ran.err
    assert re.search(r"^warning: calls of 'greet' .* unless .*--allow mine:greet", ran.err, re.MULTILINE)
    folder.write("strands-policy.yaml", "version: 1\nrules:\n  - ask: mine:greet\n")
    ruled = folder.strands("run", "flow.yaml", STRANDS_CUSTOM_TOOL_ALLOWLIST="mine:greet").err
    assert re.search(r"^warning: calls of 'greet' will wait for a person: ", ruled, re.MULTILINE)


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_must_not_be_read_is_reported(folder: Folder) -> None:
    spec = folder.workflow(ONE_STEP, HELLO)
    spec.chmod(0)
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == 2
    assert "Permission denied" in ran.err
