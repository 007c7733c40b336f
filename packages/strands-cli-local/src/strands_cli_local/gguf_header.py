"""Read the header of a GGUF file, to decide whether it can run here before gigabytes are loaded.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""

from __future__ import annotations

import mmap
import stat
import struct
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from strands_cli.api import InvalidInput

MAGIC = b"GGUF"
VERSIONS = (2, 3)
# Real files have hundreds of keys and tensors, and at most some hundred thousand words of one vocabulary.
MOST_KEYS, MOST_TENSORS, MOST_ITEMS, MOST_BYTES = 10_000, 100_000, 5_000_000, 50_000_000
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """The facts of a file about its model.

    `size` is that of the file in bytes; `trained_context` the number of tokens it was trained for, `token_bytes` the
    bytes of memory for one token; both are None where the file lacks them.
    """

    path: Path
    size: int
    architecture: str
    trained_context: int | None
    token_bytes: int | None
    chat_template: str

    @property
    def calls_tools(self) -> bool:
        """Whether the chat template has a place for tools, which a model that was trained to call them has."""
        return "tools" in self.chat_template


def read_header(name: str) -> GgufHeader:
    """Read the header of a file.

    Raises:
        InvalidInput: There is no such file, it is not a GGUF file, or a part of it is missing.
    """
    path = Path(name).expanduser()
    try:
        file_stat = path.stat()
        if path.is_dir():
            raise InvalidInput(f"{path} is a folder, not a GGUF file", fix=_files_in(path))
        # A pipe would be waited for, and a device has no end.
        if not stat.S_ISREG(file_stat.st_mode):
            raise InvalidInput(f"{path} is a pipe or a device, not a GGUF file", fix=_files_in(path.parent))
        return _read(path.resolve(), file_stat.st_size, file_stat.st_mtime_ns)
    except FileNotFoundError as error:
        raise InvalidInput(f"there is no file {path}", fix=_files_in(path.parent)) from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}", fix=f"ls -l {path}") from error


def _files_in(folder: Path) -> str:
    """Return a fix that names the models of a folder."""
    file_names = sorted(path.name for path in folder.glob("*.gguf") if path.is_file())[:5] if folder.is_dir() else []
    named = (
        f"those of {folder} are {', '.join(file_names)}" if file_names else "a path is relative to the current folder"
    )
    return f"write the path of a GGUF file as model_id; {named}"


@lru_cache(maxsize=16)
def _read(path: Path, size: int, _changed: int) -> GgufHeader:
    with path.open("rb") as stream:
        start = stream.read(8)
        if start[:4] != MAGIC:
            message = f"{path} is not a GGUF file: it begins with {start[:4].hex(' ') or 'nothing'}, not with 'GGUF'"
            raise InvalidInput(message, fix="take a file in the GGUF format; other formats have to be converted to it")
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            try:
                values, end = _Reader(content).header()
            except ValueError as error:
                reason = "it has a text that is not UTF-8" if isinstance(error, UnicodeDecodeError) else error
                raise InvalidInput(f"the header of {path} is damaged: {reason}", fix="download it again") from error
    if end > size:
        message = f"{path} is not complete: it has {size:,} bytes, and its header describes at least {end:,}"
        raise InvalidInput(message, fix="download it again; its size is shown where it is offered")
    return _described(path, size, values)


def _described(path: Path, size: int, values: dict[str, Any]) -> GgufHeader:
    architecture = str(values.get("general.architecture", ""))

    def number(name: str) -> int | None:
        value = values.get(f"{architecture}.{name}")
        return value if isinstance(value, int) and value > 0 else None

    template = values.get("tokenizer.chat_template")
    layers, heads, width = number("block_count"), number("attention.head_count"), number("embedding_length")
    shared = number("attention.head_count_kv") or heads
    each = None
    if layers and shared and (number("attention.key_length") or (heads and width)):
        key = number("attention.key_length") or (width or 0) // (heads or 1)
        value = number("attention.value_length") or key
        each = 2 * layers * shared * (key + value)
    return GgufHeader(
        path=path,
        size=size,
        architecture=architecture,
        trained_context=number("context_length"),
        token_bytes=each,
        chat_template=template if isinstance(template, str) else "",
    )


class _Reader:
    """A place in a file, which moves on with each value."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content, self._at = content, 4

    def header(self) -> tuple[dict[str, Any], int]:
        """Return the values, lists left out, and the least number of bytes that the file must have."""
        version = self._number("I")
        if version not in VERSIONS:
            raise ValueError(f"it has version {version}; known are {' and '.join(map(str, VERSIONS))}")
        tensors, keys = self._limited("Q", MOST_TENSORS), self._limited("Q", MOST_KEYS)
        values = {self._text(): self._value(self._number("I")) for _ in range(keys)}
        last = 0
        for _ in range(tensors):
            self._text()
            self._skip(8 * self._limited("I", 8) + 4)
            last = max(last, self._number("Q"))
        alignment = values.get("general.alignment", 32)
        if not isinstance(alignment, int) or not 0 < alignment <= MOST_KEYS:
            raise ValueError("its alignment is not a number of bytes")
        begin = -(-self._at // alignment) * alignment
        # The last tensor has at least one byte.
        return values, begin + last + (1 if tensors else 0)

    def _value(self, kind: int, depth: int = 0) -> Any:
        if kind in _NUMBERS:
            return self._number(_NUMBERS[kind])
        if kind == _STRING:
            return self._text()
        if kind != _ARRAY or depth > 1:
            raise ValueError(f"it has a value of the unknown type {kind}")
        inner, count = self._number("I"), self._limited("Q", MOST_ITEMS)
        if inner in _NUMBERS:
            self._skip(count * struct.calcsize(f"<{_NUMBERS[inner]}"))
        elif inner == _STRING:
            for _ in range(count):
                self._skip(self._limited("Q", MOST_BYTES))
        else:
            for _ in range(count):
                self._value(inner, depth + 1)
        return None

    def _text(self) -> str:
        length = self._limited("Q", MOST_BYTES)
        start = self._at
        self._skip(length)
        return self._content[start : self._at].decode()

    def _limited(self, form: str, most: int) -> int:
        number = int(self._number(form))
        if number > most:
            raise ValueError(f"it has a count of {number:,}; {most:,} is the limit")
        return number

    def _number(self, form: str) -> Any:
        start = self._at
        self._skip(struct.calcsize(f"<{form}"))
        (number,) = struct.unpack_from(f"<{form}", self._content, start)
        return number

    def _skip(self, count: int) -> None:
        self._at += count
        if self._at > len(self._content):
            raise ValueError("it ends in the middle of its header")
