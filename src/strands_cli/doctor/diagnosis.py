"""`strands doctor`: the checks of the program, and those that hook plugins add."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from strands_cli.catalog.catalog import Catalog
from strands_cli.catalog.distributions.scan import search_path
from strands_cli.config import Settings
from strands_cli.doctor import file_modes as modes
from strands_cli.doctor import machine, setup
from strands_cli.doctor.os_layers import Found, find_layers
from strands_cli.doctor.sandbox_engines import Engine, find_engines
from strands_cli.errors import StrandsCliError
from strands_cli.hooks.hook_plugins import open_hooks
from strands_cli.hooks.hook_values import Check, HookContext
from strands_cli.hooks.manager import Hooks
from strands_cli.policy.policy import Policy
from strands_cli.policy.rules.rule import Rule

CORE = "core checks"


@dataclass(frozen=True, slots=True)
class Examination:
    """The results of `strands doctor`.

    Attributes:
        lines: Every check with the plugin it comes from, the core's first.
        layers: The protection layers of this operating system.
        engines: The tested engines of installed tools.
    """

    lines: tuple[tuple[str, Check], ...]
    layers: tuple[Found, ...]
    engines: tuple[Engine, ...]


class CoreChecks:
    """The core's checks; a check that raises becomes a line of its own and does not hide the others."""

    def __init__(self, settings: Settings, folder: Path, hooks: Hooks, not_tested: str | None) -> None:
        self._settings = settings
        self._folder = folder
        self._hooks = hooks
        self._not_tested = not_tested
        self.engines: tuple[Engine, ...] = ()

    def check(self, context: HookContext) -> list[Check]:
        """Return the checks of the machine and of the setup."""
        catalog = self._hooks.discover(context, self._folder)
        environ, settings, folder = os.environ, self._settings, self._folder
        checks: list[tuple[str, Callable[[], Iterable[Check]]]] = [
            ("python", machine.check_python),
            ("strands-cli", lambda: machine.check_program(catalog.seen, environ)),
            ("dependencies", lambda: machine.check_dependencies(catalog.seen)),
            ("providers", lambda: setup.check_providers(environ)),
            ("secrets", lambda: setup.check_short_keys(environ, folder)),
            ("tools", lambda: setup.check_tools(catalog, self._hooks.findings)),
            ("engines", lambda: self._test_engines(catalog, context.rules)),
            ("policy", lambda: setup.check_policies(settings, folder, catalog)),
            ("lock", lambda: setup.check_lock(folder, catalog, settings)),
            ("hook plugins", lambda: setup.check_hooks(self._hooks.findings, self._hooks.plugins)),
            ("permissions", lambda: modes.check_modes(settings, folder, search_path())),
            ("runs", lambda: machine.check_runs(settings)),
            ("terminal", lambda: machine.check_terminal(environ)),
            ("environment", lambda: machine.check_variables(environ)),
        ]
        return [line for name, check in checks for line in _run_check(name, check)]

    def _test_engines(self, catalog: Catalog, rules: Sequence[Rule]) -> list[Check]:
        if self._not_tested is not None:
            return [Check("engines", "ok", f"not tested: {self._not_tested}")]
        engines, lines = find_engines(catalog, setup.denied_tools(catalog, rules))
        self.engines = tuple(engines)
        return lines


def _run_check(name: str, check: Callable[[], Iterable[Check]]) -> list[Check]:
    try:
        return list(check())
    except Exception as error:  # noqa: BLE001 - a check that raises must not hide the others
        return [Check(name, "failed", f"the check failed: {type(error).__name__}: {error}", None)]


def examine(settings: Settings, folder: Path, *, with_engines: bool = True) -> Examination:
    """Run every check.

    Args:
        folder: The folder whose project policy, lock and workflows are checked.
        with_engines: Whether tools may test their engines, in child processes.
    """
    from strands_cli.user_files.policy_files import load_policy

    not_tested = None if with_engines else "--no-engines"
    try:
        policy = load_policy(settings, folder)
        if policy.locked:
            not_tested = "policy requires a lock"
    except StrandsCliError:  # a check reports it
        policy, not_tested = Policy(), "the rules are unknown while a policy file is not valid"
    hooks = open_hooks(policy.hooks)
    checks = CoreChecks(settings, folder, hooks, not_tested)
    context = HookContext(rules=policy.rules)
    lines = [*((CORE, check) for check in checks.check(context)), *hooks.doctor_checks(context)]
    return Examination(tuple(lines), tuple(find_layers()), checks.engines)
