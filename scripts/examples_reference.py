"""The reference page of the examples: the comment on the first lines of each file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent
EXAMPLES = CLONE / "examples"
# So many words say what an example shows.
ENOUGH = 4
TITLES = {"": "To begin with", "atomic": "Agents in files of their own", "mcp": "MCP servers"}

INTRODUCTION = """# Examples

Each of these workflows runs offline from the recording beside it, while its tools, gates, templates and files are real:

```console
$ strands run --quiet examples/inputs/types.yaml
A table for eight is laid on Friday.
```

The first lines of a file say more, such as the words that it needs on the command line. Each field of the
[workflow format](workflow.md) occurs in some example.

This page is made from `examples/` by `python scripts/make_reference.py`.
"""


def examples_page() -> str:
    """Return the page of all examples as Markdown: for each folder a list."""
    parts = [INTRODUCTION]
    for folder, found in groupby(example_names(), key=group_of):
        items = [f"- [{name}](../../examples/{name}): {shows(EXAMPLES / name)}" for name in found]
        title = TITLES.get(folder, folder.replace("-", " ").capitalize())
        parts.append("\n".join([f"## {title}\n", *items]) + "\n")
    return "\n".join(parts)


def example_names() -> list[str]:
    """Return the names of the workflows below their folder, by group; recordings and files to deploy with are none."""
    paths = (path for path in EXAMPLES.rglob("*.yaml") if not path.name.endswith(".recording.yaml"))
    names = (path.relative_to(EXAMPLES).as_posix() for path in paths if EXAMPLES / "deploy" not in path.parents)
    return sorted(names, key=lambda name: (group_of(name), name))


def group_of(name: str) -> str:
    """Return the folder that a file is grouped under, nothing for those at the top."""
    folder, _, rest = name.partition("/")
    return folder if rest else ""


def shows(path: Path) -> str:
    """Return the first sentence of the comment that a file begins with, or its first part if that has enough words.

    Raises:
        SystemExit: it begins with no comment.
    """
    text = " ".join(comment(path))
    if not text:
        raise SystemExit(f"{path.relative_to(CLONE)}: the first line must be a comment that says what it shows")
    sentence = re.split(r"(?<=\.)\s", text)[0]
    part = re.split(r"[:;]\s", sentence)[0]
    return (part if len(part.split()) >= ENOUGH else sentence).rstrip(".:") + "."


def comment(path: Path) -> Iterator[str]:
    """Yield the lines of the comment at the top, but for the commands, which are indented."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            return
        if not line.startswith("#  "):
            yield line.removeprefix("#").strip()
