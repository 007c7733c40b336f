"""Checks the times of a schedule, so that an error names the option at fault and the wrong part of it."""

from __future__ import annotations

import difflib
import shlex
import zoneinfo

from croniter import CroniterBadDateError, croniter

from strands_cli.api import UsageError
from strands_cli_workers.queue_values import Schedule

FIELDS = ("minute", "hour", "day of the month", "month", "day of the week")
_FORM = f"write five fields, {', '.join(FIELDS)}: --every '0 6 * * 1-5'"


def require_times(schedule: Schedule) -> None:
    """Check that a schedule has times.

    Raises:
        UsageError: Its zone does not exist, or its times are not valid or never come.
    """
    _require_zone(schedule.timezone)
    cron = schedule.cron
    if not croniter.is_valid(cron, second_at_beginning=True):
        raise UsageError(f"--every {cron!r} is not valid: {_fault_of(cron)}", fix=_FORM)
    try:
        croniter(cron, second_at_beginning=True).get_next()
    except CroniterBadDateError:
        raise UsageError(f"--every {cron!r} is not valid: there is no such day", fix=_FORM) from None


def _require_zone(name: str) -> None:
    try:
        zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        raise UsageError(f"--timezone {name!r} is not a time zone", fix=_zone_near(name)) from None


def _zone_near(name: str) -> str:
    """Return the fix for a zone that does not exist: the closest one, by its whole name or by that of its city."""
    zones = {zone.casefold(): zone for zone in sorted(zoneinfo.available_timezones())}
    cities = {folded.rpartition("/")[2]: zone for folded, zone in zones.items()}
    folded = name.casefold()
    for word, names in ((folded, zones), (folded.rpartition("/")[2], cities)):
        for close in difflib.get_close_matches(word, names, n=1):
            return f"did you mean --timezone {shlex.quote(names[close])}?"
    return "write a name of the IANA database: --timezone Europe/Berlin"


def _fault_of(cron: str) -> str:
    """Return which part of the times is wrong."""
    fields = cron.split()
    names = ("second", *FIELDS) if len(fields) == len(FIELDS) + 1 else FIELDS
    if len(fields) != len(names):
        return f"it has {len(fields)} of {len(FIELDS)} fields"
    for position, (field, name) in enumerate(zip(fields, names, strict=True)):
        others = ["*"] * len(fields)
        others[position] = field
        if not croniter.is_valid(" ".join(others), second_at_beginning=True):
            return f"{field!r} is not a {name}"
    return "its fields do not fit together"
