"""Every check of the core as a table, with the parts for distributions that add checks of their own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from strands_cli.catalog.distributions.scan import search_path
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.config import read_settings, settings_without_store
from strands_cli.errors import UsageError
from strands_cli.hooks.hook_plugins import open_hooks
from strands_cli.hooks.hook_values import Check, HookContext
from strands_cli.machine_checks import setup_checks as setup
from strands_cli.machine_checks.file_modes import check_modes, check_runs
from strands_cli.machine_checks.setup_checks import check_dependencies, check_program, check_store, check_variables
from strands_cli.user_files.policy_files import read_policies


class MachineChecks:
    """The core's checks of this machine and of a folder: a table of functions that yield `Check`s and may raise.

    Args:
        folder: The folder whose project policy, lock and workflows are checked.

    Raises:
        StrandsCliError: A policy file is not valid.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._store_faults: list[Check] = []
        try:
            self._settings = read_settings()
        except UsageError as error:
            self._settings = settings_without_store()
            self._store_faults = [Check("store", "failed", error.message, error.fix)]
        self._policy = read_policies(self._settings, folder)
        self._hooks = open_hooks(self._policy.hooks)
        self._context = HookContext(rules=self._policy.rules)
        self._catalog = self._hooks.discover(self._context, folder)

    @property
    def is_lock_required(self) -> bool:
        """Return whether policy admits only locked distributions."""
        return self._policy.locked is not None

    @property
    def tools(self) -> tuple[ToolRecord, ...]:
        """Return the installed tools, and those that hook plugins register."""
        return tuple(self._catalog.tools)

    @property
    def import_path(self) -> list[str]:
        """Return the directories that plugins are imported from; the current directory is not one of them."""
        return search_path()

    def denied_tools(self) -> set[tuple[str, str]]:
        """Return the tools, as distribution and name, that policy denies, so that they must not be imported."""
        return setup.denied_tools(self._catalog, self._policy.rules)

    def table(self) -> Mapping[str, Callable[[], Iterable[Check]]]:
        """Return each subject with its check, in the order in which a person reads them."""
        settings, folder, catalog, hooks, environ = (
            self._settings,
            self._folder,
            self._catalog,
            self._hooks,
            os.environ,
        )
        return {
            "strands-cli": lambda: check_program(catalog.scan),
            "dependencies": lambda: check_dependencies(catalog.scan),
            "parts": setup.check_parts,
            "providers": lambda: setup.check_providers(environ),
            "secrets": lambda: setup.check_short_keys(environ, folder),
            "tools": lambda: setup.check_tools(catalog, hooks.findings),
            "policy": lambda: setup.check_policies(settings, folder, self._policy, catalog),
            "lock": lambda: setup.check_lock(folder, catalog, settings),
            "hook plugins": lambda: setup.check_hooks(hooks.findings, hooks.plugins),
            "permissions": lambda: check_modes(settings, folder, search_path()),
            "runs": lambda: check_runs(settings),
            "store": lambda: self._store_faults or check_store(settings),
            "notifications": lambda: setup.check_notifications(settings),
            "environment": lambda: check_variables(environ),
        }

    def lines_of_plugins(self) -> list[tuple[str, Check]]:
        """Return the lines of the enabled hook plugins, each with its plugin's name."""
        return self._hooks.doctor_checks(self._context)
