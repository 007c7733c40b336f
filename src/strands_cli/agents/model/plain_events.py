"""The commonest events of a stream, known by their bytes: reading each as JSON would cost a tenth of a call."""

from __future__ import annotations

import re

_TEXT = r'"[^"\\\x00-\x1f]*(?:\\.[^"\\\x00-\x1f]*)*"'
_SIMPLE = rf"(?:{_TEXT}|-?\d+(?:\.\d+)?|null|true|false)"


def _object(*members: str) -> str:
    """Return a pattern of a JSON object that has some of these members, in any order."""
    member = f"(?:{'|'.join(members)})"
    return rf"\{{ ?{member}(?:, ?{member})* ?\}}"


def _member(names: str, value: str) -> str:
    return rf'"(?:{names})": ?{value}'


# What else a service adds there is empty.
_EMPTY = _member(r"\w+", "null")
_DELTA = _object(_member("role|content|reasoning_content|reasoning", _TEXT), _EMPTY)
_CHOICE = _object(_member("index", r"\d+"), _member("delta", _DELTA), _EMPTY)
_ABOUT = _member("id|object|created|model|system_fingerprint|service_tier|obfuscation|provider", _SIMPLE)
_CHUNK = _object(_ABOUT, _member("choices", rf"\[ ?{_CHOICE} ?\]"), _EMPTY)

# One or more pieces of a text in OpenAI's chat completions: no end, no call, no refusal, no error and no counts.
# https://platform.openai.com/docs/api-reference/chat-streaming/streaming
PLAIN_CHAT = re.compile(rf"(?:data: ?{_CHUNK}\r?\n\r?\n)+".encode())
# The text in one; inside another text its quotes would be escaped.
_CONTENT = re.compile(rb'"content": ?"([^"\\]*)"')
_NOTHING_ESCAPED = re.compile(rb'[^"\\\x00-\x1f]*')


class PlainPieces:
    """Tells the plain pieces of one stream. Two in a row differ in their text alone, and then only that is read."""

    def __init__(self, pattern: re.Pattern[bytes]) -> None:
        self._pattern = pattern
        self._before, self._behind = b"\0", b""

    def has(self, chunk: bytes) -> bool:
        """Return whether a chunk is one or more pieces of a text, and nothing else."""
        start, end = len(self._before), len(chunk) - len(self._behind)
        is_alike = start <= end and chunk.startswith(self._before) and chunk.endswith(self._behind)
        if is_alike and _NOTHING_ESCAPED.fullmatch(chunk, start, end) is not None:
            return True
        if self._pattern.fullmatch(chunk) is None:
            return False
        if (content := _CONTENT.search(chunk)) is not None:
            self._before, self._behind = chunk[: content.start(1)], chunk[content.end(1) :]
        return True
