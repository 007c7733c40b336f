"""The files of an index: their names, their limits, and reading one of them with the findings about it."""

from __future__ import annotations

import json
import re
from typing import Any

from strands_cli.api import Code, Finding, InvalidInput, Where

BAD_INDEX = Code(
    "bad-index",
    "A file of a plugin index is not JSON, too large, or has a wrong field.",
    "Ask its publisher to build it again.",
)
INDEX_VERSION = Code(
    "index-version",
    "A plugin index has a format that this strands-cli does not read.",
    "Upgrade strands-cli, or have the index built for it.",
)
INDEX_UNREACHABLE = Code(
    "index-unreachable",
    "A plugin index cannot be read: no such folder, or no index at the address.",
    "Check the address and the network.",
    18,
)

KIND = "strands-plugin-index"
FORMAT = 1
WHOLE, SEARCHED = "index.json", "search.jsonl"
WHEELS = "wheels"
# The endings of the files beside a wheel that prove its publisher.
PROOFS = (".provenance", ".publish.attestation")
MAX_BYTES = 20_000_000
# A wheel with a model in it is large; this is the most to download.
MAX_WHEEL_BYTES = 2_000_000_000

NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
VERSION = re.compile(r"[0-9a-z][0-9a-z.!+_-]{0,99}")
FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+!-]{0,250}\.whl")
SHA256 = re.compile(r"[0-9a-f]{64}")


def strict_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: It is not JSON; `NaN` and `Infinity`, which Python accepts, are not.
        RecursionError: It is nested too deeply.
    """
    return _DECODER.decode(text)


def _refuse_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def require_format(document: Any, where: Where) -> None:
    """Check that a document is that of an index, in a known format.

    Raises:
        InvalidInput: It is not.
    """
    if not isinstance(document, dict) or document.get("kind") != KIND:
        raise refused_index(f"it is not a plugin index (`kind` is not {KIND!r})", where)
    format_number = document.get("format")
    if type(format_number) is not int or format_number != FORMAT:
        message = f"the index has format {json.dumps(format_number)[:40]}; this strands-cli reads format {FORMAT}"
        raise InvalidInput(message, findings=[Finding(INDEX_VERSION, message, where)])


def refused_index(reason: str, where: Where) -> InvalidInput:
    """Return the error for a file of an index that cannot be used."""
    message = f"the index cannot be used: {reason}"
    return InvalidInput(message, findings=[Finding(BAD_INDEX, message, where)])
