"""Run every check: those of this distribution, of the core, of tools' engines and of hook plugins."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from strands_cli.api import Check, MachineChecks
from strands_cli_doctor.os_layers import LayerState, find_layers
from strands_cli_doctor.own_checks import check_path, check_python, check_terminal
from strands_cli_doctor.sandbox_engines import Engine, find_engines


@dataclass(frozen=True, slots=True)
class Examination:
    """The results of `strands doctor`.

    Attributes:
        lines: Every check with the hook plugin it comes from, None for the program's own, which are the first.
        layers: The protection layers of this operating system.
        engines: The tested engines of installed tools.
    """

    lines: tuple[tuple[str | None, Check], ...]
    layers: tuple[LayerState, ...]
    engines: tuple[Engine, ...]


@dataclass(slots=True)
class EngineTests:
    """The self-tests of the engines of tools: a check, and the engines that it has tested.

    `not_tested` is the reason why none runs; None where they do.
    """

    machine: MachineChecks
    not_tested: str | None
    engines: list[Engine] = field(default_factory=list)

    def check(self) -> list[Check]:
        """Return a line for each tool that names a self-test."""
        if self.not_tested is not None:
            return [Check("engines", "ok", f"not tested: {self.not_tested}")]
        self.engines, lines = find_engines(self.machine.tools, self.machine.import_path, self.machine.denied_tools())
        return lines


def examine(folder: Path, *, with_engines: bool = True) -> Examination:
    """Run every check; a check that raises becomes a line of its own and does not hide the others.

    Args:
        folder: The folder whose project policy, lock and workflows are checked.
        with_engines: Whether tools may test their engines, in child processes.

    Raises:
        StrandsCliError: A policy file is not valid.
    """
    machine = MachineChecks(folder)
    not_tested = None if with_engines else "--no-engines"
    engines = EngineTests(machine, "policy requires a lock" if machine.is_lock_required else not_tested)
    checks: dict[str, Callable[[], Iterable[Check]]] = {
        "python": check_python,
        "PATH": lambda: check_path(os.environ),
        **machine.table(),
        "engines": engines.check,
        "terminal": lambda: check_terminal(os.environ),
    }
    own: list[tuple[str | None, Check]] = [(None, line) for name in checks for line in _lines(name, checks[name])]
    return Examination((*own, *machine.lines_of_plugins()), tuple(find_layers()), tuple(engines.engines))


def _lines(name: str, check: Callable[[], Iterable[Check]]) -> list[Check]:
    try:
        return list(check())
    except Exception as error:  # noqa: BLE001 - a check that raises must not hide the others
        return [Check(name, "failed", f"the check failed: {type(error).__name__}: {error}", None)]
