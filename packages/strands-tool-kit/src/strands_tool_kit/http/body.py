"""The body of a response, decompressed step by step up to a limit."""

from __future__ import annotations

import zlib

_WINDOW = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class EncodingError(ValueError):
    """A damaged body, or one with an unaccepted compression.

    Attributes:
        is_damaged: Whether another attempt may bring a sound body.
    """

    def __init__(self, problem: str, *, is_damaged: bool = False) -> None:
        super().__init__(problem)
        self.is_damaged = is_damaged


class Body:
    """The decoded body of a response, filled chunk by chunk up to a limit.

    Args:
        encoding: The value of the header `Content-Encoding`.
        limit: The greatest number of decoded bytes.

    Raises:
        EncodingError: The encoding is not accepted.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        layers = [layer for part in encoding.lower().split(",") if (layer := part.strip()) not in ("", "identity")]
        if len(layers) > 1 or any(layer not in _WINDOW for layer in layers):
            problem = f"the answer is encoded as {encoding[:100]!r}; gzip or deflate, once, is accepted"
            raise EncodingError(problem)
        self.is_cut = False
        self._layer = layers[0] if layers else None
        self._inflate = zlib.decompressobj(_WINDOW[self._layer]) if self._layer else None
        self._is_new = True
        self._head = b""
        self._limit = limit
        self._bytes = bytearray()

    def add(self, chunk: bytes) -> bool:
        """Add bytes from the wire; return whether more may come.

        Raises:
            EncodingError: The compressed data is damaged.
        """
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
        if self._is_new and self._layer == "deflate":
            # The header that tells zlib from raw deflate has two bytes.
            self._head += chunk
            if len(self._head) < 2:
                return b""
            chunk = self._head
        try:
            try:
                inflated = self._inflate.decompress(chunk, left)
            except zlib.error:
                if self._layer != "deflate" or not self._is_new:
                    raise
                # Many servers send raw deflate under this name.
                self._inflate = zlib.decompressobj(-15)
                inflated = self._inflate.decompress(chunk, left)
        except zlib.error as error:
            raise EncodingError(f"the compressed answer is damaged: {error}", is_damaged=True) from None
        self._is_new = False
        return inflated

    @property
    def content(self) -> bytes:
        """The decoded bytes so far."""
        return bytes(self._bytes)

    @property
    def is_whole(self) -> bool:
        """Whether the compressed data came to its own end."""
        return self._inflate is None or self._is_new or self._inflate.eof
