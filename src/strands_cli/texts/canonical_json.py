"""JSON by its standard: canonical, with its digest, for comparing values; and read without Python's additions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn


def canonical_json(value: Any) -> str:
    """Return JSON with sorted keys and no spaces; bytes (images, documents) are replaced by their digest.

    Raises:
        TypeError: The value contains something that JSON cannot represent.
    """
    return _ENCODER.encode(value)


def digest_of(value: Any) -> str:
    """Return the SHA-256 of a value's canonical JSON, in hex."""
    return hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def strict_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: It is not JSON; `NaN` and `Infinity`, which Python accepts, are not.
        RecursionError: It is nested too deeply.
    """
    return _DECODER.decode(text)


def json_object(value: Any) -> Mapping[str, Any]:
    """Return a value from outside that should be a JSON object; an empty one where it is something else."""
    return value if isinstance(value, Mapping) else {}


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON")


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (bytes, bytearray)):
        return {"sha256": hashlib.sha256(value).hexdigest()}
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no canonical JSON")


# Made once: `json` makes one for each value not read or written in its default form.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_as_json)


def mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: mapped(item, change) for name, item in value.items()}
    return [mapped(item, change) for item in value] if isinstance(value, (list, tuple)) else value
