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
