"""`triggers.yaml`: the workflow, the inputs and the rules of each trigger, with every mistake at its place."""

from __future__ import annotations

import re
import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from strands_cli.api import Code, Finding, InvalidInput, UsageError, read_document, suggest
from strands_cli_trigger.occurrences import NAMES, zone_named

BAD_TRIGGERS = Code("bad-triggers", "The file of triggers is not valid.", "Correct it: docs/how-to/trigger.md.", 3)
DEFAULT_FILE = "triggers.yaml"
OVERLAPS = ("skip", "wait", "allow", "cancel_previous")
KEYS = ("workflow", "inputs", "schedule", "timezone", "overlap", "stale_after")
# The commands of the group, which no trigger can be called.
COMMANDS = ("run", "list", "show", "units")
INPUT_NAMES = ("occurrence", "occurrence.date", "trigger")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_AGE = re.compile(r"([1-9][0-9]{0,5})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_FORM = "write `NAME: {workflow: report.yaml, schedule: '0 6 * * *'}`"


@dataclass(frozen=True, slots=True)
class Trigger:
    """One trigger.

    Attributes:
        workflow: Its file, from the folder of the triggers' file, or `DIST/NAME`.
        inputs: As written; texts may name the occurrence.
        schedule: Five fields of cron; None where occurrences are any times.
        overlap: What happens while an earlier occurrence is unfinished.
        stale_after: How many seconds after its time an occurrence may begin; None for no limit.
        stale_text: The same as written.
    """

    name: str
    file: Path
    workflow: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    schedule: str | None = None
    zone: zoneinfo.ZoneInfo = field(default_factory=lambda: zoneinfo.ZoneInfo("UTC"))
    overlap: str = "skip"
    stale_after: float | None = None
    stale_text: str = ""

    @property
    def source(self) -> str:
        """The workflow for the planner: its absolute path, or `DIST/NAME` where there is no such file."""
        path = self.file.parent / self.workflow
        return str(path) if path.exists() or self.workflow.endswith((".yaml", ".yml")) else self.workflow


def read_triggers(file: Path) -> dict[str, Trigger]:
    """Return the triggers of a file by their names.

    Raises:
        UsageError: There is no such file.
        InvalidInput: It is not valid.
    """
    file = file.absolute()
    if not file.is_file():
        fix = "write one, or name it: --file FILE; its form: docs/how-to/trigger.md"
        raise UsageError(f"there is no file of triggers {file}", fix=fix)
    reader = _Reader(file)
    triggers = reader.read()
    if reader.findings:
        raise InvalidInput(f"{file} is not a valid file of triggers", findings=reader.findings)
    return triggers


def trigger_named(name: str, file: Path) -> Trigger:
    """Return one trigger.

    Raises:
        UsageError: There is none with this name.
        InvalidInput: The file is not valid.
    """
    triggers = read_triggers(file)
    if name not in triggers:
        fix = suggest(name, triggers, f"there are: {', '.join(triggers) or 'none'}")
        raise UsageError(f"there is no trigger '{name}' in {file}", fix=fix)
    return triggers[name]


class _Reader:
    def __init__(self, file: Path) -> None:
        self._file, self._document = file, read_document(file)
        self.findings: list[Finding] = list(self._document.findings)

    def _report(self, pointer: str, message: str, fix: str, *, key: bool = False) -> None:
        where = self._document.where(pointer, key=key)
        self.findings.append(Finding(BAD_TRIGGERS, message, where, fix))

    def read(self) -> dict[str, Trigger]:
        whole = self._document.value
        if self.findings:
            return {}
        if not isinstance(whole, dict) or whole.get("version") != 1 or not isinstance(whole.get("triggers"), dict):
            self._report("", "the file is a mapping with `version: 1` and `triggers`", _FORM)
            return {}
        self._check_keys("", whole, ("version", "triggers"))
        triggers = {str(name): self._trigger(str(name), value) for name, value in whole["triggers"].items()}
        return {name: trigger for name, trigger in triggers.items() if trigger is not None}

    def _check_keys(self, pointer: str, value: Mapping[Any, Any], known_keys: tuple[str, ...]) -> None:
        for key in value:
            if key not in known_keys:
                fix = suggest(str(key), known_keys, f"there are: {', '.join(known_keys)}") or ""
                self._report(f"{pointer}/{key}", f"there is no key {key!r}", fix, key=True)

    def _trigger(self, name: str, value: Any) -> Trigger | None:
        pointer = f"/triggers/{name}"
        if not _NAME.fullmatch(name) or name in COMMANDS:
            fix = f"use small letters, digits, - and _, and none of {', '.join(COMMANDS)}"
            self._report(pointer, f"{name!r} cannot be the name of a trigger", fix, key=True)
        if not isinstance(value, dict) or not isinstance(value.get("workflow"), str) or not value["workflow"].strip():
            self._report(pointer, "a trigger is a mapping with a `workflow`", _FORM)
            return None
        self._check_keys(pointer, value, KEYS)
        overlap, age = value.get("overlap", "skip"), value.get("stale_after")
        if overlap not in OVERLAPS:
            fix = suggest(str(overlap), OVERLAPS, f"there are: {', '.join(OVERLAPS)}") or ""
            self._report(f"{pointer}/overlap", f"there is no overlap {overlap!r}", fix)
        seconds = _seconds(age)
        if age is not None and seconds is None:
            self._report(f"{pointer}/stale_after", f"{age!r} is not a time", "write a number and s, m, h or d: 2h")
        zone = zone_named(str(value.get("timezone", "UTC")))
        if zone is None:
            message = f"{value['timezone']!r} is not a time zone"
            self._report(f"{pointer}/timezone", message, "write a name of the IANA database: Europe/Berlin")
            return None
        inputs, schedule = self._inputs(f"{pointer}/inputs", value.get("inputs", {})), value.get("schedule")
        if schedule is not None and not _is_schedule(schedule):
            fix = "write five fields, minute, hour, day, month and weekday: '0 6 * * 1-5'"
            self._report(f"{pointer}/schedule", f"{schedule!r} is not a schedule", fix)
        return Trigger(
            name, self._file, value["workflow"], inputs, schedule, zone, str(overlap), seconds, str(age or "")
        )

    def _inputs(self, pointer: str, inputs: Any) -> Mapping[str, Any]:
        if not isinstance(inputs, dict):
            self._report(pointer, "`inputs` is a mapping", "write `inputs: {day: '{{ occurrence }}'}`")
            return {}
        for name, value in inputs.items():
            for match in NAMES.finditer(value) if isinstance(value, str) else ():
                if match["name"] not in INPUT_NAMES:
                    fix = suggest(match["name"], INPUT_NAMES, f"there are: {', '.join(INPUT_NAMES)}") or ""
                    self._report(f"{pointer}/{name}", f"there is no name {match['name']!r} here", fix)
        return inputs


def _seconds(age: Any) -> float | None:
    match = _AGE.fullmatch(age) if isinstance(age, str) else None
    return float(match[1]) * _SECONDS[match[2]] if match else None


def _is_schedule(text: Any) -> bool:
    from croniter import CroniterBadDateError, croniter

    if not isinstance(text, str) or len(text.split()) != 5 or not croniter.is_valid(text):
        return False
    try:
        croniter(text).get_next()
    except CroniterBadDateError:
        return False
    return True
