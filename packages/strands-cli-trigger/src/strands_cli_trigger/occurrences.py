"""The occurrences of a trigger: times, the id of the run of each, and the texts that name them in inputs."""

from __future__ import annotations

import datetime
import re
import zoneinfo
from dataclasses import dataclass
from typing import TYPE_CHECKING

from strands_cli.api import Code, ExitCode, Finding, StrandsCliError, UsageError

if TYPE_CHECKING:
    from strands_cli_trigger.trigger_file import Trigger

FUTURE_OCCURRENCE = Code(
    "future-occurrence", "An occurrence of a trigger is in the future.", "Wait, or name `latest`.", 2
)
UNSCHEDULED_OCCURRENCE = Code(
    "unscheduled-occurrence",
    "An occurrence is not a time of its trigger's schedule.",
    "Name one of its times, or `latest`.",
    2,
)
STALE_OCCURRENCE = Code(
    "stale-occurrence",
    "An occurrence is older than `stale_after` of its trigger, and had no run.",
    "Name a newer one, or raise `stale_after`.",
    1,
)
# The word for the last time of the schedule that has come.
LATEST = "latest"
# By so much the clocks of two machines may differ.
TOLERANCE_S = 60.0
NAMES = re.compile(r"\{\{\s*(?P<name>[^{}]*?)\s*\}\}")


class StaleOccurrence(StrandsCliError):
    """An occurrence is too old to be begun."""

    exit_code = ExitCode.NO


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One time at which a trigger fires.

    Attributes:
        at: The time, in the zone of the trigger.
    """

    trigger: Trigger
    at: datetime.datetime

    @property
    def text(self) -> str:
        """The time in UTC: `2026-11-27T09:00:00Z`."""
        return self.at.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def run_id(self) -> str:
        """The id of its only run."""
        return f"{prefix_of(self.trigger.name)}{self.at.astimezone(datetime.UTC):%Y%m%dT%H%M%SZ}"

    @property
    def names(self) -> dict[str, str]:
        """The names that inputs of the trigger may use."""
        return {"occurrence": self.text, "occurrence.date": f"{self.at:%Y-%m-%d}", "trigger": self.trigger.name}

    def rendered(self, value: object) -> object:
        """Return an input with the names in it replaced."""
        if not isinstance(value, str):
            return value
        names = self.names
        return NAMES.sub(lambda match: names[match["name"]], value)

    def require_due(self, now: datetime.datetime) -> None:
        """Check that a run of it may begin.

        Raises:
            UsageError: It is in the future, or not a time of the schedule.
            StaleOccurrence: It is too old.
        """
        trigger, age = self.trigger, (now - self.at).total_seconds()
        if age < -TOLERANCE_S:
            raise _refused(
                UsageError, FUTURE_OCCURRENCE, f"the occurrence {self.text} of '{trigger.name}' has not come yet"
            )
        if trigger.schedule is not None and not is_scheduled(trigger, self.at):
            times = " and ".join(each.isoformat() for each in (latest(trigger, self.at), following(trigger, self.at)))
            message = f"the occurrence {self.text} is not a time of '{trigger.name}': {trigger.schedule}"
            raise _refused(UsageError, UNSCHEDULED_OCCURRENCE, message, f"the closest are {times}")
        if trigger.stale_after is not None and age > trigger.stale_after:
            message = f"the occurrence {self.text} of '{trigger.name}' is older than {trigger.stale_text}"
            raise _refused(StaleOccurrence, STALE_OCCURRENCE, message)


def _refused(kind: type[StrandsCliError], code: Code, message: str, fix: str | None = None) -> StrandsCliError:
    return kind("no run begins", findings=[Finding(code, message, None, fix or code.remedy)])


def prefix_of(name: str) -> str:
    """Return how the ids of the runs of a trigger begin."""
    return f"{name}@"


def parsed(trigger: Trigger, text: str, now: datetime.datetime) -> Occurrence:
    """Return the occurrence that a text names; one without a zone has that of the trigger.

    Raises:
        UsageError: It is not a time, or `latest` of a trigger without a schedule.
    """
    if text == LATEST:
        if trigger.schedule is None:
            fix = f"name its time: --occurrence {now:%Y-%m-%dT%H:00Z}, or give it a `schedule`"
            raise UsageError(f"the trigger '{trigger.name}' has no schedule of which one could be the latest", fix=fix)
        return Occurrence(trigger, latest(trigger, now))
    try:
        at = datetime.datetime.fromisoformat(text)
        at = at.replace(tzinfo=trigger.zone) if at.tzinfo is None else at
        return Occurrence(trigger, at.astimezone(trigger.zone).replace(microsecond=0))
    except (ValueError, OverflowError) as error:
        fix = "write it as 2026-11-27T09:00Z, 2026-11-27T10:00+01:00, or latest"
        raise UsageError(f"--occurrence {text!r} is not a time: {error}", fix=fix) from error


def latest(trigger: Trigger, now: datetime.datetime) -> datetime.datetime:
    """Return the last time of a schedule that has come."""
    return _next_to(trigger, now + datetime.timedelta(seconds=1), forward=False)


def following(trigger: Trigger, now: datetime.datetime) -> datetime.datetime:
    """Return the next time of a schedule."""
    return _next_to(trigger, now, forward=True)


def _next_to(trigger: Trigger, moment: datetime.datetime, *, forward: bool) -> datetime.datetime:
    from croniter import croniter

    times = croniter(trigger.schedule, moment.astimezone(trigger.zone))
    found_time: datetime.datetime = (times.get_next if forward else times.get_prev)(datetime.datetime)
    return found_time


def is_scheduled(trigger: Trigger, at: datetime.datetime) -> bool:
    """Return whether a time is one of a schedule."""
    return at.second == 0 and latest(trigger, at) == at


def zone_named(name: str) -> zoneinfo.ZoneInfo | None:
    """Return a time zone of the IANA database, or None."""
    try:
        return zoneinfo.ZoneInfo(name)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return None
