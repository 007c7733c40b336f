"""Import the object that an entry point names."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from strands_cli.catalog.distributions.entry_points import reference_in
from strands_cli.catalog.distributions.scan import search_path


def import_named(value: str) -> Any:
    """Return what `module:attribute` of a plugin names; a file of the current directory is never imported.

    Raises:
        BaseException: what its import raises.
    """
    module, attribute = reference_in(value)
    path = list(sys.path)
    sys.path[:] = search_path()
    try:
        named: Any = importlib.import_module(module)
    finally:
        sys.path[:] = path
    for part in attribute.split(".") if attribute else ():
        named = getattr(named, part)
    return named
