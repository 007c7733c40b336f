"""Bytes of a response as text, by a character set from a short list."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping

_CHARSET = re.compile(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{1,40})")
# The codecs of Python do more than decode text; only these are asked for by name.
_CODECS = re.compile(
    r"utf-8(-sig)?|utf-(16|32)(-[lb]e)?|ascii|iso8859-\d+|cp\d{3,4}|koi8-[rut]|mac-roman|big5(hkscs)?|gb(k|2312|18030)"
    r"|shift_jis|euc_(jp|kr)|iso2022_jp|tis-620"
)
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_TEXT = re.compile(
    r"text/|application/(.*\+)?(json|xml|yaml|javascript|x-www-form-urlencoded|x-ndjson|toml|sql|graphql)"
)


def media_type(headers: Mapping[str, str]) -> str:
    """Return the type of the content in lower case, without parameters; empty when it is not stated."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()[:100]


def is_text(kind: str, content: bytes) -> bool:
    """Return whether content is text: its type says so, or it has no type and no zero byte near its start."""
    return bool(_TEXT.match(kind)) or (not kind and b"\0" not in content[:4096])


def decode_text(content: bytes, headers: Mapping[str, str], *, looks_inside: bool = False) -> tuple[str, str]:
    """Decode content by its byte-order mark, its header, the page's own declaration, or as UTF-8.

    Args:
        content: The bytes.
        headers: The headers of the response, names in lower case.
        looks_inside: Whether an HTML page may name the character set in its first 1,024 bytes.

    Returns:
        The text, with U+FFFD for bytes that do not fit, and the name of the codec.
    """
    named = _CHARSET.search(headers.get("content-type", ""))
    if named is None and looks_inside:
        named = _CHARSET.search(content[:1024].decode("ascii", "replace"))
    codec = next((name for mark, name in _BOMS if content.startswith(mark)), None)
    codec = codec or (_codec(named.group(1)) if named else None) or "utf-8"
    return content.decode(codec, "replace"), codec


def _codec(name: str) -> str | None:
    try:
        codec_name = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return codec_name if _CODECS.fullmatch(codec_name) else None
