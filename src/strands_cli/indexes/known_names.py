"""Which distribution an index has for a name, without the network: for the fixes of what is not installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from strands_cli.errors import StrandsCliError
from strands_cli.quick_dataclass import dataclass

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.indexes.search_file import SearchLine


def with_indexes(catalog: Catalog, config: Path | None) -> Catalog:
    """Return the catalog so that it finds what is not installed in the indexes of a config file."""
    return catalog if catalog.elsewhere else replace(catalog, elsewhere=KnownNames(config))


@dataclass(frozen=True, slots=True)
class KnownNames:
    """What is known of the indexes of a config file: their folders, and of a server the copy that was read last.

    Whatever is wrong with an index or the config file is reported where it is used, not here.
    """

    config: Path | None

    def distribution_with(self, tool: str) -> tuple[str, bool] | None:
        """Return a distribution with a tool of this name in the first index that has one, and whether to adopt it."""
        from strands_cli.indexes.search_file import owners_of

        return self._first(lambda raw, file: next(owners_of(raw, tool, file), None))

    def distribution_named(self, name: str) -> tuple[str, bool] | None:
        """Return the distribution of this normalised name, in the first index that has it, and whether to adopt it."""
        from strands_cli.indexes.search_file import find_release_line

        return self._first(lambda raw, file: find_release_line(raw, name, file))

    def _first(self, look: Callable[[bytes, str], SearchLine | None]) -> tuple[str, bool] | None:
        # Only what names something unknown needs these.
        from strands_cli.indexes.index_copies import read_known
        from strands_cli.indexes.index_places import configured_places
        from strands_cli.indexes.site_files import SEARCHED

        try:
            places = configured_places(self.config)
        except StrandsCliError:
            return None
        for place in places:
            part = read_known(place, SEARCHED)
            try:
                found = look(part.raw, part.file) if part else None
            except StrandsCliError:
                continue
            if found:
                return found.name, found.to_adopt
        return None
