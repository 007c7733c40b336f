"""The messages of a server on their way to the SDK's client: understandable ones get the protocol's form."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import anyio
from mcp.shared.message import SessionMessage

from strands_cli.texts.canonical_json import json_object
from strands_cli.texts.phrases import shortened
from strands_cli.tools.property_names import named_types
from strands_cli.tools.schema.schemas import SchemaFaultError, require_schema

# The tools that a server lists: certain meanings are repaired, and an unusable tool costs no other.


Tell = Callable[[str], None]

_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
_TASK_SUPPORT = ("forbidden", "optional", "required")
# From this version of the protocol on, the output of a tool need not be an object.
_ANY_OUTPUT = "2026"
_WITHOUT_TYPE = ("$ref", "allOf", "anyOf", "oneOf", "not", "if", "enum", "const")


def usable_tools(listed: Any, version: str, tell: Tell) -> list[dict[str, Any]]:
    """Return the tools of a list that can be used, as the protocol has them.

    Args:
        listed: The list from the server.
        version: The agreed version of the protocol.
        tell: Gets a sentence about the server for each omitted or changed tool.
    """
    tools: dict[str, dict[str, Any]] = {}
    for number, entry in enumerate(listed if isinstance(listed, list) else [listed], 1):
        name = entry.get("name") if isinstance(entry, Mapping) else None
        if not isinstance(entry, Mapping) or not isinstance(name, str) or not name:
            tell(f"has a tool, number {number} of its list, that is left out: it has no name")
        elif name in tools:
            tell(f"lists '{shortened(name, 80)}' twice; the first one is used")
        elif (schema := input_schema(entry.get("inputSchema"))) is None:
            tell(f"has a tool '{shortened(name, 80)}' that is left out: its inputSchema does not describe an object")
        else:
            tools[name] = {"name": name, "inputSchema": schema, **_rest(entry, version, tell)}
    return list(tools.values())


def input_schema(schema: Any) -> dict[str, Any] | None:
    """Return the schema of an input as the protocol has it, or None for one that no object can fit."""
    if schema is None or schema is True:
        return {"type": "object"}
    if not isinstance(schema, Mapping):
        return None
    schema = named_types(schema)
    kinds = schema.get("type", "object")
    if kinds != "object" and not (isinstance(kinds, list) and "object" in kinds):
        return None
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, (list, bool)):
        return None
    if not all(isinstance(property_schema, (Mapping, bool)) for property_schema in properties.values()):
        return None
    unused = {"type"} if isinstance(required, list) else {"type", "required"}
    return {"type": "object", **{word: part for word, part in schema.items() if word not in unused}}


def _rest(entry: Mapping[str, Any], version: str, tell: Tell) -> dict[str, Any]:
    """Return the words of a tool beside its name and its input, without those of other types than the protocol's."""
    rest: dict[str, Any] = {word: entry[word] for word in ("title", "description") if isinstance(entry.get(word), str)}
    hints = entry.get("annotations")
    if isinstance(hints, Mapping):
        hint_values = {word: hints[word] for word in _HINTS if isinstance(hints.get(word), bool)}
        title = {"title": hints["title"]} if isinstance(hints.get("title"), str) else {}
        rest["annotations"] = {**title, **hint_values}
    if isinstance(entry.get("_meta"), Mapping):
        rest["_meta"] = dict(entry["_meta"])
    execution = entry.get("execution")
    if isinstance(execution, Mapping) and execution.get("taskSupport") in _TASK_SUPPORT:
        rest["execution"] = {"taskSupport": execution["taskSupport"]}
    if entry.get("outputSchema") is not None:
        output, fault = _output_schema(entry["outputSchema"], version)
        if output is not None:
            rest["outputSchema"] = output
        else:
            tell(f"has a tool '{shortened(entry['name'], 80)}' whose answers are not checked: its outputSchema {fault}")
    return rest


def _output_schema(schema: Any, version: str) -> tuple[dict[str, Any] | None, str]:
    """Return the schema of an output as the protocol has it, or None and why it cannot be used."""
    if not isinstance(schema, Mapping):
        return None, "is not an object"
    repaired = named_types(schema)
    if version < _ANY_OUTPUT:
        if "type" not in repaired and not any(word in repaired for word in _WITHOUT_TYPE):
            repaired = {"type": "object", **repaired}
        if repaired.get("type") != "object":
            return None, "does not describe an object"
    try:
        require_schema(repaired)
    except SchemaFaultError as fault:
        return None, f"cannot be used: {fault}"
    return repaired, ""


_STRUCTURED_OBJECTS_UNTIL = "2026"
_OLDEST = "2025-11-25"
_CHANGED = "notifications/tools/list_changed"
_OF_ANSWERS = ("content", "structuredContent", "isError")
# Words that only the results of other requests than calls of tools have.
_OF_OTHERS = ("tools", "capabilities", "resultType", "supportedVersions", "contents", "prompts", "resources")
_OF_LINKS = ("uri", "name", "title", "description", "mimeType")
# Where the interfaces of models have the bytes of a block.
_HOLDERS = ("source", "image_url", "file", "document", "data", "inlineData", "inline_data")


class Changes:
    """How often a server has announced that its tools change, and which of these were followed by a comparison.

    The SDK lists the tools again by itself; the next call must not overtake that.
    """

    def __init__(self) -> None:
        self._announced = self._listed = self._compared = 0

    @property
    def are_known(self) -> bool:
        """Whether the tools have been compared since the last announcement."""
        return self._compared >= self._announced

    def announce(self) -> None:
        """Take an announcement."""
        self._announced += 1

    def list(self) -> None:
        """Take a list of tools."""
        self._listed = self._announced

    def compare(self) -> None:
        """Take that the last list has been compared."""
        self._compared = self._listed


class RepairedStream:
    """A stream of messages in which results have the form that the protocol gives them."""

    def __init__(self, inner: Any, tell: Tell, changes: Changes) -> None:
        self._inner = inner
        self._tell = tell
        self._changes = changes
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
        if getattr(message, "method", None) == _CHANGED:
            self._changes.announce()
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
            self._changes.list()
            rest = {word: part for word, part in result.items() if word != "nextCursor"}
            cursor = result.get("nextCursor")  # an empty one asks for the first page for ever
            more = {"nextCursor": str(cursor)} if cursor and isinstance(cursor, (str, int)) else {}
            return {**rest, **more, "tools": usable_tools(result["tools"], self._version, self._tell)}
        if "protocolVersion" in result:
            return _introduction(result)
        if any(word in result for word in _OF_ANSWERS):
            return repaired_answer(result, self._version)
        if any(word in result for word in _OF_OTHERS):
            return result
        tool_result = result.get("toolResult", {name: part for name, part in result.items() if name != "_meta"})
        return {"content": [] if tool_result in ({}, None) else [_text(tool_result)]}


def _introduction(result: dict[str, Any]) -> dict[str, Any]:
    """Return the first answer of a server; a capability is an object, and names and versions are texts."""
    capabilities = json_object(result.get("capabilities"))
    offered = {name: json_object(settings) for name, settings in capabilities.items() if settings not in (None, False)}
    about = json_object(result.get("serverInfo"))
    named = {word: str(about.get(word) or "unknown") for word in ("name", "version")}
    return {**result, "capabilities": offered, "serverInfo": {**about, **named}}


def repaired_answer(result: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return the answer of a tool with content of the protocol's kinds; other content becomes text."""
    content = result.get("content")
    listed = [] if content is None else content if isinstance(content, list) else [content]
    repaired = {**result, "content": [_block(block) for block in _blocks(listed)]}
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
    kind = str(block.get("type")).lower() if isinstance(block, Mapping) else None
    if not isinstance(block, Mapping) or not isinstance(block.get("type"), str):
        return _text(block)
    if kind == "text":
        text = next((block[word] for word in ("text", "content", "value") if block.get(word) is not None), "")
        return _text(text)
    if kind == "resource_link" and isinstance(block.get("uri"), str):
        texts = {word: block[word] for word in _OF_LINKS if isinstance(block.get(word), str)}
        size = {"size": block["size"]} if type(block.get("size")) is int else {}
        return {"type": kind, "name": "", **texts, **size}
    if kind == "resource":
        return _resource(block)
    mime, data = _data_in(block)
    if data is None:
        return _text(block)
    if kind in ("image", "audio"):
        return {"type": kind, "data": data, "mimeType": mime}
    if kind == "image_url":
        return {"type": "image", "data": data, "mimeType": mime}
    uri = next((block[word] for word in ("uri", "name", "filename") if isinstance(block.get(word), str)), "")
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime or kind, "blob": data}}


def _resource(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return an embedded resource, whose parts some servers write without an object around them."""
    resource = block["resource"] if isinstance(block.get("resource"), Mapping) else block
    parts = {word: resource[word] for word in ("uri", "mimeType", "text") if isinstance(resource.get(word), str)}
    if "text" not in parts and resource.get("text") is not None:
        parts["text"] = _text(resource["text"])["text"]
    if "text" not in parts:
        mime, parts["blob"] = _data_in(resource)
        parts |= {"mimeType": mime} if mime else {}
    is_whole = "text" in parts or parts["blob"] is not None
    return {"type": "resource", "resource": {"uri": "", **parts}} if is_whole else _text(block)


def _data_in(block: Mapping[str, Any]) -> tuple[str, str | None]:
    """Return the type and the base64 of a block's data, or None: models' interfaces write them otherwise."""
    inner: Mapping[str, Any] = next((block[word] for word in _HOLDERS if isinstance(block.get(word), Mapping)), {})
    both = {**inner, **block}
    mime = next((both[word] for word in ("mimeType", "mime_type", "media_type") if isinstance(both.get(word), str)), "")
    for word in ("data", "blob", "base64", "url"):
        data = both.get(word, inner.get(word))
        listed = data.get("data") if isinstance(data, Mapping) else data  # how Node writes a buffer
        if isinstance(listed, list) and listed and all(type(number) is int and 0 <= number < 256 for number in listed):
            return mime, base64.b64encode(bytes(listed)).decode()
        if isinstance(data, str) and data.startswith("data:"):
            head, _, data = data.partition(",")
            return mime or head[len("data:") :].partition(";")[0], data
        if isinstance(data, str) and word != "url":
            return mime, data
    return mime, None


def _text(value: Any) -> dict[str, Any]:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    nested = json_object(value).get("text")
    return {"type": "text", "text": nested if isinstance(nested, str) and len(json_object(value)) <= 2 else text}


def _blocks(content: Any) -> Iterator[Any]:
    """Yield the blocks of content, also of a list in a list."""
    for block in content:
        if isinstance(block, list):
            yield from block
        else:
            yield block


# The connection to one MCP server as the SDK's client opens it, in its own thread, and as the run may break it off.


# The limit of one message (stdio) or one response (HTTP) of a server.
MAX_MESSAGE_BYTES = 8 * 1024 * 1024
# The kept bytes of a server's output beside the protocol.
MAX_TAIL = 8 * 1024
SHOWN_LINES = 5
MAX_NOTES = 50
Streams = tuple[Any, Any]


class Link:
    """One connection, made by `reach` each time it is opened.

    Attributes:
        closed: Whether nothing more comes over it.
        is_over: Whether it has been closed on this side too, so that the thread of the client ends by itself.
        is_stale: Whether the server has forgotten the session.
        fault: The last error, where the transport knows it.
        changes: The announced changes of the server's tools.
        notes: Notes about the messages of the server: omitted tools, replaced characters.
    """

    def __init__(self, reach: Callable[[Link], AbstractAsyncContextManager[Streams]]) -> None:
        self._reach = reach
        self.notes: dict[str, None] = {}
        self.changes = Changes()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._scope: anyio.CancelScope | None = None
        self._is_given_up = False
        self._tail = bytearray()
        self.closed = False
        self.is_over = False
        self.is_stale = False
        self.fault: str | None = None

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Streams]:
        """Open it in the running loop, until the context ends or the connection is given up.

        Raises:
            ConnectionError: it was given up.
        """
        self._loop = asyncio.get_running_loop()
        with anyio.CancelScope() as scope:
            self._scope = scope
            if self._is_given_up:
                scope.cancel()
            try:
                async with self._reach(self) as (incoming, outgoing):
                    yield RepairedStream(incoming, self.note, self.changes), outgoing
            finally:
                self.closed, self.is_over, self._scope = True, True, None
        if scope.cancelled_caught:
            raise ConnectionError("given up")

    def note(self, note: str) -> None:
        """Note a fact about the messages of the server for a person, once; a flood ends."""
        if len(self.notes) < MAX_NOTES:
            self.notes.setdefault(note)

    def give_up(self) -> None:
        """Break it off, from any thread: each pending request gets an error."""
        self._is_given_up = True
        loop, scope = self._loop, self._scope
        if loop is not None and scope is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed already
                loop.call_soon_threadsafe(scope.cancel)

    def remember(self, output: bytes) -> None:
        """Keep the end of the server's output beside the protocol."""
        self._tail += output
        del self._tail[:-MAX_TAIL]

    @property
    def last_lines(self) -> list[str]:
        """The last lines of that."""
        lines = self._tail.decode("utf-8", "replace").splitlines()
        return [line for line in lines if line.strip()][-SHOWN_LINES:]
