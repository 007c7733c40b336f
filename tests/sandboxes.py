"""Says at the end of a session how many tests of the sandbox were skipped, and fails it where none should have been."""

from __future__ import annotations

import importlib.util
import platform
from collections.abc import Generator
from typing import Any

import pytest

# A test that asks for one of these needs an engine that holds.
FIXTURES = {"held", "every_way"}
ARCHITECTURES = ("x86_64", "amd64", "aarch64", "arm64")
MARK = ("sandbox", True)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """Mark the report that says whether a test of the sandbox ran; reports travel, items do not."""
    report = yield
    # A mark has reasons of its own (another system, a package that is not there); a fixture speaks of the engine.
    by_mark = any(item.iter_markers("skipif")) and report.skipped
    if report.when == "setup" and FIXTURES & set(getattr(item, "fixturenames", ())) and not by_mark:
        report.user_properties.append(MARK)
    return report


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say how many were skipped, and why that is a fault where it is one."""
    ran, skipped = _counted(terminalreporter)
    if not ran and not skipped:
        return
    terminalreporter.write_line(f"sandbox tests: {ran} run, {len(skipped)} skipped")
    for reason in sorted(set(skipped)):
        terminalreporter.write_line(f"  skipped: {reason}")
    if skipped and (walls := walls_here()):
        terminalreporter.write_line(f"FAILED: this machine has {walls}, so that none of them may be skipped", red=True)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the session whose sandbox tests were skipped on a machine that has the walls."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and session.exitstatus == pytest.ExitCode.OK and _counted(reporter)[1] and walls_here():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def walls_here() -> str:
    """Return the walls that make an engine possible on this machine, empty where one of them is missing."""
    if importlib.util.find_spec("strands_cli") is None:  # a tool distribution is tested by itself; the whole suite asks
        return ""
    from strands_cli_doctor.os_layers import find_layers

    if platform.machine().lower() not in ARCHITECTURES:
        return ""
    here = {found.layer.name: found.here for found in find_layers()}
    return "landlock and seccomp" if here["landlock"] == here["seccomp"] == "enforced" else ""


def _counted(reporter: Any) -> tuple[int, list[str]]:
    """Return how many tests of the sandbox were set up, and the reasons of those that were skipped there."""
    reports = [report for group in reporter.stats.values() for report in group if isinstance(report, pytest.TestReport)]
    marked = [report for report in reports if report.when == "setup" and MARK in map(tuple, report.user_properties)]
    skipped = [str(report.longrepr[2]) for report in marked if report.skipped and isinstance(report.longrepr, tuple)]
    return len(marked) - len(skipped), skipped
