"""Everything that the topics of a publication look at, read once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from strands_cli.plugins.publish.project_source import KINDS, ProjectSource
from strands_cli.plugins.publish.wheel_file import WheelFile

if TYPE_CHECKING:
    from packaging.metadata import RawMetadata


class Subject:
    """A project and its wheel.

    Attributes:
        source: The project.
        wheel: Its wheel; None where it cannot be built, and then its `pyproject.toml` is looked at.
        metadata: What the wheel's METADATA says, or what the project says of itself.
    """

    def __init__(self, source: ProjectSource, wheel: WheelFile | None) -> None:
        self.source, self.wheel = source, wheel
        self.metadata: RawMetadata = source.as_metadata() if wheel is None else wheel.metadata()

    @property
    def name(self) -> str:
        """The name of the distribution; that of the folder where nothing else says one."""
        return self.metadata.get("name") or self.source.directory.name

    @cached_property
    def members(self) -> Mapping[str, Mapping[str, str]]:
        """The entry points of the groups of ours: group -> name -> value."""
        if self.wheel is None:
            return self.source.members()
        return {group: found for group, found in self.wheel.entry_points().items() if group in KINDS}

    @cached_property
    def refused(self) -> Mapping[str, str]:
        """The fields of the metadata that do not follow the standards, each with the reason."""
        from packaging.metadata import InvalidMetadata, Metadata

        try:
            Metadata.from_raw(self.metadata, validate=True)
        except ExceptionGroup as group:
            return {one.field: _reason(one) for one in group.exceptions if isinstance(one, InvalidMetadata)}
        return {}


def _reason(error: Exception) -> str:
    cause = f" ({error.__cause__})" if error.__cause__ else ""
    return f"{error}{cause}".replace("{field}", "the field")
