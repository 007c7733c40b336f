"""The tool `current_time`: tell the present moment in an IANA time zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from strands_tool_current_time._zones import find_zone
from strands_tool_kit import CallContext, answer, read_input
from strands_tool_kit.spec import capabilities, choice, for_programs, hints, inputs, integer, outputs, string

TOOL_SPEC: dict[str, Any] = {
    "name": "current_time",
    "description": (
        "Tell the current date and time in a time zone. Formats: 'iso' (ISO 8601 with offset), 'unix' (seconds since "
        "1970-01-01 UTC), 'human' (weekday, date and time in English words)."
    ),
    "inputSchema": inputs(
        {
            "format": choice(["iso", "unix", "human"], "How the time is written.", default="iso"),
            "timezone": string(
                "An IANA name such as 'Europe/Berlin' or 'UTC'; UTC if not configured otherwise.", length=(1, 64)
            ),
        }
    ),
    "outputSchema": outputs(
        {
            **for_programs(iso=string("ISO 8601 with offset, to the second.")),
            "unix": integer("Whole seconds since 1970-01-01 00:00 UTC."),
            **for_programs(human=string("English words.")),
            "timezone": string("The IANA name used, or 'local'."),
            **for_programs(utc_offset=string("The zone's offset at this moment, as +HH:MM.")),
            "weekday": string("Monday to Sunday."),
        }
    ),
    "annotations": hints("Current time", reads_only=True),
    "strands_cli": {
        "requires_confirmation": False,
        "capabilities": capabilities(),
        "resources": {"reads": [], "writes": []},
        "timeout_s": 10,
        "max_output_bytes": 4096,
    },
}

# An earlier strands-cli's word for the machine's own zone.
_LOCAL = "local"

# strftime's names follow the process locale; the output must not.
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def current_time(tool: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Tell the time of the machine's clock.

    Args:
        tool: The Strands tool use: `toolUseId` and `input`.
        **kwargs: The invocation state; `strands_cli["config"]["default_timezone"]` names the zone of a call
            that names none.

    Returns:
        A Strands tool result: the time in the format asked for, all formats as JSON, or an error `invalid_input`.
    """
    return tell(tool, datetime.now(UTC), CallContext.of(kwargs))


def tell(tool: dict[str, Any], moment: datetime, context: CallContext) -> dict[str, Any]:
    """Answer one call as if it were that moment (an aware `datetime`)."""

    def work() -> tuple[str, dict[str, Any]]:
        values = read_input(tool, TOOL_SPEC)
        name = values["timezone"] or context.config.get("default_timezone", "UTC")
        described = describe(moment, None if name.lower() == _LOCAL else find_zone(name))
        return str(described[values["format"]]), described

    return answer(tool, work)


def describe(moment: datetime, zone: ZoneInfo | None) -> dict[str, Any]:
    """Return every rendering of one aware moment in one zone, or in that of the machine, to the whole second."""
    there = moment.astimezone(zone).replace(microsecond=0)
    offset = _offset_text(there.utcoffset() or timedelta(0))
    name = _LOCAL if zone is None else zone.key
    weekday = _WEEKDAYS[there.weekday()]
    date = f"{weekday}, {there.day} {_MONTHS[there.month - 1]} {there.year}"
    return {
        "iso": there.isoformat(),
        "unix": int(moment.timestamp() // 1),
        "human": f"{date}, {there:%H:%M:%S} {name} (UTC{offset})",
        "timezone": name,
        "utc_offset": offset,
        "weekday": weekday,
    }


def _offset_text(offset: timedelta) -> str:
    minutes = round(offset.total_seconds() / 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
