"""Read the fenced blocks and links of a Markdown page, with the comments that say how a block is to be checked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CLONE = Path(__file__).parent.parent.parent
FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>[\w+-]*)[^`]*$")
MARK = re.compile(r"^<!-- *(?P<word>[a-z -]+?)(?:: *(?P<value>.*?))? *-->$")
LINK = re.compile(r"(?<!!)\[[^\]]+\]\(([^)\s]+)\)")
WORDS = {"fragment", "not run", "command", "file", "exits", "beside", "recipe"}


@dataclass(frozen=True)
class Block:
    """One fenced block: its place, its language, its text, and what the comment lines above it say."""

    page: Path
    line: int
    language: str
    text: str
    marks: dict[str, str]

    def __str__(self) -> str:
        return f"{self.page.relative_to(CLONE)}:{self.line} ({self.language or 'no language'})"


def pages() -> list[Path]:
    """Return every page that people read: README, CONTRIBUTING, docs and the READMEs of the tool distributions."""
    found = [
        CLONE / "README.md",
        CLONE / "CONTRIBUTING.md",
        *CLONE.glob("docs/**/*.md"),
        *CLONE.glob("packages/*/README.md"),
    ]
    return sorted(path for path in found if path.exists())


def blocks(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page in order; an indented fence loses its indentation.

    Raises:
        ValueError: A fence is not closed, or a comment above a block uses a word that nothing reads.
    """
    lines = iter(enumerate(page.read_text(encoding="utf-8").splitlines(), 1))
    marks: dict[str, str] = {}
    for number, line in lines:
        if opening := FENCE.match(line):
            inside = []
            closing = opening["indent"] + opening["ticks"]
            for _, text in lines:
                if text.rstrip() == closing:
                    break
                inside.append(text.removeprefix(opening["indent"]))
            else:
                raise ValueError(f"{page}:{number}: the fence is not closed")
            yield Block(page, number, opening["language"], "\n".join(inside) + "\n", marks)
            marks = {}
        elif mark := MARK.match(line.strip()):
            if mark["word"] in WORDS:
                marks = {**marks, mark["word"]: mark["value"] or ""}
        elif line.strip():
            marks = {}


def links(page: Path) -> Iterator[str]:
    """Yield the targets of links that point into the repository."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in LINK.findall(text):
        if not re.match(r"[a-z]+:", target) and not target.startswith("#"):
            yield target.split("#")[0]
