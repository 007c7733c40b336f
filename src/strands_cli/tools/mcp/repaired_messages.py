"""The messages of a server on their way to the SDK's client: what can be understood is given the protocol's form."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from mcp.shared.message import SessionMessage

from strands_cli.canonical_json import json_object
from strands_cli.tools.mcp.listed_tools import Tell, usable_tools

_STRUCTURED_OBJECTS_UNTIL = "2026"
_OLDEST = "2025-11-25"
_OF_RESOURCES = ("uri", "mimeType", "text", "blob")
_OF_ANSWERS = ("content", "structuredContent", "isError")
# What only the results of other requests than calls of tools have.
_OF_OTHERS = ("tools", "capabilities", "resultType", "supportedVersions", "contents", "prompts", "resources")
_TEXTS = {"image": ("data", "mimeType"), "audio": ("data", "mimeType"), "resource_link": ("uri", "name")}


class RepairedStream:
    """A stream of messages in which results have the form that the protocol gives them."""

    def __init__(self, inner: Any, tell: Tell) -> None:
        self._inner = inner
        self._tell = tell
        self._version = _OLDEST

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def __aenter__(self) -> RepairedStream:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._inner.__aexit__(*error)

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for item in self._inner:
            yield self._repaired(item)

    async def receive(self) -> Any:
        """Return the next message."""
        return self._repaired(await self._inner.receive())

    def _repaired(self, item: Any) -> Any:
        message = item.message if isinstance(item, SessionMessage) else None
        result = getattr(message, "result", None)
        if message is None or not isinstance(result, dict):
            return item
        if isinstance(result.get("protocolVersion"), str):
            self._version = result["protocolVersion"]
        repaired = self._result(result)
        if repaired is not result:
            item.message = message.model_copy(update={"result": repaired})
        return item

    def _result(self, result: dict[str, Any]) -> dict[str, Any]:
        if "tools" in result and "capabilities" not in result:
            return {**result, "tools": usable_tools(result["tools"], self._version, self._tell)}
        if "protocolVersion" in result:
            return _introduction(result)
        if any(word in result for word in _OF_ANSWERS):
            return repaired_answer(result, self._version)
        if any(word in result for word in _OF_OTHERS):
            return result
        said = result.get("toolResult", {name: part for name, part in result.items() if name != "_meta"})
        return {"content": [] if said in ({}, None) else [_text(said)]}


def _introduction(result: dict[str, Any]) -> dict[str, Any]:
    """Return what a server says first; a capability is an object, and names and versions are texts."""
    given = json_object(result.get("capabilities"))
    offered = {name: json_object(one) for name, one in given.items() if one not in (None, False)}
    about = json_object(result.get("serverInfo"))
    named = {word: str(about.get(word) or "unknown") for word in ("name", "version")}
    return {**result, "capabilities": offered, "serverInfo": {**about, **named}}


def repaired_answer(result: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return the answer of a tool with content of the protocol's kinds; what is none of them becomes text."""
    content = result.get("content")
    listed = [] if content is None else content if isinstance(content, list) else [content]
    repaired = {**result, "content": [_block(one) for one in listed]}
    if "isError" in repaired and not isinstance(repaired["isError"], bool):
        repaired["isError"] = str(repaired["isError"]).lower() in ("true", "1")
    if "_meta" in repaired and not isinstance(repaired["_meta"], dict):
        del repaired["_meta"]
    structured = repaired.get("structuredContent")
    if structured is None or (version < _STRUCTURED_OBJECTS_UNTIL and not isinstance(structured, dict)):
        repaired.pop("structuredContent", None)
        if structured is not None and not listed:
            repaired["content"] = [_text(structured)]
    return repaired


def _block(block: Any) -> dict[str, Any]:
    """Return one block of content as the protocol has it."""
    kind = block.get("type") if isinstance(block, Mapping) else None
    if not isinstance(block, Mapping) or not isinstance(kind, str):
        return _text(block)
    if kind == "text":
        text = block.get("text")
        return _text(text if text is not None else "")
    if kind in _TEXTS:
        whole = all(isinstance(block.get(word), str) for word in _TEXTS[kind][:1])
        named = {word: block[word] if isinstance(block.get(word), str) else "" for word in _TEXTS[kind]}
        optional = {word: block[word] for word in ("title", "description") if isinstance(block.get(word), str)}
        mime = {"mimeType": block["mimeType"]} if isinstance(block.get("mimeType"), str) else {}
        size = {"size": block["size"]} if type(block.get("size")) is int else {}
        extra = {**optional, **mime, **size} if kind == "resource_link" else {}
        return {"type": kind, **named, **extra} if whole else _text(block)
    resource = block.get("resource")
    if kind != "resource" or not isinstance(resource, Mapping):
        return _text(block)
    parts = {
        word: resource[word] for word in ("uri", "mimeType", "text", "blob") if isinstance(resource.get(word), str)
    }
    if "text" in parts:
        parts.pop("blob", None)
    is_whole = "text" in parts or "blob" in parts
    return {"type": kind, "resource": {"uri": "", **parts}} if is_whole else _text(block)


def _text(value: Any) -> dict[str, Any]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    nested = json_object(value).get("text")
    return {"type": "text", "text": nested if isinstance(nested, str) and len(json_object(value)) <= 2 else text}
