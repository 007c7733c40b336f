"""The parts of the architecture page that are made from the tree: the layers of imports, and a sentence per package."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

from marked_reference import marked

CLONE = Path(__file__).resolve().parent.parent
SOURCE = CLONE / "src" / "strands_cli"


def architecture_page(page: str) -> str:
    """Return the page with the layers and the sentences of packages and modules."""
    picture = "\n".join("   ".join(layer) for layer in layers())
    rows = [f"| `{name}` | {sentence} |" for name, sentence in sentences()]
    table = "\n".join(["| package or module | responsibility |", "| --- | --- |", *rows])
    return marked(marked(page, "layers", f"```text\n{picture}\n```\n"), "packages", f"{table}\n")


def layers() -> list[list[str]]:
    """Return the names of each layer of the import contract, the highest first."""
    project = tomllib.loads((CLONE / "pyproject.toml").read_text(encoding="utf-8"))
    contract = next(one for one in project["tool"]["importlinter"]["contracts"] if one["type"] == "layers")
    return [[name.strip("() ") for name in layer.split("|")] for layer in contract["layers"]]


def sentences() -> Iterator[tuple[str, str]]:
    """Yield each package and module of the layers, packages with those inside them, and its first line."""
    for name in (name for layer in layers() for name in layer):
        folder = SOURCE / name
        files = sorted(folder.rglob("__init__.py")) if folder.is_dir() else [SOURCE / f"{name}.py"]
        for file in files:
            place = file.parent if file.name == "__init__.py" else file.with_suffix("")
            docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
            yield place.relative_to(SOURCE).as_posix(), docstring.partition("\n")[0].replace("|", "\\|")
