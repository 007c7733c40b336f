"""Commands of installed distributions: listed without an import, and like the program's own when one is typed."""

from __future__ import annotations

import json
import os
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from strands_cli.default_parts import COMMANDS as COMMANDS_GROUP
from strands_cli.default_parts import CORE, DEFAULTS, MOVED, OPEN_GROUPS, OURS, install_of, owner_by_name
from tests.cli.strands import Folder
from tests.distributions import make_distribution

CLONE = Path(__file__).resolve().parents[2]
POINTS = """\
[strands_cli.commands]
greet = strands_cli_yours.commands:greet
shelf = strands_cli_yours.commands:shelf
lone = strands_cli_yours.commands:lone
number = strands_cli_yours.commands:NUMBER
gone = strands_cli_yours.nowhere:greet
run = strands_cli_yours.commands:greet
runs.shelve = strands_cli_yours.commands:greet
runs.list = strands_cli_yours.commands:greet
tools.shelf = strands_cli_yours.commands:shelf
shelves.greet = strands_cli_yours.commands:greet
"""
COMMANDS = '''
import os
from pathlib import Path
from typing import Annotated

import typer

from strands_cli.errors import NotEquipped

Path(os.environ["IMPORTED"]).touch()
NUMBER = 7
shelf = typer.Typer(help="Look after a shelf.")
lone = typer.Typer()


def greet(
    name: Annotated[str, typer.Argument(help="Who.")] = "you",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    fails: Annotated[str, typer.Option(help="How it fails.")] = "",
) -> int:
    """Greet a person.

    Example: strands greet Ada
    """
    if fails == "bug":
        raise KeyError("no voice")
    if fails == "file":
        raise FileNotFoundError("no such book")
    if fails == "equipment":
        raise NotEquipped("there is no bell", fix="buy one")
    if fails == "answer":
        return "seven"
    print(f"hello {name}")
    return 4 if fails else 0


@shelf.command()
def add(title: str) -> None:
    """Add a book."""
    print("added", title)


@shelf.command()
def count() -> None:
    """Count the books."""
    print(3)


@lone.command()
def only(times: int = 1) -> None:
    """Do the only thing."""
    print("only " * times)
'''
HELP = {"runs.shelve": "Put runs away.", "greet": "Say hello\n to a person.\x1b[31m", "shelf": "Look after books."}


@pytest.fixture
def plugin(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a distribution with commands; return the file that its import makes."""
    imported = folder.root / "imported"
    monkeypatch.setenv("IMPORTED", str(imported))
    files = {
        "strands_cli_yours/__init__.py": "",
        "strands_cli_yours/commands.py": COMMANDS,
        "strands_cli_yours/strands_commands.json": json.dumps(HELP),
    }
    record = make_distribution(folder.site, "strands-cli-yours", "1.0", POINTS, files)
    with (record / "METADATA").open("a") as metadata:
        metadata.write("Summary: Commands of yours.\n")
    return imported


def strands(folder: Folder, plugin: Path, *words: str) -> tuple[int, str, str]:
    ran = folder.strands(*words, IMPORTED=str(plugin))
    return ran.code, ran.out, ran.err


@pytest.mark.parametrize("words", [["--help"], ["-h"]])
def test_help_lists_the_commands_with_their_lines_and_imports_none(
    folder: Folder, plugin: Path, words: list[str]
) -> None:
    code, out, _ = strands(folder, plugin, *words)
    _, _, listed = out.partition("Of installed plugins:\n")
    rows = listed.partition("\n\n")[0].splitlines()
    assert code == 0
    theirs = [row for row in rows if row.endswith("(strands-cli-yours)")]
    assert [row.split()[0] for row in theirs] == ["gone", "greet", "lone", "number", "shelf"]
    assert "Say hello to a person." in theirs[1]
    assert "Commands of yours. (strands-cli-yours)" in theirs[2]
    assert "\x1b" not in out
    assert "Exit codes:" in listed
    assert not plugin.exists()


def test_a_typo_is_answered_with_the_name_of_a_plugins_command(folder: Folder, plugin: Path) -> None:
    code, _, err = strands(folder, plugin, "gret")
    assert (code, "did you mean 'greet'?" in err) == (2, True)
    assert not plugin.exists()


def test_names_are_completed_without_an_import(folder: Folder, plugin: Path) -> None:
    environment = {"_STRANDS_COMPLETE": "complete_bash", "COMP_WORDS": "strands gre", "COMP_CWORD": "1"}
    ran = folder.run([sys.executable, "-m", "strands_cli"], IMPORTED=str(plugin), **environment)
    assert ran.out.split() == ["greet"]
    assert not plugin.exists()


def test_options_of_a_typed_command_are_completed(folder: Folder, plugin: Path) -> None:
    environment = {"_STRANDS_COMPLETE": "complete_bash", "COMP_WORDS": "strands greet --j", "COMP_CWORD": "2"}
    assert folder.run([sys.executable, "-m", "strands_cli"], IMPORTED=str(plugin), **environment).out.split() == [
        "--json"
    ]


def test_a_function_is_a_command_and_its_answer_the_exit_code(folder: Folder, plugin: Path) -> None:
    assert strands(folder, plugin, "greet", "Ada") == (0, "hello Ada\n", "")
    assert strands(folder, plugin, "greet", "--fails", "slowly")[0] == 4


def test_an_application_is_a_group_and_that_of_one_command_the_command(folder: Folder, plugin: Path) -> None:
    assert strands(folder, plugin, "shelf", "add", "Emma")[:2] == (0, "added Emma\n")
    assert strands(folder, plugin, "lone", "--times", "2")[:2] == (0, "only only \n")
    code, out, _ = strands(folder, plugin, "shelf", "--help")
    assert (code, "Count the books." in out) == (0, True)


def test_its_help_looks_like_that_of_the_programs_own_commands(folder: Folder, plugin: Path) -> None:
    _, out, _ = strands(folder, plugin, "greet", "--help")
    assert out.startswith("Usage: strands greet [OPTIONS] [name]\n\n  Greet a person.\n")
    assert "╭" not in out


FAILURES = {
    "bug": (70, "internal", "the command `greet` of strands-cli-yours failed: KeyError: 'no voice' at "),
    "file": (70, "internal", "the command `greet` of strands-cli-yours failed: FileNotFoundError: no such book"),
    "equipment": (18, "not-equipped", "there is no bell"),
    "answer": (70, "internal", "the command `greet` of strands-cli-yours failed: TypeError: it returns str"),
}


@pytest.mark.parametrize("way", FAILURES)
def test_failures_are_reported_as_those_of_the_programs_own_commands(folder: Folder, plugin: Path, way: str) -> None:
    code, name, message = FAILURES[way]
    ran = folder.strands("greet", "--json", "--fails", way, IMPORTED=str(plugin))
    assert ran.code == code
    assert message in ran.err
    assert (ran.document["error"]["code"], ran.document["error"]["exit_code"]) == (name, code)
    assert "bug in strands-cli:" not in ran.err


def test_the_traceback_of_a_plugins_bug_is_printed_where_it_is_asked_for(folder: Folder, plugin: Path) -> None:
    ran = folder.strands("greet", "--fails", "bug", IMPORTED=str(plugin), STRANDS_DEBUG="1")
    assert "commands.py" in ran.err
    assert "Traceback" in ran.err


@pytest.mark.parametrize(
    ("name", "problem"), [("number", "TypeError: it is int, not a Typer application"), ("gone", "ModuleNotFoundError")]
)
def test_a_value_that_cannot_be_a_command_names_its_distribution(
    folder: Folder, plugin: Path, name: str, problem: str
) -> None:
    code, _, err = strands(folder, plugin, name)
    assert (code, problem in err, "fix: pip install --upgrade strands-cli-yours" in err) == (18, True, True)


def test_a_command_of_the_core_is_never_that_of_a_plugin(folder: Folder, plugin: Path) -> None:
    code, out, _ = strands(folder, plugin, "run", "--help")
    assert (code, "Run a workflow" in out) == (0, True)
    assert not plugin.exists()


def test_two_distributions_that_claim_a_command_are_refused_with_both_names(folder: Folder, plugin: Path) -> None:
    make_distribution(folder.site, "strands-cli-theirs", "1.0", "[strands_cli.commands]\ngreet = json:loads\n", {})
    code, _, err = strands(folder, plugin, "greet")
    assert (code, "strands-cli-theirs and strands-cli-yours claim the command `greet`" in err) == (21, True)
    assert not plugin.exists()
    assert strands(folder, plugin, "shelf", "count")[:2] == (0, "3\n")


def test_a_claim_on_a_command_of_a_group_is_one_error_without_a_guess(folder: Folder) -> None:
    points = "[strands_cli.commands]\nruns.greet = json:loads\n"
    for name in ("strands-cli-yours", "strands-cli-theirs"):
        make_distribution(folder.site, name, "1.0", points, {})
    ran = folder.strands("runs", "greet")
    assert (ran.code, ran.err.count("strands-cli-theirs and"), "Did you mean" in ran.err) == (21, 1, False)


def test_a_denied_distribution_is_not_imported(folder: Folder, plugin: Path) -> None:
    folder.write("strands-policy.yaml", "version: 1\nrules:\n- {deny: '*', distribution: strands-cli-yours}\n")
    code, _, err = strands(folder, plugin, "greet")
    assert (code, "part-denied" in err) == (21, True)
    assert not plugin.exists()


def test_a_command_that_changed_since_it_was_locked_is_not_imported(folder: Folder, plugin: Path) -> None:
    folder.write("strands-policy.yaml", "version: 1\nlocked: true\n")
    refused = strands(folder, plugin, "greet")
    assert (refused[0], "the lock does not have" in refused[2]) == (21, True), refused
    assert not plugin.exists()
    fix = next(line for line in refused[2].splitlines() if "strands lock" in line)
    command = fix.partition("strands ")[2].split()
    assert folder.strands(*command).code == 0, command
    assert strands(folder, plugin, "greet")[:2] == (0, "hello you\n")
    plugin.unlink()
    with (folder.site / "strands_cli_yours" / "commands.py").open("a") as file:
        file.write("# changed\n")
    assert strands(folder, plugin, "greet")[0] == 21
    assert not plugin.exists()


BROKEN = """\
version: 2
name: x
runtime: {provider: replay, recording: x.recording.yaml}
agents: {a: {prompt: Go., tools: [TOOL]}}
pattern: {type: TYPE, config: {steps: [{agent: a, input: Go.}]}}
"""


@pytest.mark.parametrize(("kind", "tool"), [("chian", "native:calculator"), ("chain", "native:nowhere")])
def test_a_workflow_with_mistakes_does_not_keep_a_command_from_being_locked(
    folder: Folder, plugin: Path, kind: str, tool: str
) -> None:
    folder.write("strands-policy.yaml", "version: 1\nlocked: true\n")
    folder.write("broken.yaml", BROKEN.replace("TYPE", kind).replace("TOOL", tool))
    locked = folder.strands("lock", "--update", "strands-cli-yours")
    assert locked.code == 0, locked.err
    assert strands(folder, plugin, "greet")[:2] == (0, "hello you\n")
    assert folder.strands("lock").code != 0


def test_a_name_that_two_distributions_claim_has_one_line_of_help_with_both(folder: Folder, plugin: Path) -> None:
    make_distribution(folder.site, "strands-cli-theirs", "1.0", "[strands_cli.commands]\ngreet = json:loads\n", {})
    (line,) = [line for line in folder.strands("--help").out.splitlines() if line.startswith("  greet ")]
    assert "strands-cli-theirs" in line
    assert "strands-cli-yours" in line
    assert not plugin.exists()


def test_a_file_of_the_current_directory_is_never_a_command(folder: Folder, plugin: Path) -> None:
    (folder.work / "strands_cli_yours.py").write_text("raise SystemExit('planted')\n")
    path = os.pathsep.join([".", folder.environment()["PYTHONPATH"]])
    ran = folder.run([sys.executable, "-m", "strands_cli", "greet"], PYTHONPATH=path, IMPORTED=str(plugin))
    assert (ran.code, ran.out) == (0, "hello you\n"), ran.err


@pytest.mark.parametrize("name", ["UPPER", "--json", "a b", "\x1b[31mred", "-x"])
def test_a_name_that_cannot_be_typed_is_left_out(folder: Folder, name: str) -> None:
    make_distribution(folder.site, "strands-cli-odd", "1.0", f"[strands_cli.commands]\n{name} = json:loads\n", {})
    assert "strands-cli-odd" not in folder.strands("--help").out


@pytest.mark.parametrize("text", ["[", "[1]", '{"greet": 7}', "{" * 50_000, "\x00"])
def test_a_faulty_file_of_help_leaves_the_summary(folder: Folder, plugin: Path, text: str) -> None:
    (folder.site / "strands_cli_yours" / "strands_commands.json").write_text(text)
    assert "Commands of yours. (strands-cli-yours)" in strands(folder, plugin, "--help")[1]


def test_a_group_of_the_core_has_the_commands_that_a_name_with_a_dot_adds(folder: Folder, plugin: Path) -> None:
    _, out, _ = strands(folder, plugin, "runs", "--help")
    listed = out.partition("Of installed plugins:\n")[2].splitlines()
    theirs = [row for row in listed if "strands-cli-yours" in row]
    assert [row.split()[0] for row in theirs] == ["shelve"]
    assert "Put runs away." in theirs[0]
    assert not plugin.exists()
    assert strands(folder, plugin, "runs", "shelve", "Ada") == (0, "hello Ada\n", "")
    assert strands(folder, plugin, "tools", "shelf", "add", "Emma") == (0, "added Emma\n", "")
    code, out, _ = strands(folder, plugin, "runs", "shelve", "--help")
    assert (code, "Greet a person." in out) == (0, True)


def test_a_command_of_a_group_keeps_its_owner_and_is_suggested(folder: Folder, plugin: Path) -> None:
    code, out, _ = strands(folder, plugin, "runs", "list", "--json")
    assert (code, "hello" in out) == (0, False)
    code, _, err = strands(folder, plugin, "runs", "shelv")
    assert (code, "shelve" in err) == (2, True)
    assert strands(folder, plugin, "shelves", "greet")[0] == 2
    assert strands(folder, plugin, "runs.shelve")[0] == 2
    code, out, _ = strands(folder, plugin, "plugin", "check", "strands-cli-yours", "--json")
    assert "bad-part-name" in {finding["code"] for finding in json.loads(out)["findings"]}


def test_the_commands_of_the_groups_that_others_extend_are_reserved() -> None:
    groups = {name.partition(".")[0] for name in DEFAULTS[COMMANDS_GROUP] if "." in name}
    assert groups == set(OPEN_GROUPS)
    # Those of distributions that take the place of plain commands are theirs.
    names = {*DEFAULTS[COMMANDS_GROUP], *MOVED} - OURS[COMMANDS_GROUP].keys()
    assert {name for name in names if " " not in name and owner_by_name(COMMANDS_GROUP, name) != CORE} == set()


def test_each_distribution_with_commands_has_an_extra_and_all_has_them_all() -> None:
    extras = tomllib.loads((CLONE / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    names = {name.removeprefix("strands-cli-") for name in OURS[COMMANDS_GROUP].values()}
    assert names
    for name in names:
        assert [Requirement(line).name for line in extras[name]] == [f"strands-cli-{name}"]
        assert install_of(f"strands-cli-{name}") == f"pip install 'strands-cli[{name}]'"
    (whole,) = map(Requirement, extras["all"])
    assert whole.extras >= names | {"tools"}
