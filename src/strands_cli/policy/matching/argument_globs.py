"""Match the arguments of a call with a rule's globs: strictly for an allow, loosely for an ask or a deny."""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from strands_cli.policy.matching.url_forms import canonical_glob, canonical_url, without_query
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.canonical_json import canonical_json

_MAX_DECODINGS = 5
# A separator, a dot, a percent sign or a NUL that a tool may decode after the permission check.
_ENCODED = ("%2f", "%5c", "%2e", "%25", "%00")


def fits_every(value: Any, path: str, glob: str) -> bool:
    """Return whether an argument is present and every value of it matches, in an unambiguous spelling.

    Args:
        path: The argument's name, dotted if it is nested.
        glob: The glob; `*` matches within a path segment, `**` across segments.
    """
    found = list(_values(value, path.split(".")))
    return bool(found) and all(item is not _ABSENT and _fits_plainly(item, glob) for item in found)


def fits_any(value: Any, path: str, glob: str) -> bool:
    """Return whether any value of an argument matches, in any spelling; a single `*` matches every value."""
    found = [item for item in _values(value, path.split(".")) if item is not _ABSENT]
    if glob in ("*", "**"):
        return bool(found)
    globs = {form.casefold() for form in (glob, canonical_glob(glob))}
    return any(matches_glob(text, one) for item in found for text in _spellings(item) for one in globs)


def values_of(arguments: Any, path: str) -> list[Any]:
    """Return the values of an argument by its dotted path, those in lists one by one; a missing one is None."""
    return [None if item is _ABSENT else item for item in _values(arguments, path.split("."))]


class _Absent:
    """The value of an argument, or of an element of it, that the call does not contain."""


_ABSENT = _Absent()


def _values(value: Any, path: list[str]) -> Iterator[Any]:
    """Yield the values at a dotted path; lists are searched at every level, an empty one yields nothing."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _values(item, path)
    elif not path:
        yield value
    elif not isinstance(value, Mapping):
        yield _ABSENT
    else:
        yield from _below(value, path)


def _below(value: Mapping[Any, Any], path: list[str]) -> Iterator[Any]:
    # A key may contain dots, so every beginning of the path is tried as a key.
    ends = [end for end in range(1, len(path) + 1) if ".".join(path[:end]) in value]
    for end in ends:
        yield from _values(value[".".join(path[:end])], path[end:])
    if not ends:
        yield _ABSENT


def _fits_plainly(value: Any, glob: str) -> bool:
    text = value if isinstance(value, str) else canonical_json(value)
    url = canonical_url(text)
    return not is_doubtful(text) and matches_glob(url or text, canonical_glob(glob) if url else glob)


def is_doubtful(text: str) -> bool:
    """Return whether a text may mean another path or URL than it shows."""
    for form in (text, unicodedata.normalize("NFKC", text)):
        if "\\" in form or ".." in form.split("/") or any(unicodedata.category(char)[0] == "C" for char in form):
            return True
        if any(code in form.lower() for code in _ENCODED):
            return True
        scheme, mark, rest = form.partition("://")
        # `https://evil.example?.good.example/` has a host that a glob for `*.good.example` does not see.
        if mark and "/" not in scheme and any(char in rest.partition("/")[0] for char in "@?# "):
            return True
    return False


def _spellings(value: Any) -> set[str]:
    """Return the possible readings of a value, casefolded; of an address also its usual form."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    forms = readings(value if isinstance(value, str) else canonical_json(value))
    urls = {url for form in forms if (url := canonical_url(form))}
    forms |= urls | {without_query(url) for url in urls}
    return {form.casefold() for form in forms | {_direct(form) for form in forms}}


def readings(text: str) -> set[str]:
    """Return the possible readings of a text: as written, decoded, with plain separators, without what is invisible."""
    forms = {text, unicodedata.normalize("NFKC", text), _decoded(text), _decoded(unicodedata.normalize("NFKC", text))}
    forms |= {form.replace("\\", "/") for form in forms}
    visible = {"".join(char for char in form if unicodedata.category(char)[0] != "C") for form in forms}
    return forms | visible | {form.strip() for form in forms | visible}


def _decoded(text: str) -> str:
    if "%" not in text:
        return text
    from urllib.parse import unquote  # few values need it

    for _ in range(_MAX_DECODINGS):
        if (once := unquote(text)) == text:
            break
        text = once
    return text


def _direct(text: str) -> str:
    """Return a path, or the path of a URL, without `.`, `..` and doubled separators."""
    scheme, mark, rest = text.partition("://")
    if mark and "/" not in scheme:
        host, slash, path = rest.partition("/")
        return f"{scheme}://{host}{posixpath.normpath(slash + path) if slash else ''}"
    return posixpath.normpath(text) if text else text


def matches_glob(text: str, glob: str) -> bool:
    """Return whether the whole text matches: `?` and `*` within a path segment, `**` across; the rest is literal.

    The time is proportional to the text for every glob, because the text may come from a model.
    """
    machine = _machine(glob)
    states = machine.closed(1)
    for char in text:
        states = machine.step(states, char)
        if not states:
            return False
    return bool(states >> machine.end & 1)


def may_begin(text: str, glob: str) -> bool:
    """Return whether a text that begins so, and has more characters, can match a glob."""
    machine = _machine(glob)
    states = machine.closed(1)
    for char in text:
        states = machine.step(states, char)
    return bool(states & ~(1 << machine.end))


@dataclass(frozen=True, slots=True)
class _Machine:
    """The automaton of a glob; each number has one bit for each token, and `end` is the bit after the last."""

    letters: Mapping[str, int]
    anything: int
    within: int
    across: int
    optional: int
    end: int

    def step(self, states: int, char: str) -> int:
        """Return the states after one more character."""
        is_separator = char == "/"
        fitting = self.letters.get(char, 0) | (0 if is_separator else self.anything)
        loops = self.across if is_separator else self.within | self.across
        return self.closed((states & fitting) << 1 | states & loops)

    def closed(self, states: int) -> int:
        """Return the states and those that are reachable without a character."""
        skippable = self.within | self.across | self.optional
        while True:
            # An optional part has three tokens: `optional`, a star and a separator.
            more = states | (states & skippable) << 1 | (states & self.optional) << 3
            if more == states:
                return states
            states = more


@lru_cache(maxsize=1024)
def _machine(glob: str) -> _Machine:
    tokens = _tokens(glob)

    def bits(kind: str) -> int:
        return sum(1 << place for place, token in enumerate(tokens) if token == kind)

    letters = {token[1:]: bits(token) for token in set(tokens) if token[0] == "="}
    return _Machine(letters, bits("?"), bits("*"), bits("**"), bits("optional"), len(tokens))


def _tokens(glob: str) -> list[str]:
    """Return a glob's tokens: `?`, `*`, `**`, `=x` for the letter x, `optional` before a `**/` that may be empty."""
    tokens: list[str] = []
    place = 0
    while place < len(glob):
        if not glob.startswith("**", place):
            tokens.append(glob[place] if glob[place] in "*?" else f"={glob[place]}")
            place += 1
            continue
        begins_segment = place == 0 or glob[place - 1] == "/"
        while glob.startswith("*", place):
            place += 1
        if begins_segment and glob.startswith("/", place):
            tokens.append("optional")
        tokens.append("**")
    return tokens
