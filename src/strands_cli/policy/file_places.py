"""The places that a path of a call means: resolved against the tool's workspace, through links, with all below."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from strands_cli.policy.argument_globs import is_doubtful, matches_glob, may_begin, readings
from strands_cli.quick_dataclass import dataclass

# Entries of a tool's declared resources, such as `file:{path}`, filled in with the arguments of a call.


# An entry with more resources than this counts as all resources of its kind.
MAX_NAMES = 64
_ENTRY = re.compile(r"([a-z][a-z0-9_.-]*)(?::(.*))?", re.DOTALL)
_FIELD = re.compile(r"\{([A-Za-z_]\w*)\}")


class FilledEntry(NamedTuple):
    """The resources of an entry: their kind, and their names, or None for all of the kind."""

    kind: str
    names: tuple[str, ...] | None = None


def fields_of_resource(entry: str) -> tuple[str, ...]:
    """Return the fields of the input that an entry such as `file:{path}` names.

    Raises:
        ValueError: It is not a valid entry, and would mean everything.
    """
    match = _ENTRY.fullmatch(entry)
    if entry != "*" and (match is None or set("{}") & set("".join(_FIELD.split(match[2] or "")[::2]))):
        raise ValueError(f"{entry!r} is not 'kind', 'kind:name' with {{field}} in the name, or '*'")
    return tuple(_FIELD.findall(entry))


def fill_entry(entry: Any, arguments: Mapping[str, Any]) -> FilledEntry | None:
    """Return the resources of an entry with these arguments; None if the entry is not valid and means everything."""
    match = _ENTRY.fullmatch(entry) if isinstance(entry, str) else None
    if match is None:
        return None
    kind, template = match[1], match[2] or ""
    *texts, last = _FIELD.split(template)[::2]
    values = [_names(arguments.get(name)) for name in _FIELD.findall(template)]
    if any("{" in text or "}" in text for text in (*texts, last)) or None in values:
        return FilledEntry(kind)
    chosen = itertools.product(*(names for names in values if names is not None))
    filled = tuple(
        "".join((*itertools.chain(*zip(texts, each, strict=True)), last))
        for each in itertools.islice(chosen, MAX_NAMES + 1)
    )
    return FilledEntry(kind, filled if len(filled) <= MAX_NAMES else None)


def _names(value: Any) -> list[str] | None:
    """Return the names in an argument, or None if it has none that can be compared."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, int):
        return [str(value)]
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return list(value)
    return None


# A folder that takes more work than this counts as one in which every glob matches.
MAX_WORK = 100_000
# The work for an entry whose name is compared; that for any other is 1.
_COMPARING = 10
# Longer than every path, so that only a glob that ends in `**` matches it.
_ANYTHING_BELOW = "/\0" * 200


@dataclass(frozen=True, slots=True)
class Workspace:
    """Where the paths of a call begin: at the root, or with `@name/` at a mount.

    A rule may also name a mount by its path as the workflow writes it, which may be that of a link.
    """

    root: str = ""
    mounts: Mapping[str, str] = field(default_factory=dict)
    written_mounts: Mapping[str, str] = field(default_factory=dict)

    def bases(self) -> list[tuple[str, str]]:
        """Return the root and each mount, as written and as resolved, with the prefix of names in it."""
        root = os.path.abspath(self.root)  # noqa: PTH100 - a Path changes its argument
        mounts = (*self.mounts.items(), *self.written_mounts.items())
        named = [("", root), *((f"@{name}", os.path.join(root, path)) for name, path in mounts)]  # noqa: PTH118
        return list(dict.fromkeys((prefix, form) for prefix, path in named for form in (path, os.path.realpath(path))))


def reaches(path: str, globs: Sequence[str], workspace: Workspace) -> bool:
    """Return whether a path may mean a place that a glob matches, or a folder above one; in doubt it does.

    Args:
        path: The path in the call; each of its readings counts.
        globs: The globs; relative ones begin at the root of the workspace.
        workspace: Where the path begins.
    """
    folded = [_expanded(glob).casefold() for glob in globs]
    names = _Names(workspace)
    try:
        return any(
            names.match(path_form, folded)
            for reading in readings(path)
            for path_form in _places(reading, workspace, names)
        )
    except (OSError, ValueError):
        return True


def lies_within(path: str, globs: Sequence[str], workspace: Workspace) -> bool:
    """Return whether a path certainly means a place that a glob matches, with everything below it."""
    if is_doubtful(path) or path.startswith(("~", "file:")):
        return False
    names = _Names(workspace)
    try:
        realpath = os.path.realpath(next(iter(_places(path, workspace, names))))
        ending = _ANYTHING_BELOW if os.path.isdir(realpath) else ""  # noqa: PTH112
    except (OSError, ValueError):
        return False
    return any(matches_glob(name + ending, _expanded(glob)) for name in names.of(realpath) for glob in globs)


def _expanded(glob: str) -> str:
    """Return a glob with the home directory written out, and without `./` before it."""
    if glob == "~" or glob.startswith("~/"):
        return os.path.expanduser("~") + glob[1:]  # noqa: PTH111
    return glob.removeprefix("./")


def _places(path: str, workspace: Workspace, names: _Names) -> Iterator[str]:
    """Yield the possible places of a path; the first one is its meaning for a tool that expands nothing."""
    mount, _, rest = path.partition("/")
    if mount.startswith("@") and mount[1:] in workspace.mounts:
        yield os.path.join(names.root, workspace.mounts[mount[1:]], rest)  # noqa: PTH118
        if written := workspace.written_mounts.get(mount[1:]):
            yield os.path.join(written, rest)  # noqa: PTH118
    yield os.path.join(names.root, path)  # noqa: PTH118
    if path.startswith("~"):
        yield os.path.expanduser(path)  # noqa: PTH111
    if path.lower().startswith("file:"):
        yield "/" + path[len("file:") :].lstrip("/")


class _Names:
    """The names of places: absolute, and relative to the workspace's root and its mounts."""

    def __init__(self, workspace: Workspace) -> None:
        self._bases = workspace.bases()
        self.root = self._bases[0][1]
        self._starts = frozenset(base for _, base in self._bases)

    def of(self, path: str) -> list[str]:
        """Return all names of an absolute path; the one of the root itself is empty."""
        forms = [path.replace(os.sep, "/")]
        for prefix, base in self._bases:
            if path == base:
                forms.append(prefix)
            elif path.startswith(above := base.rstrip(os.sep) + os.sep):
                rest = path[len(above) :].replace(os.sep, "/")
                forms.append(f"{prefix}/{rest}" if prefix else rest)
        return forms

    def match(self, path: str, globs: Sequence[str]) -> bool:
        """Return whether a glob matches a path, its target, or anything below that."""
        places = dict.fromkeys((os.path.normpath(path), os.path.realpath(path)))
        if any(self._matches(path_form, globs) for path_form in places):
            return True
        return any(os.path.isdir(path_form) and self._matches_below(path_form, globs) for path_form in places)  # noqa: PTH112

    def _matches(self, path: str, globs: Sequence[str]) -> bool:
        names = [name.casefold() or "." for name in self.of(path)]
        return any(matches_glob(name, glob) for name in names for glob in globs)

    def _may_match_below(self, path: str, globs: Sequence[str]) -> bool:
        names = [f"{name.casefold()}/" if name else "" for name in self.of(path)]
        return any(may_begin(name, glob) for name in names for glob in globs)

    def _matches_below(self, path: str, globs: Sequence[str]) -> bool:
        """Return whether anything in a folder matches; links in it are followed, since some tools do."""
        pending, seen, work = [(path, True)], {path}, 0
        while pending:
            folder, is_open = pending.pop()
            # Below a folder in which nothing can match, only a link or a mount leads to where something can.
            may_match = is_open and self._may_match_below(folder, globs)
            with os.scandir(folder) as entries:
                for entry in entries:
                    is_link = entry.is_symlink()
                    is_compared = may_match or is_link
                    places = {entry.path, os.path.realpath(entry.path)} if is_link else {entry.path}
                    work += _COMPARING if is_compared else 1
                    if work > MAX_WORK or (
                        is_compared and any(self._matches(path_form, globs) for path_form in places)
                    ):
                        return True
                    if entry.is_dir():
                        pending += [
                            (path_form, is_compared or path_form in self._starts) for path_form in places - seen
                        ]
                        seen |= places
        return False
