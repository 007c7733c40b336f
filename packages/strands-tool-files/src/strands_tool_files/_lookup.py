"""Search a file or a tree of the workspace line by line; the common part of `grep` and `search`."""

from __future__ import annotations

import collections
import contextlib
import io
import os
import stat
from collections.abc import Generator, Iterator
from typing import IO, Any

from strands_tool_files._directory import Directory
from strands_tool_files._hits import Hits, text_of
from strands_tool_files._match import Matcher, matcher_for
from strands_tool_files._names import printable
from strands_tool_files._open import not_found, open_regular
from strands_tool_files._text import HANDLER, detect_encoding
from strands_tool_files._tree import files_beneath, opened
from strands_tool_files._walk import OpenLocation
from strands_tool_files._workspace import Workspace, WorkspacePath
from strands_tool_kit import CallContext, ToolError

_LONGEST_LINE = 65_536
BATCH_LINES = 2_000
_BATCH_SIZE = 262_144
# Things counted instead of searched, as the notices name them.
_BINARY = "binary files left out"
_UNREADABLE = "files that could not be read"
_UNREAD_DIRECTORIES = "directories that could not be read"


def search_files(
    values: dict[str, Any], pattern: str, context: CallContext, *, is_regex: bool, context_lines: int = 0
) -> tuple[str, dict[str, Any]]:
    """Search the place of one call for a text or a pattern.

    Args:
        values: `path`, `ignore_case` and `max_matches` of its input.
        pattern: The text or the pattern.
        context: The call's surroundings.
        is_regex: Whether it is a pattern.
        context_lines: Lines to show before and after each match.

    Returns: The lines as grep writes them, and the facts of a search for both tools.
    """
    hits = Hits(values["max_matches"], context.require_time)
    with (
        Workspace.of(context.workspace).at(values["path"]) as target,
        matcher_for(
            pattern, is_regex=is_regex, ignore_case=values["ignore_case"], require_time=context.require_time
        ) as matcher,
    ):
        is_tree = search_location(target, matcher, hits, context_lines)
    return text_of(hits, is_tree=is_tree), {
        "path": target.shown,
        "matches": hits.matches,
        "files_searched": hits.files,
        "truncated": hits.is_truncated,
        "notices": hits.all_notices(),
    }


def search_location(target: WorkspacePath, matcher: Matcher, hits: Hits, context_lines: int) -> bool:
    """Search a file or a directory, and return whether it is a directory.

    Raises:
        ToolError: A single file cannot be searched; in a tree such files are counted.
    """
    if not _is_directory(target):
        _search_file(target, matcher, hits, context_lines)
        return False
    with opened(target.place) as top:
        _search_tree(top, target.shown, matcher, hits, context_lines)
    return True


def _is_directory(target: WorkspacePath) -> bool:
    if not target.place.name:
        return True
    try:
        return stat.S_ISDIR(target.place.parent.lstat(target.place.name).st_mode)
    except FileNotFoundError:
        raise not_found(target) from None


def _search_tree(top: Directory, shown_path: str, matcher: Matcher, hits: Hits, context_lines: int) -> None:
    prefix = () if shown_path == "." else (shown_path,)
    with contextlib.closing(files_beneath(top, hits.look, lambda names: hits.skip(_UNREAD_DIRECTORIES))) as files:
        for here, names in files:
            if not hits.may_go_on():
                return
            file = WorkspacePath(OpenLocation(here, names[-1], names), "/".join([*prefix, *map(printable, names)]))
            try:
                _search_file(file, matcher, hits, context_lines)
            except OSError:
                hits.skip(_UNREADABLE)
            except ToolError as refusal:
                hits.skip(_skipped(refusal))


def _skipped(refusal: ToolError) -> str:
    """Return the word under which a file is counted, or raise the refusal again when it concerns the whole call."""
    if refusal.details.get("reason") == "binary":
        return _BINARY
    if refusal.details.get("reason") in ("not-found", "not-a-file", "is-a-directory"):
        return _UNREADABLE  # It was exchanged since the directory was read.
    raise refusal


def _search_file(file: WorkspacePath, matcher: Matcher, hits: Hits, context_lines: int) -> None:
    with os.fdopen(open_regular(file), "rb") as stream:
        encoding = detect_encoding(stream, None)
        hits.files += 1
        with contextlib.closing(_batches(stream, encoding, hits)) as batches:
            _search_lines(batches, file.shown, matcher, hits, context_lines)


def _search_lines(
    batches: Iterator[list[str]], shown_path: str, matcher: Matcher, hits: Hits, context_lines: int
) -> None:
    before: collections.deque[tuple[int, str]] = collections.deque(maxlen=context_lines)
    number = after = 0
    for batch in batches:
        spans = matcher.find(batch)
        if not spans and not context_lines:
            number += len(batch)
            continue
        for index, line in enumerate(batch):
            number += 1
            if index in spans:
                for earlier in before:
                    hits.near(shown_path, *earlier)
                before.clear()
                hits.match(shown_path, number, line, spans[index])
                after = context_lines
            elif after:
                hits.near(shown_path, number, line)
                after -= 1
            else:
                before.append((number, line))
            if hits.is_truncated:
                return


def _batches(stream: IO[bytes], encoding: str, hits: Hits) -> Generator[list[str], None, None]:
    """Yield the lines without their ends, some at a time, until the end or a limit."""
    text = io.TextIOWrapper(stream, encoding, errors=HANDLER, newline="\n")
    try:
        is_more = True
        while is_more and hits.may_go_on():
            batch, is_more = _batch(text, hits)
            if batch:
                yield batch
    finally:
        text.detach()  # The stream stays its owner's to close.


def _batch(text: io.TextIOWrapper, hits: Hits) -> tuple[list[str], bool]:
    """Read some lines, and return whether there may be more."""
    lines: list[str] = []
    size = 0
    while len(lines) < BATCH_LINES and size < _BATCH_SIZE:
        line = text.readline(_LONGEST_LINE)
        if not line:
            return lines, False
        size += len(line)
        hits.searched += len(line)
        if len(line) == _LONGEST_LINE and not line.endswith("\n"):
            _skip_rest(text, hits)
        lines.append(line.removesuffix("\n").removesuffix("\r"))
    return lines, True


def _skip_rest(text: io.TextIOWrapper, hits: Hits) -> None:
    """Go past the unsearched rest of an over-long line."""
    is_first = True
    while hits.may_go_on():
        piece = text.readline(_LONGEST_LINE)
        hits.searched += len(piece)
        if is_first and piece.strip("\r\n"):
            hits.skip(f"lines searched only in their first {_LONGEST_LINE >> 10} KiB")
        is_first = False
        if not piece or piece.endswith("\n"):
            return
