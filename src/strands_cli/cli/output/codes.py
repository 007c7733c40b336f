"""The join of all finding codes, which are declared in the modules that report them."""

from __future__ import annotations

from strands_cli.errors import Code


def codes_by_file() -> dict[str, list[Code]]:
    """Return the codes that each file of the program declares, by its path in the package, with `/`.

    Reads the sources and imports none of them: many import the SDK, which takes a second.
    """
    import ast
    import re
    from pathlib import Path

    root = Path(__file__).parents[2]
    declaration = re.compile(r"^[A-Z0-9_]+ = Code(\(.+?\))$", re.DOTALL | re.MULTILINE)
    found: dict[str, list[Code]] = {}
    for file in sorted(root.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if " = Code(" in text:
            found[file.relative_to(root).as_posix()] = [
                Code(*ast.literal_eval(one)) for one in declaration.findall(text)
            ]
    return found


def declared_codes() -> dict[str, Code]:
    """Return every code that a module of the program declares, by its name."""
    return {str(code): code for codes in codes_by_file().values() for code in codes}
