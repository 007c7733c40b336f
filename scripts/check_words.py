"""Report words that `[tool.strands-words]` in `pyproject.toml` bans from prose and from names.

Usage: python scripts/check_words.py [WORD...]

The prose is comments, docstrings and other strings of programs, comments and docstrings of tests, the pages, the
templates, the manifests, the examples and the changelog; the names are those that programs define. With words, look
for these in prose and names instead.
"""

from __future__ import annotations

import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

CLONE = Path(__file__).resolve().parent.parent
SOURCES = ("*.py", *(f"{folder}/**/*.py" for folder in ("src", "packages/*/src", "bench", "scripts", "examples")))
TESTS = ("tests/**/*.py", "packages/*/tests/**/*.py")
PAGES = (
    "*.md",
    "src/**/*.txt",  # with the templates of plugins and workflows
    "src/**/*.pyi",
    "packages/*/src/**/*.json",  # the manifests: people read their descriptions
    "examples/**/*.json",
    "docs/**/*.md",
    "packages/*/README.md",
    "changelog.d/*.md",
    "examples/**/*.md",
    "examples/**/*.yaml",
)
DEFINED = re.compile(r"^[ \t]*(?:async def|def|class) +(\w+)", re.M)
PROSE = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}

Use = tuple[int, str]  # a line and the word there


def pattern_of(words: Sequence[str], allowed: Sequence[str] = ()) -> re.Pattern[str]:
    """Return what finds any of the words outside the allowed phrases, also where a line ends within one.

    Both are regular expressions. The group `word` is empty in an allowed phrase.
    """
    found = rf"\b(?P<word>{'|'.join(words) or '(?!)'})\b"
    return re.compile("|".join((*allowed, found)).replace(" ", r"\s+"), re.I)


def in_prose(text: str, first: int, words: re.Pattern[str]) -> Iterator[Use]:
    """Yield each word in a text that begins on a line."""
    for found in words.finditer(text):
        if found["word"]:
            yield first + text.count("\n", 0, found.start()), " ".join(found["word"].split())


def in_names(path: Path, text: str, prose: re.Pattern[str], names: re.Pattern[str]) -> Iterator[Use]:
    """Yield the name of the module, and each name that it defines, if it is a word or has one in it."""
    defined = [(text.count("\n", 0, found.start(1)) + 1, found[1]) for found in DEFINED.finditer(text)]
    for line, name in [(1, path.stem), *defined]:
        if names.fullmatch(name.strip("_")) or any(in_prose(name.replace("_", " "), line, prose)):
            yield line, name


def in_source(path: Path, prose: re.Pattern[str], names: re.Pattern[str], *, is_test: bool) -> Iterator[Use]:
    """Yield each word in the names, comments and strings of a module; of a test's strings only docstrings count."""
    text = path.read_text("utf-8")
    yield from in_names(path, text, prose, names)
    if prose.search(text):  # else the tokens need no look: reading those of every module takes seconds
        tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type != tokenize.NL]
        for token, following in pairwise(tokens):
            is_data = is_test and token.type != tokenize.COMMENT and not _is_statement(token, following)
            if token.type in PROSE and not is_data:
                yield from in_prose(token.string, token.start[0], prose)


def _is_statement(token: tokenize.TokenInfo, following: tokenize.TokenInfo) -> bool:
    """Return whether a string is a whole statement, as a docstring is."""
    return not token.line[: token.start[1]].strip() and following.type == tokenize.NEWLINE


def uses(root: Path, banned: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, int, str]]:
    """Yield file, line and word of each use, in order."""
    prose, names = pattern_of(banned["prose"], banned.get("phrases", ())), pattern_of(banned["names"])
    tests = {path for pattern in TESTS for path in root.glob(pattern)}
    for path in sorted(tests.union(path for pattern in (*SOURCES, *PAGES) for path in root.glob(pattern))):
        name = path.relative_to(root).as_posix()
        if path.suffix == ".py":
            found = in_source(path, prose, pattern_of(()) if path in tests else names, is_test=path in tests)
        else:
            found = in_prose(path.read_text("utf-8"), 1, prose)
        yield from ((name, line, word) for line, word in sorted(set(found)))


def problems(root: Path, banned: Mapping[str, Any]) -> list[str]:
    """Return a line for each use that is not allowed, and for each allowance that nothing needs."""
    allowed = {(one["file"], one["word"].lower()): one["reason"] for one in banned.get("allowed", [])}
    found = list(uses(root, banned))
    lines = [f"{name}:{line}: '{word}'" for name, line, word in found if (name, word.lower()) not in allowed]
    needed = {(name, word.lower()) for name, _, word in found}
    return lines + [
        f"pyproject.toml: '{word}' is allowed in {name}, but not there" for name, word in allowed.keys() - needed
    ]


def main(words: Sequence[str]) -> int:
    """Print the problems; return 1 if there are some."""
    project = tomllib.loads((CLONE / "pyproject.toml").read_text("utf-8"))
    banned = {"prose": words, "names": words} if words else project["tool"]["strands-words"]
    lines = problems(CLONE, banned)
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
