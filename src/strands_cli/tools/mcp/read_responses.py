"""The body of a response over HTTP, as the answer to the request that it belongs to: JSON, or a stream of events."""

from __future__ import annotations

import json
from collections.abc import Iterator

from mcp.shared.message import SessionMessage

from strands_cli.texts.canonical_json import json_object
from strands_cli.tools.mcp.connection import Link
from strands_cli.tools.mcp.read_lines import Requests, messages_in, unread_answer

_BOM = b"\xef\xbb\xbf"
_KEPT = (b"id:", b"retry:", b":")
_FIELDS = (*_KEPT, b"event:", b"data:")


def request_in(body: bytes) -> Requests | None:
    """Return the request that a body holds, or None for a message that has no answer."""
    try:
        message = json_object(json.loads(body))
    except ValueError:
        return None
    identity, method = message.get("id"), message.get("method")
    return Requests({identity: str(method)}) if isinstance(identity, (int, str)) and method else None


class ReadJson:
    """A body that is one message.

    Args:
        status: What the response says of itself where it refuses the request; empty else.
    """

    def __init__(self, request: Requests, link: Link, status: str = "") -> None:
        self._request, self._link, self._status = request, link, status
        self._body = b""

    def feed(self, lines: bytes) -> bytes:
        """Take whole lines; return what can be passed on."""
        self._body += lines
        return b""

    def end(self) -> bytes:
        """Return the message of the body, or the error for one that has none."""
        body = self._body.removeprefix(_BOM)
        answers = [one for one in messages_in(body, self._request, self._link) if not hasattr(one.message, "method")]
        answer = answers[0] if answers else unread_answer(body, self._request, self._link, self._status)
        return _written(answer) if answer is not None else body


class ReadEvents:
    """A body that is a stream of events; what is none of the protocol's messages is left out."""

    def __init__(self, request: Requests, link: Link) -> None:
        self._request, self._link = request, link
        self._event: list[bytes] = []
        self._others = b""

    def feed(self, lines: bytes) -> bytes:
        """Take whole lines; return the events that end in them."""
        return b"".join(self._taken(lines.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")))

    def end(self) -> bytes:
        """Return the rest; an error where all that came is not the answer."""
        rest = b"".join(self._taken([b""]))
        if not self._request or not self._others.strip():
            return rest
        found = messages_in(self._others, self._request, self._link)
        last = [] if found else [unread_answer(self._others, self._request, self._link)]
        return rest + b"".join(b"data: " + _written(one) + b"\n\n" for one in [*found, *last] if one is not None)

    def _taken(self, lines: list[bytes]) -> Iterator[bytes]:
        for line in lines:
            if line:
                self._event.append(line.removeprefix(_BOM))
            elif self._event:
                yield self._whole()

    def _whole(self) -> bytes:
        """Return the event that has ended, as one or several that the client can read."""
        lines, self._event = self._event, []
        kept = [one for one in lines if one.startswith(_KEPT)]
        texts = [one[5:].removeprefix(b" ") for one in lines if one.startswith(b"data:")]
        self._others += b"\n".join(one for one in lines if not one.startswith(_FIELDS))
        payload = b"\n".join(texts)
        if not payload.strip():
            return b"\n".join([*kept, *([b"data:"] if texts else []), b""]) + b"\n"
        found = messages_in(payload, self._request, self._link)
        if not found:
            self._others += payload + b"\n"
            return b"\n".join([*kept, b""]) + b"\n" if kept else b""
        first, *more = [b"data: " + _written(one) + b"\n\n" for one in found]
        return b"".join([*(one + b"\n" for one in kept), first, *more])


def _written(message: SessionMessage) -> bytes:
    return message.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
