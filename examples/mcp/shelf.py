"""An MCP server on stdin and stdout, for examples: a shelf of books. A real one is made with the package `mcp`."""

from __future__ import annotations

import json
import sys
from typing import Any

BOOKS = [{"title": "The Honey Year", "about": "bees", "shelf": 3}, {"title": "Weirs", "about": "rivers", "shelf": 1}]
TEXT = {"type": "object", "properties": {"about": {"type": "string"}}, "required": ["about"]}
TOOLS = [
    {"name": "find_books", "description": "Find books about something.", "inputSchema": TEXT},
    {"name": "throw_away", "description": "Throw all books about something away.", "inputSchema": TEXT},
]


def answer(method: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request, or None for an unknown method."""
    if method == "initialize":
        server = {"name": "shelf", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": server}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "tools/call":
        found = [book for book in BOOKS if book["about"] == given["arguments"]["about"]]
        return {"content": [{"type": "text", "text": json.dumps(found)}], "isError": False}
    return None


def main() -> None:
    """Answer each line until stdin ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue  # a notification
        result = answer(message["method"], message.get("params") or {})
        unknown = {"error": {"code": -32601, "message": f"there is no method {message['method']}"}}
        reply = {"jsonrpc": "2.0", "id": message["id"], **(unknown if result is None else {"result": result})}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
