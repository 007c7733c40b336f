"""Tool results: structured errors, a well-formed shape for any answer of a tool, and the limit of their size."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from strands_cli.secrets.redactor import Redactor
from strands_cli.texts.phrases import short_json, shortened
from strands_cli.tools.media import DOCUMENTS, IMAGES, blocks_of_bytes, decoded, picture_in
from strands_cli.tools.messages.message_json import decode, encode
from strands_cli.tools.messages.repeated_results import without_repetition

Result = dict[str, Any]
Block = dict[str, Any]

MAX_DEPTH = 64
MAX_BLOCKS = 256
MAX_MESSAGE = 2000
MAX_DETAILS_BYTES = 4096
MAX_PROGRESS_BYTES = 4096
MEDIA_BYTES = 8 * 1024 * 1024
_MEDIA = ("image", "document", "video")
_PLAIN = re.compile(r"[\w:./-]+")
_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")


def error_result(
    tool_use_id: str, code: str, message: str, *, retryable: bool = False, details: Mapping[str, Any] | None = None
) -> Result:
    """Return a failed result: a sentence for the model, and the same as JSON for programs."""
    message = _clean_text(message)
    error = {"code": code, "message": message, "retryable": retryable, "details": dict(details or {})}
    text = {"text": f"{code}: {message}"}
    return {"toolUseId": tool_use_id, "status": "error", "content": [text, {"json": {"error": error}}]}


def error_of(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the structured error of a failed result, or None."""
    if result["status"] != "error":
        return None
    return next((error for block in result["content"] if (error := _structured(block)) is not None), None)


def _structured(block: Mapping[str, Any]) -> Mapping[str, Any] | None:
    value = block.get("json")
    error = value.get("error") if isinstance(value, Mapping) else None
    if not isinstance(error, Mapping) or not isinstance(error.get("message"), str):
        return None
    code = error.get("code")
    return error if isinstance(code, str) and _CODE.fullmatch(code) else None


def well_formed(answer: Any, tool_use_id: str) -> Result:
    """Return a tool's answer as a result that the journal keeps exactly and every provider accepts.

    JSON comes out as it will be read back, text without lone surrogates, a failure with a structured error; another
    shape becomes an `invalid_output` error.
    """
    try:
        status, content = _parts(answer)
    except _ShapeError as problem:
        return error_result(tool_use_id, "invalid_output", str(problem))
    result: Result = {"toolUseId": tool_use_id, "status": status, "content": content}
    if status == "error":
        rest = [block for block in content if _structured(block) is None]
        message = "\n".join(block["text"] for block in rest if "text" in block) or "the tool reported an error"
        error = error_of(result) or {"code": "tool_failed", "message": message}
        details = error.get("details")
        details = details if isinstance(details, Mapping) else {}
        retryable = error.get("retryable") is True
        sentence, block = error_result(
            tool_use_id, error["code"], error["message"], retryable=retryable, details=details
        )["content"]
        result["content"] = [*(rest or [sentence]), block]
    elif not content:
        # Providers refuse a result without content.
        result["content"] = [{"text": "(no output)"}]
    return result


class _ShapeError(Exception):
    """The answer of a tool is not a result; the message says why."""


def _parts(answer: Any) -> tuple[str, list[Block]]:
    if not isinstance(answer, Mapping):
        raise _ShapeError(f"the tool returned {type(answer).__name__}, not a result with status and content")
    status, content = answer.get("status"), answer.get("content")
    if not isinstance(status, str) or status not in ("success", "error"):
        raise _ShapeError(f"the tool returned the status {shortened(repr(status), 80)}, not 'success' or 'error'")
    if not isinstance(content, (list, tuple)):
        raise _ShapeError("the tool returned no list of content")
    return str(status), [plain for block in content for plain in _blocks(block)]


def _blocks(block: Any) -> Iterable[Block]:
    """Yield a content block as blocks of one kind each, without keys that no provider knows."""
    kinds = [kind for kind in ("text", "json", *_MEDIA) if isinstance(block, Mapping) and kind in block]
    if not kinds:
        yield from _named(block)
        return
    for kind in kinds:
        value = block[kind]
        if kind in _MEDIA and (media_blocks := _shown(kind, value)) is not None:
            yield from media_blocks
            continue
        if kind == "text":
            if not isinstance(value, str):
                raise _ShapeError(f"a text block holds {type(value).__name__}")
            yield {"text": _clean_text(value)}
        else:
            yield {kind: _plain(kind, value)}


def _named(block: Any) -> Iterable[Block]:
    """Return the substitute for a block of a kind that no model is shown: sound, or bytes as MCP has them."""
    kind = block.get("type") if isinstance(block, Mapping) else None
    if kind in ("image", "audio") and isinstance(block.get("data"), str):
        data = decoded(block["data"])
        mime = block.get("mimeType")
        if data is not None:
            return blocks_of_bytes(data, mime if isinstance(mime, str) and mime else f"{kind}/unknown")
    audio: Any = block.get("audio") if isinstance(block, Mapping) else None
    if (data := _bytes_of(audio)) is not None:
        return blocks_of_bytes(data, f"audio/{audio.get('format') or 'unknown'}")
    raise _ShapeError("a content block is none of text, json, image, document, video")


def _shown(kind: str, value: Any) -> Iterable[Block] | None:
    """Return the substitute for a picture or document of an unknown format, or of another than it claims.

    None for the others.
    """
    data = _bytes_of(value)
    form = value.get("format") if isinstance(value, Mapping) else None
    if data is None or kind == "video" or not isinstance(form, str):
        return None
    if form in DOCUMENTS if kind == "document" else form == picture_in(data) in IMAGES:
        return None
    mime = form if "/" in form else f"{'image' if kind == 'image' else 'application'}/{form.lower()}"
    return blocks_of_bytes(data, mime, str(value.get("name") or ""))


def _bytes_of(value: Any) -> bytes | None:
    source = value.get("source") if isinstance(value, Mapping) else None
    data = source.get("bytes") if isinstance(source, Mapping) else None
    return bytes(data) if isinstance(data, (bytes, bytearray)) else None


def _plain(kind: str, value: Any) -> Any:
    """Return a value as the journal will give it back."""
    media = kind in _MEDIA
    if media and not isinstance(value, Mapping):
        raise _ShapeError(f"a {kind} block holds {type(value).__name__}")
    try:
        read_back = json.loads(json.dumps(encode(value) if media else value, allow_nan=False))
        plain = _clean(read_back, MAX_DEPTH)
        return decode(plain) if media else plain
    except (TypeError, ValueError, RecursionError) as error:
        raise _ShapeError(f"a {kind} block is not JSON: {error}") from error


def plain_json(value: Any) -> Any:
    """Return a value as it will be read back from JSON.

    Raises:
        ValueError: It is not JSON, is nested deeper than 64 levels, or holds half a surrogate pair.
    """
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode("utf-8")
        plain = json.loads(text)
        _clean(plain, MAX_DEPTH)
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    return plain


def _clean(value: Any, depth: int) -> Any:
    if depth == 0:
        raise ValueError(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, dict):
        return {_clean_text(key): _clean(item, depth - 1) for key, item in value.items()}
    return [_clean(item, depth - 1) for item in value] if isinstance(value, list) else value


def _clean_text(text: str) -> str:
    # A lone surrogate (a file name in another encoding than UTF-8) can be neither sent nor stored.
    return text.encode("utf-8", "replace").decode("utf-8")


def capped(result: Result, max_bytes: int) -> Result:
    """Return the result with text and JSON within `max_bytes` together; the result tells the cut.

    Images and documents count by themselves, against 8 MiB or `max_bytes` if that is more.
    """
    content: Sequence[Mapping[str, Any]] = result["content"]
    if (total := sum(map(size_of, content))) > max_bytes and result["status"] == "success":
        # Not cut into a second text: the first one says it.
        content = without_repetition(content)
    left, media_left = max_bytes, max(max_bytes, MEDIA_BYTES)
    blocks: list[Mapping[str, Any]] = []
    complete = len(content) <= MAX_BLOCKS and content == result["content"]
    failed = result["status"] == "error"
    for block in content[:MAX_BLOCKS]:
        size = size_of(block)
        if failed and (error := _structured(block)) is not None:
            blocks.append({"json": {"error": _bounded(error)}})
        elif any(kind in block for kind in _MEDIA):
            if fits := size <= media_left:
                blocks.append(block)
                media_left -= size
            complete = complete and fits
        else:
            if size <= left:
                blocks.append(block)
            elif left > 0:
                blocks.append({"text": _cut(block, left)})
            complete = complete and size <= left
            left = max(0, left - size)
    if complete:
        return result
    notice = {"text": f"[output cut: at most {max_bytes} of {total} bytes are shown]"}
    return {**result, "content": [*blocks, notice, {"json": {"truncated": True, "bytes": total}}]}


def _bounded(error: Mapping[str, Any]) -> dict[str, Any]:
    """Return an error short enough never to be cut, because programs read it."""
    details = error.get("details")
    small = isinstance(details, Mapping) and len(json.dumps(details)) <= MAX_DETAILS_BYTES
    return {**error, "message": shortened(error["message"], MAX_MESSAGE), "details": details if small else {}}


def with_fix_of(result: Result, reference: str | None, config: Mapping[str, Any]) -> Result:
    """Return a failed result whose `fix` has the words of the workflow that permit the call.

    Args:
        reference: How the workflow names the tool; None for a tool of a server, whose words are no advice.
        config: Its configuration in the workflow.
    """
    error = error_of(result)
    details = dict((error.get("details") if error else None) or {})
    if error is None or not details.keys() & {"fix", "config"}:
        return result
    settings, fix = details.pop("config", None), details.pop("fix", None)
    if reference is not None:
        if isinstance(settings, Mapping) and settings:
            details["fix"] = _setting(reference, settings, config)
        elif isinstance(fix, str):
            details["fix"] = shortened(fix, MAX_MESSAGE)
    content = [
        {"json": {"error": {**error, "details": details}}} if _structured(block) else block
        for block in result["content"]
    ]
    return {**result, "content": content}


def _setting(reference: str, settings: Mapping[str, Any], config: Mapping[str, Any]) -> str:
    """Return the text to write into the workflow; the present entries of a list stay in it."""
    merged = {
        name: [*config[name], *(item for item in value if item not in config[name])]
        if isinstance(value, list) and isinstance(config.get(name), (list, tuple))
        else value
        for name, value in settings.items()
    }
    written = ", ".join(f"{name}: {short_json(value, MAX_MESSAGE)}" for name, value in merged.items())
    name = reference if _PLAIN.fullmatch(reference) else json.dumps(reference, ensure_ascii=False)
    if config:
        return f"to permit it: `{written}` in the `config` of {name} in the workflow"
    # A step that calls a tool, and an agent without a list, have the tools of `tools.python`.
    where = "where it is listed: in `tools.python`, or in the `tools` of its agent"
    return f"to permit it, write the tool in the workflow as `{{tool: {name}, config: {{{written}}}}}`, {where}"


def _cut(block: Mapping[str, Any], size: int) -> str:
    text = block["text"] if "text" in block else json.dumps(block["json"], ensure_ascii=False)
    return str(text.encode("utf-8")[:size].decode("utf-8", "ignore"))


def size_of(block: Mapping[str, Any]) -> int:
    """Return the bytes of a content block."""
    if "text" in block:
        return len(block["text"].encode("utf-8"))
    if "json" in block:
        return len(json.dumps(block["json"], ensure_ascii=False).encode("utf-8"))
    return sum(_bytes_in(block[kind]) for kind in _MEDIA if kind in block)


def _bytes_in(value: Any) -> int:
    if isinstance(value, Mapping):
        return sum(map(_bytes_in, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(_bytes_in, value))
    return len(value) if isinstance(value, (bytes, str)) else 0


def redacted(result: Result, redactor: Redactor) -> Result:
    """Return the result with every secret out of its text and JSON."""
    content = [block if any(kind in block for kind in _MEDIA) else redactor.json(block) for block in result["content"]]
    return {**result, "content": content}


def printable_value(value: Any) -> Any:
    """Return an intermediate value as an event may carry it: small JSON as it is now, anything else as text."""
    try:
        text = json.dumps(value, allow_nan=False)
        if len(text) <= MAX_PROGRESS_BYTES:
            return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        pass
    try:
        return shortened(str(value), MAX_PROGRESS_BYTES)
    except Exception:  # noqa: BLE001 - even __str__ is foreign code
        return f"({type(value).__name__})"


def storable_value(value: Any) -> Any:
    """Return a value as an event may have it, also without values that no journal could keep."""
    printable = printable_value(value)
    try:
        return _clean(printable, MAX_DEPTH)
    except ValueError as error:
        return f"({error})"
