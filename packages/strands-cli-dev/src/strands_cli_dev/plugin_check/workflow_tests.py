"""Run the tests of a package: recordings of its workflows and tests of its agents, on a copy, in child processes."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Literal

from strands_cli.api import Code, ExitCode, Finding, Where, json_object, run_within
from strands_cli_dev.plugin_check.packaged_workflows import FolderCheck, Runnable

PACKAGE_TEST_FAILED = Code(
    "package-test-failed",
    "A workflow or an agent of a package does not pass its own test.",
    "Correct the file or its recording.",
)
PACKAGE_UNTESTED = Code(
    "package-untested",
    "A workflow or an agent of a package has no test that can run here.",
    "Record one: strands run FILE --provider NAME --model NAME --record STEM.recording.yaml",
)

# The distribution that runs the tests of agents.
RUNNER = "strands-cli-migrate"
NO_RUNNER = f"`strands workflows agent test` comes with {RUNNER}, which is not installed"
TEST_SECONDS = 120.0
# The inputs of a workflow's test, beside it: STEM.inputs.yaml.
INPUTS = ".inputs.yaml"
_MAX_OUTPUT = 2 * 1024 * 1024
# A test has a home of its own, and nothing of the person: no key, no policy file, no journal.
_PASSED_ON = ("PATH", "PYTHONPATH", "LANG", "LC_ALL", "SYSTEMROOT", "TMPDIR", "TEMP", "VIRTUAL_ENV")
Status = Literal["passed", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class TestOutcome:
    """How one test ended: of which workflow or agent, and why it did not pass."""

    __test__ = False  # for pytest, which takes the name for that of tests

    kind: str
    name: str
    test: str
    status: Status
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON shape of `plugin check --json`."""
        return {"kind": self.kind, "of": self.name, "test": self.test, "status": self.status, "reason": self.reason}


def run_tests(check: FolderCheck, *, with_tools: bool, seconds: float = TEST_SECONDS) -> list[TestOutcome]:
    """Run every test of a package, and add failures to its findings.

    A test that calls tools runs only `with_tools`, since that imports them.

    Args:
        seconds: The time limit of each child process.
    """
    outcomes: list[TestOutcome] = []
    for workflow in (*check.workflows.values(), *check.agents.values()):
        if not workflow.has_test:
            words = "a recording" if workflow.kind == "workflow" else "a test"
            workflow_outcomes = [
                TestOutcome(
                    workflow.kind, workflow.name, "", "skipped", f"it has no {words[2:]} that plays without a model"
                )
            ]
        elif workflow.calls_tools and not with_tools:
            reason = f"it calls tools ({', '.join(workflow.calls_tools)}): add --import to run it"
            workflow_outcomes = [TestOutcome(workflow.kind, workflow.name, "", "skipped", reason)]
        elif workflow.kind == "agent" and not entry_points(group="strands_cli.commands", name="workflows.agent"):
            workflow_outcomes = [TestOutcome(workflow.kind, workflow.name, "", "skipped", NO_RUNNER)]
        else:
            workflow_outcomes = list(_run_apart(workflow, seconds))
        outcomes += workflow_outcomes
        check.findings += [_finding(workflow, outcome) for outcome in workflow_outcomes if outcome.status != "passed"]
    return outcomes


def _finding(runnable: Runnable, outcome: TestOutcome) -> Finding:
    named = f"the {runnable.kind} '{runnable.name}'" + (f", test {outcome.test!r}" if outcome.test else "")
    where = Where(str(runnable.path))
    if outcome.status == "failed":
        return Finding(PACKAGE_TEST_FAILED, f"{named} fails: {outcome.reason}", where)
    fix = None
    if "--import" in outcome.reason:
        fix = "strands plugin check DIST --import"
    elif outcome.reason == NO_RUNNER:
        fix = f"pip install {RUNNER}"
    elif runnable.kind == "agent":
        fix = "write `tests:` with a `recording:` into the file"
    return Finding(PACKAGE_UNTESTED, f"{named} is not tested: {outcome.reason}", where, fix, "warning")


def _run_apart(runnable: Runnable, seconds: float) -> Iterator[TestOutcome]:
    with tempfile.TemporaryDirectory(prefix="strands-package-") as folder:
        path = Path(folder)
        _copy(runnable, path / "package")
        for name in ("home", "work"):
            (path / name).mkdir()
        file = path / "package" / runnable.file
        if runnable.kind == "workflow":
            inputs = file.with_name(f"{runnable.name}{INPUTS}")
            more = ["--vars-file", str(inputs)] if inputs.is_file() else []
            words = ["run", str(file), "--provider", "replay", *more, "--json"]
        else:
            words = ["workflows", "agent", "test", str(file), "--json"]
        code, document = _strands(words, path, seconds)
    yield from (
        _of_workflow(runnable, code, document) if runnable.kind == "workflow" else _of_agent(runnable, code, document)
    )


def _copy(runnable: Runnable, target: Path) -> None:
    """Copy the files that were looked at, so that a test reads nothing else and changes nothing."""
    for name in runnable.folder.files:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(runnable.folder.path / name, target / name)


def _strands(words: Sequence[str], folder: Path, seconds: float) -> tuple[int | None, Mapping[str, Any]]:
    """Run one command and return its exit code (None after the time limit) and the JSON that it printed."""
    home = str(folder / "home")
    own = {"HOME": home, **{f"XDG_{name}_HOME": home for name in ("CONFIG", "DATA", "STATE", "CACHE")}}
    env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | own
    command = [sys.executable, "-P", "-m", "strands_cli", *words]
    with (folder / "stdout").open("w+b") as out, (folder / "stderr").open("w+b") as err:
        code = run_within(seconds, command, out, err, env=env, cwd=str(folder / "work"))
        out.seek(0)
        text = out.read(_MAX_OUTPUT).decode("utf-8", "replace")
    try:
        return code, json_object(json.loads(text))
    except ValueError:
        return code, {}


def _of_workflow(runnable: Runnable, code: int | None, document: Mapping[str, Any]) -> Iterator[TestOutcome]:
    test = "recording"
    if code == ExitCode.OK:
        yield TestOutcome(runnable.kind, runnable.name, test, "passed")
    elif code == ExitCode.WAITING:
        yield TestOutcome(runnable.kind, runnable.name, test, "skipped", "it waits for a person, and ends there")
    elif code == ExitCode.DENIED or document.get("denials"):
        reason = f"a person must allow what it does: {_reason(code, document)}"
        yield TestOutcome(runnable.kind, runnable.name, test, "skipped", reason)
    else:
        yield TestOutcome(runnable.kind, runnable.name, test, "failed", _reason(code, document))


def _of_agent(runnable: Runnable, code: int | None, document: Mapping[str, Any]) -> Iterator[TestOutcome]:
    tests = document.get("tests")
    if code not in (ExitCode.OK, ExitCode.RUN_FAILED) or not isinstance(tests, list) or not tests:
        status: Status = "skipped" if code == ExitCode.DENIED else "failed"
        yield TestOutcome(runnable.kind, runnable.name, "", status, _reason(code, document))
        return
    for test in map(json_object, tests):
        status = {"passed": "passed", "skipped": "skipped"}.get(str(test.get("status")), "failed")  # type: ignore[assignment]
        problems = test.get("problems")
        reason = "; ".join(map(str, problems)) if isinstance(problems, list) else ""
        yield TestOutcome(runnable.kind, runnable.name, str(test.get("test", "")), status, reason)


def _reason(code: int | None, document: Mapping[str, Any]) -> str:
    if code is None:
        return "it took longer than allowed"
    error = json_object(document.get("error"))
    findings = error.get("findings")
    messages = [str(json_object(finding).get("message")) for finding in findings] if isinstance(findings, list) else []
    denied = [json_object(denial) for denial in document.get("denials") or ()]
    denials = [f"a call of {denial.get('tool')} ({denial.get('rule')})" for denial in denied]
    return "; ".join(messages or denials) or str(error.get("message") or f"it ends with exit code {code}")
