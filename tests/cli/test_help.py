"""Help, version, and words that the program does not know."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from scripts.project_commands import project_commands
from strands_cli import __version__
from strands_cli.cli.commands.plugin_commands import COMMANDS_OF_CORE as TABLE
from strands_cli.cli.commands.plugin_commands import OWN
from strands_cli.cli.program import program, run_program
from strands_cli.errors import ExitCode
from tests.cli.strands import STRANDS, Folder


def commands(path: tuple[str, ...] = (), command: Any = None) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each command with the words that call it."""
    children = getattr(command, "commands", {}) if command else project_commands()
    if not children:
        yield path, command
    for name, child in children.items():
        yield from commands((*path, name), child)


# The example of some has a shorter word that is promised.
PROMISED = {"tools list": "list-tools", "models keys": "keys", "workflows trigger": "trigger"}
ALIASES = {"workflows agent init": "workflows agent new"} | {
    path: path.replace(words, PROMISED[words])
    for path in map(" ".join, (path for path, _ in commands()))
    for words in PROMISED
    if path.startswith(words)
}
COMMANDS = {" ".join(path): command for path, command in commands()}


@pytest.mark.parametrize("path", COMMANDS)
def test_the_help_of_a_command_says_what_it_does_and_shows_an_example(
    path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_program([*path.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert run_program([*path.split(), "-h"]) == 0
    assert capsys.readouterr().out == shown
    assert shown.startswith(f"Usage: strands {path} ")
    example = next(line.strip() for line in shown.splitlines() if line.strip().startswith("Example: "))
    words = shlex.split(example.removeprefix("Example: "))
    assert words[0] == "strands"
    assert " ".join(words[1:]).startswith(ALIASES.get(path, path))


@pytest.mark.parametrize("path", COMMANDS)
def test_the_example_in_the_help_of_a_command_can_be_parsed(path: str) -> None:
    help_text = COMMANDS[path].help
    example = next(line for line in help_text.splitlines() if line.strip().startswith("Example: "))
    words = shlex.split(example.strip().removeprefix("Example: "))[1 + len(ALIASES.get(path, path).split()) :]
    words = words[: words.index(">")] if ">" in words else words
    COMMANDS[path].make_context(path, words)


@pytest.mark.parametrize("group", ["tools", "plugin", "runs", "workflows", "models"])
def test_the_help_of_a_group_shows_an_example_of_a_command_in_it(
    group: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_program([group, "--help"]) == 0
    example = re.search(r"Example: strands (.+)", " ".join(capsys.readouterr().out.split()))
    assert example is not None
    words = example[1].split()
    assert " ".join(words[:2]) in COMMANDS
    assert words[0] == ALIASES.get(group, group)


@pytest.mark.parametrize("word", ["--help", "-h"])
@pytest.mark.parametrize("columns", [40, 79, 80, 81, 200])
def test_the_help_printed_without_typer_is_what_typer_prints(
    word: str, columns: int, folder: Folder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run_program([word]) == 0
    assert folder.strands(word, COLUMNS=str(columns)).out == capsys.readouterr().out


GROUPS = {path.rpartition(" ")[0] for path in COMMANDS}


@pytest.mark.parametrize("path", sorted({*COMMANDS, *GROUPS}))
def test_help_fits_every_terminal_and_breaks_no_word_and_cuts_no_sentence(
    path: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = COMMANDS[path] if path in COMMANDS else group_at(path)
    sentences = [" ".join((getattr(one, "help", None) or "").split()) for one in command.params if not one.hidden]
    if path in GROUPS:
        listed = [one for one in command.commands.values() if not one.hidden and one.name != "completion"]
        sentences += [one.get_short_help_str(10_000) for one in listed]
    for columns in (30, 40, 60, 80, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert run_program([*path.split(), "--help"]) == 0
        shown = capsys.readouterr().out
        too_long = [line for line in shown.splitlines() if len(line) > columns and len(line.split()) > 1]
        assert not too_long, (columns, too_long)
        flat = " ".join(shown.split())
        assert [sentence for sentence in sentences if " ".join(sentence.split()) not in flat] == [], columns


def group_at(path: str) -> Any:
    """Return a group of commands by the words that call it."""
    first, *rest = path.split() or [""]
    found: Any = project_commands()[first] if first else get_command(program)
    for word in rest:
        found = found.commands[word]
    return found


def test_every_command_of_the_table_has_its_name_and_a_help_page() -> None:
    assert {name: TABLE[name].name for name in TABLE} == {name: name for name in OWN if "." not in name}
    assert [name for name in TABLE if not TABLE[name].help] == []


def test_the_program_lists_its_commands_and_every_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for word in ("run", "plan", "validate", "tools", "workflows", "--version"):
        assert f" {word} " in shown
    listed = re.search(r": (0 [^:]*)$", shown)
    assert listed is not None
    assert [int(part.split()[0]) for part in listed[1].split(", ")] == [int(code) for code in ExitCode]


def test_no_arguments_show_the_help(folder: Folder) -> None:
    ran = folder.strands()
    assert ran.code == 2
    assert ran.out + ran.err == folder.strands("--help").out


@pytest.mark.parametrize("words", [["--version"], ["-V"], ["version"]])
def test_every_way_to_ask_for_the_version_is_answered(folder: Folder, words: list[str]) -> None:
    ran = folder.strands(*words)
    assert (ran.code, ran.out, ran.err) == (0, f"strands-cli {__version__}\n", "")


def test_both_names_and_the_module_are_the_same_program(folder: Folder) -> None:
    other_name = STRANDS.replace("strands", "strands-cli") if STRANDS.count("strands") == 1 else f"{STRANDS}-cli"
    for command in ([other_name], [sys.executable, "-m", "strands_cli"]):
        assert folder.run([*command, "--help"]).out == folder.strands("--help").out


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["runn"], "'run'"),
        (["list-tool"], "'list-tools'"),
        (["tools", "shwo"], "'show'"),
        (["run", "x.yaml", "--frce"], "--force"),
        (["run", "x.yaml", "--verbos"], "--verbose"),
        (["plan", "x.yaml", "--format", "jason"], "'json'"),
        (["new", "x", "--pattern", "chian"], "did you mean 'chain'?"),
        (["new", "x", "--pattern", "bees"], "one of chain, workflow"),
        (["run"], "'SPEC'"),
        (["run", "x.yaml", "y.yaml"], "y.yaml"),
        (["run", "--var"], "'--var'"),
        (["run", "x.yaml", "--quiet=3"], "'--quiet'"),
    ],
)
def test_a_word_that_is_not_known_is_answered_with_what_may_have_been_meant(
    words: list[str], hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_program(words) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert hint in shown.err
    assert "Value error" not in shown.err  # which is pydantic's


def test_our_own_fault_is_called_so_without_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strands_cli.app.plan", lambda *_: 1 // 0)
    assert run_program(["plan", "x.yaml"]) == 70
    shown = capsys.readouterr().err
    assert "ZeroDivisionError" in shown
    assert "STRANDS_DEBUG=1" in shown
    assert "Traceback" not in shown
    monkeypatch.setenv("STRANDS_DEBUG", "1")
    run_program(["plan", "x.yaml"])
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_before_a_command_begins_prints_no_traceback(folder: Folder) -> None:
    script = (
        "import sys, signal\n"
        # A shell starts its background jobs with the signal ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "class Finder:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'typer':\n"
        "            signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "sys.argv = ['strands', 'plan']\n"
        "from strands_cli.cli import main\nmain()\n"
    )
    ran = folder.run([sys.executable, "-c", script])
    assert (ran.code, ran.out, ran.err) == (130, "", "")


def test_help_needs_no_home_no_terminal_and_no_environment(folder: Folder) -> None:
    ran = subprocess.run(
        [STRANDS, "run", "--help"], env={"PATH": ""}, cwd="/", capture_output=True, encoding="utf-8", check=False
    )
    assert (ran.returncode, ran.stderr) == (0, "")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (("plugin", "zzz"), "No such command 'zzz'. There are: uninstall, list, verify,"),
        (("plugin", "instal"), "No such command 'instal'\n  fix: did you mean 'install'?"),
        (("runs", "lst"), "No such command 'lst'\n  fix: did you mean 'list'?"),
    ],
)
def test_an_unknown_command_of_a_group_names_the_closest_or_all(
    folder: Folder, typed: tuple[str, str], said: str
) -> None:
    ran = folder.strands(*typed)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
