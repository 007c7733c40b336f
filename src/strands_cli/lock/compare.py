"""The differences between two locks, field by field, with a message for each."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from strands_cli.catalog.installed_files import UNREADABLE
from strands_cli.errors import Code
from strands_cli.lock.lock_reader import (
    Lock,
    LockedDistribution,
    LockedDocument,
    LockedModule,
    LockedServer,
    LockedTool,
    LockedWorkflow,
)
from strands_cli.texts.phrases import first_of

LOCK_CHANGED = Code(
    "lock-changed",
    "An installed distribution differs from the lock in its version, its files or a tool's definition.",
    "Read the change, then: strands lock --update NAME",
    21,
)
LOCK_UNLISTED = Code(
    "lock-unlisted",
    "A tool is used, or comes with a used distribution, that the lock does not list.",
    "Read its definition, then: strands lock --update NAME",
    21,
)

_SHOWN, _BEFORE, _NAMES = 70, 20, 5
# Of a file no more differences are listed one by one.
_FIELDS = 40


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between a lock and the present state.

    Attributes:
        owner: The distribution, the MCP server, or the reference of custom Python.
        message: The difference in words.
        unlisted: Whether the owner or tool is missing from the lock.
        tool: The tool that differs.
        field: The differing field: a name, a JSON pointer into the tool's definition without its first slash, or the
            JSON pointer of a value in `file`.
        old: The locked value; None if absent.
        new: The present value; None if absent.
        file: The file of a package with the field.
    """

    owner: str
    message: str
    unlisted: bool = False
    tool: str | None = None
    field: str | None = None
    old: Any = None
    new: Any = None
    file: str | None = None

    @property
    def code(self) -> Code:
        """The code of the finding that reports the difference."""
        return LOCK_UNLISTED if self.unlisted else LOCK_CHANGED

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON shape of `strands lock --json`."""
        kind = "unlisted" if self.unlisted else "changed"
        names = {"owner": self.owner, "tool": self.tool, "field": self.field}
        return {"kind": kind, **names, "file": self.file, "old": self.old, "new": self.new, "message": self.message}


def compare_locks(old: Lock, new: Lock) -> list[Difference]:
    """Return every difference between two whole locks."""
    all_differences: list[Difference] = []
    for name in sorted({*old.distributions, *new.distributions}):
        all_differences += _compare_either(old.distributions.get(name), new.distributions.get(name))
    for reference in sorted({*old.modules, *new.modules}):
        all_differences += compare_module(old.modules.get(reference), new.modules.get(reference))
    for name in sorted({*old.servers, *new.servers}):
        all_differences += compare_server(old.servers.get(name), new.servers.get(name))
    for name in sorted({*old.workflows, *new.workflows}):
        all_differences += _compare_workflow(name, old.workflows.get(name), new.workflows.get(name))
    return all_differences


def _compare_workflow(name: str, old: LockedWorkflow | None, new: LockedWorkflow | None) -> list[Difference]:
    if old is None or new is None:
        message = f"what the workflow {name} uses is {'not ' if old is None else ''}in the lock"
        return [Difference(name, f"{message}{', but it is not here' if new is None else ''}", unlisted=old is None)]
    if old.authority == new.authority:
        return []
    message = f"what the workflow {name} uses is not what is locked (strands explain {name})"
    return [Difference(name, message, field="authority", old=old.authority, new=new.authority)]


def _compare_either(old: LockedDistribution | None, new: LockedDistribution | None) -> list[Difference]:
    if new is None and old is not None and not (old.tools or old.documents):
        return []  # a hook plugin, which another person or machine has switched on
    if new is None and old is not None:
        message = f"{_titled(old)} is in the lock, but no workflow here uses it"
        return [Difference(old.name, message, field="version", old=old.version)]
    if old is None and new is not None:
        message = f"{_titled(new)} is not in the lock: {', '.join(new.tools or new.documents) or 'hooks or parts'}"
        return [Difference(new.name, message, unlisted=True, field="version", new=new.version)]
    return compare_distribution(old, new, whole=True) if old and new else []


def compare_distribution(old: LockedDistribution, new: LockedDistribution, *, whole: bool) -> list[Difference]:
    """Return the differences between a locked distribution and the installed one.

    Args:
        whole: Whether `new` has every tool that the workflows name, so that a missing tool is a difference.
    """
    all_differences: list[Difference] = []
    if old.version != new.version:
        message = f"{new.name} is version {new.version}, locked is {old.version}"
        all_differences.append(Difference(new.name, message, field="version", old=old.version, new=new.version))
    if old.editable != new.editable:
        words = {True: "an editable installation", False: "an installed package"}
        message = f"{new.name} is {words[new.editable]}, locked is {words[old.editable]}"
        all_differences.append(Difference(new.name, message, field="editable", old=old.editable, new=new.editable))
    all_differences += _compare_publishers(old, new)
    all_differences += _compare_files(new.name, *_comparable(old, new))
    all_differences += _compare_requirements(new.name, old.requires, new.requires)
    all_differences += compare_documents(new.name, old.documents, new.documents)
    old_tools = {name: tool for name, tool in old.tools.items() if whole or name in new.tools}
    return all_differences + compare_tools(new.name, old_tools, new.tools)


def compare_documents(
    owner: str, old: Mapping[str, LockedDocument], new: Mapping[str, LockedDocument]
) -> Iterator[Difference]:
    """Yield how the values in files differ that the lock and the installed package both have.

    A new or lost file is a difference of the files.
    """
    from strands_cli.catalog.manifest import differences  # only where something has changed

    for file in sorted(old.keys() & new.keys()):
        if old[file].definition == new[file].definition:
            continue
        field_differences = list(differences(old[file].fields, new[file].fields))
        for pointer, before, after in field_differences[:_FIELDS]:
            left, right = _pair(before, after)
            message = f"{visible(file)} of {owner}: {visible(pointer)} was {left}, is {right}"
            absent = [None if value is ... else value for value in (before, after)]
            yield Difference(owner, message, field=pointer, old=absent[0], new=absent[1], file=file)
        if (more := len(field_differences) - _FIELDS) > 0:
            yield Difference(owner, f"{visible(file)} of {owner}: {more} more values have changed", file=file)


def _compare_publishers(old: LockedDistribution, new: LockedDistribution) -> list[Difference]:
    """Return the difference between publishers; one known now and not before is none."""
    if old.publisher is None or old.publisher == new.publisher:
        return []
    now = f"published by {new.publisher}" if new.publisher is not None else "of an unverified publisher"
    message = f"{new.name} is {now}, locked is {old.publisher}"
    was, present = old.publisher.as_dict(), new.publisher.as_dict() if new.publisher is not None else None
    return [Difference(new.name, message, field="publisher", old=was, new=present)]


def compare_tools(owner: str, old: Mapping[str, LockedTool], new: Mapping[str, LockedTool]) -> list[Difference]:
    """Return the differences between locked and present tools."""
    all_differences: list[Difference] = []
    for name in sorted({*old, *new}):
        all_differences += _compare_tool(owner, name, old.get(name), new.get(name))
    return all_differences


def compare_server(old: LockedServer | None, new: LockedServer | None) -> list[Difference]:
    """Return the differences between a locked MCP server and the present one; None is an absent server."""
    if old is None:
        name = new.name if new else ""
        return [Difference(name, f"the MCP server {name} is not in the lock", unlisted=True)]
    if new is None:
        return [Difference(old.name, f"the MCP server {old.name} is in the lock, but no workflow uses it")]
    all_differences = compare_reach(old, new.reached_by)
    return all_differences + compare_tools(new.name, old.tools, new.tools)


def compare_reach(old: LockedServer, now: str) -> list[Difference]:
    """Return the difference in how a server is started or reached, if there is one."""
    if old.reached_by == now:
        return []
    left, right = _pair(old.reached_by, now)
    message = f"the MCP server {old.name} is reached by {right}, locked is {left}"
    return [Difference(old.name, message, field="reached_by", old=old.reached_by, new=now)]


def compare_module(old: LockedModule | None, new: LockedModule | None) -> list[Difference]:
    """Return the differences between locked and present custom Python; None is an absent module."""
    if old is None:
        reference = new.reference if new else ""
        return [Difference(reference, f"the custom Python {reference} is not in the lock", unlisted=True)]
    if new is None:
        return [Difference(old.reference, f"the custom Python {old.reference} is in the lock, but no workflow uses it")]
    return _compare_files(new.reference, old.files, new.files)


def _titled(distribution: LockedDistribution) -> str:
    return f"{distribution.name} {distribution.version or ''}".strip()


def _comparable(old: LockedDistribution, new: LockedDistribution) -> tuple[Mapping[str, str], Mapping[str, str]]:
    if old.editable == new.editable:
        return old.files, new.files
    # An editable installation has only the files of its package, so the other files of a wheel are not compared.
    without = (
        {k: v for k, v in distribution.files.items() if not k.startswith("dist-info/")} for distribution in (old, new)
    )
    return next(without), next(without)


def _compare_files(owner: str, old: Mapping[str, str], new: Mapping[str, str]) -> list[Difference]:
    if old == new:
        return []
    unreadable = {name for name, digest in new.items() if digest == UNREADABLE}
    groups = {
        "changed": sorted(name for name in old.keys() & new.keys() - unreadable if old[name] != new[name]),
        "added": sorted(new.keys() - old.keys()),
        "gone": sorted(old.keys() - new.keys()),
        "unreadable": sorted(unreadable & old.keys()),
    }
    groups = {word: names for word, names in groups.items() if names}
    listed = "; ".join(f"{word} {_listed(names)}" for word, names in groups.items())
    return [Difference(owner, f"files of {owner} are not what was locked: {listed}", field="files", new=groups)]


def _compare_requirements(owner: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Difference]:
    for name in sorted({*old, *new}):
        locked, now = old.get(name, ""), new.get(name, "")
        if locked == now:
            continue
        before, after = locked.partition(" ")[0], now.partition(" ")[0]
        if not now:
            message = f"{owner} requires {name} {before} by the lock, which is not installed for it"
        elif not locked:
            message = f"{owner} requires {name} {after}, which the lock does not have"
        elif before != after:
            message = f"{name}, which {owner} requires, is version {after}, locked is {before}"
        elif instead := [word[1:] for word in now.split() if word[0] == "+" and word not in locked]:
            message = f"Python would import {_listed(instead)} in place of {name} {after}, which {owner} requires"
        else:
            message = f"files of {name} {after}, which {owner} requires, are not what was locked"
        yield Difference(owner, message, field=f"requires/{name}", old=locked or None, new=now or None)


def _listed(names: list[str]) -> str:
    return first_of([visible(name) for name in names], _NAMES)


def _compare_tool(owner: str, name: str, old: LockedTool | None, new: LockedTool | None) -> Iterator[Difference]:
    if new is None:
        yield Difference(owner, f"{owner} has no tool '{name}' any more", tool=name, old=name)
    elif old is None:
        yield Difference(owner, f"{owner} has a tool '{name}' that the lock does not have", True, name, new=name)
    elif old.definition != new.definition:
        yield from _compare_fields(owner, name, old.fields, new.fields)
    elif old.after_load != new.after_load:
        message = f"what '{name}' of {owner} is was known {_when(old)}, now it is {_when(new)}"
        yield Difference(owner, message, tool=name, field="known_after_load", old=old.after_load, new=new.after_load)


def _when(tool: LockedTool) -> str:
    return "only when it is loaded" if tool.after_load else "without loading it"


def _compare_fields(owner: str, name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    from strands_cli.catalog.manifest import differences  # only where something has changed

    any_difference = False
    for pointer, before, after in differences(old, new):
        any_difference = True
        field = pointer.lstrip("/")
        left, right = _pair(before, after)
        message = f"'{name}' of {owner}: {visible(field)} was {left}, is {right}"
        absent = [None if value is ... else value for value in (before, after)]
        yield Difference(owner, message, tool=name, field=field, old=absent[0], new=absent[1])
    if not any_difference:  # numbers such as 1 and 1.0 are equal in Python and not in JSON
        yield Difference(owner, f"the definition of '{name}' of {owner} has changed", tool=name, field="definition")


def _pair(old: Any, new: Any) -> tuple[str, str]:
    """Return two values as short text around the first difference."""
    left, right = ("absent" if value is ... else visible(json.dumps(value, ensure_ascii=False)) for value in (old, new))
    same = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    start = max(0, same - _BEFORE) if max(len(left), len(right)) > _SHOWN else 0
    return _window(left, start), _window(right, start)


def _window(text: str, start: int) -> str:
    window = text[start : start + _SHOWN]
    return ("…" if start else "") + window + ("…" if start + _SHOWN < len(text) else "")


def visible(text: str) -> str:
    """Return text with invisible characters escaped, because a change may try to hide itself with them."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
