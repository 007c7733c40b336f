"""Results, errors, contexts and inputs of calls, as a host and a model see them."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strands_tool_kit
from strands_tool_kit import CallContext, ToolError, answer, answer_async, bad_input, cut_text, read_input

PROPERTIES: dict[str, Any] = {
    "text": {"type": "string", "minLength": 1, "maxLength": 5},
    "count": {"type": "integer", "minimum": 1, "maximum": 9, "default": 3},
    "share": {"type": "number"},
    "deep": {"type": "boolean", "default": False},
    "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
    "rows": {"type": "array"},
    "more": {"type": "object"},
}
SPEC = {"name": "probe", "inputSchema": {"json": {"properties": PROPERTIES, "required": ["text"]}}}
USE = {"toolUseId": "use-1", "name": "probe"}


def read(**values: Any) -> dict[str, Any]:
    return read_input({**USE, "input": values}, SPEC)


def fault(**values: Any) -> tuple[str, str, str]:
    with pytest.raises(ToolError) as caught:
        read(**values)
    error = caught.value
    assert not error.retryable
    return error.code, error.details["reason"], error.details["field"]


# -- input


def test_defaults_are_filled_in_and_a_null_is_an_absent_value() -> None:
    defaults = {"count": 3, "share": None, "deep": False, "mode": "a", "rows": None, "more": None}
    assert read(text="x") == {"text": "x", **defaults}
    assert read(text="x", count=None, mode=None) == {"text": "x", **defaults}
    assert read(text="x", share=2, rows=[1], more={"a": 1})["share"] == 2


EARLIER = {**SPEC, "strands_cli": {"earlier": {"size": "count", "number": "count", "text": "?more"}}}


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"text": "x", "size": 2}, {"count": 2}),
        ({"text": "x", "size": 2, "count": None}, {"count": 2}),
        ({"text": "x", "size": None}, {"count": 3}),
        ({"text": "x?a=1&b", "more": {"c": 2}}, {"text": "x", "more": {"c": 2, "a": "1", "b": ""}}),
        ({"text": "x?a#"}, {"text": "x?a#", "more": None}),
    ],
)
def test_earlier_names_of_inputs_are_read(values: dict[str, Any], found: dict[str, Any]) -> None:
    read_values = read_input({**USE, "input": values}, EARLIER)
    assert {name: read_values[name] for name in found} == found


@pytest.mark.parametrize("values", [{"size": 2, "count": 4}, {"size": 2, "number": 4}])
def test_an_earlier_name_beside_the_present_one_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ToolError) as caught:
        read_input({**USE, "input": {"text": "x", **values}}, EARLIER)
    assert caught.value.details["reason"] == "unknown"


@pytest.mark.parametrize(
    ("values", "reason", "field"),
    [
        ({}, "missing", "text"),
        ({"text": None}, "type", "text"),
        ({"text": "x", "other": 1}, "unknown", "other"),
        ({"text": 1}, "type", "text"),
        ({"text": ""}, "length", "text"),
        ({"text": "123456"}, "length", "text"),
        ({"text": "x", "count": 0}, "range", "count"),
        ({"text": "x", "count": 10}, "range", "count"),
        ({"text": "x", "count": 1.5}, "type", "count"),
        ({"text": "x", "count": True}, "type", "count"),
        ({"text": "x", "share": "1"}, "type", "share"),
        ({"text": "x", "deep": 1}, "type", "deep"),
        ({"text": "x", "mode": "c"}, "enum", "mode"),
        ({"text": "x", "rows": {}}, "type", "rows"),
        ({"text": "x", "more": []}, "type", "more"),
    ],
)
def test_the_first_field_that_does_not_fit_is_in_the_error(values: dict[str, Any], reason: str, field: str) -> None:
    assert fault(**values) == ("invalid_input", reason, field)


@pytest.mark.parametrize("sent", [None, "text", ["text"], 1])
def test_an_input_that_is_not_an_object_is_refused(sent: object) -> None:
    with pytest.raises(ToolError) as caught:
        read_input({**USE, "input": sent}, SPEC)
    assert (caught.value.code, caught.value.details) == ("invalid_input", {"reason": "type"})


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.lists(st.integers())


@settings(max_examples=200, deadline=None, database=None, derandomize=True)
@given(st.dictionaries(st.sampled_from([*PROPERTIES, "other"]), VALUES))
def test_any_input_is_complete_or_refused(values: dict[str, Any]) -> None:
    result = answer({**USE, "input": values}, lambda: ("", read(**values)))
    value = result["content"][-1]["json"]
    if result["status"] == "error":
        assert value["error"]["code"] == "invalid_input"
    else:
        assert value.keys() == PROPERTIES.keys()
        assert 1 <= value["count"] <= 9


def test_a_property_may_have_several_types_or_none() -> None:
    rules = {"size": {"type": ["integer", "string"], "maximum": 9}, "any": {}, "flag": {"type": ["boolean", "null"]}}
    spec = {"name": "probe", "inputSchema": {"json": {"properties": rules, "required": ["flag"]}}}
    for values in ({"size": 3}, {"size": "large"}, {"any": [1]}, {"any": True}):
        assert read_input({"input": {"flag": None, **values}}, spec).items() >= values.items()
    for wrong in ({"size": 1.5}, {"size": True}, {"size": 10}, {"flag": 0}):
        with pytest.raises(ToolError):
            read_input({"input": {"flag": True, **wrong}}, spec)


# -- results


def test_text_and_value_become_a_result() -> None:
    assert answer(USE, lambda: ("said", {"a": 1})) == {
        "toolUseId": "use-1",
        "status": "success",
        "content": [{"text": "said"}, {"json": {"a": 1}}],
    }


def test_an_empty_text_is_left_out() -> None:
    assert answer(USE, lambda: ("", {"a": 1}))["content"] == [{"json": {"a": 1}}]


def refuse() -> tuple[str, dict[str, Any]]:
    raise ToolError("unavailable", "busy", retryable=True, reason="rate-limit", retry_after_s=3)


async def refuse_later() -> tuple[str, dict[str, Any]]:
    return refuse()


async def succeed_later() -> tuple[str, dict[str, Any]]:
    return "said", {"a": 1}


def test_a_tool_error_becomes_a_result_with_all_that_it_says() -> None:
    error = {
        "code": "unavailable",
        "message": "busy",
        "retryable": True,
        "details": {"reason": "rate-limit", "retry_after_s": 3},
    }
    expected = {
        "toolUseId": "use-1",
        "status": "error",
        "content": [{"text": "unavailable: busy"}, {"json": {"error": error}}],
    }
    assert answer(USE, refuse) == expected
    assert asyncio.run(answer_async(USE, refuse_later)) == expected


def test_a_coroutine_is_answered_like_a_function() -> None:
    assert asyncio.run(answer_async(USE, succeed_later)) == answer(USE, lambda: ("said", {"a": 1}))


def test_another_exception_is_the_hosts_to_handle() -> None:
    with pytest.raises(ZeroDivisionError):
        answer(USE, lambda: ("", {"a": 1 // 0}))


def test_an_error_of_a_field_names_it() -> None:
    error = bad_input("region", "must be a country", "pattern")
    assert (error.code, error.details) == ("invalid_input", {"reason": "pattern", "field": "region"})


# -- context


def test_everything_that_a_host_passes_may_be_absent() -> None:
    for keywords in ({}, {"strands_cli": None}, {"strands_cli": {"config": None, "secrets": None}}):
        context = CallContext.of(keywords)
        context.require_time()
        assert context == CallContext()
        assert context.seconds(7) == 7


def test_secrets_are_not_shown() -> None:
    context = CallContext.of({"strands_cli": {"secrets": {"KEY": "hunter2"}, "config": {"a": 1}}})
    assert context.secrets == {"KEY": "hunter2"}
    assert context.config == {"a": 1}
    assert "hunter2" not in repr(context)


def test_a_cancelled_call_and_a_passed_deadline_end_the_work() -> None:
    cancelled = threading.Event()
    context = CallContext(cancel=cancelled, deadline=time.monotonic() + 60)
    context.require_time()
    cancelled.set()
    for late in (context, CallContext(deadline=time.monotonic() - 1)):
        with pytest.raises(ToolError) as caught:
            late.seconds(1)
        expected = ("cancelled", "cancelled") if late is context else ("timeout", "deadline")
        assert (caught.value.code, caught.value.details["reason"]) == expected


def test_work_ends_before_the_deadline() -> None:
    left = CallContext(deadline=time.monotonic() + 60)
    assert left.seconds(5) == 5
    assert 50 < left.seconds(100) < 60


# -- limits


@given(st.text(), st.integers(0, 40))
def test_a_text_is_cut_between_characters(text: str, limit: int) -> None:
    shown, is_cut = cut_text(text, limit)
    assert len(shown.encode()) <= limit
    assert is_cut is (len(text.encode("utf-8", "replace")) > limit)
    assert text.encode("utf-8", "replace").startswith(shown.encode())


# -- imports


def test_the_kit_is_cheap_and_needs_nothing() -> None:
    names = ("strands", "strands_cli", "asyncio", "httpx", "httpcore", "html", "pytest", "json", "ssl")
    program = f"import sys, strands_tool_kit\nprint([name for name in {names} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_every_public_name_is_there() -> None:
    assert all(hasattr(strands_tool_kit, name) for name in strands_tool_kit.__all__)
