"""Whatever a tool returns, a provider and the journal get a well-formed result of bounded size."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strands_cli.tools.messages.message_json import decode, encode
from strands_cli.tools.messages.repeated_results import readable_results
from strands_cli.tools.tool_results import (
    MAX_BLOCKS,
    MAX_DEPTH,
    MAX_MESSAGE,
    MEDIA_BYTES,
    capped,
    error_of,
    well_formed,
)
from tests.agents.kit import error, text
from tests.wordings import Wording

CLONE = Path(__file__).parent.parent.parent
# How pictures begin.
JPEG, PNG = b"\xff\xd8\xff\xe0", b"\x89PNG\r\n\x1a\n"


def ok(*content: Any) -> dict[str, Any]:
    return {"status": "success", "content": list(content)}


def nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    "answer",
    [
        "text",
        None,
        [1],
        object(),
        {"content": []},
        {"status": "ok", "content": []},
        {"status": ["success"], "content": []},
        {"status": "success"},
        {"status": "success", "content": "text"},
        ok("text"),
        ok({}),
        ok({"texte": "x"}),
        ok({"text": 1}),
        ok({"text": b"x"}),
        ok({"json": {1, 2}}),
        ok({"json": b"x"}),
        ok({"json": math.nan}),
        ok({"json": {"a": math.inf}}),
        ok({"json": CIRCLE}),
        ok({"json": nested(MAX_DEPTH)}),
        ok({"json": nested(100_000)}),
        ok({"image": nested(100_000)}),
        ok({"image": "path"}),
    ],
)
def test_a_shape_that_is_not_a_result_becomes_an_error(answer: Any, wording: Wording) -> None:
    result = well_formed(answer, "t1")
    assert result["toolUseId"] == "t1"
    assert error(result)["code"] == "invalid_output"
    wording(text(result))


@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ([{"text": "a"}], [{"text": "a"}]),
        ([{"text": ""}], [{"text": ""}]),
        ([], [{"text": "(no output)"}]),
        ([{"text": "a", "json": 1}], [{"text": "a"}, {"json": 1}]),
        ([{"text": "a", "extra": object()}], [{"text": "a"}]),
        ([{"text": "\udcff"}], [{"text": "?"}]),
        ([{"json": {1: (2, 3), "x": "\ud800"}}], [{"json": {"1": [2, 3], "x": "?"}}]),
        ([{"json": {"$bytes": "no base64"}}], [{"json": {"$bytes": "no base64"}}]),
        (
            [{"image": {"format": "png", "source": {"bytes": PNG}}}],
            [{"image": {"format": "png", "source": {"bytes": PNG}}}],
        ),
    ],
)
def test_content_comes_out_as_it_will_be_read_back(content: list[Any], kept: list[Any]) -> None:
    result = well_formed({"status": "success", "content": content}, "t1")
    assert result["content"] == kept
    assert decode(json.loads(json.dumps(encode(result)))) == result
    json.dumps(encode(result), ensure_ascii=False).encode()


def test_the_tools_own_id_does_not_count() -> None:
    assert well_formed({**ok({"text": "a"}), "toolUseId": "forged"}, "t1")["toolUseId"] == "t1"


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [
        ([{"text": "boom"}], "tool_failed", "boom"),
        ([], "tool_failed", None),
        ([{"json": {"error": {"code": "gone", "message": "it left"}}}], "gone", "it left"),
        ([{"json": {"error": "boom"}}, {"text": "x"}], "tool_failed", "x"),
        ([{"json": {"error": {"code": "Not a code!", "message": "m"}}}, {"text": "x"}], "tool_failed", "x"),
        ([{"json": {"error": {"code": 5, "message": "m"}}}, {"text": "x"}], "tool_failed", "x"),
    ],
)
def test_a_failure_always_has_one_structured_error(content: list[Any], code: str, message: str | None) -> None:
    result = well_formed({"status": "error", "content": content}, "t1")
    found = error(result) if code != "tool_failed" or "error" not in str(content) else dict(error_of(result) or {})
    assert (found["code"], found["retryable"]) == (code, False)
    assert found["message"] == message if message else found["message"]


def test_a_long_output_is_cut_and_says_so(wording: Wording) -> None:
    result = capped(well_formed(ok({"text": "ä" * 1000}, {"json": ["x" * 1000]}), "t1"), 100)
    assert result["content"][0]["text"] == "ä" * 50
    assert result["content"][-1] == {"json": {"truncated": True, "bytes": 2000 + 1004}}
    wording(text(result))


def test_json_that_is_cut_becomes_text() -> None:
    result = capped(well_formed(ok({"json": ["x" * 1000]}), "t1"), 100)
    assert len(result["content"][0]["text"]) == 100


def test_what_fits_is_left_as_it_is() -> None:
    result = well_formed(ok({"text": "a" * 100}), "t1")
    assert capped(result, 100) is result


def test_a_value_called_error_does_not_escape_the_cap() -> None:
    result = capped(well_formed(ok({"json": {"error": {"code": "x", "message": "y" * 10_000}}}), "t1"), 100)
    assert len(json.dumps(result)) < 600


def test_a_structured_error_stays_whole_and_small() -> None:
    long = {"code": "gone", "message": "m" * 100_000, "details": {"d": "d" * 100_000}}
    result = capped(
        well_formed({"status": "error", "content": [{"text": "t" * 1000}, {"json": {"error": long}}]}, "t"), 9
    )
    found = error_of(result)
    assert found is not None
    assert (found["code"], len(found["message"]), found["details"]) == ("gone", MAX_MESSAGE + 3, {})


def test_images_have_a_limit_of_their_own() -> None:
    image = {"image": {"format": "png", "source": {"bytes": PNG + b"x" * 100_000}}}
    assert capped(well_formed(ok(image), "t1"), 10)["content"] == [image]
    huge = {"image": {"format": "png", "source": {"bytes": PNG + b"x" * MEDIA_BYTES}}}
    assert capped(well_formed(ok(huge), "t1"), 10)["content"][-1]["json"]["truncated"] is True


def test_a_million_empty_blocks_are_cut() -> None:
    result = capped(well_formed(ok(*[{"text": ""}] * 10_000), "t1"), 1000)
    assert len(result["content"]) == MAX_BLOCKS + 2
    assert result["content"][-1]["json"]["truncated"] is True


BLOCKS = st.lists(
    st.fixed_dictionaries({"text": st.text(max_size=200)})
    | st.fixed_dictionaries({"json": st.lists(st.text(max_size=50)) | st.integers()}),
    max_size=5,
)


@given(BLOCKS, st.integers(min_value=1, max_value=300))
def test_what_is_kept_is_never_more_than_the_cap(blocks: list[Any], limit: int) -> None:
    result = capped(well_formed(ok(*blocks), "t1"), limit)
    kept = result["content"]
    if isinstance(kept[-1].get("json"), dict):
        kept = kept[:-2]  # the notice, in words and as JSON
    sizes = [len((b["text"] if "text" in b else json.dumps(b["json"], ensure_ascii=False)).encode()) for b in kept]
    assert sum(sizes) <= max(limit, len("(no output)"))


# The codes that the permission check uses; a tool may use others.
ERROR_CODES = ("invalid_input", "denied", "timeout", "unavailable", "invalid_output", "tool_failed", "unknown_tool")


def test_the_reference_page_says_when_each_code_occurs() -> None:
    page = (CLONE / "docs/reference/tool-errors.md").read_text(encoding="utf-8")
    for code in ERROR_CODES:
        assert f"\n- `{code}`" in page
    sources = "".join(path.read_text(encoding="utf-8") for path in (CLONE / "packages").glob("*/src/*/*.py"))
    for code in set(re.findall(r'ToolError\(\s*"([a-z_]+)"', sources)):
        assert f"\n- `{code}`" in page


@pytest.mark.parametrize(
    ("block", "seen"),
    [
        (
            {"image": {"format": "jpg", "source": {"bytes": JPEG}}},
            {"image": {"format": "jpeg", "source": {"bytes": JPEG}}},
        ),
        (
            {"image": {"format": "image/PNG", "source": {"bytes": PNG}}},
            {"image": {"format": "png", "source": {"bytes": PNG}}},
        ),
        ({"image": {"format": "png", "source": {"bytes": b"no picture"}}}, "image/png, 10 bytes"),
        ({"image": {"format": "gif", "source": {"bytes": b""}}}, "image/gif, 0 bytes"),
        (
            {"image": {"format": "gif", "source": {"bytes": JPEG}}},
            {"image": {"format": "jpeg", "source": {"bytes": JPEG}}},
        ),
        ({"image": {"format": "bmp", "source": {"bytes": b"BMx"}}}, "image/bmp, 3 bytes"),
        ({"image": {"format": "svg", "source": {"bytes": b"<svg/>"}}}, "<svg/>"),
        ({"document": {"format": "odt", "name": "a", "source": {"bytes": b"xy"}}}, "application/odt, 2 bytes"),
        ({"audio": {"format": "wav", "source": {"bytes": b"xy"}}}, "audio/wav, 2 bytes"),
        ({"type": "image", "data": "Qk0=", "mimeType": "image/bmp"}, "image/bmp, 2 bytes"),
    ],
)
def test_a_format_that_the_sdk_does_not_know_is_named(block: Any, seen: Any) -> None:
    result = well_formed(ok({"text": "beside"}, block), "t1")
    assert result["status"] == "success"
    assert result["content"][0] == {"text": "beside"}
    rest = result["content"][1:]
    assert rest == [seen] if isinstance(seen, dict) else seen in "".join(block["text"] for block in rest)
    assert well_formed(result, "t1") == result


def test_a_provider_gets_what_it_reads() -> None:
    picture = {"image": {"format": "gif", "source": {"bytes": b"GIF8"}}}
    document = {"document": {"format": "pdf", "name": "a", "source": {"bytes": b"%PDF"}}}
    result = well_formed(ok({"text": "beside"}, picture, document), "t1")
    message = {"role": "user", "content": [{"toolResult": result}]}
    kept = {}
    for provider in ("anthropic", "openai", "gemini", "mistral", "of-a-plugin"):
        (sent,) = readable_results([message], provider)
        content = sent["content"][0]["toolResult"]["content"]
        assert content[0] == {"text": "beside"}
        kept[provider] = [next(iter(block)) for block in content[1:]]
    assert kept == {
        "anthropic": ["image", "document"],
        "openai": ["image", "text"],
        "gemini": ["text", "document"],
        "mistral": ["text", "text"],
        "of-a-plugin": ["image", "document"],
    }
