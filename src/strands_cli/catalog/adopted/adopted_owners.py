"""Whether a file belongs to an installed distribution, so that no adoption file passes off one as another's."""

# Strings and os.path: a listing handles thousands of names, and Path costs it several times more.
# ruff: noqa: PTH120
from __future__ import annotations

import os
from functools import cached_property

from strands_cli.catalog.distributions.dist_info import read_origin, read_record


class Owner:
    """An installed distribution; `dist_info` is its record."""

    def __init__(self, dist_info: str) -> None:
        self.dist_info = dist_info

    def has(self, path: str, file: str) -> bool:
        """Return whether a file is one of the distribution's.

        Args:
            path: The file's path below the directory of `sys.path`.
            file: Its whole path.
        """
        if path in self._recorded:
            return True
        if self.dist_info.endswith(".egg-info"):
            return _is_below(file, os.path.dirname(self.dist_info))
        origin = read_origin(self.dist_info)
        if origin.install != "editable" or origin.url is None:
            return False
        from urllib.parse import unquote, urlsplit  # few distributions are editable

        return _is_below(file, unquote(urlsplit(origin.url).path))

    @cached_property
    def _recorded(self) -> frozenset[str]:
        return frozenset(row.path for row in read_record(self.dist_info) or ())


def _is_below(file: str, folder: str) -> bool:
    real = os.path.realpath(folder)
    return os.path.realpath(file).startswith(real.rstrip(os.sep) + os.sep)
