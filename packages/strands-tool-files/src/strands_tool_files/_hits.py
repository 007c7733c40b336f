"""The results of a search so far, where it stops, and how its result is shown."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from strands_tool_files._text import MARK

MAX_LOOKED_AT = 50_000
MAX_SEARCHED = 256 * 1024 * 1024
MAX_OUTPUT = 131_072
MAX_SECONDS = 15.0
_MAX_SHOWN = 400


@dataclass(slots=True)
class Hits:
    """The matches, the lines to show, and why they may not be everything.

    `rows` are path, line number, whether the line matches, and the line, in order.
    """

    max_matches: int
    require_time: Callable[[], None]
    matches: list[dict[str, Any]] = field(default_factory=list)
    rows: list[tuple[str, int, bool, str]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    is_truncated: bool = False
    files: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    looked_at: int = 0
    searched: int = 0
    size: int = 0
    until: float = field(default_factory=lambda: time.monotonic() + MAX_SECONDS)

    def match(self, path: str, number: int, line: str, span: tuple[int, int]) -> None:
        """Take a line that matches, unless a limit is reached."""
        if len(self.matches) >= self.max_matches:
            self.stop(f"only the first {self.max_matches} matches are here")
            return
        excerpt = _excerpt(line, span)
        if self._show(path, number, True, excerpt):
            self.matches.append({"path": path, "line": number, "text": excerpt})

    def near(self, path: str, number: int, line: str) -> None:
        """Take a line beside a match, unless a limit is reached."""
        self._show(path, number, False, _excerpt(line, (0, 0)))

    def look(self) -> bool:
        """Count a directory entry; return whether to go on."""
        self.looked_at += 1
        if self.looked_at > MAX_LOOKED_AT:
            self.stop(f"only {MAX_LOOKED_AT} entries were looked at; search a smaller directory")
        return self.may_go_on()

    def may_go_on(self) -> bool:
        """Return whether no limit is reached; raise when the call itself is over."""
        self.require_time()
        if time.monotonic() > self.until:
            self.stop(f"the search is limited to {MAX_SECONDS:g} seconds; search a smaller directory")
        if self.searched > MAX_SEARCHED:
            self.stop(f"only {MAX_SEARCHED >> 20} MiB of text were searched")
        return not self.is_truncated

    def skip(self, reason: str) -> None:
        """Count a file or line that could not be searched."""
        self.skipped[reason] = self.skipped.get(reason, 0) + 1

    def stop(self, notice: str) -> None:
        """End the search."""
        if not self.is_truncated:
            self.notices.append(notice)
        self.is_truncated = True

    def all_notices(self) -> list[str]:
        """Return the notices about the matches."""
        return [*self.notices, *(f"{reason}: {count}" for reason, count in sorted(self.skipped.items()))]

    def _show(self, path: str, number: int, is_match: bool, text: str) -> bool:
        # The text is in the rows and, for a match, in the JSON once more.
        size = (len(path.encode()) + len(text.encode("utf-8", "replace")) + 40) * (1 + is_match)
        if self.size + size > MAX_OUTPUT:
            self.stop(f"the matches are limited to {MAX_OUTPUT >> 10} KiB")
        if self.is_truncated:
            return False
        self.size += size
        self.rows.append((path, number, is_match, text))
        return True


def text_of(hits: Hits, *, is_tree: bool) -> str:
    """Return the lines as grep writes them: `:` before a match, `-` before its neighbours, `--` between groups."""
    lines: list[str] = []
    last = ("", 0)
    has_context = any(not is_match for _, _, is_match, _ in hits.rows)
    for path, number, is_match, text in hits.rows:
        if has_context and lines and last != (path, number - 1):
            lines.append("--")
        mark = ":" if is_match else "-"
        lines.append(f"{path}{mark}{number}{mark}{text}" if is_tree else f"{number}{mark}{text}")
        last = (path, number)
    return "\n".join([*(lines or ["(no matches)"]), *(f"[{notice}]" for notice in hits.all_notices())])


def _excerpt(line: str, span: tuple[int, int]) -> str:
    """Return a line, or of a long one the part around a place."""
    line = line.replace(MARK, "\ufffd")
    if len(line) <= _MAX_SHOWN:
        return line
    start = max(0, min(span[0] - _MAX_SHOWN // 4, len(line) - _MAX_SHOWN))
    end = start + _MAX_SHOWN
    return f"{'...' if start else ''}{line[start:end]}{'...' if end < len(line) else ''}"
