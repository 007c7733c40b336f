"""The join of all finding codes, declared in the modules that report them."""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from strands_cli.errors import Code

_DECLARATION = re.compile(r"^[A-Z0-9_]+ = Code(\(.+?\))$", re.DOTALL | re.MULTILINE)
# The most modules to read of another distribution.
_MOST_MODULES = 2_000


def codes_by_file(root: Path | None = None) -> dict[str, list[Code]]:
    """Return the codes that each file of a package declares, by its path in the package, with `/`.

    Reads the sources and imports none of them: many import the SDK, which takes a second.

    Args:
        root: The folder of the package; by default that of the program.
    """
    folder = root or Path(__file__).parents[2]
    codes: dict[str, list[Code]] = {}
    for file in sorted(islice(folder.rglob("*.py"), None if root is None else _MOST_MODULES)):
        with contextlib.suppress(OSError):  # of another distribution
            text = file.read_text(encoding="utf-8", errors="replace")
            if " = Code(" in text:
                codes[file.relative_to(folder).as_posix()] = [*_declared_in(text)]
    return codes


def declared_codes() -> dict[str, Code]:
    """Return every code by its name: those of the program, then those of distributions that add parts to it."""
    places = [None, *_packages_with_parts()]
    declared = [code for folder in places for codes in codes_by_file(folder).values() for code in codes]
    return {str(code): code for code in reversed(declared)}  # a code that another distribution declares too stays ours


def _declared_in(text: str) -> Iterator[Code]:
    for arguments in _DECLARATION.findall(text):
        with contextlib.suppress(ValueError, TypeError, SyntaxError):  # a stranger's `Code` may be another
            yield Code(*ast.literal_eval(arguments))


def _packages_with_parts() -> Iterator[Path]:
    """Yield the folders of the packages that add commands, stores or other parts; none is imported."""
    from strands_cli.catalog.distributions.entry_points import find_package
    from strands_cli.catalog.distributions.scan import scan_installed
    from strands_cli.parts.named_parts import owners_of_packages

    listings = scan_installed().listings
    for name in owners_of_packages():
        package = find_package(name, listings)
        if package is not None and package.directory is not None:
            yield Path(package.directory)
