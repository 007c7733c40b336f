"""Content of tool results besides text: pictures and documents as models take them, all else named in text."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from strands_cli.planning.attachments import picture_type
from strands_cli.texts.phrases import shortened
from strands_cli.workflow.steps import DOCUMENTS as DOCUMENTS
from strands_cli.workflow.steps import IMAGES as IMAGES

Block = dict[str, Any]

_DOCUMENT_TYPES = {
    "application/pdf": "pdf",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}
_SAME = {"jpg": "jpeg", "pjpeg": "jpeg", "x-png": "png", "apng": "png", "svg": "svg+xml"}
_TEXT_TYPES = ("json", "xml", "yaml", "x-yaml", "javascript", "x-sh", "sql", "toml", "csv", "x-ndjson")
# Besides those of the pictures that models read.
_SIGNS = (
    (b"GIF8", "gif"),
    (b"BM", "bmp"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
)
MOST_NAME = 200


def blocks_of_bytes(data: bytes, mime_type: str, name: str = "") -> list[Block]:
    """Return bytes as content for a model: a picture, a document, their text, or a line that names them.

    Args:
        mime_type: Their type as it is claimed, which may be empty or wrong.
        name: Where they are from, for the line.
    """
    mime_type = mime_type.partition(";")[0].strip().lower()
    kind, _, subtype = mime_type.partition("/")
    format_seen = picture_in(data)
    picture = format_seen or (_SAME.get(subtype, subtype) if kind == "image" else "")
    if format_seen in IMAGES and (kind in ("image", "") or mime_type == "application/octet-stream"):
        return [{"image": {"format": picture, "source": {"bytes": data}}}]
    if mime_type in _DOCUMENT_TYPES and data:
        document = {"name": document_name(name, _DOCUMENT_TYPES[mime_type]), "format": _DOCUMENT_TYPES[mime_type]}
        return [{"document": {**document, "source": {"bytes": data}}}]
    type_shown = f"image/{picture}" if kind == "image" and picture else mime_type
    line = {"text": described(type_shown, len(data), name)}
    if kind == "text" or subtype in _TEXT_TYPES or subtype.endswith(("+json", "+xml")) or type_shown.endswith("+xml"):
        text = data.decode("utf-8", "replace")
        return [{"text": text}] if kind != "image" else [line, {"text": text}]
    return [line]


def described(mime_type: str, size: int | None, name: str = "") -> str:
    """Return the line that represents content which no model is shown."""
    parts = [mime_type or "bytes of no known type", *([f"{size:,} bytes"] if size is not None else [])]
    about = ", ".join(parts)
    return f"[not shown: {shortened(name, MOST_NAME)} ({about})]" if name else f"[not shown: {about}]"


def decoded(text: str) -> bytes | None:
    """Return the bytes of base64 as programs write it: in lines, with the other alphabet, without its end, as a URL."""
    if text.startswith("data:"):
        text = text.partition(",")[2]
    text = "".join(text.split()).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def picture_in(data: bytes) -> str:
    """Return the format of a picture as its first bytes say it: services refuse one that says another."""
    return picture_type(data) or next((kind for sign, kind in _SIGNS if data.startswith(sign)), "")


def document_name(name: str, kind: str) -> str:
    """Return a name as the services take it: letters, digits, blanks and hyphens."""
    last = name.rstrip("/").rpartition("/")[2].removesuffix(f".{kind}")
    clean = "".join(char if char.isascii() and char.isalnum() else "-" for char in last).strip("-")
    return clean[:100] or "document"
