"""The command `workflows agent test`: run the tests in agent files, from their recordings or with a live model."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from strands_cli.api import (
    Chosen,
    ExitCode,
    InvalidInput,
    UsageError,
    json_on_failure,
    print_json,
    print_result,
    say,
    say_findings,
    with_run_options,
)

if TYPE_CHECKING:
    from strands_cli.api import Atomic, RunRequest
    from strands_cli_migrate.junit import Outcome

JSON = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@with_run_options(only=("provider", "model", "allow", "yes"))
def run_tests(
    *,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Files with one agent each.")],
    live: Annotated[bool, typer.Option("--live", help="Call the agent's model instead of playing recordings.")] = False,
    chosen: Chosen,
    junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write JUnit XML, for CI.")] = None,
    as_json: JSON = False,
) -> int:
    """Run the tests in agent files, each as a separate run whose journal is deleted.

    Tests are in the file, or in `tests.yaml` beside it. Tools are really called, under the usual rules.
    Exit code 10: a test failed; 3: there are no tests.

    Example: strands workflows agent test agents/*.yaml --junit agents.xml
    """
    with json_on_failure({"tests": []} if as_json else None):
        request = chosen.request()
        if (request.provider or request.model) and not live:
            raise UsageError("--provider and --model choose a live model", fix="add --live")
        atomics = [_read_valid(path) for path in dict.fromkeys(files) if not _has_tests_only(path)]
        _require_tests(atomics)
        began = time.time()
        outcomes = _run_all(atomics, request, live=live, quiet=as_json)
        if junit is not None:
            _write_junit(junit, outcomes, began)
        counts = {
            word: sum(outcome.status == word for outcome in outcomes)
            for word in ("passed", "failed", "error", "skipped")
        }
        if as_json:
            print_json({"tests": [outcome.as_dict() for outcome in outcomes], **counts})
        else:
            print_result(", ".join(f"{count} {word}" for word, count in counts.items() if count))
        return ExitCode.RUN_FAILED if counts["failed"] or counts["error"] else ExitCode.OK


def _require_tests(atomics: Sequence[Atomic]) -> None:
    """Check that something is tested, and report the files without tests."""
    fix = "write `tests:` into the file, or a file `tests.yaml` beside it"
    if not any(atomic.tests for atomic in atomics):
        raise InvalidInput("there are no tests", fix=fix)
    for atomic in atomics:
        if not atomic.tests:
            say(f"{atomic.document.file}: no tests")


def _has_tests_only(path: Path) -> bool:
    """Return whether a file has the tests of the agent beside it: `agents/*.yaml` names it too."""
    return path.name == "tests.yaml" or path.name.endswith(".tests.yaml")


def _read_valid(path: Path) -> Atomic:
    from strands_cli.api import check_atomic, open_atomic

    atomic = open_atomic(path)
    findings = check_atomic(atomic)
    if any(finding.severity == "error" for finding in findings):
        raise InvalidInput(f"{path} is not a valid agent", findings=findings)
    say_findings(findings)
    return atomic


def _run_all(atomics: Sequence[Atomic], request: RunRequest, *, live: bool, quiet: bool) -> list[Outcome]:
    """Run all tests one after another under one signal handler, and report how each ended."""
    import dataclasses

    from strands_cli.api import require_trust_of_agent, run_to_end
    from strands_cli_migrate.agent_runs import run_test

    for atomic in (atomic for atomic in atomics if atomic.tests):
        require_trust_of_agent(atomic, request)
    outcomes: list[Outcome] = []

    async def go(runs_dir: Path) -> None:
        each = dataclasses.replace(request, runs_dir=runs_dir, store=None)
        for atomic in atomics:
            for number in range(len(atomic.tests)):
                outcomes.append(await run_test(atomic, number, each, live=live))
                if not quiet:
                    _report(outcomes[-1])

    with tempfile.TemporaryDirectory(prefix="strands-atomic-") as folder:
        run_to_end(lambda: go(Path(folder)), reserves_streams=True)
    return outcomes


def _report(outcome: Outcome) -> None:
    say(f"{outcome.status:7} {outcome.agent}: {outcome.test} ({outcome.seconds:.2f} s)")
    for problem in outcome.problems:
        say("\n".join(f"        {line}" for line in problem.splitlines()))


def _write_junit(path: Path, outcomes: Sequence[Outcome], at: float) -> None:
    import platform

    from strands_cli.api import write_result
    from strands_cli_migrate.junit import junit_text

    write_result(path, junit_text(outcomes, at=at, host=platform.node() or "localhost"))
