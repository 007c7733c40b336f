"""Each finding code is declared once, beside what reports it, and the join of the declarations has every one."""

from __future__ import annotations

import ast
import copy
import pickle
import re
from functools import cache
from pathlib import Path

import pytest

import strands_cli
from strands_cli.cli.output.codes import codes_by_file, declared_codes
from strands_cli.errors import Code
from tests.golden import check_golden

# It reads every source.
pytestmark = pytest.mark.docs

SOURCE = Path(strands_cli.__file__).parent
PACKAGES = [SOURCE, *sorted((SOURCE.parents[1] / "packages").glob("*/src/*"))]
JOIN = SOURCE / "cli/output/codes.py"  # makes codes from what it reads
JOINED = {f"{place.name}/{file}": codes for place in PACKAGES for file, codes in codes_by_file(place).items()}
DECLARED = [code for codes in JOINED.values() for code in codes]


@cache
def trees() -> dict[str, ast.Module]:
    """Return the syntax of each module; read by the process that tests it, and not by each that collects tests."""
    files = ((place, path) for place in PACKAGES for path in place.rglob("*.py") if path != JOIN)
    return {
        f"{place.name}/{path.relative_to(place).as_posix()}": ast.parse(path.read_text(encoding="utf-8"))
        for place, path in files
    }


def constant_of(code: str) -> str:
    return code.upper().replace("-", "_")


def declarations(tree: ast.Module) -> list[ast.Call]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Code"
    ]


def compared(tree: ast.Module) -> set[ast.AST]:
    return {part for node in ast.walk(tree) if isinstance(node, ast.Compare) for part in ast.walk(node)}


def test_codes_are_pinned_and_each_says_what_to_do() -> None:
    check_golden("codes.txt", "".join(f"{code}\n" for code in sorted(DECLARED)))
    for code in DECLARED:
        assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", code), code
        assert code.meaning.endswith("."), code
        assert code.remedy, code


def test_no_code_is_declared_twice() -> None:
    assert len(DECLARED) == len(set(DECLARED))
    assert set(declared_codes()) <= set(DECLARED)


def test_the_join_has_every_declaration_under_the_name_of_its_code() -> None:
    for file, tree in trees().items():
        made, joined = declarations(tree), JOINED.get(file, [])
        constants = [node.targets[0].id for node in tree.body if isinstance(node, ast.Assign) and node.value in made]
        assert constants == [constant_of(code) for code in joined], file
        assert len(made) == len(joined), f"{file}: a code is made where the join cannot read it"


def test_every_declared_code_is_reported() -> None:
    reported = {
        node.id
        for tree in trees().values()
        for node in set(ast.walk(tree)) - compared(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    assert [code for code in DECLARED if constant_of(code) not in reported] == []


def test_what_reports_a_code_names_its_declaration() -> None:
    """Type checkers refuse other texts as codes; this finds a declared code that is typed again."""
    declared = {part for tree in trees().values() for call in declarations(tree) for part in call.args}
    typed = [
        f"{file}:{node.lineno}"
        for file, tree in trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in declared_by(file) and node not in declared
    ]
    assert typed == []


@cache
def declared_in(package: str) -> frozenset[Code]:
    return frozenset(code for file, codes in JOINED.items() if file.startswith(package) for code in codes)


def declared_by(file: str) -> frozenset[Code]:
    """Return the codes of a file's package: what another one declares, it may not be able to import."""
    return declared_in(f"{file.partition('/')[0]}/")


def test_a_code_is_its_name_and_survives_a_copy() -> None:
    code = Code("a-code", "It means this.", "Do that.", 18)
    for copied in (copy.deepcopy(code), pickle.loads(pickle.dumps(code))):
        assert copied == "a-code"
        assert (copied.meaning, copied.remedy, copied.exit_code) == (code.meaning, code.remedy, code.exit_code)
