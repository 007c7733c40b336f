"""What servers send that is not as the protocol has it: one tool, one block or one character costs nothing else."""

from __future__ import annotations

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from strands_cli.events import RunWarning
from tests.covers.kit import Ran
from tests.servers.conftest import Site, tool

# Each test starts processes, and waits for them.
pytestmark = pytest.mark.hostile

PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"0" * 20).decode()


def results_at_once(site: Site, raw: str, *others: str) -> list[str]:
    """Return the results of a call that a server answers with these bytes, and of calls of other tools after it."""
    began = time.monotonic()
    site.add(calls={"read": {"raw": raw}})
    ran = site.run(("read", {}), *((name, {}) for name in others))
    assert ran.error is None, ran.error
    assert time.monotonic() - began < 60
    return site.results()


def warnings(ran: Ran) -> str:
    return "\n".join(event.message for event in ran.events if isinstance(event, RunWarning))


# What a server lists, and whether the tool is offered.
LISTED: list[tuple[Any, bool]] = [
    ({"properties": {"a": {"type": "string"}}}, True),
    ({}, True),
    (True, True),
    (None, True),
    (False, False),
    ([], False),
    ("object", False),
    ({"type": "string"}, False),
    ({"type": "Object", "properties": {"a": {"type": "String"}}}, True),
    ({"type": ["object", "null"]}, True),
    ({"type": "object", "properties": None, "required": None}, True),
    ({"type": "object", "properties": {"a": {"type": "str", "description": None}}}, True),
    ({"type": "object", "properties": {"a": {"type": "string", "required": True}}}, True),
    ({"type": "object", "properties": {"a": {"type": "number", "minimum": 1, "exclusiveMinimum": True}}}, True),
    ({"type": "object", "properties": {"a": {"type": "array", "items": [{"type": "string"}]}}}, True),
    ({"type": "object", "properties": {"a": {"$ref": "#/properties/a"}}}, False),
    ({"type": "object", "properties": {"a": {"$ref": "https://example.com/x.json"}}}, False),
    ({"type": "object", "properties": {"a": {"pattern": r"^(?<word>\p{L}+)$"}}}, True),
    ({"type": "object", "properties": {"a": {"pattern": r"\p{L}(?=x)"}}}, True),
    ({"type": "object", "properties": {"a": {"pattern": "("}}}, False),
    ({"$schema": "http://json-schema.org/draft-04/schema#", "type": "object", "properties": {"a": {}}}, True),
    ({"$schema": 4, "type": "object"}, True),
    ({"type": "object", "properties": []}, True),
    ({"type": "object", "properties": {"a": {}}, "required": "a"}, True),
    ({"type": "object", "properties": [{"name": "a"}]}, False),
    ({"type": "object", "properties": {"a": "string"}}, False),
    ({"type": "object", "required": {"a": True}}, False),
]


def test_one_odd_schema_costs_no_other_tool(site: Site) -> None:
    odd = [tool(f"t{number}", inputSchema=schema) for number, (schema, _) in enumerate(LISTED)]
    site.add(tools=[*odd, tool("read"), {"name": "read"}, {"description": "no name"}, "read", None])
    ran = site.run()
    assert ran.error is None, ran.error
    wanted = [f"t{number}" for number, (_, is_offered) in enumerate(LISTED) if is_offered]
    assert sorted(site.world.tools(0)) == sorted([*wanted, "read"])
    told = warnings(ran)
    for number, (_, is_offered) in enumerate(LISTED):
        assert is_offered or f"'t{number}' that is left out" in told, number
    assert f"number {len(LISTED) + 3} of its list" in told
    assert r"\p{L}(?=x)" in told


@pytest.mark.parametrize(
    "more",
    [
        {"description": None},
        {"description": 5, "title": ["x"]},
        {"annotations": "read-only"},
        {"annotations": {"readOnlyHint": "yes", "title": 4}},
        {"outputSchema": "text"},
        {"outputSchema": {"type": "string"}},
        {"outputSchema": {"type": "object", "properties": {"a": {"type": "stringy"}}}},
        {"execution": {"taskSupport": "perhaps"}, "icons": "none", "_meta": []},
    ],
)
def test_what_a_tool_says_beside_its_schema_never_costs_it(site: Site, more: dict[str, Any]) -> None:
    site.add(tools=[tool("odd", **more), tool("read")])
    ran = site.run(("odd", {"text": "x"}))
    assert ran.error is None, ran.error
    assert site.world.tools(0) == ["odd", "read"]
    assert site.called() == [("odd", {"text": "x"})]
    assert "odd done" in site.results()[0]


@pytest.mark.parametrize("cursor", ["", None, False, 0])
def test_a_cursor_that_is_empty_leads_to_no_further_page(site: Site, cursor: Any) -> None:
    site.add(cursor=cursor)
    ran = site.run(("read", {}))
    assert ran.error is None, ran.error
    assert site.world.tools(0) == ["read", "write"]


# The content of an answer, and what the model's request has of it.
ANSWERS: list[tuple[Any, list[str]]] = [
    ([{"type": "image", "data": "PHN2Zy8+", "mimeType": "image/svg+xml"}], ["image/svg+xml, 6 bytes", "<svg/>"]),
    ([{"type": "image", "data": base64.b64encode(b"BM12").decode(), "mimeType": "image/bmp"}], ["image/bmp, 4 bytes"]),
    ([{"type": "image", "data": "!", "mimeType": "image/png"}], ["image/png"]),
    ([{"type": "image", "data": "SSoA", "mimeType": "IMAGE/TIFF; x=1"}], ["image/tiff, 3 bytes"]),
    ([{"type": "image", "mimeType": "image/png"}], ["mimeType"]),
    ([{"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}], ["audio/wav, 3 bytes"]),
    ([{"type": "resource", "resource": {"uri": "a:b", "blob": "AAAA"}}], ["a:b", "3 bytes"]),
    ([{"type": "resource", "resource": {"uri": "a:b", "blob": "aGk=", "mimeType": "text/csv"}}], ["hi"]),
    ([{"type": "resource", "resource": {"uri": "a:b", "text": "words"}}], ["words"]),
    ([{"type": "resource", "resource": {"text": "words"}}], ["words"]),
    ([{"type": "resource_link", "uri": "a:b", "name": "Bee", "mimeType": "x/y", "size": 9}], ["a:b", "Bee", "9 bytes"]),
    ([{"type": "hologram", "beam": 7}], ["hologram", "7"]),
    ([{"type": "text", "text": 5}], ["5"]),
    ([{"type": "text", "text": None}], []),
    ([{"type": "text", "content": "words"}], ["words"]),
    ([{"type": "resource", "uri": "a:b", "text": "words"}], ["words"]),
    ([{"type": "resource", "resource": {"uri": "a:b", "text": {"n": 5}}}], ["n", "5"]),
    ([{"type": "video", "data": "AAAA", "mimeType": "video/mp4"}], ["not shown: video/mp4, 3 bytes"]),
    ([[{"type": "text", "text": "words"}]], ["words"]),
    (["plain"], ["plain"]),
    ("plain", ["plain"]),
    ({"type": "text", "text": "alone"}, ["alone"]),
    (None, []),
    ([None], []),
]


@pytest.mark.parametrize(("content", "seen"), ANSWERS)
def test_what_is_not_text_is_named_and_no_text_is_lost(site: Site, content: Any, seen: list[str]) -> None:
    beside = {"type": "text", "text": "the chart follows"}
    listed = [beside, *content] if isinstance(content, list) else content
    site.add(calls={"read": {"result": {"content": listed}}})
    ran = site.run(("read", {}))
    assert ran.error is None, ran.error
    (result,) = site.results()
    assert "KeyError" not in result
    assert "tool_failed" not in result
    assert not isinstance(content, list) or "the chart follows" in result
    assert [text for text in seen if text not in result] == []


def test_a_picture_that_models_take_is_kept(site: Site) -> None:
    for mime in ("image/png", "image/jpg", "", "application/octet-stream"):
        site.servers.clear()
        site.add(calls={"read": {"result": {"content": [{"type": "image", "data": PIXEL, "mimeType": mime}]}}})
        assert site.run(("read", {})).error is None
        assert f"data:image/png;base64,{PIXEL}" in json.dumps(site.world.requests[-1]), mime


HALF = r"\ud83d"
LINE = '{"jsonrpc":"2.0","id":@,"result":{"content":[{"type":"text","text":"%s"}]}}'


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        (f"cut here: {HALF}", "cut here: \ufffd"),
        (r"\ude00 and \ud83d\ud83d\ude00", "\ufffd and \ufffd\U0001f600"),
        (r"a path: C:\\ud83d", r"a path: C:\ud83d"),
        ("latin \xe9", "latin \ufffd"),
        ("a\x00b\x1bc", "a\ufffdb\ufffdc"),
    ],
)
def test_half_a_character_costs_one_character(site: Site, text: str, seen: str) -> None:
    site.add(calls={"read": {"raw": LINE % text}})
    ran = site.run(("read", {}))
    assert ran.error is None, ran.error
    assert seen in site.results()[0]


@pytest.mark.parametrize(
    "line",
    [
        "\xef\xbb\xbf" + LINE % "words",
        f"[{LINE % 'words'}]",
        '{"jsonrpc":"2.0","id":@,"result":{"toolResult":"words"}}',
        '{"jsonrpc":"2.0","id":@,"result":{"answer":"words"}}',
        f"INFO {{x}} {LINE % 'words'}",
        f"\x1b[32m{LINE % 'words'}\x1b[0m",
        f"data: {LINE % 'words'}",
        f"{LINE % 'words'} done",
        '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}' + LINE % "words",
        "{'jsonrpc': '2.0', 'id': @, 'result': {'content': [{'type': 'text', 'text': 'words'}], 'isError': False}}",
        '{"jsonrpc":"2.0","id":@.0,"result":{"content":[{"type":"text","text":"words"}]}}',
        '{"jsonrpc":"2.0","id":"@","result":{"content":[{"type":"text","text":"words"}]}}',
        '{"jsonrpc":"2.0","id":null,"result":{"content":[{"type":"text","text":"words"}]}}',
        '{"id":@,"result":{"content":[{"type":"text","text":"words"}]}}',
        '{"jsonrpc":1.0,"id":@,"result":{"content":[[{"type":"text","text":"words"}]]}}',
        '{"jsonrpc":"2.0","id":@,"result":"words"}',
        '{"content":[{"type":"text","text":"words"}]}',
    ],
)
def test_an_answer_in_another_frame_is_read(site: Site, line: str) -> None:
    (result,) = results_at_once(site, line)
    assert "words" in result
    assert "validation error" not in result


@pytest.mark.parametrize(
    "line",
    [
        LINE[:-5] % "cut off",
        '{"jsonrpc":"2.0","id":@,"result":null}',
        '{"jsonrpc":"2.0","id":@,"result":[1]}',
        '{"jsonrpc":"2.0","id":@,"result":{"content":"unquoted, "quotes""}}',
        '{\n  "jsonrpc": "2.0",\n  "id": @,\n  "result": {}\n}',
    ],
)
def test_an_answer_that_cannot_be_read_fails_the_call_at_once(site: Site, line: str) -> None:
    assert "cannot be read" in results_at_once(site, line)[0]


@pytest.mark.parametrize(
    "error",
    [
        '"id":null,"error":{"code":-32603,"message":"out of paper"}',
        '"error":{"code":-32603,"message":"out of paper"}',
        '"id":@,"error":"out of paper"',
        '"id":@,"error":{"message":"out of paper"}',
        '"id":@,"error":{"code":"E7","message":"out of paper"}',
        '"id":@,"result":null,"error":{"code":7,"message":"out of paper"}',
        '"id":@,"error":{"code":7,"message":null,"reason":"out of paper"}',
    ],
)
def test_an_error_of_any_form_fails_its_call_at_once_in_the_servers_words(site: Site, error: str) -> None:
    results = results_at_once(site, '{"jsonrpc":"2.0",' + error + "}", "write")
    assert "out of paper" in results[0]
    assert "write done" in results[1], "the server still works"
    assert len(site.started()) == 1


def test_an_answer_to_what_was_not_asked_is_named_at_once(site: Site) -> None:
    results = results_at_once(site, '{"jsonrpc":"2.0","id":98765,"result":{"content":[]}}', "write")
    assert "98765" in results[0]
    assert "write done" in results[1]


BYTES = list(base64.b64decode(PIXEL))


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "data": {"type": "Buffer", "data": BYTES}, "mimeType": "image/png"},
        {"type": "image", "data": BYTES, "mimeType": "image/png"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
        {"type": "Image", "data": PIXEL, "mime_type": "image/png"},
        {"type": "file", "data": PIXEL, "mimeType": "image/png", "name": "x.png"},
        {"type": "resource", "uri": "a:b", "blob": PIXEL, "mimeType": "image/png"},
    ],
)
def test_a_picture_is_kept_however_a_server_writes_it(site: Site, block: dict[str, Any]) -> None:
    site.add(calls={"read": {"result": {"content": [block]}}})
    assert site.run(("read", {})).error is None
    assert f"data:image/png;base64,{PIXEL}" in json.dumps(site.world.requests[-1])


@pytest.mark.parametrize("data", ["", base64.b64encode(b"<html>502</html>").decode()], ids=["nothing", "a page"])
def test_what_only_claims_to_be_a_picture_is_named(site: Site, data: str) -> None:
    site.add(calls={"read": {"result": {"content": [{"type": "image", "data": data, "mimeType": "image/png"}]}}})
    assert site.run(("read", {})).error is None
    assert "not shown: image/png" in site.results()[0]
    assert "image_url" not in json.dumps(site.world.requests[-1])


def test_what_a_program_prints_beside_the_protocol_costs_nothing(site: Site) -> None:
    noise = [
        "Starting...",
        "{not json",
        "[1, 2]",
        "x" * 100_000,
        '{"level": "info", "msg": "ready"}',
        "\x1b[1mbold\x1b[0m",
    ]
    broken = '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"cut'
    site.add(stdout=[*noise, broken])
    assert site.run(("read", {"text": "x"})).error is None
    assert site.called() == [("read", {"text": "x"})]


NAMED = {
    "type": "object",
    "properties": {"$top": {"type": "integer"}, "top": {"type": "integer"}},
    "required": ["$top"],
}


def test_a_property_that_services_refuse_has_another_name_on_the_way(site: Site) -> None:
    site.add(tools=[tool("read", inputSchema=NAMED)])
    ran = site.run(("read", {"top_2": 5, "top": 1}), ("read", {"top_2": "cut \ud83d"}))
    assert ran.error is None, ran.error
    assert site.called() == [("read", {"$top": 5, "top": 1})]
    first, *_, last = site.world.requests
    (offered,) = first["tools"]
    assert list(offered["function"]["parameters"]["properties"]) == ["top_2", "top"]
    assert offered["function"]["parameters"]["required"] == ["top_2"]
    assert "`$top`" in json.dumps(offered)
    earlier = [use for message in last["messages"] for use in message.get("tool_calls") or ()]
    assert json.loads(earlier[0]["function"]["arguments"]) == {"top_2": 5, "top": 1}
    assert "\ud83d" not in str(site.results())


class _OverHttp(BaseHTTPRequestHandler):
    """Speaks MCP over HTTP; what `tools/call` answers is in `server.answer`, with the request's id for @."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        known = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "odd", "version": "1"},
            },
            "tools/list": {"tools": [tool("read"), {"name": "odd", "inputSchema": {"properties": {}}}]},
        }
        method, identity = message.get("method"), message.get("id")
        if identity is None:
            self._send(202, b"")
        elif method == "tools/call":
            self._send(self.server.status, self.server.answer.replace(b"@", str(identity).encode()), self.server.kind)  # type: ignore[attr-defined]
        elif method in known:
            self._send(200, json.dumps({"jsonrpc": "2.0", "id": identity, "result": known[method]}).encode())
        else:
            error = {"code": -32601, "message": "no such method"}
            self._send(200, json.dumps({"jsonrpc": "2.0", "id": identity, "error": error}).encode())

    def do_GET(self) -> None:
        self._send(405, b"")

    def do_DELETE(self) -> None:
        self._send(405, b"")

    def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.send_header("connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


PLAIN = LINE % "words"
EVENT = f"event: message\ndata: {PLAIN}\n\n"
ERROR = '{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"out of paper"}}'
EVENTS, JSON = "text/event-stream", "application/json"


@pytest.mark.parametrize(
    ("kind", "answer", "seen"),
    [
        (JSON, LINE % f"cut here: {HALF}", "cut here: \ufffd"),
        (JSON, (LINE % "latin \xe9").encode("latin-1"), "latin \ufffd"),
        (EVENTS, f"event: message\ndata: {LINE % f'an event: {HALF}'}\n\n", "an event: \ufffd"),
        (JSON, LINE[:-5], "cannot be read"),
        ("text/html", "<html>502</html>", "<html>502</html>"),
        (JSON, "", "without content"),
        (JSON, ERROR % "null", "out of paper"),
        (EVENTS, f"data: {ERROR % 'null'}\n\n", "out of paper"),
        (JSON, '{"jsonrpc":"2.0","id":@,"error":"out of paper"}', "out of paper"),
        (JSON, PLAIN.replace("@", "98765"), "98765"),
        (EVENTS, EVENT.replace("@", "98765"), "98765"),
        (JSON, "\ufeff" + PLAIN, "words"),
        (JSON, f"[{PLAIN}]", "words"),
        (JSON, EVENT, "words"),
        ("", PLAIN, "words"),
        ("text/plain", PLAIN.replace("@", "@.0"), "words"),
        (EVENTS, PLAIN, "words"),
        (EVENTS, EVENT[:-1], "words"),
        (EVENTS, EVENT.replace("\n", "\r"), "words"),
        (EVENTS, EVENT.replace("event: message", "event: answer"), "words"),
        (EVENTS, f"data: working on it\n\nid: 7\n{EVENT}", "words"),
        (EVENTS, EVENT.replace('"result"', '\ndata: "result"'), "words"),
        (EVENTS, "data: working on it\n\n", "working on it"),
        (JSON, "{'jsonrpc': '2.0', 'id': @, 'result': {'content': ['words']}}", "words"),
    ],
)
def test_what_is_odd_over_http_costs_no_more(site: Site, kind: str, answer: str | bytes, seen: str) -> None:
    assert seen in over_http(site, answer, kind)


def over_http(site: Site, answer: str | bytes, kind: str = JSON, status: int = 200) -> str:
    """Return what the model gets of a call whose answer is this response."""
    began = time.monotonic()
    with ThreadingHTTPServer(("127.0.0.1", 0), _OverHttp) as server:
        server.answer = answer.encode() if isinstance(answer, str) else answer  # type: ignore[attr-defined]
        server.kind, server.status = kind, status  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        site.servers.append({"id": "odd", "url": f"http://127.0.0.1:{server.server_port}/mcp"})
        ran = site.run(("read", {"text": "x"}))
        server.shutdown()
        thread.join()
    assert ran.error is None, ran.error
    assert time.monotonic() - began < 60
    assert sorted(site.world.tools(0)) == ["odd", "read"]
    (result,) = site.results()
    assert "validation error" not in result
    return result


@pytest.mark.parametrize(
    ("status", "answer", "seen"),
    [(400, ERROR % "null", "out of paper"), (422, '{"detail": "out of paper"}', "HTTP 422"), (418, "", "HTTP 418")],
)
def test_a_call_that_is_refused_over_http_says_why(site: Site, status: int, answer: str, seen: str) -> None:
    result = over_http(site, answer, status=status)
    assert seen in result
    assert not answer or "out of paper" in result
