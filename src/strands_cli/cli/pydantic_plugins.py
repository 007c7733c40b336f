"""Commands run without pydantic's plugins, and without the modules with which pydantic would look for them."""

from __future__ import annotations

import os
import sys
from types import ModuleType
from typing import Any

# The module of pydantic that looks for plugins; it imports `importlib.metadata`, 5 % of a cold command.
LOADER = "pydantic.plugin._loader"


def disable_pydantic_plugins() -> None:
    """Make pydantic build its models without plugins, unless the environment says which ones it may use.

    It looks for them in every installed distribution when the first model is built: one malformed `entry_points.txt`
    would make every command fail, and a plugin would be imported without being enabled.
    """
    if os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__") == "__all__":
        sys.modules.setdefault(LOADER, _NoPlugins(LOADER))


class _NoPlugins(ModuleType):
    """Pydantic's loader of plugins, without plugins; every other attribute is the module's own."""

    @staticmethod
    def get_plugins() -> tuple[()]:
        return ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        from importlib import import_module

        if sys.modules.get(LOADER) is self:
            del sys.modules[LOADER]
        return getattr(import_module(LOADER), name)
