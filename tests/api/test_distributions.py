"""What other distributions import of the core: `strands_cli.api`, few names, each of them used and described."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import strands_cli
from strands_cli import api, hooks
from tests.docs.pages import blocks, pages

CLONE = Path(__file__).parent.parent.parent
PACKAGES = CLONE / "packages"
PUBLIC: dict[str, str] = vars(api)["_PUBLIC"]
# Types that programs and the pages name without an import.
NAMED_ONLY = {"RedactedFormatter", "RunChoices", "StepFinished", "StoredArtifact", "StoredRunChoices", "Workflow"}


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imports_of(place: Path) -> Iterator[str]:
    """Yield what the modules below a directory import of the core, at their top and inside functions."""
    for path in place.rglob("*.py"):
        yield from imports_in(tree_of(path))


def imports_in(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names if is_of_core(node.module))
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if is_of_core(alias.name))


def imports_of_pages() -> Iterator[str]:
    """Yield what the Python blocks of the pages import of the core."""
    for block in (block for page in pages() for block in blocks(page)):
        if block.language == "python" and not {"fragment", "not run"} & block.marks.keys():
            yield from imports_in(ast.parse(block.text))


def is_of_core(module: str) -> bool:
    return module.split(".")[0] == "strands_cli"


def is_public(name: str) -> bool:
    """Return whether a distribution may import a name: of the API, or a hook plugin of the hooks."""
    module, _, last = name.rpartition(".")
    doors = {"strands_cli.api": PUBLIC, "strands_cli.hooks": hooks.__all__, "strands_cli": vars(strands_cli)["_PUBLIC"]}
    return last in doors.get(module, ())


DISTRIBUTIONS = sorted(place.parent.name for place in PACKAGES.glob("*/src") if any(imports_of(place)))


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_a_distribution_imports_nothing_else_of_the_core(name: str) -> None:
    assert sorted(one for one in imports_of(PACKAGES / name / "src") if not is_public(one)) == []


def test_no_distribution_is_missing() -> None:
    assert {
        "strands-cli-ask",
        "strands-cli-batch",
        "strands-cli-doctor",
        "strands-cli-index",
        "strands-cli-hatch",
        "strands-cli-local",
        "strands-cli-lsp",
        "strands-cli-migrate",
        "strands-cli-notify",
        "strands-cli-trigger",
        "strands-cli-postgres",
        "strands-cli-ui",
        "strands-cli-workers",
    } <= set(DISTRIBUTIONS)


def test_each_name_is_used_and_there_are_not_many() -> None:
    """By a distribution of ours, or by an example of a page, which is executed."""
    imported = {one.rpartition(".")[2] for one in (*imports_of(PACKAGES), *imports_of_pages()) if is_public(one)}
    assert sorted(set(PUBLIC) - imported - NAMED_ONLY) == []
    assert set(PUBLIC) >= NAMED_ONLY
    assert len(PUBLIC) <= 150


@pytest.mark.parametrize("module", [strands_cli, api])
def test_type_checkers_see_the_names_of_the_table(module: object) -> None:
    tree = tree_of(Path(str(vars(module)["__file__"])))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        (alias.asname, node.module) for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert seen == set(vars(module)["_PUBLIC"].items())


def test_each_name_is_defined_where_the_table_says() -> None:
    """A class or function says itself where it is; a table may not name a module that only passes it on."""
    values = {name: getattr(api, name) for name in PUBLIC}
    stated = {name: getattr(value, "__module__", None) for name, value in values.items() if isinstance(value, type)}
    assert {name for name, module in stated.items() if module != PUBLIC[name]} == set()


PROGRAM = """
import json, sys
import strands_cli.api as api
alone = [name for name in sys.modules if name.startswith("strands_cli.")]
for name in api._PUBLIC:
    getattr(api, name)
print(json.dumps([alone, [name for name in ("strands", "mcp", "boto3") if name in sys.modules]]))
"""


def test_the_module_imports_nothing_of_the_core_and_no_name_imports_the_sdk() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == [["strands_cli.__about__", "strands_cli.api"], []]


def test_each_name_has_a_sentence_on_its_page() -> None:
    page = (CLONE / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
    described = re.findall(r"^- `(\w+)`: [A-Z].*\.$", page, re.MULTILINE)
    assert sorted(described) == sorted(PUBLIC)


def test_the_core_does_not_import_its_own_door() -> None:
    source = CLONE / "src" / "strands_cli"
    assert [one for one in imports_of(source) if is_public(one)] == []
