"""Values of rows as the texts that a journal stores."""

from __future__ import annotations

import functools
import json
from typing import Any

from strands_cli.events import Usage

# Made once, as the encoder below.
_DECODER = json.JSONDecoder()


def json_value(text: Any) -> Any:
    """Return what a text means as `json.loads` does, in half the time where no space is around it, as in our own."""
    try:
        value, end = _DECODER.raw_decode(text)
    except (ValueError, TypeError):
        return json.loads(text)
    return value if end == len(text) else json.loads(text)


@functools.lru_cache(maxsize=1024)
def read_usage(text: str) -> Usage:
    """Return the usage of a row; a run has few different ones."""
    return Usage.from_mapping(json.loads(text))


@functools.lru_cache(maxsize=1024)
def usage_text(usage: Usage) -> str:
    """Return the usage of a row as JSON."""
    # Most rows have no estimate.
    names = (name for name in Usage.__slots__ if name != "estimated_tokens" or usage.estimated_tokens)
    return json_text({name: getattr(usage, name) for name in names})


# Made once: `json` makes one for each value that is not written in its default form.
_ENCODER = json.JSONEncoder(ensure_ascii=False)


def json_text(value: Any) -> str:
    """Return JSON; half a surrogate pair, which UTF-8 has no form for, becomes an escape."""
    if not value and value in (None, {}):  # half of what a run writes
        return "null" if value is None else "{}"
    text = _ENCODER.encode(value)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text
