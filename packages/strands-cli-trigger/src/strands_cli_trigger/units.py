"""The units of a trigger: texts for what starts it, each with the last occurrence as the one that it is for.

Every one of them asks for `--occurrence latest`: a start that is late, or is made twice, means the same occurrence.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from strands_cli.api import UsageError
from strands_cli_trigger.occurrences import LATEST
from strands_cli_trigger.trigger_file import Trigger

_DAYS = ("Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def units_of(trigger: Trigger, target: str, options: Sequence[str]) -> dict[str, str]:
    """Return the text of each file that a target needs, by where it goes.

    Raises:
        UsageError: A path or an option has a line end, which no unit can have.
    """
    words = [*_command(trigger), *options]
    if any(character in word for word in (*words, str(trigger.file)) for character in "\n\r\0"):
        raise UsageError(
            "a unit cannot have a line end in a path or an option", fix="rename the folder, or leave it out"
        )
    makers: Mapping[str, Callable[[Trigger, list[str]], dict[str, str]]] = {
        "cron": _cron,
        "systemd": _systemd,
        "kubernetes": _kubernetes,
        "github": _github,
    }
    return makers[target](trigger, words)


def _command(trigger: Trigger) -> list[str]:
    program = shutil.which(sys.argv[0]) or shutil.which("strands") or "strands"
    path = str(Path(program).absolute()) if "/" in program else program
    return [path, "trigger", trigger.name, "--file", str(trigger.file), "--occurrence", LATEST]


def _environment_file(trigger: Trigger) -> Path:
    return trigger.file.with_suffix(".env")


def _cron(trigger: Trigger, words: list[str]) -> dict[str, str]:
    """Return lines for `crontab -e`; there `%` ends the command unless it is escaped."""
    environment = shlex.quote(str(_environment_file(trigger)))
    load = f"if [ -f {environment} ]; then set -a; . {environment}; set +a; fi"
    command = f"cd {shlex.quote(str(trigger.file.parent))} && {{ {load}; {shlex.join(words)}; }}".replace("%", "\\%")
    text = (
        f"# Add to `crontab -e`. Keys: {_environment_file(trigger)} (NAME=value lines, mode 0600).\n"
        f"# A cron that does not know CRON_TZ, as Debian's, takes the machine's zone: set that to {trigger.zone}.\n"
        f"CRON_TZ={trigger.zone}\n{trigger.schedule} {command}\n"
    )
    return {"crontab": text}


def _systemd(trigger: Trigger, words: list[str]) -> dict[str, str]:
    """Return a service and its timer."""
    name, folder = f"strands-{trigger.name}", str(trigger.file.parent)
    environment = _unit_path(str(_environment_file(trigger)))
    service = (
        f"[Unit]\nDescription=the trigger {trigger.name} of strands\n"
        "Wants=network-online.target\nAfter=network-online.target\n\n"
        f"[Service]\nType=oneshot\nWorkingDirectory={_unit_path(folder)}\nEnvironmentFile=-{environment}\n"
        f"ExecStart={' '.join(map(_unit_word, words))}\n"
    )
    calendars = "".join(f"OnCalendar={each}\n" for each in calendars_of(trigger))
    timer = (
        f"[Unit]\nDescription=times of the trigger {trigger.name} of strands\n\n"
        f"[Timer]\n{calendars}Persistent=true\n\n[Install]\nWantedBy=timers.target\n"
    )
    folder_of_units = "~/.config/systemd/user"
    return {f"{folder_of_units}/{name}.service": service, f"{folder_of_units}/{name}.timer": timer}


def _unit_word(word: str) -> str:
    """Return a word of ExecStart: specifiers and variables mean themselves."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _unit_path(path: str) -> str:
    """Return a path as the whole value of a setting, which takes quotes literally."""
    return path.replace("%", "%%")


def calendars_of(trigger: Trigger) -> list[str]:
    """Return the times of a schedule as systemd's calendar events; days of two kinds are two, of which each counts."""
    from croniter import croniter

    fields, _ = croniter.expand(trigger.schedule or "")
    minute, hour, day, month = (_list(field) for field in fields[:4])
    days = [] if _list(fields[4]) == "*" else sorted({int(number) % 7 for number in fields[4]})
    weekdays = ",".join(_DAYS[number] for number in days)
    times = f"{hour}:{minute}:00 {trigger.zone}"
    if weekdays and day != "*":
        return [f"*-{month}-{day} {times}", f"{weekdays} *-{month}-* {times}"]
    return [f"{weekdays} *-{month}-{day} {times}".strip()]


def _list(field: Sequence[object]) -> str:
    return ",".join(f"{number:02}" if isinstance(number, int) else str(number) for number in field)


def _kubernetes(trigger: Trigger, words: list[str]) -> dict[str, str]:
    """Return a CronJob; the triggers, their workflows and the keys come in by a ConfigMap and a Secret."""
    file = f"/etc/strands-triggers/{trigger.file.name}"
    arguments = [file if word == str(trigger.file) else word for word in words[1:]]
    name = f"strands-{trigger.name}".replace("_", "-")[:52].rstrip("-")
    deadline = [f"  startingDeadlineSeconds: {int(trigger.stale_after)}"] if trigger.stale_after else []
    lines = [
        "# ConfigMap strands-triggers: the files of your folder. Secret strands-keys: STRANDS_STORE, and keys.",
        "apiVersion: batch/v1",
        "kind: CronJob",
        "metadata:",
        f"  name: {json.dumps(name)}",
        "spec:",
        f"  schedule: {json.dumps(trigger.schedule)}",
        f"  timeZone: {json.dumps(str(trigger.zone))}",
        "  concurrencyPolicy: Allow  # the trigger's own `overlap` decides",
        *deadline,
        "  jobTemplate:",
        "    spec:",
        "      backoffLimit: 2",
        "      template:",
        "        spec:",
        "          restartPolicy: Never",
        "          containers:",
        "            - name: strands",
        "              image: strands-cli:latest  # yours, with strands-cli-trigger and strands-cli-postgres",
        '              command: ["strands"]',
        f"              args: {json.dumps(arguments)}",
        "              envFrom:",
        "                - secretRef: {name: strands-keys}",
        "              volumeMounts:",
        "                - {name: triggers, mountPath: /etc/strands-triggers, readOnly: true}",
        "          volumes:",
        "            - name: triggers",
        "              configMap: {name: strands-triggers}",
    ]
    return {f"{name}.yaml": "\n".join(lines) + "\n"}


def _github(trigger: Trigger, words: list[str]) -> dict[str, str]:
    """Return a workflow of GitHub Actions, whose schedules are in UTC and late at times."""
    file = f"./{trigger.file.name}"
    command = shlex.join(["strands", *(file if word == str(trigger.file) else word for word in words[1:])])
    note = [] if str(trigger.zone) == "UTC" else [f"    # GitHub reads this in UTC, and the trigger in {trigger.zone}."]
    lines = [
        f"name: {json.dumps(f'trigger {trigger.name}')}",
        '"on":',
        "  schedule:",
        *note,
        f"    - cron: {json.dumps(trigger.schedule)}",
        "  workflow_dispatch:",
        "permissions:",
        "  contents: read",
        "jobs:",
        "  run:",
        "    runs-on: ubuntu-latest",
        "    steps:",
        "      - uses: actions/checkout@v4",
        "      - uses: actions/setup-python@v5",
        '        with: {python-version: "3.12"}',
        "      - run: pip install strands-cli strands-cli-trigger strands-cli-postgres",
        f"      - run: {json.dumps(command)}",
        "        env:",
        "          # Without a store that outlives the job, no second start can know the first one.",
        "          STRANDS_STORE: ${{ secrets.STRANDS_STORE }}",
        "          OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}",
    ]
    return {f".github/workflows/strands-{trigger.name}.yml": "\n".join(lines) + "\n"}
