"""The units that `trigger units` prints: each for a file whose name needs every kind of escape."""

from __future__ import annotations

import datetime
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from strands_cli_trigger.occurrences import following, latest
from strands_cli_trigger.trigger_file import Trigger, trigger_named
from strands_cli_trigger.units import calendars_of, units_of
from tests.cli.strands import Folder

OPTIONS = ["--var", "note=50% of $HOME 'x' \"y\""]


@pytest.fixture
def trigger(tmp_path: Path) -> Trigger:
    file = tmp_path / "a folder's 100% $HOME" / "triggers.yaml"
    file.parent.mkdir()
    file.write_text(
        "version: 1\n"
        "triggers:\n"
        "  nightly: {workflow: flow.yaml, schedule: '*/30 6 1,15 * 1-5', timezone: Europe/Berlin, stale_after: 2h}\n"
    )
    return trigger_named("nightly", file)


def test_the_line_of_cron_is_one_command_with_the_words(trigger: Trigger) -> None:
    (text,) = units_of(trigger, "cron", OPTIONS).values()
    zone, line = text.splitlines()[-2:]
    assert zone == "CRON_TZ=Europe/Berlin"
    fields, command = line.split(" ", 5)[:5], line.split(" ", 5)[5]
    assert " ".join(fields) == trigger.schedule
    assert command.count("%") == command.count("\\%") > 0
    # As cron gives it to a shell; the program is replaced by one that prints its words.
    program = shutil.which("strands") or "strands"
    script = command.replace("\\%", "%").replace(shlex.quote(program), "printf '%s\\n'")
    ran = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True)
    expected = ["trigger", "nightly", "--file", str(trigger.file), "--occurrence", "latest", *OPTIONS]
    assert ran.stdout.splitlines()[-len(expected) :] == expected


def test_systemd_takes_the_units(trigger: Trigger, tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd is not here")
    units = tmp_path / "units"
    units.mkdir()
    paths = []
    for path, text in units_of(trigger, "systemd", OPTIONS).items():
        paths.append(units / Path(path).name)
        paths[-1].write_text(text)
    ran = subprocess.run([analyze, "verify", *map(str, paths)], capture_output=True, text=True, check=False)
    complaints = [line for line in ran.stderr.splitlines() if "strands-nightly" in line]
    assert (ran.returncode, complaints) == (0, []), ran.stderr
    for calendar in calendars_of(trigger):
        checked = subprocess.run([analyze, "calendar", calendar], capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked.stderr


def test_kubernetes_and_github_get_yaml_with_the_same_words(trigger: Trigger) -> None:
    (job,) = units_of(trigger, "kubernetes", OPTIONS).values()
    spec = yaml.safe_load(job)["spec"]
    assert (spec["schedule"], spec["timeZone"]) == (trigger.schedule, "Europe/Berlin")
    assert spec["startingDeadlineSeconds"] == 7200
    (container,) = spec["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert container["args"][-len(OPTIONS) :] == OPTIONS
    (workflow,) = units_of(trigger, "github", OPTIONS).values()
    document = yaml.safe_load(workflow)
    assert document["on"]["schedule"] == [{"cron": trigger.schedule}]
    command = next(step["run"] for step in document["jobs"]["run"]["steps"] if "trigger nightly" in step.get("run", ""))
    words = ["strands", "trigger", "nightly", "--file", "./triggers.yaml", "--occurrence", "latest", *OPTIONS]
    assert shlex.split(command) == words


def test_the_latest_occurrence_is_the_same_however_late_a_start_is(trigger: Trigger) -> None:
    first = datetime.datetime(2026, 6, 1, 4, 30, tzinfo=datetime.UTC)
    late = [first + datetime.timedelta(seconds=seconds) for seconds in (0, 1, 600)]
    assert {latest(trigger, now) for now in late} == {first}
    assert following(trigger, first) > first


def test_a_command_prints_them_and_refuses_what_has_no_schedule(folder: Folder) -> None:
    folder.write("triggers.yaml", {"version": 1, "triggers": {"a": {"workflow": "f.yaml", "schedule": "0 6 * * *"}}})
    printed = folder.strands("trigger", "units", "a", "--for", "systemd", "--", "--yes")
    assert (printed.code, printed.out.count("[Timer]")) == (0, 1)
    files = folder.strands("trigger", "units", "a", "--for", "cron", "--json").document["files"]
    assert list(files) == ["crontab"]
    assert folder.strands("trigger", "units", "a", "--for", "cron", "--", "two\nlines").code == 2
    folder.write("triggers.yaml", {"version": 1, "triggers": {"a": {"workflow": "f.yaml"}}})
    assert folder.strands("trigger", "units", "a", "--for", "cron").code == 2
