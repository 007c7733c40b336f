"""What current_time says at given moments, and whom it asks for the time."""

from __future__ import annotations

import locale
import time
import zoneinfo
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_tool_current_time._zones import close_names
from strands_tool_current_time.current_time import current_time, tell
from strands_tool_kit import CallContext

SUMMER = datetime(2026, 7, 4, 12, 30, 45, 999_999, tzinfo=UTC)


def at(moment: datetime, config: dict[str, Any] | None = None, **given: Any) -> dict[str, Any]:
    use = {"toolUseId": "use-1", "name": "current_time", "input": given}
    return tell(use, moment, CallContext(config=config or {}))


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("iso", "2026-07-04T14:30:45+02:00"),
        ("unix", "1783168245"),
        ("human", "Saturday, 4 July 2026, 14:30:45 Europe/Berlin (UTC+02:00)"),
    ],
)
def test_each_format_tells_the_same_moment(form: str, text: str) -> None:
    result = at(SUMMER, format=form, timezone="Europe/Berlin")
    assert result == {
        "toolUseId": "use-1",
        "status": "success",
        "content": [
            {"text": text},
            {
                "json": {
                    "iso": "2026-07-04T14:30:45+02:00",
                    "unix": 1783168245,
                    "human": "Saturday, 4 July 2026, 14:30:45 Europe/Berlin (UTC+02:00)",
                    "timezone": "Europe/Berlin",
                    "utc_offset": "+02:00",
                    "weekday": "Saturday",
                }
            },
        ],
    }


@pytest.mark.parametrize(
    ("moment", "zone", "iso"),
    [
        (datetime(2026, 3, 29, 0, 59, 59, tzinfo=UTC), "Europe/Berlin", "2026-03-29T01:59:59+01:00"),
        (datetime(2026, 3, 29, 1, 0, 0, tzinfo=UTC), "Europe/Berlin", "2026-03-29T03:00:00+02:00"),
        (datetime(2026, 1, 1, tzinfo=UTC), "Asia/Kathmandu", "2026-01-01T05:45:00+05:45"),
        (datetime(2026, 1, 1, tzinfo=UTC), "America/St_Johns", "2025-12-31T20:30:00-03:30"),
        (datetime(2026, 1, 1, tzinfo=UTC), "Etc/GMT-14", "2026-01-01T14:00:00+14:00"),
    ],
)
def test_offsets_follow_the_zone_at_that_moment(moment: datetime, zone: str, iso: str) -> None:
    assert at(moment, timezone=zone)["content"][0]["text"] == iso


@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone of this system cannot be set for one process")
@pytest.mark.parametrize("word", ["local", "Local"])
@pytest.mark.parametrize(
    ("zone", "moment", "offset"),
    [
        ("Europe/Berlin", SUMMER, "+02:00"),
        ("Europe/Berlin", SUMMER.replace(month=1), "+01:00"),
        ("CET-1CEST,M3.5.0,M10.5.0/3", SUMMER, "+02:00"),
        ("Asia/Kathmandu", SUMMER, "+05:45"),
    ],
)
def test_local_is_the_zone_of_the_machine(
    word: str, zone: str, moment: datetime, offset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as changed:
        changed.setenv("TZ", zone)
        time.tzset()
        found = at(moment, timezone=word)["content"][1]["json"]
    time.tzset()
    assert (found["utc_offset"], found["timezone"], found["iso"][-6:]) == (offset, "local", offset)
    assert found["human"].endswith(f" local (UTC{offset})")
    assert found["unix"] == int(moment.timestamp())


def test_the_default_is_iso_in_utc_and_can_be_configured() -> None:
    assert at(SUMMER)["content"][0]["text"] == "2026-07-04T12:30:45+00:00"
    assert at(SUMMER, {"default_timezone": "Asia/Tokyo"})["content"][1]["json"]["timezone"] == "Asia/Tokyo"
    assert at(SUMMER, {"default_timezone": "Asia/Tokyo"}, timezone="UTC")["content"][1]["json"]["timezone"] == "UTC"
    assert at(SUMMER, timezone=None, format=None)["content"][1]["json"]["timezone"] == "UTC"


def test_the_tool_asks_the_clock_of_this_machine() -> None:
    before = int(datetime.now(UTC).timestamp())
    result = current_time({"toolUseId": "u", "name": "current_time", "input": {"format": "unix"}}, agent=None)
    assert before <= int(result["content"][0]["text"]) <= int(datetime.now(UTC).timestamp())


def test_the_host_passes_the_default_zone() -> None:
    use = {"toolUseId": "u", "name": "current_time", "input": {}}
    result = current_time(use, strands_cli={"config": {"default_timezone": "Asia/Tokyo"}, "workspace": None})
    assert result["content"][0]["text"].endswith("+09:00")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("europe/berlin", "Europe/Berlin"),
        ("Berlin", "Europe/Berlin"),
        ("Europe/Brelin", "Europe/Berlin"),
        ("New York", "America/New_York"),
        ("America/New York", "America/New_York"),
        ("PST", "America/Los_Angeles"),
        ("ist", "Asia/Kolkata"),
        ("UTC+2", "Etc/GMT-2"),
        ("+02:00", "Etc/GMT-2"),
        ("GMT-5", "Etc/GMT+5"),
        ("Z", "UTC"),
        ("utc", "UTC"),
        ("US/Berlin", "Europe/Berlin"),
    ],
)
def test_an_unknown_zone_gets_close_names(name: str, meant: str) -> None:
    result = at(SUMMER, timezone=name)
    error = result["content"][1]["json"]["error"]
    assert (result["status"], error["code"], error["details"]["reason"]) == ("error", "invalid_input", "unknown-zone")
    assert meant in error["details"]["close"]
    assert meant in error["message"]


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd",
        "/etc/localtime",
        "Europe",
        "America",
        "tzdata.zi",
        "zone.tab",
        "Europe/../UTC",
        "UTC\0",
        "",
        " ",
        "x" * 65,
        "Ürümqi",
        "a/b/c/d/e",
    ],
)
def test_a_name_never_becomes_a_path(name: str) -> None:
    result = at(SUMMER, timezone=name)
    assert result["content"][1]["json"]["error"]["code"] == "invalid_input"


@pytest.mark.parametrize("given_input", [None, [], {"format": "rfc"}, {"timezone": 2}, {"tz": "UTC"}])
def test_malformed_input_is_an_answer_not_an_exception(given_input: Any) -> None:
    result = current_time({"toolUseId": "u", "name": "current_time", "input": given_input})
    assert result["content"][1]["json"]["error"]["code"] == "invalid_input"


def test_the_words_do_not_follow_the_locale() -> None:
    before = locale.setlocale(locale.LC_TIME)
    try:
        for name in ("de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8"):
            try:
                locale.setlocale(locale.LC_TIME, name)
                break
            except locale.Error:
                continue
        assert at(SUMMER, format="human")["content"][0]["text"].startswith("Saturday, 4 July 2026")
    finally:
        locale.setlocale(locale.LC_TIME, before)


def test_every_zone_of_the_database_works() -> None:
    for zone in zoneinfo.available_timezones():
        assert at(SUMMER, timezone=zone)["status"] == "success", zone


@settings(max_examples=100, deadline=None, database=None, derandomize=True)
@given(
    st.datetimes(min_value=datetime(1971, 1, 2), max_value=datetime(2100, 1, 1), timezones=st.just(UTC)),
    st.sampled_from(["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/New_York", "Australia/Lord_Howe"]),
)
def test_iso_and_unix_name_the_same_second(moment: datetime, zone: str) -> None:
    value = at(moment, timezone=zone)["content"][1]["json"]
    assert datetime.fromisoformat(value["iso"]).timestamp() == value["unix"]
    assert 0 <= moment.timestamp() - value["unix"] < 1


@settings(max_examples=25, deadline=None, database=None, derandomize=True)
@given(st.text(max_size=80))
def test_any_text_as_a_zone_gets_at_most_five_existing_names(text: str) -> None:
    close = close_names(text)
    assert len(close) <= 5
    assert set(close) <= zoneinfo.available_timezones()
