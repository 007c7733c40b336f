"""Findings that several checks of a workflow report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from strands_cli.errors import Code, Finding, Where, clear_edit, suggest

MISSING_KEY = Code("missing-key", "A required key is missing.", "Add the key.")
BAD_VALUE = Code("bad-value", "A value of the right type that is not allowed.", "Use an allowed value.")
BAD_IDENTIFIER = Code(
    "bad-identifier", "A name contains characters that are not allowed.", "Use letters, digits and . _ : - only."
)
UNKNOWN_AGENT = Code(
    "unknown-agent", "A step names an agent that is not defined.", "Correct the name or define the agent."
)
UNKNOWN_SERVER = Code(
    "unknown-server", "An MCP server is named that is not defined.", "Correct the name or define the server."
)
UNKNOWN_SECRET = Code(
    "unknown-secret",
    "A tool or a model names a secret that `env.secrets` does not have.",
    "Correct the name, or name the secret there.",
)
DUPLICATE_ID = Code("duplicate-id", "Two parts of one kind have the same name.", "Give each a name of its own.")
NO_EFFECT = Code("no-effect", "A field has no effect at its place.", "Remove it, or add what it needs.")
UNKNOWN_NAME = Code(
    "unknown-name", "A template uses a name that has no value there.", "Use one of the names known there."
)
BAD_SCHEMA = Code("bad-schema", "A JSON Schema is not valid.", "Correct the schema.")
BAD_PATH = Code(
    "bad-path",
    "A path leads out of the workflow's project or to credentials, or is not a path.",
    "Use a path below the repository's root or the working directory.",
)


class Locator(Protocol):
    """Knows where each part of a workflow is written."""

    def where(self, pointer: str, *, key: bool = False) -> Where:
        """Return the place of a value by its JSON pointer, or that of its key."""


def unknown(code: Code, name: str, known_names: Iterable[str], where: Where) -> Finding:
    """Report a name that refers to nothing; `code` is `unknown-` and the kind of thing."""
    words, kind = list(dict.fromkeys(known_names)), code.removeprefix("unknown-")
    fix = suggest(name, words, f"there are: {', '.join(words)}" if words else f"add the {kind}")
    return Finding(code, f"there is no {kind} {name!r}", where, fix, edits=clear_edit(name, words, of_author=True))


def no_effect(message: str, where: Where, fix: str | None = "remove it") -> Finding:
    """Report an accepted field that changes nothing."""
    return Finding(NO_EFFECT, message, where, fix, "warning")


def duplicates(kind: str, ids: Sequence[str], pointer: str, locator: Locator) -> Iterator[Finding]:
    """Report each id of a list that an earlier item has too."""
    firsts: dict[str, int] = {}
    for index, name in enumerate(ids):
        first = firsts.setdefault(name, index)
        if first < index:
            line = locator.where(f"{pointer}/{first}").line
            message = f"two of the {kind} ids are {name!r}, the first in line {line}"
            yield Finding(DUPLICATE_ID, message, locator.where(f"{pointer}/{index}/id"), "give each an id of its own")
