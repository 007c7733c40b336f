"""Every command that a fix names exists: `strands ...` in the parser, `pip install ...` of what is known."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
import typer
from packaging.requirements import Requirement

from strands_cli.cli.commands.explain_pages import PAGES
from strands_cli.cli.program import program, run_program
from strands_cli.codes import declared_codes

GOLDEN = Path(__file__).parent
CLONE = GOLDEN.parent.parent
# A command in a text: words, then options; a name in capitals or quotes is for the reader to fill in.
COMMAND = re.compile(r"(?<![\w./-])strands((?: [a-z][a-z-]*)+)((?: --[a-z-]+)*)")
PIP = re.compile(r"pip install (?:--[a-z-]+ )*'?([A-Za-z0-9_.-]+)(?:\[([a-z_,]+)\])?")
PROGRAM = typer.main.get_command(program)


def fixes() -> Iterator[str]:
    """Yield every fix that the pinned wordings have, and the remedy of each code."""
    for line in (GOLDEN / "findings.txt").read_text("utf-8").splitlines():
        if line.startswith("  fix: "):
            yield line[7:]
    for texts in json.loads((GOLDEN / "wordings.json").read_text("utf-8")).values():
        yield from (str(text).rpartition(" | ")[2] for text in (texts if isinstance(texts, list) else [texts]))
    yield from (code.remedy for code in declared_codes().values())


def commands() -> list[tuple[str, str]]:
    return sorted({found.groups() for fix in fixes() for found in COMMAND.finditer(fix)})


@pytest.mark.parametrize(("words", "options"), commands())
def test_a_command_in_a_fix_is_one_that_the_program_has(words: str, options: str) -> None:
    command = PROGRAM
    for word in words.split():
        known = getattr(command, "commands", None)
        if known is None:
            break
        assert word in known, f"strands{words}"
        command = known[word]
    assert not hasattr(command, "commands"), f"strands{words} names a group"
    known_options = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
    assert set(options.split()) <= known_options


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
    assert named <= {*PAGES, *declared_codes(), "policy"}
    assert named & PAGES.keys()
