"""`strands doctor`: the checks of the program, and those that hook plugins add."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from strands_cli.catalog import Catalog, search_path
from strands_cli.config import Settings
from strands_cli.doctor import file_modes as modes
from strands_cli.doctor import machine, setup
from strands_cli.doctor.os_layers import Found, find_layers
from strands_cli.doctor.sandbox_engines import Engine, find_engines
from strands_cli.errors import StrandsCliError
from strands_cli.hooks import Check, HookContext, Hooks, open_hooks
from strands_cli.policy import Policy, Rule

CORE = "core checks"


@dataclass(frozen=True, slots=True)
class Examination:
    """All that the doctor has found.

    Attributes:
        lines: Every line with the plugin it comes from, the core's first.
        layers: The walls of the operating system, as they are here.
        engines: The engines of installed tools that were tested.
    """

    lines: tuple[tuple[str, Check], ...]
    layers: tuple[Found, ...]
    engines: tuple[Engine, ...]


class CoreChecks:
    """The lines of the core; what one check provokes is a line of its own and hides no other."""

    def __init__(self, settings: Settings, folder: Path, hooks: Hooks, not_tested: str | None) -> None:
        self._settings = settings
        self._folder = folder
        self._hooks = hooks
        self._not_tested = not_tested
        self.engines: tuple[Engine, ...] = ()

    def check(self, context: HookContext) -> list[Check]:
        """Look at the machine and at what is set up."""
        catalog = self._hooks.discover(context)
        environ, settings, folder = os.environ, self._settings, self._folder
        looks: list[tuple[str, Callable[[], Iterable[Check]]]] = [
            ("python", machine.check_python),
            ("strands-cli", lambda: machine.check_program(catalog.seen, environ)),
            ("dependencies", lambda: machine.check_dependencies(catalog.seen)),
            ("providers", lambda: setup.check_providers(environ)),
            ("tools", lambda: setup.check_tools(catalog)),
            ("engines", lambda: self._test_engines(catalog, context.rules)),
            ("policy", lambda: setup.check_policies(settings, folder)),
            ("lock", lambda: setup.check_lock(folder, catalog, settings)),
            ("hook plugins", lambda: setup.check_hooks(self._hooks.findings, self._hooks.plugins)),
            ("permissions", lambda: modes.check_modes(settings, folder, search_path())),
            ("runs", lambda: machine.check_runs(settings)),
            ("terminal", lambda: machine.check_terminal(environ)),
            ("environment", lambda: machine.check_variables(environ)),
        ]
        return [check for name, look in looks for check in _looked(name, look)]

    def _test_engines(self, catalog: Catalog, rules: Sequence[Rule]) -> list[Check]:
        if self._not_tested is not None:
            return [Check("engines", "ok", f"not tested: {self._not_tested}")]
        engines, lines = find_engines(catalog, setup.denied_tools(catalog, rules))
        self.engines = tuple(engines)
        return lines


def _looked(name: str, look: Callable[[], Iterable[Check]]) -> list[Check]:
    try:
        return list(look())
    except Exception as error:  # noqa: BLE001 - a doctor that dies of what it finds helps nobody
        return [Check(name, "failed", f"it cannot be looked at: {type(error).__name__}: {error}", None)]


def examine(settings: Settings, folder: Path, *, with_engines: bool = True) -> Examination:
    """Look at everything.

    Args:
        settings: This machine's settings.
        folder: Where one stands: its project policy, lock and workflows are looked at.
        with_engines: Whether tools may test their engines, in processes of their own.
    """
    from strands_cli.planning import load_policy

    not_tested = None if with_engines else "--no-engines"
    try:
        policy = load_policy(settings, folder)
        if policy.locked:
            not_tested = "policy lets nothing run that no lock vouches for"
    except StrandsCliError:  # a line says so
        policy, not_tested = Policy(), "no rule is known while a policy file is wrong"
    hooks = open_hooks(hook.word for hook in policy.hooks)
    checks = CoreChecks(settings, folder, hooks, not_tested)
    context = HookContext(rules=policy.rules)
    lines = [*((CORE, check) for check in checks.check(context)), *hooks.doctor_checks(context)]
    return Examination(tuple(lines), tuple(find_layers()), checks.engines)
