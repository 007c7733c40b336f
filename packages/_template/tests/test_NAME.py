"""What NAME answers, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from strands_tool_NAME.NAME import NAME


def call(**given: Any) -> dict[str, Any]:
    return NAME({"toolUseId": "use-1", "name": "NAME", "input": given}, agent=None)


def test_words_are_counted() -> None:
    assert call(text="three small words") == {
        "toolUseId": "use-1",
        "status": "success",
        "content": [{"text": "3 words"}, {"json": {"words": 3}}],
    }


@pytest.mark.parametrize(
    ("given", "reason"), [({}, "missing"), ({"text": 3}, "type"), ({"text": "a", "more": 1}, "unknown"), ({"text": " "}, "empty")]
)
def test_bad_input_is_refused_with_its_reason(given: dict[str, Any], reason: str) -> None:
    result = call(**given)
    error = result["content"][1]["json"]["error"]
    assert (result["status"], error["code"], error["details"]["reason"]) == ("error", "invalid_input", reason)
