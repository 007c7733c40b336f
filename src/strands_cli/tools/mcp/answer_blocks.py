"""One block of what a tool of an MCP server answers, as the SDK has content of tool results."""

from __future__ import annotations

from typing import Any

from strands_cli.tools.media import Block, blocks_of_bytes, decoded, described


def block_of(content: Any) -> Block:
    """Return a block; text stays text, pictures and documents are kept, and what has no block is named in text."""
    kind = content.type
    if kind == "text":
        return {"text": content.text}
    if kind in ("image", "audio"):
        return _of_bytes(content.data, mime_type(content), kind)
    if kind == "resource_link":
        parts = [str(content.uri), content.title or content.name or "", content.description or ""]
        about = described(mime_type(content), getattr(content, "size", None), str(content.uri))
        return {"text": about + "".join(f"\n{part}" for part in dict.fromkeys(parts[1:]) if part)}
    resource = content.resource
    if hasattr(resource, "text"):
        return {"text": resource.text}
    return _of_bytes(resource.blob, mime_type(resource), "", str(resource.uri))


def mime_type(content: Any) -> str:
    """Return the type that content claims; the versions of the protocol's package name it differently."""
    return str(getattr(content, "mime_type", None) or getattr(content, "mimeType", None) or "")


def _of_bytes(text: str, mime: str, kind: str, name: str = "") -> Block:
    data = decoded(text)
    if data is None:
        return {"text": described(mime or kind, None, name) + "\nIts data are not base64."}
    blocks = blocks_of_bytes(data, mime or ("image/*" if kind == "image" else kind), name)
    texts = [block["text"] for block in blocks if "text" in block]
    return blocks[0] if len(blocks) == 1 else {"text": "\n".join(texts)}
