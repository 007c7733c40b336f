"""Reads the body of a model server's response while it passes: an answer of the provider's interface, to its end."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from strands_cli.agents.model.answer_faults import AnswerFault, cut_off
from strands_cli.agents.model.call_parts import PlainPieces
from strands_cli.agents.model.client_errors import (
    code_in,
    host_in,
    is_error_of,
    is_temporary_code,
    says_later,
    says_spent,
    words_in,
)
from strands_cli.agents.model.protocols import PROTOCOLS
from strands_cli.events import Usage
from strands_cli.tools.messages.message_json import as_private, has_halves, whole

# The tokens that a server has reported before its answer failed: they are paid for, and no client passes them on.


# The names of the counts in the protocols of OpenAI, Anthropic, Gemini and Ollama, which often come more than once.
_COUNTED = ("prompt_tokens", "input_tokens", "promptTokenCount", "prompt_eval_count")
_WRITTEN = ("completion_tokens", "output_tokens", "candidatesTokenCount", "eval_count")
_PLACES = ("usage", "usageMetadata")
_REPORTED: ContextVar[dict[str, int] | None] = ContextVar("reported", default=None)


def hear_usage() -> None:
    """Forget the reported usage, and let `reported_usage` know the reports of servers from now on."""
    _REPORTED.set({})


def tell_usage(event: Mapping[str, Any]) -> None:
    """Take an event, or a whole answer, as a server has sent it."""
    if (reported := _REPORTED.get()) is None:
        return
    for counts in _counts_in(event):
        for kind, names in (("read", _COUNTED), ("written", _WRITTEN)):
            new_counts = [value for name in names if type(value := counts.get(name)) is int]
            reported[kind] = max([reported.get(kind, 0), *new_counts])


def reported_usage() -> Usage:
    """Return the tokens that were reported since `hear_usage`."""
    reported = _REPORTED.get() or {}
    return Usage(input_tokens=reported.get("read", 0), output_tokens=reported.get("written", 0))


def _counts_in(event: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for part in (event, event.get("message"), event.get("response")):
        if isinstance(part, Mapping):
            yield part
            yield from (part[name] for name in _PLACES if isinstance(part.get(name), Mapping))


# The proxy that the environment names for an address: never one for this machine itself.


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy, and the variable that names it."""

    url: str
    variable: str

    @property
    def shown(self) -> str:
        """Its address without user and password."""
        scheme, separator, rest = self.url.rpartition("://")
        return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def proxy_for(address: str, environ: Mapping[str, str]) -> Proxy | None:
    """Return the proxy for an address, or None where a request goes to the server itself.

    `https_proxy` and its like count as for other programs: small letters first, then `ALL_PROXY`; `no_proxy` has hosts
    and domains. For a host on this machine no proxy is used, whatever the variables are.
    """
    try:
        parts = urlsplit(address)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        return None
    if not host or is_this_machine(host) or _is_excluded(host, port, _value(environ, "no_proxy")[0]):
        return None
    # In a CGI program HTTP_PROXY comes from a header of the request. https://httpoxy.org
    is_of_request = parts.scheme == "http" and "REQUEST_METHOD" in environ
    for name in ("all_proxy",) if is_of_request else (f"{parts.scheme}_proxy", "all_proxy"):
        url, variable = _value(environ, name)
        if url:
            return Proxy(url if "://" in url else f"http://{url}", variable)
    return None


def is_this_machine(host: str) -> bool:
    """Return whether a name or an address is one of this machine itself."""
    name = host.strip("[]").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return address.is_loopback or address.is_unspecified or (mapped is not None and mapped.is_loopback)


def _value(environ: Mapping[str, str], name: str) -> tuple[str, str]:
    """Return the value of a variable in small or capital letters, and its name."""
    for variable in (name, name.upper()):
        if value := environ.get(variable, "").strip():
            return value, variable
    return "", name


def _is_excluded(host: str, port: int | None, excluded: str) -> bool:
    """Return whether `no_proxy` has a host: by its name, a domain above it, its network, or its name with the port."""
    for pattern in (part.strip().lower() for part in excluded.split(",")):
        if pattern == "*":
            return True
        name = pattern.removeprefix("*").removeprefix(".")
        if name and (host == name or host.endswith(f".{name}") or f"{host}:{port}" == name):
            return True
        if "/" in pattern and _is_in_network(host, pattern):
            return True
    return False


def _is_in_network(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False


# A field of a server-sent event, or a comment. https://html.spec.whatwg.org/multipage/server-sent-events.html
_FIELD = re.compile(rb"(data|event|id|retry)?:")
# Words under another name are a sign of life.
_OF_ANSWERS = ("", "message", "error")
# So much of a server's words is in a message.
_MOST_SHOWN = 200
# Texts that a person reads; in other places half a character is replaced at once.
_READ = frozenset({"content", "text", "thinking", "partial_json"})


class ReadAnswer:
    """Takes the chunks of a response's body, and gives those that its client may read.

    Args:
        provider: Whose interface the answer must have.
        address: The address of the request.
        content_type: The server's type of the body.
        proxy: The proxy that the request went through.
        is_stream: Whether the request asked for a stream.
    """

    def __init__(
        self, provider: str, address: str, content_type: str, proxy: Proxy | None = None, *, is_stream: bool = True
    ) -> None:
        self._is_stream = is_stream
        self._protocol = PROTOCOLS[provider]()
        self._base = address
        self._host = host_in(address) + (f" (through the proxy {proxy.shown} of {proxy.variable})" if proxy else "")
        self._type = content_type.partition(";")[0].strip().lower()
        self._form = ""
        self._buffer = b""
        self._event: list[bytes] = []
        self._is_over = False
        self._plain = None if self._protocol.plain is None else PlainPieces(self._protocol.plain)

    def feed(self, chunk: bytes) -> bytes:
        """Take a chunk; return the bytes to pass on.

        Raises:
            AnswerFault: This is not an answer.
        """
        if self._is_plain(chunk):
            return chunk
        self._buffer += chunk
        if not self._form:
            self._buffer = self._buffer.lstrip(b"\xef\xbb\xbf \t\r\n")
            self._form = self._form_of(self._buffer)
        if self._form in ("", "whole"):
            return b""
        text = self._buffer
        if b"\r" in text and not text.endswith(b"\r"):  # the last one may be the first of a pair
            text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, self._buffer = text.split(b"\n")
        take = self._take_line if self._form == "events" else self._take_object
        return b"".join(map(take, lines))

    def _is_plain(self, chunk: bytes) -> bool:
        """Return whether a chunk continues a text, and does nothing else."""
        if self._plain is None or self._form != "events" or self._buffer or self._event or not self._protocol.is_known:
            return False
        return not self._protocol.has_ended and self._plain.has(chunk)

    def end(self) -> bytes:
        """Return the rest at the end of the body.

        Raises:
            AnswerFault: The body ended before the answer, or is not an answer.
        """
        self._is_over = True
        rest = self._buffer.strip(b"\xef\xbb\xbf \t\r\n")
        output = b""
        if self._form == "whole":
            output = self._take_whole(rest)
        elif self._form == "lines":
            output = self._take_object(self._buffer)
        elif self._form == "events":
            lines = [*self._buffer.splitlines(), b""]
            output = b"".join(map(self._take_line, lines)) + b"".join(map(self._written_event, self._protocol.rest()))
        elif not rest:
            raise AnswerFault(
                f"{self._host} sent an answer without content{self._of_type}",
                "run again: the server or a proxy in between ended the answer at once",
                is_temporary=True,
            )
        else:
            raise self._other(rest)
        if not self._protocol.is_known:
            raise self._other(rest if self._form == "whole" else b"")
        if self._protocol.fault is not None:
            raise self._protocol.fault
        if not self._protocol.has_ended:
            raise cut_off(self._host)
        return output

    def _form_of(self, start: bytes) -> str:
        """Return how the body is written, by its first bytes: servers name the type of a stream wrongly."""
        if not start:
            return ""
        if start.startswith(b"{") or (start.startswith(b"[") and not self._protocol.in_lines):
            return "lines" if self._protocol.in_lines else "whole"
        if _FIELD.match(start) and not self._protocol.in_lines:
            return "events"
        if len(start) < len(b"event:") and not start.startswith(b"<"):
            return ""
        raise self._other(start)

    def _take_line(self, line: bytes) -> bytes:
        """Take a line of a stream of events; return the event that a blank line ends."""
        line = line.removesuffix(b"\r")
        if line:
            self._event.append(line)
            return b""
        lines, self._event = self._event, []
        if not lines:
            return b""
        texts = [line[5:].removeprefix(b" ") for line in lines if line.startswith(b"data:")]
        if not texts:  # no event: a comment, or a name without data
            rest = [line for line in lines if not line.startswith(b"event:")]
            return b"\n".join(rest) + b"\n\n" if rest else b""
        others = [line for line in lines if not line.startswith(b"data:")]
        payload = b"\n".join(texts)
        if len(texts) > 1 and _parsed(payload) is None:  # no blank lines between the events
            return b"".join(self._take_data(text, [], "") for text in texts)
        name = next(
            (other[6:].strip().decode("ascii", "replace") for other in others if other.startswith(b"event:")), ""
        )
        return self._take_data(payload, others, name)

    def _take_data(self, payload: bytes, others: list[bytes], name: str) -> bytes:
        """Take the data of one event with its other lines; return the bytes that the client can read."""
        plain = payload.strip()
        if plain.strip(b'"') == b"[DONE]":
            if not self._protocol.is_known:
                raise self._other(b"")
            return b"".join(map(self._written_event, self._protocol.done())) + b"data: [DONE]\n\n"
        if plain in (b"", b"null"):
            return b""
        value = _parsed(plain)
        if not isinstance(value, Mapping):
            is_ping = plain[:1] != b"{" and name not in _OF_ANSWERS
            return b"" if is_ping else b"data: " + self._unread(plain) + b"\n\n"
        read = self._read(value, is_error=name == "error" != value.get("type"))
        if len(read) != 1 or (self._protocol.names_events and name != read[0].get("type")):
            return b"".join(map(self._written_event, read))
        text = payload if read[0] is value and _is_text(payload) else _written(read[0])
        return b"\n".join([*others, b"data: " + text]) + b"\n\n"

    def _written_event(self, event: Mapping[str, Any]) -> bytes:
        kind = event.get("type") or ("error" if event.get("error") else "")
        name = f"event: {kind}\n".encode() if kind and self._protocol.names_events else b""
        return name + b"data: " + _written(event) + b"\n\n"

    def _take_object(self, line: bytes) -> bytes:
        """Take a line of one JSON object."""
        line = line.strip()
        if not line:
            return b""
        value = _parsed(line)
        if not isinstance(value, Mapping):
            return self._unread(line) + b"\n"
        output = b"".join(_written(whole_object) + b"\n" for whole_object in self._read(value))
        if not self._protocol.is_known:
            raise self._other(line)  # its client would report the missing parts of its own form
        return output

    def _read(self, value: Mapping[str, Any], *, is_error: bool = False) -> Sequence[Mapping[str, Any]]:
        """Return an event as the client can read it."""
        tell_usage(value)
        read = self._protocol.read(self._whole_texts(value))
        if self._protocol.fault is not None:
            raise self._protocol.fault
        error = value.get("error")
        raises = error and self._protocol.raises_errors and not (self._protocol.in_lines and isinstance(error, Mapping))
        if raises and not value.get("choices"):
            self._protocol.is_known = self._protocol.has_ended = True
        is_none = not value.get("choices") and (error or is_error or not self._protocol.is_known)
        if is_none and not raises and is_error_of(value, is_error):
            raise self._reported(value)
        return read

    def _unread(self, text: bytes) -> bytes:
        """Take a piece of a stream without a JSON object; return the bytes that its client can explain.

        Raises:
            AnswerFault: It is a piece of one at the end, or words.
        """
        if text[:1] == b"{":
            if self._is_over:
                raise cut_off(self._host)
            return text
        text_start = " ".join(text.decode("utf-8", "replace").split())[:_MOST_SHOWN]
        fix = "run again: the server, or a proxy in between, wrote this into the answer"
        raise AnswerFault(f"{self._host} sent what is not JSON in its answer: {text_start}", fix, is_temporary=True)

    def _whole_texts(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return an event without halves of characters, where its client refuses them."""
        if not self._protocol.refuses_halves or not has_halves(value):
            return value
        changed: Mapping[str, Any] = _without_halves(value, "")
        return changed

    def _take_whole(self, body: bytes) -> bytes:
        """Take a body of one JSON value."""
        value = _parsed(body)
        if isinstance(value, list) and value and isinstance(value[0], Mapping):
            value = value[0]  # how Gemini writes an error
        if not isinstance(value, Mapping):
            raise cut_off(self._host) if _is_cut(body) else self._other(body)
        if not value.get("choices") and is_error_of(value, True):
            raise self._reported(value)
        tell_usage(value)
        changed = self._protocol.read_whole(value)
        if self._is_stream and self._protocol.is_known:
            raise AnswerFault(
                f"the server at {self._host} answered at once, and a stream was asked for",
                "write `stream: false` among the options of the model, where the provider has that option",
            )
        return body if changed is value else _written(changed)

    def _reported(self, body: Mapping[str, Any]) -> AnswerFault:
        """Return the fault of an error that comes with the status of success."""
        code = code_in(body)
        code_text = f" ({code})" if code else ""
        text = (words_in(body) or json.dumps(body.get("error", body)))[:_MOST_SHOWN]
        if says_spent(code, text):
            message = f"the account at {self._host} has no credit: {text}{code_text}"
            return AnswerFault(message, "add credit to the account of the key, or set another key")
        return AnswerFault(
            f"{self._host} answered with an error: {text}{code_text}",
            "correct what the server names, or run again later",
            is_temporary=is_temporary_code(code) or says_later(text),
        )

    @property
    def _of_type(self) -> str:
        return f" ({self._type})" if self._type else ""

    def _other(self, start: bytes) -> AnswerFault:
        """Return the fault of another body."""
        title = self._protocol.title
        is_page = self._type in ("text/html", "application/xhtml+xml") or start[:1] == b"<"
        cause = "a proxy, or a page to log in at, may answer in its place; " if is_page else ""
        reason = None if is_page or not start.startswith((b"{", b"[")) else words_in(start.decode("utf-8", "replace"))
        words = f": {' '.join(reason.split())[:_MOST_SHOWN]}" if reason else ""
        return AnswerFault(
            f"the server at {self._host} did not answer as {title} does{self._of_type}{words}",
            f"{cause}check runtime.host{_v1(self._base, title)}",
        )


def _v1(address: str, title: str) -> str:
    """Return a hint on the version in an address of OpenAI's kind, or nothing."""
    base = re.sub(r"/(chat/completions|responses)/?\Z", "", address.partition("?")[0])
    if title != "OpenAI" or base == address or re.search(r"/v\d", base):
        return ""
    return f": its address usually ends with /v1, {base}/v1"


def _parsed(payload: bytes) -> Any:
    """Return the JSON value of some bytes, or None; half a character is in some servers' bytes, too."""
    for errors in ("surrogatepass", "replace"):
        try:
            return json.loads(payload.decode("utf-8", errors))
        except UnicodeDecodeError:
            continue
        except (ValueError, RecursionError):
            return None
    return None


def _is_text(payload: bytes) -> bool:
    try:
        return bool(payload.decode())
    except UnicodeDecodeError:
        return False


def _is_cut(body: bytes) -> bool:
    return body[:1] in b"{[" and body[-1:] not in (b"}", b"]")


def _written(value: Any) -> bytes:
    return json.dumps(value).encode()


def _without_halves(value: Any, name: str) -> Any:
    if isinstance(value, str):
        return as_private(value) if name in _READ else whole(value)
    if isinstance(value, Mapping):
        return {whole(str(key)): _without_halves(part, str(key)) for key, part in value.items()}
    return [_without_halves(part, name) for part in value] if isinstance(value, list) else value
