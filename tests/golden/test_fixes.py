"""What a text of the program names exists: commands, options, keys, pages, extras; and each error has a fix."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest
import typer
from packaging.requirements import Requirement

import strands_cli
from scripts.project_commands import project_commands
from strands_cli.cli.commands.explain_pages import PAGES
from strands_cli.cli.output.codes import declared_codes
from strands_cli.cli.program import program, run_program
from strands_cli.default_parts import COMMANDS, MOVED, OURS, PROMISED
from strands_cli.errors import Finding, StrandsCliError

# It reads every source.
pytestmark = pytest.mark.docs

SOURCE = Path(strands_cli.__file__).parent
GOLDEN = Path(__file__).parent
CLONE = GOLDEN.parent.parent
# A command in a text: words, then options; a name in capitals or quotes is for the reader to fill in.
COMMAND = re.compile(r"(?<![\w./-])strands((?: [a-z][a-z-]*)+)([^`;,()|\n]*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
BUILDS = {"command", "portable_command"}
PIP = re.compile(r"pip install (?:--[a-z-]+ )*'?([A-Za-z0-9_.-]+)(?:\[([a-z_,]+)\])?")
PROGRAM = typer.main.get_command(program)


# Only these sources name a command, an option, a key or a page.
NAMING = re.compile(r"strands [a-z]|\bfix\b|Code\(|raise [A-Z]|Error\(")
KEY = re.compile(r"(?<![\w./$'])([a-z_]+(?:\.[a-z_]+)+)(?![\w(.]*[(/])")
RAISED = {kind.__name__ for kind in StrandsCliError.__subclasses__()} - {"Interrupted"} | {
    "StrandsCliError",
    "CallDenied",
}
# What a caller or the line above adds, and faults that only this program can have.
WITHOUT_FIX = {
    "agents/model/replay.py": "a change of the settings of a recording",
    "cli/commands/running/resume_command.py": "the next commands are added, or printed above it",
    "engine/step_results.py": "the command that allows the calls is added where the store is known",
    "engine/nested_runs.py": "a call that no run makes; a part ends with the error of its own",
    "engine/effects/asked_questions.py": "the next commands are printed with it",
    "engine/run.py": "the failure of an effect that the journal has",
    "engine/step_inputs.py": "the result of the refused call names the option that allows it",
    "engine/standalone.py": "what ends a trial, or gets its fix there; a tool that stores what JSON does not have",
    "strands_cli_index/installing/download.py": "the wheel of another name, which an index gave",
    "tools/calls/permission_check.py": "a fault of the permission check",
    "tools/manifest_check.py": "a call that goes around the permission check",
}


def docstrings(tree: ast.Module) -> set[int]:
    described = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, described) and _opens(node)}


def _opens(node: Any) -> bool:
    return bool(node.body) and isinstance(node.body[0], ast.Expr)


def text_of(node: ast.AST) -> str | None:
    """Return a text of the source, where what is filled in has capitals."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "FILLED" for part in node.values)
    return None


def texts_in(node: ast.AST, skipped: set[int]) -> Iterator[str]:
    if id(node) in skipped:
        return
    text = text_of(node)
    if text is not None:
        yield text
        return
    for part in ast.iter_child_nodes(node):
        yield from texts_in(part, skipped)


@cache
def trees() -> dict[str, ast.Module]:
    places = [SOURCE, *(CLONE / "packages" / name / "src" for name in OURS[COMMANDS].values())]
    found = {path.relative_to(place).as_posix(): path for place in places for path in place.rglob("*.py")}
    sources = {name: path.read_text("utf-8") for name, path in found.items()}
    return {name: ast.parse(text) for name, text in sources.items() if NAMING.search(text)}


@cache
def texts() -> frozenset[str]:
    """Return each text of the source besides docstrings."""
    return frozenset(text for tree in trees().values() for text in texts_in(tree, docstrings(tree)))


def fixes() -> Iterator[str]:
    """Yield every fix that the pinned wordings have, the remedy of each code, and every text of the source."""
    yield from texts()
    for line in (GOLDEN / "findings.txt").read_text("utf-8").splitlines():
        if line.startswith("  fix: "):
            yield line[7:]
    for pinned in json.loads((GOLDEN / "wordings.json").read_text("utf-8")).values():
        yield from (str(text).rpartition(" | ")[2] for text in (pinned if isinstance(pinned, list) else [pinned]))
    yield from (code.remedy for code in declared_codes().values())


def commands() -> list[tuple[str, str]]:
    found = {(found[1], " ".join(OPTION.findall(found[2]))) for fix in fixes() for found in COMMAND.finditer(fix)}
    return sorted({*found, *built_commands()} - {(" import tool", "")})  # `from strands import tool`


def built_commands() -> Iterator[tuple[str, str]]:
    """Yield the commands that are built from words, as far as the call has their words."""
    for node in (node for tree in trees().values() for node in ast.walk(tree)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in BUILDS and node.args:
            words = [word for part in node.args if (word := text_of(part)) is not None]
            if text_of(node.args[0]) not in (None, "FILLED"):
                yield "".join(f" {one}" for one in words if one.isalpha()), " ".join(filter(OPTION.match, words))


def fault_of(words: str, options: str) -> str | None:
    command = PROGRAM
    first, *rest = words.split()
    for word in [*(MOVED[first].split() if first in PROMISED else [first]), *rest]:
        known = project_commands() if command is PROGRAM else getattr(command, "commands", None)
        if known is None:
            break
        if word not in known:
            command = known.get(getattr(command, "default", None))
            if command is None:
                return f"there is no strands{words}"
            break
        command = known[word]
    command = getattr(command, "commands", {}).get(getattr(command, "default", None), command)
    if hasattr(command, "commands"):
        return f"strands{words} names a group"
    if command.context_settings.get("ignore_unknown_options"):  # another word for a command, which gets all arguments
        return None
    known_options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    return ", ".join(set(options.split()) - known_options) or None


def test_a_command_in_a_fix_is_one_that_the_program_has() -> None:
    # One test of all: to have their names before it starts, each process would read all sources.
    assert len(found := commands()) > 60
    assert (" resume", "--budget") in found
    assert {words + options: fault for words, options in found if (fault := fault_of(words, options))} == {}
    assert fault_of(" plan", " --no-such") == "--no-such"
    assert fault_of(" none", "")
    assert fault_of(" runs", "")


def extras() -> set[str]:
    return set(tomllib.loads((CLONE / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"])


def test_an_extra_that_a_fix_installs_is_one_of_this_program() -> None:
    named = {extra for fix in fixes() for name, extra in PIP.findall(fix) if extra and name == "strands-cli"}
    assert named
    assert named <= extras()
    assert not [fix for fix in fixes() if "strands-agents[" in fix]


def required(name: str, extra: str) -> dict[str, Requirement]:
    lines = [Requirement(line) for line in distribution(name).requires or ()]
    return {one.name: one for one in lines if one.marker is None or one.marker.evaluate({"extra": extra})}


def test_the_extras_of_this_program_are_installed_beside_it_by_versions_that_fit_both_ways() -> None:
    always = required("strands-cli", "")
    tools = {name: one for name, one in required("strands-cli", "tools").items() if name not in always}
    assert tools
    for name, one in tools.items():
        assert one.specifier.contains(distribution(name).version), one
        back = required(name, "").get("strands-cli")
        assert back is None or back.specifier.contains(distribution("strands-cli").version), back


def test_no_text_of_the_program_refers_to_a_page_that_a_wheel_lacks() -> None:
    source = CLONE / "src" / "strands_cli"
    page = re.compile(r"docs/[a-z-]+/[a-z-]+\.md")
    for path in source.rglob("*.py"):
        if not page.search(text := path.read_text("utf-8")):
            continue
        for node in ast.walk(tree := ast.parse(text)):
            body = getattr(node, "body", None)
            if isinstance(body, list) and isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
                node.body = [one for one in body if not _is_docstring(one)]
        texts = [
            node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        assert not [text for text in texts if page.search(text)], path


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_printed_by_its_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert name not in declared_codes()
    assert run_program(["explain", name]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# ")
    assert "<!--" not in text
    title = (CLONE / "docs" / PAGES[name]).read_text("utf-8").splitlines()[0]
    assert text.splitlines()[0] == title


def test_each_page_that_a_fix_names_exists() -> None:
    named = {word for fix in fixes() for word in re.findall(r"strands explain ([a-z]+(?:-[a-z]+)*)", fix)}
    assert named <= {*PAGES, *declared_codes(), "policy", "supported"}
    assert named & PAGES.keys()


def properties(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema.get("properties", {}) if isinstance(schema.get("properties"), dict) else ()
        for part in schema.values():
            yield from properties(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from properties(part)


def test_each_key_that_a_text_names_is_one_of_the_format() -> None:
    schema = json.loads((CLONE / "docs" / "reference" / "workflow.schema.json").read_text("utf-8"))
    known = {*properties(schema)}
    sections = {"runtime", "context_policy", "outputs", "telemetry", "security", "pattern"}
    named = {key for text in texts() if " " in text for key in KEY.findall(text) if key.partition(".")[0] in sections}
    assert len(named) > 10
    assert [key for key in sorted(named) if not {*key.split(".")} <= known] == []


def test_each_option_that_a_text_names_is_one_of_some_command() -> None:
    def options(command: Any) -> Iterator[str]:
        yield from (name for one in command.params for name in (*one.opts, *one.secondary_opts))
        for below in getattr(command, "commands", {}).values():
            yield from options(below)

    ours = [text for text in texts() if " " in text and "pip install" not in text]
    named = {word for text in ours for word in re.findall(r"(?<![\w-])--[a-z][a-z-]*", text)}
    assert len(named) > 30
    known = {name for command in project_commands().values() for name in options(command)}
    assert named - {"--help", "--version", *known} == set()


def test_each_error_that_is_raised_says_how_to_fix_it() -> None:
    without = {name for name, tree in trees().items() for node in ast.walk(tree) if _lacks_fix(node)}
    assert without == WITHOUT_FIX.keys()


def _lacks_fix(node: ast.AST) -> bool:
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in RAISED):
        return False
    return not {one.arg for one in node.keywords} & {"fix", "findings", None}


def test_a_finding_without_a_fix_has_that_of_its_code() -> None:
    for code in declared_codes().values():
        fix = Finding(code, "it is so").fix
        assert fix, code
        assert str(Finding(code, "it is so")).endswith(f"\n  fix: {fix}")
