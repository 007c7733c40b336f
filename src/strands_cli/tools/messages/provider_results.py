"""Tool results as a provider can take them: what its service does not read is named in text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strands_cli.tools.media import IMAGES, described

_TEXTS = ("txt", "md", "csv", "html")


@dataclass(frozen=True, slots=True)
class Reads:
    """Which formats of a kind arrive in a tool result, as the SDK writes it for the service."""

    image: tuple[str, ...] = IMAGES
    document: tuple[str, ...] = ()
    video: tuple[str, ...] = ()


_ANY = ("pdf", "csv", "doc", "docx", "xls", "xlsx", *_TEXTS)
_VIDEO = ("mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp")
# A provider that is not here gets everything: what it reads is its author's business.
READS: Mapping[str, Reads] = {
    "anthropic": Reads(document=("pdf", *_TEXTS)),
    "bedrock": Reads(document=_ANY, video=_VIDEO),
    "gemini": Reads(image=("png", "jpeg", "webp"), document=("pdf", *_TEXTS), video=_VIDEO),
    "openai": Reads(),
    "openai_responses": Reads(document=_ANY),
    "ollama": Reads(),
    "llamacpp": Reads(),
    "litellm": Reads(),
    "sagemaker": Reads(),
    # Its tool messages are text.
    "mistral": Reads(image=()),
    "writer": Reads(image=()),
}


def readable_results(messages: Sequence[Any], provider: str) -> list[Any]:
    """Return messages whose tool results have only what the provider's service reads."""
    reads = READS.get(provider)
    return list(messages) if reads is None else [_readable(message, reads) for message in messages]


def _readable(message: Any, reads: Reads) -> Any:
    content = message["content"]
    if not any("toolResult" in block for block in content):
        return message
    return {**message, "content": [_with_text(block, reads) for block in content]}


def _with_text(block: Mapping[str, Any], reads: Reads) -> Mapping[str, Any]:
    result = block.get("toolResult")
    if not result:
        return block
    content = [one if _is_read(one, reads) else {"text": _named(one)} for one in result["content"]]
    return block if content == result["content"] else {**block, "toolResult": {**result, "content": content}}


def _is_read(block: Mapping[str, Any], reads: Reads) -> bool:
    for kind in ("image", "document", "video"):
        if kind in block:
            return block[kind].get("format") in getattr(reads, kind)
    return True


def _named(block: Mapping[str, Any]) -> str:
    kind = next(kind for kind in ("image", "document", "video") if kind in block)
    data = (block[kind].get("source") or {}).get("bytes")
    size = len(data) if isinstance(data, (bytes, bytearray)) else None
    return described(f"{kind}/{block[kind].get('format') or 'unknown'}", size, str(block[kind].get("name") or ""))
