"""The face of a package: its public names, imported from the package's modules when they are first asked for."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

_EXPORT = re.compile(r"^from (\S+) import (\w+) as ", re.MULTILINE)


def lazy_face(package: str, file: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose `__init__.pyi` lists its public names.

    The stub is the only list, for type checkers and for the program; start-up pays only for names that are used.

    Args:
        package: The package's `__name__`.
        file: The package's `__file__`.
    """
    modules: dict[str, str] = {}

    def resolve(name: str) -> Any:
        if not modules:
            with open(f"{file}i", encoding="utf-8") as stub:  # noqa: PTH123 - pathlib is not needed yet
                modules.update((name, module) for module, name in _EXPORT.findall(stub.read()))
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        # From now on the package itself has the name: functions that run often import in their bodies.
        found = vars(sys.modules[package])[name] = getattr(import_module(modules[name]), name)
        return found

    return resolve
