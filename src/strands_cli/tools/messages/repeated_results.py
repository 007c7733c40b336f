"""The text of a tool result for a model: its text, and the parts of its JSON that the text lacks."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strands_cli.tools.media import IMAGES, described

# Tool results for a provider: content that its service does not read is named in text.


_TEXTS = ("txt", "md", "csv", "html")


@dataclass(frozen=True, slots=True)
class Reads:
    """Which formats of a kind arrive in a tool result, as the SDK writes it for the service."""

    image: tuple[str, ...] = IMAGES
    document: tuple[str, ...] = ()
    video: tuple[str, ...] = ()


_ANY = ("pdf", "csv", "doc", "docx", "xls", "xlsx", *_TEXTS)
_VIDEO = ("mkv", "mov", "mp4", "webm", "flv", "mpeg", "mpg", "wmv", "three_gp")
# A provider outside this table gets everything: its author knows which formats it reads.
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
    """Return messages whose tool results have only the formats that the provider's service reads."""
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
    content = [part if _is_read(part, reads) else {"text": _named(part)} for part in result["content"]]
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


# A field of up to so many bytes stays: it costs little, and a short value is found in a text by chance.
SMALL_FIELD = 64
# The word of an output schema for values that a model need not read.
FOR_PROGRAMS = "x-for-programs"
# In the details of an error: the change that permits the call. The model cannot do it, and is not to try.
FOR_PEOPLE = ("fix", "config")


def for_model(
    messages: Sequence[Mapping[str, Any]], schemas: Mapping[str, Mapping[str, Any] | None] | None = None
) -> list[Any]:
    """Return messages as they are sent: no tool result says the same in text and again in JSON.

    The journal, the digest of a request, steps and templates have the results whole.

    Args:
        schemas: The output schemas of the tools by name.
    """
    names: dict[str, str] = {}
    model_messages = []
    for message in messages:
        uses = (block["toolUse"] for block in message["content"] if "toolUse" in block)
        names |= {use["toolUseId"]: use["name"] for use in uses}
        model_messages.append(
            {**message, "content": [_sent(block, names, schemas or {}) for block in message["content"]]}
        )
    return model_messages


def _sent(
    block: Mapping[str, Any], names: Mapping[str, str], schemas: Mapping[str, Mapping[str, Any] | None]
) -> Mapping[str, Any]:
    result = block.get("toolResult")
    if not result:
        return block
    schema = schemas.get(names.get(result["toolUseId"], ""))
    return {**block, "toolResult": {**result, "content": without_repetition(result["content"], schema)}}


def without_repetition(
    content: Sequence[Mapping[str, Any]], schema: Mapping[str, Any] | None = None
) -> list[Mapping[str, Any]]:
    """Return the blocks of a result without the JSON that its text says already; something always remains.

    Args:
        schema: The tool's output schema; a property with `x-for-programs` is left out.
    """
    text = "\n".join(block["text"] for block in content if "text" in block)
    if not text.strip():
        return list(content)
    remaining: list[Mapping[str, Any]] = []
    for block in content:
        rest = (
            _rest(_unmarked(block["json"], None if _is_error(block["json"]) else schema), text)
            if "json" in block
            else None
        )
        if "json" not in block:
            remaining.append(block)
        elif rest not in (None, {}, []):
            remaining.append({**block, "json": rest})
    return remaining


def _is_error(value: Any) -> bool:
    """Return whether this is the structured error of a call, which no output schema describes."""
    error = value.get("error") if isinstance(value, Mapping) else None
    return isinstance(error, Mapping) and "code" in error


def _unmarked(value: Any, schema: Any) -> Any:
    """Return the parts of a value that its schema does not mark as for programs only."""
    if not isinstance(schema, Mapping):
        return value
    if isinstance(value, Mapping):
        rules = schema.get("properties") or {}
        program_fields = [
            name for name, rule in rules.items() if isinstance(rule, Mapping) and rule.get(FOR_PROGRAMS) is True
        ]
        return {name: _unmarked(part, rules.get(name)) for name, part in value.items() if name not in program_fields}
    if isinstance(value, list) and value:
        parts = [_unmarked(part, schema.get("items")) for part in value]
        return parts if any(part != {} for part in parts) else []
    return value


def _rest(value: Any, text: str) -> Any:
    """Return the parts of a JSON block that the text lacks: a whole field, or nothing of it."""
    if _is_json_of(text, value):
        return None
    if not isinstance(value, Mapping):
        return None if _is_large(value) and _Text(text).says(value) else value
    error = value.get("error")
    if value.keys() == {"error"} and isinstance(error, Mapping) and str(error.get("message")) in text:
        rest = {name: part for name, part in error.items() if name not in ("code", "message")}
        if isinstance(details := rest.get("details"), Mapping):
            rest["details"] = {name: part for name, part in details.items() if name not in FOR_PEOPLE}
        rest = {name: part for name, part in rest.items() if part}
        return {"error": rest} if rest else None
    words = _Text(text, frozenset(part for part in value.values() if isinstance(part, str) and not _is_large(part)))
    return {name: part for name, part in value.items() if not (_is_large(part) and words.says(part))}


def _is_json_of(text: str, value: Any) -> bool:
    if not text.lstrip().startswith(("{", "[", '"')):
        return False
    try:
        return bool(json.loads(text) == value)
    except (ValueError, RecursionError):
        return False


def _is_large(value: Any) -> bool:
    return len(json.dumps(value, ensure_ascii=False)) > SMALL_FIELD


@dataclass(frozen=True, slots=True)
class _Text:
    """The text of a result.

    Attributes:
        also: Other texts for the model, in short fields: the path in which all matches are.
    """

    text: str
    also: frozenset[str] = frozenset()

    def says(self, value: Any) -> bool:
        """Return whether it says each part of a value: those of a list in its order, those of an object in any."""
        return self._end_of(value, 0) >= 0

    def _end_of(self, value: Any, start: int) -> int:
        """Return where a value ends that it says from `start` on, or -1."""
        if isinstance(value, Mapping):
            ends = [self._end_of(part, start) for part in value.values()]
            return -1 if -1 in ends else max(ends, default=start)
        if isinstance(value, (list, tuple)):
            for part in value:
                start = self._end_of(part, start)
                if start < 0:
                    return -1
            return start
        if value is None or isinstance(value, bool):
            return -1
        if isinstance(value, str) and value in self.also:
            return start
        return self._end_of_word(value.strip() if isinstance(value, str) else json.dumps(value), start)

    def _end_of_word(self, word: str, start: int) -> int:
        """Return where a word ends that is there as a whole, or -1: `118` has no word `18`."""
        position = self.text.find(word, start)
        while position >= 0:
            end = position + len(word)
            if not (self._is_glued(position) or self._is_glued(end)):
                return end
            position = self.text.find(word, position + 1)
        return -1

    def _is_glued(self, position: int) -> bool:
        text = self.text
        return 0 < position < len(text) and text[position - 1].isalnum() and text[position].isalnum()
