"""The facts in exceptions of the providers' clients: status, codes, the server's words, its host.

Importing all clients for `isinstance` would take seconds, so their types are known by name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

# The clients of OpenAI and Anthropic themselves retry 408, 409, 429 and 5xx by default; 425 means "too early"
# (RFC 8470). 501 is permanent.
_STATUSES = frozenset({408, 409, 425, 429})
_NOT_IMPLEMENTED = 501
TOO_MANY_REQUESTS = 429
THROTTLING_CODES = frozenset(
    {"rate_limit_error", "rate_limit_exceeded", "throttlingexception", "toomanyrequestsexception"}
)
# Codes and types of temporary failures without a status: in a stream that began with 200, and in AWS event streams.
# https://platform.claude.com/docs/en/api/errors
# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
TEMPORARY_CODES = THROTTLING_CODES | frozenset(
    {
        "overloaded_error",
        "api_error",
        "server_error",
        "timeout_error",
        "service_unavailable",
        "serviceunavailableexception",
        "internalserverexception",
        "modelnotreadyexception",
        "modeltimeoutexception",
        "modelstreamerrorexception",
    }
)
# An account without credit: codes and types of errors, and words of messages.
# https://platform.openai.com/docs/guides/error-codes, https://docs.claude.com/en/api/errors
# https://api-docs.deepseek.com/quick_start/error_codes, https://openrouter.ai/docs/api-reference/errors
_SPENT_CODES = frozenset(
    {
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "billing_error",
        "insufficient_balance",
        "insufficient_credits",
        "exceeded_current_quota_error",
        "invalid_payment_instrument",
    }
)
_SPENT_WORDS = re.compile(
    r"credit balance|insufficient (balance|credit|fund|quota)|insufficient_quota|billing[ _]hard[ _]limit"
    r"|\b(no|out of|not enough|all available|more)( \w+)? credits?\b"
    r"|credits? (are|is|have been|has been) (depleted|exhausted)"
    r"|account (balance )?is not active|payment required|invalid_payment_instrument|spend(ing)? limit"
    r"|specified (api|workspace) usage limit",
    re.IGNORECASE,
)
_LATER_WORDS = re.compile(
    r"rate limit|too many requests|overloaded|try again|temporar(y|ily)|timed? ?out"
    r"|(server|service) (is )?(busy|unavailable)",
    re.IGNORECASE,
)
# Where the bodies of services have an error, its words and its code.
_PLACES = ("error", "errors", "base_resp", "fault", "detail")
_WORDS = (
    *("message", "detail", "error", "msg", "error_msg", "error_message", "errorMessage", "Message", "status_msg"),
    *("faultstring", "error_description", "reason", "title"),
)
_CODES = ("code", "error_code", "errorCode", "status_code", "errorcode", "status", "type")
_PAYMENT_REQUIRED = 402
_TITLE = re.compile(r"<title[^>]*>\s*(.*?)\s*</title>", re.IGNORECASE | re.DOTALL)
# The SDK and the clients put these around the words of a server.
_FRAMES = (
    re.compile(r"\AError code: \d+ - "),
    re.compile(r"\AAn error occurred \([^)]*\) when calling the \w+ operation(?: \([^)]*\))?: "),
    re.compile(r" \(status code: -?\d+\)\Z"),
)


def causes_of(error: BaseException) -> Iterator[BaseException]:
    """Yield the exception and its causes, each once."""
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        yield following
        following = following.__cause__ or (None if following.__suppress_context__ else following.__context__)


def types_of(error: BaseException) -> frozenset[str]:
    """Return the names of the types of an exception and its causes."""
    return frozenset(kind.__name__ for cause in causes_of(error) for kind in type(cause).__mro__)


def codes_of(error: BaseException) -> frozenset[str]:
    """Return the codes and types that a client's exception and its causes have, in lower case."""
    return frozenset(code.lower() for cause in causes_of(error) for code in _codes_in(cause) if isinstance(code, str))


def _codes_in(error: BaseException) -> Iterator[Any]:
    inner = _error_in(getattr(error, "body", None))
    yield from (getattr(error, "code", None), getattr(error, "type", None))
    yield from (inner.get("code"), inner.get("type"), in_response_of_aws(error, "Error", "Code"))


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status of a client's exception, or None."""
    response = getattr(error, "response", None)
    places = [
        getattr(error, "status_code", None),  # openai, anthropic, writer, ollama, mistral, litellm
        getattr(response, "status_code", None),  # httpx
        getattr(error, "code", None),  # google-genai
        in_response_of_aws(error, "ResponseMetadata", "HTTPStatusCode"),
    ]
    return next((status for status in places if isinstance(status, int) and not isinstance(status, bool)), None)


def failed_status_of(error: BaseException) -> int | None:
    """Return the first status of a failure in an exception and its causes, or None.

    In a stream that began with 200, some servers write the status as the code of an error.
    """
    statuses = (status_of(cause) for cause in causes_of(error))
    status = next((status for status in statuses if status is not None and status >= 400), None)
    if status is not None:
        return status
    codes = (code for cause in causes_of(error) for code in _codes_in(cause))
    return next((code for code in codes if type(code) is int and 400 <= code < 600), None)


def in_response_of_aws(error: BaseException, section: str, name: str) -> Any:
    """Return a value of the parsed response in botocore's exceptions, or None."""
    response = getattr(error, "response", None)
    part = response.get(section) if isinstance(response, dict) else None
    return part.get(name) if isinstance(part, dict) else None


def is_temporary_status(status: int) -> bool:
    """Return whether a request with this HTTP status may soon succeed."""
    return status in _STATUSES or (500 <= status < 600 and status != _NOT_IMPLEMENTED)


def is_temporary_code(code: object) -> bool:
    """Return whether a request may soon succeed that was answered with this code or status in its body."""
    if isinstance(code, int) or (isinstance(code, str) and code.isdecimal()):
        return is_temporary_status(int(code))
    return str(code).lower() in TEMPORARY_CODES


def is_spent(error: BaseException) -> bool:
    """Return whether a provider refuses a request since the account has no credit, which no waiting changes."""
    if codes_of(error) & _SPENT_CODES or failed_status_of(error) == _PAYMENT_REQUIRED:
        return True
    return any(_SPENT_WORDS.search(str(cause)) for cause in causes_of(error))


def says_spent(code: Any, words: str) -> bool:
    """Return whether the code or the words of an error say that an account has no credit."""
    is_code = code == _PAYMENT_REQUIRED or str(code).lower() in _SPENT_CODES
    return is_code or _SPENT_WORDS.search(words) is not None


def words_of(error: BaseException) -> str:
    """Return a server's words in a client's exception, as one line without the client's frame around it."""
    for cause in causes_of(error):
        words = words_in(getattr(cause, "body", None)) or in_response_of_aws(cause, "Error", "Message")
        words = words or words_in(getattr(cause, "details", None)) or words_in(_text_of_response(cause))
        if isinstance(words, str) and words.strip():
            return _one_line(words)
    text = str(error)
    for frame in _FRAMES:
        text = frame.sub("", text)
    return _one_line(words_in(text) or text)


def _text_of_response(error: BaseException) -> str:
    """Return the body that an HTTP client has read, or nothing."""
    try:
        text = getattr(getattr(error, "response", None), "text", "")
    except Exception:  # noqa: BLE001 - a body that was not read raises, in each library in its own way
        return ""
    return text if isinstance(text, str) else ""


def words_in(body: Any) -> str | None:
    """Return the message in the body of an error: JSON, a page, or a text."""
    if isinstance(body, str):
        if title := _TITLE.search(body):
            return title[1]
        if body.lstrip().startswith("<"):
            return "(a page without a title)"
        try:
            body = json.loads(body)
        except (ValueError, RecursionError):
            return body if not body.lstrip().startswith("{") else None
    return _first_words(_error_in(body))


def code_in(body: Any) -> Any:
    """Return the code, the type or the status in the body of an error, or None."""
    inner = _error_in(body)
    return next((inner[name] for name in _CODES if type(inner.get(name)) in (int, str) and inner[name]), None)


def is_error_of(body: Mapping[str, Any], is_alone: bool) -> bool:
    """Return whether the body of an answer, or an event of it, is an error.

    Args:
        is_alone: Whether it may be nothing else, so that a code with a message is one.
    """
    inner = _error_in(body)
    if body.get("base_resp") is inner:
        return inner.get("status_code") not in (0, None)
    if body.get("object") == "error" or (inner is not body and _first_words(inner) is not None):
        return True
    return bool(body.get("error")) or (is_alone and code_in(body) is not None and _first_words(body) is not None)


def says_later(words: str) -> bool:
    """Return whether the words of an error say that the same request may soon succeed."""
    return _LATER_WORDS.search(words) is not None


def _error_in(body: Any, levels: int = 4) -> Mapping[str, Any]:
    """Return the object that describes the error, where a body has one; services put it at several places."""
    if isinstance(body, list):  # Gemini answers a stream with a list
        body = body[0] if body else None
    if isinstance(body, str):
        return {"message": body}
    if not isinstance(body, Mapping) or not levels:
        return {}
    inner = (_error_in(body[name], levels - 1) for name in _PLACES if isinstance(body.get(name), (Mapping, list, str)))
    return next(
        (part for part in inner if _first_words(part) or (_first_words(body) is None and any(map(part.get, _CODES)))),
        body,
    )


def _first_words(error: Mapping[str, Any]) -> str | None:
    texts = (error.get(name) for name in _WORDS)
    return next((text for text in texts if isinstance(text, str) and text.strip()), None)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def address_in(error: BaseException) -> str | None:
    """Return the address of the request that failed, where a client's exception has it."""
    for cause in causes_of(error):
        for holder in (cause, getattr(cause, "response", None)):
            try:
                url = getattr(getattr(holder, "request", None), "url", None)
            except RuntimeError:  # httpx: the request was never set
                continue
            if url is not None:
                return str(url)
    return None


def host_in(address: str) -> str:
    """Return the host and the port of an address, without user and password."""
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        host = parts.hostname or address
        port = parts.port
    except ValueError:
        return address
    host_text = f"[{host}]" if ":" in host else host
    return f"{host_text}:{port}" if port else host_text
