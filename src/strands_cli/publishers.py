"""`Publisher`: the repository and the workflow of a CI service that published a file, as its signature proves."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping
from typing import Any, Self

from strands_cli.quick_dataclass import dataclass

KINDS = ("github", "gitlab", "google", "circleci")
MAX_LENGTH = 300
# No space, quote, colon or control character: a word stays one word, on a terminal and in a policy file.
_REPOSITORY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+-]*(?:/[A-Za-z0-9_.][A-Za-z0-9._+-]*)*")
_WORKFLOW = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9 ._+/-]*")
_PATTERN = re.compile(r"!?(\*|[a-z]+):[A-Za-z0-9._@+/*?-]+")


@dataclass(frozen=True, slots=True)
class Publisher:
    """Who published a file.

    Attributes:
        kind: One of `KINDS`, the CI service.
        repository: The repository (`acme/tool`); for `google` the address of the service account.
        workflow: The workflow's file (`release.yml`); for `circleci` the pipeline definition; empty for `google`.
    """

    kind: str
    repository: str
    workflow: str = ""

    @classmethod
    def checked(cls, kind: Any, repository: Any, workflow: Any) -> Self:
        """Return a publisher of checked values.

        Raises:
            ValueError: A value does not fit its kind.
        """
        if kind not in KINDS:
            raise ValueError(f"the kind of a publisher is one of {', '.join(KINDS)}")
        if not _fits(_REPOSITORY, repository) or (kind == "github" and repository.count("/") != 1):
            raise ValueError("the repository of a publisher has another form")
        if workflow != "" and not _fits(_WORKFLOW, workflow):
            raise ValueError("the workflow of a publisher has another form")
        return cls(kind, repository, workflow)

    @property
    def word(self) -> str:
        """The publisher as a rule of policy names it: `github:acme/tool`."""
        return f"{self.kind}:{self.repository}"

    def __str__(self) -> str:
        """Return the publisher for a person: `github:acme/tool (release.yml)`."""
        return f"{self.word} ({self.workflow})" if self.workflow else self.word

    def as_dict(self) -> dict[str, str]:
        """Return the JSON shape, `{kind, repository, workflow}`."""
        return {"kind": self.kind, "repository": self.repository, "workflow": self.workflow}


def publisher_from(value: Any) -> Publisher:
    """Return the publisher that a JSON object states.

    Raises:
        ValueError: The object has another shape, or a value that no repository can have.
    """
    if not isinstance(value, Mapping) or set(value) != {"kind", "repository", "workflow"}:
        raise ValueError("a publisher is not written as {kind, repository, workflow}")
    return Publisher.checked(*(value[key] for key in ("kind", "repository", "workflow")))


def _fits(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_LENGTH and pattern.fullmatch(value) is not None


def is_publisher_pattern(text: str) -> bool:
    """Return whether a text is a pattern of publishers: `github:acme/*`, or `!github:acme/*` for all others."""
    match = _PATTERN.fullmatch(text) if len(text) <= MAX_LENGTH else None
    return match is not None and match[1] in ("*", *KINDS)


def matches_publisher(patterns: Iterable[str], word: str) -> bool:
    """Return whether one of the patterns matches a publisher's `word`; services ignore case, and so does this.

    A pattern with `!` matches the publishers that the rest of it does not match.
    """
    plain = word.casefold()
    return any(
        fnmatch.fnmatchcase(plain, pattern.removeprefix("!").casefold()) is not pattern.startswith("!")
        for pattern in patterns
    )
