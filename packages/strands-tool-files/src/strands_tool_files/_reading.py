"""Open the text file that a call names, and answer with the part of it that a tool reads."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import IO, Any, Protocol

from strands_tool_files._open import open_regular
from strands_tool_files._text import detect_encoding
from strands_tool_files._workspace import Workspace
from strands_tool_kit import CallContext, answer, read_input


class Part(Protocol):
    """A part of a text, and the known facts about the rest."""

    @property
    def text(self) -> str:
        """The part itself."""

    @property
    def has_more(self) -> bool:
        """Whether the text continues after the part."""

    @property
    def is_cut(self) -> bool:
        """Whether a limit of bytes ended the part."""

    @property
    def is_cut_in_line(self) -> bool:
        """Whether it did so within a line."""

    @property
    def replaced(self) -> int:
        """How many places did not fit the encoding."""


# Reads the stream with an encoding for the values of a call; returns the part, further fields, and notices.
Read = Callable[[IO[bytes], str, dict[str, Any], CallContext], tuple[Part, dict[str, Any], list[str]]]


def answer_from_file(
    tool: Mapping[str, Any], keywords: Mapping[str, Any], spec: Mapping[str, Any], read: Read
) -> dict[str, Any]:
    """Return the result of a call: the part of the text, and a JSON block that describes it."""
    context = CallContext.of(keywords)

    def work() -> tuple[str, dict[str, Any]]:
        values = read_input(tool, spec)
        context.require_time()
        with (
            Workspace.of(context.workspace).at(values["path"]) as target,
            os.fdopen(open_regular(target), "rb") as stream,
        ):
            size = os.fstat(stream.fileno()).st_size
            encoding = detect_encoding(stream, values.get("encoding"))
            part, described, notices = read(stream, encoding, values, context)
        if part.replaced:
            notices.append(f"{part.replaced} place(s) did not fit {encoding} and are shown as U+FFFD")
        described = {"path": target.shown, "size": size, "encoding": encoding, **described}
        return part.text, {**described, "has_more": part.has_more, "truncated": part.is_cut, "notices": notices}

    return answer(tool, work)


def lines_of(part: Part) -> dict[str, Any]:
    """Return how many lines a part has; a last line without its end counts."""
    return {"lines": part.text.count("\n") + (bool(part.text) and not part.text.endswith("\n"))}


def notices_of(part: Part, in_line: str, between_lines: str) -> list[str]:
    """Return the notices about one end of a text: that it is empty, or where a limit cut it."""
    notices = [] if part.text or part.has_more else ["the file is empty"]
    if part.is_cut:
        notices.append(in_line if part.is_cut_in_line else between_lines)
    return notices
