"""Find the lines that fit: plain text here, a regular expression in a process that can be ended."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from strands_tool_kit import ToolError

_SPECIAL = frozenset(r".^$*+?{}[]\|()")
_CHILD = Path(__file__).with_name("_match_child.py")
_LOOK_EVERY = 0.05
# For one batch of lines, which a pattern that does not backtrack without end passes in a few milliseconds.
MAX_SECONDS = 3.0
_MAX_START_SECONDS = 10.0


class Matcher(Protocol):
    """Finds lines; no line it is given holds a line feed."""

    def find(self, lines: Sequence[str]) -> dict[int, tuple[int, int]]:
        """Return the indexes of the lines that fit, each with start and end of its first match."""


class TextMatcher:
    """Finds a plain text."""

    def __init__(self, text: str, *, ignore_case: bool) -> None:
        self._fold: Callable[[str], str] = str.lower if ignore_case else str
        self._text = self._fold(text)

    def find(self, lines: Sequence[str]) -> dict[int, tuple[int, int]]:
        places = ((index, self._fold(line).find(self._text)) for index, line in enumerate(lines))
        return {index: (start, start + len(self._text)) for index, start in places if start >= 0}


class PatternMatcher:
    """Finds a regular expression, in a child process: `re` neither stops for a timer nor lets other threads run."""

    def __init__(self, pattern: str, *, ignore_case: bool, require_time: Callable[[], None]) -> None:
        self._require_time = require_time
        self._until: float | None = None
        self._why: ToolError | None = None
        self._is_closed = threading.Event()
        self._process = _start_child()
        self._watcher = threading.Thread(target=self._watch, name="strands_tool_files: pattern", daemon=True)
        self._watcher.start()
        try:
            self._require_pattern(("i" if ignore_case else "-") + pattern)
        except BaseException:
            self.close()
            raise

    def find(self, lines: Sequence[str]) -> dict[int, tuple[int, int]]:
        spans = [word.split(":") for word in self._ask("\n".join(lines), MAX_SECONDS).split()]
        return {int(index): (int(start), int(end)) for index, start, end in spans}

    def close(self) -> None:
        """End the child."""
        self._is_closed.set()
        self._process.kill()
        self._watcher.join()
        with contextlib.suppress(OSError):  # The unread rest is flushed by close().
            self._process.__exit__(None, None, None)

    def _require_pattern(self, order: str) -> None:
        problem = self._ask(order, _MAX_START_SECONDS)
        if problem:
            raise _bad_pattern(f"the pattern is not a regular expression: {problem[:200]}")

    def _ask(self, text: str, seconds: float) -> str:
        """Send a frame and return the answer, or raise why there is none."""
        encoded = text.encode("utf-8", "surrogatepass")
        self._until = time.monotonic() + seconds
        try:
            answer = self._exchange(len(encoded).to_bytes(4, "big") + encoded)
        except OSError:
            answer = None  # The pipe broke, since the child is gone.
        self._until = None
        if answer is None:
            raise self._why or _bad_pattern("the pattern needs more memory than a search may use; write a simpler one")
        return answer.decode("utf-8", "surrogatepass")

    def _exchange(self, frame: bytes) -> bytes | None:
        source, sink = self._process.stdout, self._process.stdin
        if source is None or sink is None:
            return None
        sink.write(frame)
        sink.flush()
        head = source.read(4)
        size = int.from_bytes(head, "big")
        body = source.read(size)
        return body if len(head) == 4 and len(body) == size else None

    def _watch(self) -> None:
        """Kill the child when an answer takes too long, or the call is over."""
        while not self._is_closed.wait(_LOOK_EVERY):
            try:
                self._require_time()
            except ToolError as refusal:
                self._why = refusal
            until = self._until
            if until is not None and time.monotonic() > until:
                self._why = _too_slow()
            if self._why is not None:
                self._process.kill()
                return


@contextlib.contextmanager
def matcher_for(text: str, *, is_regex: bool, ignore_case: bool, require_time: Callable[[], None]) -> Iterator[Matcher]:
    """Give the matcher of one call for the length of a block.

    Raises:
        ToolError: `invalid_input` if the text is not a regular expression; `unavailable` if no process can be started.
    """
    if "\n" in text:
        raise _bad_pattern("lines are searched one by one, so the text must not hold a line feed")
    if not is_regex or not _SPECIAL.intersection(text):
        yield TextMatcher(text, ignore_case=ignore_case)
        return
    matcher = PatternMatcher(text, ignore_case=ignore_case, require_time=require_time)
    with contextlib.closing(matcher):
        yield matcher


def _start_child() -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603 - our own program in our own interpreter; the pattern goes by stdin
            [sys.executable, "-I", "-S", str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ToolError(
            "unavailable",
            f"no process can be started to match a regular expression ({error}); search for plain text instead",
            reason="process",
        ) from error


def _bad_pattern(message: str) -> ToolError:
    return ToolError("invalid_input", message, reason="pattern")


def _too_slow() -> ToolError:
    return ToolError(
        "timeout",
        f"the pattern took more than {MAX_SECONDS:g} seconds on a few lines; repetitions within repetitions, as in "
        "(a+)+, do that: write it without them",
        reason="pattern",
    )
