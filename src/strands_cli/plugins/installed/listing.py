"""The installed plugins: every distribution that provides tools, hooks, workflows, commands or stores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from strands_cli.catalog.catalog import Catalog
from strands_cli.catalog.distributions.entry_points import normalise, read_entry_points
from strands_cli.catalog.packaged_folders import scan_packaged
from strands_cli.catalog.provenance import sources_of
from strands_cli.catalog.publisher_records import publisher_of
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.default_parts import PART_GROUPS, owner_by_name
from strands_cli.hooks.hookspecs import GROUP as HOOKS
from strands_cli.parts.named_parts import Part, parts_of
from strands_cli.policy.policy import SwitchedOn
from strands_cli.publishers import Publisher


@dataclass(frozen=True, slots=True)
class Plugin:
    """An installed distribution of tools, hooks, workflows, or parts that a person names, such as commands.

    `sources` is how and where it was installed; `hooks` names its hook plugins, `hooks_on` the file that enables them,
    None if none does; `hooks_may` is `allow` if that file lets them allow. `packaged` are its workflows, agents and
    skills, each as `workflow triage`. `publisher` is who published it, as was verified on this machine.
    """

    name: str
    version: str | None
    sources: tuple[str, ...]
    tools: tuple[ToolRecord, ...] = ()
    hooks: tuple[str, ...] = ()
    hooks_on: str | None = None
    hooks_may: str | None = None
    packaged: tuple[str, ...] = ()
    publisher: Publisher | None = None
    parts: tuple[Part, ...] = ()

    @property
    def tool_count(self) -> int:
        """The number of its tools; a class or suite whose tools are known only after loading counts as one."""
        return sum(len(record.members) if record.members else 1 for record in self.tools)

    @property
    def status(self) -> str:
        """`ok`, or the number of unusable tools by status."""
        counts: dict[str, int] = {}
        for record in self.tools:
            if record.status not in ("available", "unknown"):
                counts[record.status] = counts.get(record.status, 0) + 1
        return ", ".join(f"{count} {status}" for status, count in counts.items()) or "ok"

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON shape of `strands plugin list --json`."""
        return {
            "name": self.name,
            "version": self.version,
            "sources": list(self.sources),
            "tools": [{"name": one.ref_name, "status": one.status, "reason": one.reason} for one in self.tools],
            "hooks": list(self.hooks),
            "packaged": list(self.packaged),
            "parts": [{"group": one.group, "name": one.name} for one in self.parts],
            "hooks_on": self.hooks_on,
            "hooks_may": self.hooks_may,
            "publisher": self.publisher.as_dict() if self.publisher is not None else None,
            "status": self.status,
        }


def list_plugins(catalog: Catalog, switched_on: Iterable[SwitchedOn] = ()) -> list[Plugin]:
    """Return every installed distribution that provides any of them, sorted by name, importing none."""
    tools: dict[str, list[ToolRecord]] = {}
    for record in catalog.tools:
        tools.setdefault(record.distribution, []).append(record)
    hooks = {
        name: tuple(sorted(point.name for point in points))
        for name, copies in catalog.seen.records.items()
        if (points := read_entry_points(copies[0][1], name, catalog.seen, HOOKS))
    }
    on = {normalise(one.word): one for one in switched_on}
    packaged: dict[str, list[str]] = {}
    for folder in scan_packaged(list(catalog.seen.listings))[0]:
        packaged.setdefault(folder.distribution, []).append(f"{folder.kind} {folder.name}")
    parts: dict[str, list[Part]] = {}
    for part in (part for group in PART_GROUPS for part in parts_of(group, catalog.seen)):
        if owner_by_name(part.group, part.name) in (None, part.distribution):
            parts.setdefault(part.distribution, []).append(part)
    return [
        replace(
            _plugin(name, catalog, tools.get(name, []), hooks, on),
            packaged=tuple(packaged.get(name, ())),
            parts=tuple(sorted(parts.get(name, ()))),
        )
        for name in sorted({*tools, *hooks, *packaged, *parts})
    ]


def _plugin(
    name: str,
    catalog: Catalog,
    tools: list[ToolRecord],
    hooks: Mapping[str, tuple[str, ...]],
    on: Mapping[str, SwitchedOn],
) -> Plugin:
    publisher = publisher_of(name, catalog.seen)
    adopted = {"adopted"} if any(one.adopted is not None for one in tools) else set()
    sources = tuple(sorted({*sources_of(name, catalog.seen), *adopted}))
    found = Plugin(name, catalog.version_of(name), sources, tuple(tools), hooks.get(name, ()), *_switch(on.get(name)))
    return replace(found, publisher=publisher)


def _switch(on: SwitchedOn | None) -> tuple[str | None, str | None]:
    return (on.origin, "allow" if on.may_allow else None) if on is not None else (None, None)
