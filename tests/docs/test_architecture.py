"""The architecture page and the tree agree: layers, a sentence for each package, and each place of the table exists."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator

import pytest

from tests.docs.pages import CLONE

SOURCE = CLONE / "src" / "strands_cli"
TEXT = (CLONE / "docs" / "explanation" / "architecture.md").read_text("utf-8")
PLACE = re.compile(r"`([\w/-]+\.py):([\w.]+)`")
FILE = re.compile(r"`([\w/]+\.py)`")
# A newcomer finds these within a minute.
ASKED = [
    "where a template is rendered",
    "where a tool call is denied",
    "where a run is resumed",
    "how a command comes in",
    "what a pattern consists of",
    "where files of version 0 and 1 are known",
    "where a secret is hidden",
    "where an option of `run` gets its help text",
]


def part(name: str) -> list[str]:
    """Return the lines between two marks."""
    return TEXT.partition(f"<!-- made from the code: {name} -->")[2].partition("<!-- end -->")[0].strip().splitlines()


def rows() -> dict[str, str]:
    """Return the table of places, by what a person wants to change."""
    lines = TEXT.partition("| I want to change |")[2].partition("\n\n")[0].splitlines()[2:]
    return dict(line.strip("| ").split(" | ", 1) for line in lines)


def names_in(tree: ast.Module | ast.ClassDef) -> Iterator[tuple[str, ast.stmt]]:
    """Yield what a module or class defines."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    yield target.id, node


def test_the_tree_is_the_import_contract() -> None:
    project = tomllib.loads((CLONE / "pyproject.toml").read_text("utf-8"))
    contracts = {one["id"]: one for one in project["tool"]["importlinter"]["contracts"]}
    groups = "\n".join(line for line in part("layers") if not line.startswith("```")).split("\n\n")
    drawn = [[line.partition(" ")[0] for line in group.splitlines()] for group in groups]
    assert drawn == [re.findall(r"\w+", layer) for layer in contracts["layers"]["layers"]]


def test_every_package_of_the_tree_has_the_first_line_of_its_docstring() -> None:
    written = dict(line.split(maxsplit=1) for line in part("layers") if line and not line.startswith("```"))
    packages = {path.parent for path in SOURCE.glob("*/__init__.py")}
    assert len(packages) > 15
    for folder in packages:
        docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
        assert written[folder.name] == docstring.splitlines()[0]


def test_what_a_newcomer_asks_has_a_row() -> None:
    assert len(rows()) >= 25
    assert [question for question in ASKED if question not in rows()] == []


@pytest.mark.parametrize("question", rows())
def test_every_row_names_places(question: str) -> None:
    assert PLACE.search(rows()[question])


@pytest.mark.parametrize(("file", "name"), dict.fromkeys(PLACE.findall(TEXT)))
def test_a_place_that_the_page_names_exists(file: str, name: str) -> None:
    tree: ast.stmt | ast.Module = ast.parse(
        ((CLONE if file.startswith("packages/") else SOURCE) / file).read_text("utf-8")
    )
    for word in name.split("."):
        assert isinstance(tree, ast.Module | ast.ClassDef)
        tree = dict(names_in(tree))[word]


def test_every_file_that_the_page_names_exists() -> None:
    files = [file for file in FILE.findall(TEXT) if not file.startswith("scripts/")]
    assert files
    assert [file for file in files if not (SOURCE / file).is_file()] == []
