"""The nodes of a graph as templates see them: one that has not run has the fields of a result, and is not defined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strands_cli.workflow.templates.sandbox import Missing


class NotExecuted(Missing):
    """A result that is not there: true and with fields, but `is defined` is false, and as a text it is an error."""

    __slots__ = ("fields",)

    def __init__(self, name: str, owner: Mapping[str, Any], fields: Mapping[str, Any]) -> None:
        super().__init__(obj=owner, name=name)
        self.fields = fields

    def __getattr__(self, name: str) -> Any:
        """Return a field, or raise what a missing name does."""
        return self.fields[name] if name in self.fields else super().__getattr__(name)

    def __getitem__(self, name: Any) -> Any:
        """Return a field, or raise what a missing name does."""
        return self.fields[name] if name in self.fields else super().__getitem__(name)

    def __bool__(self) -> bool:  # type: ignore[override]  # Jinja types it as always raising
        """Be true, as the result of a node that has run is."""
        return True


class Results(dict[str, Any]):
    """The results of nodes that have run; `absent` are the fields of each node, for those that have not.

    Its text, its length and a loop over it know only the nodes that have run.
    """

    def __init__(self, done: Mapping[str, Any], absent: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__(done)
        self.absent = absent

    def __missing__(self, name: str) -> NotExecuted:
        return NotExecuted(name, self, self.absent[name])
