"""News of DuckDuckGo: the JSON that its own page asks for, read without trusting it."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs

from strands_tool_kit import CallContext, ToolError
from strands_tool_web_search._clean import line_of, web_address
from strands_tool_web_search._exchange import Reply, exchange, unavailable
from strands_tool_web_search._page import MAX_SNIPPET, MAX_TITLE, Hit
from strands_tool_web_search._service import Service

BASE_URL = "https://duckduckgo.com"
MAX_PAGES = 3
_HEADERS = {"accept": "text/html,application/json", "accept-language": "en"}
# The token of a query's page for its own script, which each request of that script needs.
_TOKEN = re.compile(r"vqd=[\"']?([0-9-]{3,200})")
_TAG = re.compile(r"<[^<>]*>")
_MAX_RESULTS = 60


@dataclass(frozen=True, slots=True)
class _Page:
    """The news of one answer, how many had no usable address, and where the next begin; 0 where nothing follows."""

    hits: tuple[Hit, ...]
    left_out: int
    following: int


async def search_news(
    config: Mapping[str, Any], fields: Mapping[str, str], count: int, context: CallContext
) -> tuple[list[Hit], list[str]]:
    """Read news until there are enough, or no more.

    Args:
        config: The configuration of the tool.
        fields: The question as the service has it: `q`, `kl`, `kp` and `df`.
        count: The greatest number of results.
        context: The values of the host.

    Returns:
        The results and notices about them.
    """
    service = Service.of(config, BASE_URL, "news.js")
    until = service.until(context)
    parameters = {"l": fields["kl"], "o": "json", "noamp": "1", "q": fields["q"], "p": fields["kp"], "df": fields["df"]}
    parameters["vqd"] = await _token(Service.of(config, BASE_URL, ""), fields["q"], until)
    hits: dict[str, Hit] = {}
    notices: list[str] = []
    left_out, begin = 0, 0
    for number in range(MAX_PAGES):
        try:
            page = await _page(service, {**parameters, **({"s": str(begin)} if begin else {})}, until)
        except ToolError as refusal:
            if not number:
                raise
            notices.append(f"later results could not be read ({refusal.details.get('reason', refusal.code)})")
            break
        left_out += page.left_out
        for hit in page.hits:
            hits.setdefault(hit.url, hit)
        if len(hits) >= count or page.following <= begin:
            break
        begin = page.following
    if left_out:
        notices.append(f"results without a usable address left out: {left_out}")
    return list(hits.values())[:count], notices


async def _token(service: Service, query: str, until: float) -> str:
    """Return the token with which the service's own page asks for news.

    Raises:
        ToolError: There is none: the service asks for a proof, or its page has changed.
    """
    reply = await _news_reply(service, {"q": query, "iar": "news", "ia": "news"}, until)
    if (match := _TOKEN.search(reply.text)) is not None:
        return match[1]
    if "anomaly-modal" in reply.text or "challenge-form" in reply.text:
        raise _challenge(service, reply)
    raise ToolError("unavailable", f"{service.name} answered without what a search for news needs", reason="format")


async def _page(service: Service, parameters: Mapping[str, str], until: float) -> _Page:
    reply = await _news_reply(service, parameters, until)
    try:
        value = json.loads(reply.text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, Mapping) or not isinstance(value.get("results"), list):
        how = "is longer than allowed" if reply.is_cut else "is not the JSON of a search for news"
        raise ToolError("unavailable", f"the answer of {service.name} {how}", reason="format")
    listed = value["results"][:_MAX_RESULTS]
    hits = [hit for item in listed if (hit := _hit(item)) is not None]
    return _Page(tuple(hits), len(listed) - len(hits), _following(value.get("next")))


async def _news_reply(service: Service, fields: Mapping[str, str], until: float) -> Reply:
    """Return a successful answer to a question."""
    there = replace(service, url=service.url.copy_with(params=dict(fields)))
    reply = await exchange(there, _HEADERS, None, until)
    if reply.status in (202, 403, 418):
        raise _challenge(service, reply)
    if reply.status != 200:
        raise unavailable(service, reply)
    return reply


def _challenge(service: Service, reply: Reply) -> ToolError:
    problem = f"{service.name} asks for a proof that a person is there; wait before the next search"
    return ToolError("unavailable", problem, retryable=True, reason="challenge", status=reply.status)


def _hit(item: Any) -> Hit | None:
    """Return one result cleaned; None if it leads nowhere."""
    if not isinstance(item, Mapping) or not (url := web_address(item.get("url"))):
        return None
    title, snippet = _plain(item.get("title"), MAX_TITLE), _plain(item.get("excerpt"), MAX_SNIPPET)
    return Hit(title or url, url, snippet, _plain(item.get("source"), 100), _day(item.get("date")))


def _plain(text: Any, limit: int) -> str:
    """Return a text without its marks, in one line."""
    return line_of(html.unescape(_TAG.sub("", text[: 8 * limit])), limit) if isinstance(text, str) else ""


def _day(seconds: Any) -> str:
    """Return the day of a moment in UTC, or an empty text for another value."""
    if not isinstance(seconds, (int, float)) or isinstance(seconds, bool):
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def _following(address: Any) -> int:
    """Return where the next results begin; nothing else of the address is used."""
    query = address.partition("?")[2] if isinstance(address, str) and len(address) < 4_000 else ""
    try:
        start = parse_qs(query, max_num_fields=50).get("s", ["0"])[0]
    except ValueError:
        return 0
    return int(start) if re.fullmatch("[0-9]{1,4}", start) else 0
