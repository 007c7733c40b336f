"""`strands doctor`: the core's own checks, as the first implementation of the hook that plugins add theirs with."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from strands_cli.config import Settings
from strands_cli.errors import StrandsCliError
from strands_cli.hooks.manager import Hooks
from strands_cli.hooks.plugins import open_hooks
from strands_cli.hooks.specs import hookimpl
from strands_cli.hooks.values import Check, HookContext
from strands_cli.policy import Policy
from strands_cli.upkeep import machine, setup

CORE = "core checks"


class CoreChecks:
    """The lines of the core; what one check provokes is a line of its own and hides no other."""

    def __init__(self, settings: Settings, folder: Path, hooks: Hooks) -> None:
        self._settings = settings
        self._folder = folder
        self._hooks = hooks

    @hookimpl
    def strands_doctor_checks(self, context: HookContext) -> list[Check]:
        """Look at the machine and at what is set up."""
        plugins = tuple(name for name in self._hooks.plugins if name != CORE)
        catalog = self._hooks.discover(context)
        environ, settings, folder = os.environ, self._settings, self._folder
        looks: list[tuple[str, Callable[[], Iterable[Check]]]] = [
            ("python", machine.check_python),
            ("strands-cli", lambda: machine.check_program(catalog.seen, environ)),
            ("dependencies", lambda: machine.check_dependencies(catalog.seen)),
            ("providers", lambda: setup.check_providers(environ)),
            ("tools", lambda: setup.check_tools(catalog)),
            ("policy", lambda: setup.check_policies(settings, folder)),
            ("lock", lambda: setup.check_lock(folder, catalog, settings)),
            ("hook plugins", lambda: setup.check_hooks(self._hooks.findings, plugins)),
            ("runs", lambda: machine.check_runs(settings)),
            ("terminal", lambda: machine.check_terminal(environ)),
            ("environment", lambda: machine.check_variables(environ)),
        ]
        return [check for name, look in looks for check in _looked(name, look)]


def _looked(name: str, look: Callable[[], Iterable[Check]]) -> list[Check]:
    try:
        return list(look())
    except Exception as error:  # noqa: BLE001 - a doctor that dies of what it finds helps nobody
        return [Check(name, "failed", f"it cannot be looked at: {type(error).__name__}: {error}", None)]


def examine(settings: Settings, folder: Path) -> list[tuple[str, Check]]:
    """Return every line with the plugin it comes from, the core's first.

    Args:
        settings: This machine's settings.
        folder: Where one stands: its project policy and its lock are looked at.
    """
    from strands_cli.planning.policies import load_policy

    try:
        policy = load_policy(settings, folder)
    except StrandsCliError:  # a line says so
        policy = Policy()
    hooks = open_hooks(hook.word for hook in policy.hooks)
    hooks.manager.register(CoreChecks(settings, folder, hooks), CORE)
    lines = hooks.doctor_checks(HookContext(rules=policy.rules))
    return sorted(lines, key=lambda line: line[0] != CORE)
