"""Attachments as the SDK's content blocks, and conversations whose attachments the journal has only once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from strands_cli.engine.ports import AgentRequest
from strands_cli.planning.attachments import TEXTS, Attachment, require_few_together
from strands_cli.provider_table import known_provider
from strands_cli.tools.media import IMAGES, document_name

_KINDS = ("image", "document")


def prompt_with_files(request: AgentRequest, history: Sequence[Any]) -> str | list[dict[str, Any]]:
    """Return the message of a request: its text, after the blocks of its attachments where it has some.

    A text becomes a part of the message where the provider is not known to read it as a document.

    Raises:
        AttachmentError: With those of the conversation so far they are too large.
    """
    if not request.attachments:
        return request.prompt
    before = [(kind, block) for message in history for kind, block in _files_in(message["content"])]
    sizes = [len(block["source"]["bytes"]) for _, block in before]
    require_few_together([*sizes, *(len(attached.data) for attached in request.attachments)], request.agent.id)
    reads = frozenset.intersection(*(_documents_of(model.provider) for model in request.agent.models))
    taken = {block["name"] for kind, block in before if kind == "document"}
    blocks: list[dict[str, Any]] = []
    texts: list[str] = []
    for attached in request.attachments:
        if attached.type in TEXTS and attached.type not in reads:
            texts.append(f"{attached.name}:\n{attached.data.decode('utf-8')}")
        else:
            blocks.append(_block(attached, taken))
    if len(blocks) > 1:
        names = [each.name for each in request.attachments if each.type not in TEXTS or each.type in reads]
        texts.insert(0, f"The attached files are, in this order: {', '.join(names)}")
    return [*blocks, {"text": "\n\n".join([*texts, request.prompt])}]


def _documents_of(provider_name: str) -> frozenset[str]:
    """Return the types that a provider is known to read."""
    provider = known_provider(provider_name)
    return (provider.reads if provider is not None else None) or frozenset()


def _block(attached: Attachment, taken: set[str]) -> dict[str, Any]:
    source = {"bytes": attached.data}
    if attached.type in IMAGES:
        return {"image": {"format": attached.type, "source": source}}
    # Services refuse two documents of one name in a conversation.
    plain = document_name(attached.name, attached.type)
    names = (plain, *(f"{plain}-{number}" for number in range(2, len(taken) + 2)))
    name = next(name for name in names if name not in taken)
    taken.add(name)
    return {"document": {"name": name, "format": attached.type, "source": source}}


def without_bytes(message: Any, attachments: Sequence[Attachment], history: Sequence[Any]) -> Any:
    """Return a message for the journal, with the digest in the place of the bytes of each attachment.

    Args:
        message: Of the SDK.
        attachments: Those of the request.
        history: The messages of earlier steps.
    """
    digests = {hashlib.sha256(attached.data).hexdigest() for attached in attachments}
    digests |= {str(block["source"].get("sha256")) for past in history for _, block in _files_in(past["content"])}
    if not digests:
        return message
    content = []
    for block in message["content"]:
        kind = next((kind for kind in _KINDS if kind in block), None)
        data = block[kind]["source"].get("bytes") if kind else None
        digest = hashlib.sha256(data).hexdigest() if isinstance(data, bytes) else ""
        is_stored = kind is not None and digest in digests
        content.append({kind: {**block[kind], "source": {"sha256": digest}}} if is_stored else block)
    return {**message, "content": content}


def with_bytes(messages: list[Any], stored: Callable[[str], bytes]) -> list[Any]:
    """Return messages from the journal, for the SDK, with the bytes of their attachments put into them."""
    for message in messages:
        for _, block in _files_in(message["content"]):
            if digest := block["source"].get("sha256"):
                block["source"] = {"bytes": stored(digest)}
    return messages


def _files_in(content: Iterable[Any]) -> Iterable[tuple[str, Any]]:
    """Yield the pictures and documents of a message itself, not those of tool results."""
    for block in content:
        yield from ((kind, block[kind]) for kind in _KINDS if kind in block)
