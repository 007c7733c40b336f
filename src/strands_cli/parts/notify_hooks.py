"""The hook plugin that `notify` in the user's config file switches on, by naming it."""

from __future__ import annotations

import os

from strands_cli.config import user_config_file
from strands_cli.default_parts import CONFIG_KEYS, HOOKS, OURS, install_of
from strands_cli.errors import NotEquipped, StrandsCliError
from strands_cli.hooks.hook_plugins import hooks_of
from strands_cli.hooks.manager import Hooks
from strands_cli.parts.named_parts import Part, broken_part, imported_part, parts_of
from strands_cli.policy.decision import SwitchedOn
from strands_cli.user_files.user_config import ConfigPart

OWNER = OURS[CONFIG_KEYS]["notify"]


def switched_on_by_config() -> SwitchedOn | None:
    """Return the hook plugin that the user's config file switches on; None if it names no target.

    Raises:
        InvalidInput: The config file is not valid.
    """
    config = ConfigPart.read("notify", "notifications")
    if config is None:
        return None
    config.require_valid()
    return None if config.value in (None, []) else SwitchedOn(OWNER, "user", str(user_config_file(os.environ)))


def notify_part() -> Part | None:
    """Return that plugin, not imported; None if the user's config file names no target.

    Raises:
        InvalidInput: The config file is not valid.
        NotEquipped: The plugin is not installed.
    """
    switched_on = switched_on_by_config()
    if switched_on is None:
        return None
    part = next((part for part in parts_of(HOOKS) if part.distribution == OWNER), None)
    if part is None:
        message = f"`notify` in {switched_on.origin} comes with {OWNER}"
        raise NotEquipped(message, fix=f"{install_of(OWNER)}, or remove `notify` there")
    return part


def notify_hooks() -> Hooks | None:
    """Return the hooks of that plugin alone; None if the user's config file names no target.

    Raises:
        InvalidInput: The config file is not valid.
        NotEquipped: The plugin is not installed, or cannot be used.
        Denied: Policy or a lock does not admit it.
    """
    part = notify_part()
    if part is None:
        return None
    make = imported_part(part)
    try:
        return hooks_of(make(), OWNER)
    except StrandsCliError:
        raise
    except Exception as error:
        raise broken_part(part, f"cannot be used: {type(error).__name__}: {error}") from error
