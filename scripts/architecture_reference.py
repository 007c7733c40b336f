"""The part of the architecture page that is made from the tree: the layers of imports, a sentence for each package."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

from marked_reference import marked

CLONE = Path(__file__).resolve().parent.parent
SOURCE = CLONE / "src" / "strands_cli"


def architecture_page(page: str) -> str:
    """Return the page with the layers: a group of lines for each, with the sentence of each package or module."""
    width = max(len(name) for layer in layers() for name in layer)
    groups = ["\n".join(f"{name:{width}}  {sentence(name)}" for name in layer) for layer in layers()]
    return marked(page, "layers", "```text\n" + "\n\n".join(groups) + "\n```\n")


def layers() -> list[list[str]]:
    """Return the names of each layer of the import contract, the highest first."""
    project = tomllib.loads((CLONE / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(one for one in project["tool"]["importlinter"]["contracts"] if one["type"] == "layers")
    return [[name.strip("() ") for name in layer.split("|")] for layer in contract["layers"]]


def sentence(name: str) -> str:
    """Return the first line of the docstring of a package or module."""
    folder = SOURCE / name
    file = folder / "__init__.py" if folder.is_dir() else SOURCE / f"{name}.py"
    return (ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or "").partition("\n")[0]
