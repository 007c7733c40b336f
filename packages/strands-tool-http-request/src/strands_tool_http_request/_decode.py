"""Bytes from outside made text: one layer of compression undone step by step, and a character set from a short list."""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Mapping

from strands_tool_kit import ToolError

_WINDOW = {"gzip": 31, "x-gzip": 31, "deflate": 15}
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


class Body:
    """The decoded body of a response, filled chunk by chunk up to a limit.

    Args:
        encoding: The value of the header `Content-Encoding`.
        limit: The greatest number of decoded bytes.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        layers = [layer for part in encoding.lower().split(",") if (layer := part.strip()) not in ("", "identity")]
        if len(layers) > 1 or any(layer not in _WINDOW for layer in layers):
            problem = f"the answer is encoded as {encoding[:100]!r}; gzip or deflate, once, is accepted"
            raise ToolError("tool_failed", problem, reason="encoding")
        self.is_cut = False
        self._layer = layers[0] if layers else None
        self._inflate = zlib.decompressobj(_WINDOW[self._layer]) if self._layer else None
        self._is_new = True
        self._limit = limit
        self._bytes = bytearray()

    def add(self, chunk: bytes) -> bool:
        """Add what came over the wire; return whether more may come."""
        left = self._limit - len(self._bytes) + 1
        self._bytes += chunk[:left] if self._inflate is None else self._inflated(chunk, left)
        if len(self._bytes) > self._limit:
            del self._bytes[self._limit :]
            self.is_cut = True
        return not self.is_cut

    def _inflated(self, chunk: bytes, left: int) -> bytes:
        """Return at most `left` decoded bytes, so that a bomb never unfolds."""
        if self._inflate is None or self._inflate.eof:
            return b""
        try:
            try:
                found = self._inflate.decompress(chunk, left)
            except zlib.error:
                if self._layer != "deflate" or not self._is_new:
                    raise
                # Half of the world means raw deflate by this word.
                self._inflate = zlib.decompressobj(-15)
                found = self._inflate.decompress(chunk, left)
        except zlib.error as error:
            raise ToolError("tool_failed", f"the compressed answer is damaged: {error}", reason="encoding") from None
        self._is_new = False
        return found

    @property
    def content(self) -> bytes:
        """What has come so far."""
        return bytes(self._bytes)

    @property
    def is_whole(self) -> bool:
        """Whether the compressed data came to its own end."""
        return self._inflate is None or self._is_new or self._inflate.eof


def media_type(headers: Mapping[str, str]) -> str:
    """Return the type of the content in lower case, without parameters; empty when none is said."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()[:100]


def is_text(kind: str, content: bytes) -> bool:
    """Return whether content is text: its type says so, or it has no type and no zero byte near its start."""
    return bool(_TEXT.match(kind)) or (not kind and b"\0" not in content[:4096])


def decode_text(content: bytes, headers: Mapping[str, str], *, looks_inside: bool = False) -> tuple[str, str]:
    """Decode content by its byte-order mark, its header, the page's own word for it, or as UTF-8.

    Args:
        content: The bytes.
        headers: The headers of the response, names in lower case.
        looks_inside: Whether an HTML page may name the character set in its first 1,024 bytes.

    Returns:
        The text, where what does not fit is U+FFFD, and the name of the codec.
    """
    named = _CHARSET.search(headers.get("content-type", ""))
    if named is None and looks_inside:
        named = _CHARSET.search(content[:1024].decode("ascii", "replace"))
    codec = next((name for mark, name in _BOMS if content.startswith(mark)), None)
    codec = codec or (_codec(named.group(1)) if named else None) or "utf-8"
    return content.decode(codec, "replace"), codec


def _codec(name: str) -> str | None:
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return found if _CODECS.fullmatch(found) else None


def cut_text(text: str, limit: int) -> tuple[str, bool]:
    """Return the text up to a number of bytes of UTF-8, and whether it was cut."""
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= limit:
        return encoded.decode("utf-8"), False
    return encoded[:limit].decode("utf-8", "ignore"), True
