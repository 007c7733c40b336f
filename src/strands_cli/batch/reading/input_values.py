"""Values of inputs from a file that keep how they are written."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any


class WrittenValues(dict[str, Any]):
    """Values of inputs from a file, with the text of those that their JSON would spell otherwise (`1.10`)."""

    def __init__(self, values: Mapping[str, Any] = MappingProxyType({}), written: Mapping[str, str] | None = None):
        super().__init__(values)
        self.written = dict(getattr(values, "written", {}) if written is None else written)

    def with_those(self, values: Mapping[str, Any], written: Mapping[str, str] | None = None) -> WrittenValues:
        """Return these values and others, which win."""
        others = WrittenValues(values, written)
        kept = {name: text for name, text in self.written.items() if name not in others}
        return WrittenValues({**self, **others}, {**kept, **others.written})
