"""`search.jsonl`: one line of JSON for each release, of which a search parses only those with the words."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strands_cli.api import Where
from strands_cli_index.reading.site_files import (
    FORMAT,
    KIND,
    NAME,
    VERSION,
    refused_index,
    require_format,
    strict_json,
)

GROUPS = ("workflows", "agents", "skills")
_TEXTS = ("summary", "publisher", "check")


@dataclass(frozen=True, slots=True)
class SearchLine:
    """One release as a search shows it.

    Attributes:
        name: The normalised name of the distribution.
        version: Its newest version in the index.
        versions: All of them, the newest first.
        summary: One line about it; may be empty.
        tools: Name, description and permissions of each tool.
        packaged: Names of its workflows, agents and skills, by group.
        publisher: The one in the index: `github:acme/tools`, or empty for unverified.
        check: The result of the static check, as a phrase.
        to_adopt: Whether it declares none of its tools, so that they have to be adopted.
    """

    name: str
    version: str
    versions: tuple[str, ...]
    summary: str
    tools: tuple[Mapping[str, str], ...]
    packaged: Mapping[str, tuple[str, ...]]
    publisher: str
    check: str
    to_adopt: bool = False


def search_text(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of the file for the documents of its lines, which are `name`, `version`, ... as `SearchLine`."""
    head = {"kind": KIND, "format": FORMAT, "releases": len(entries)}
    return "".join(f"{_dumped(entry)}\n" for entry in (head, *entries))


def _dumped(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def find_lines(raw: bytes, words: Sequence[str], file: str) -> list[SearchLine]:
    """Return the releases whose name, summary, tools, workflows, agents and skills have every word, whatever its case.

    A line is parsed only if the words are in it, so that a search of 1,000 takes a few milliseconds.

    Args:
        raw: The contents of the file.
        file: Its path or address, for findings.

    Raises:
        InvalidInput: It is not the file of an index, or a line with the words is faulty.
    """
    folded = [word.casefold() for word in words if word.strip()]
    # As JSON has them: a word may contain a quote or a backslash.
    needles = [json.dumps(word, ensure_ascii=False)[1:-1] for word in folded]
    lines = []
    for number, line in _lines(raw, file):
        whole = line.casefold() if needles else ""
        if all(needle in whole for needle in needles):
            search_line = _parsed(line, Where(file, number))
            if all(word in _searched(search_line) for word in folded):
                lines.append(search_line)
    return lines


def _lines(raw: bytes, file: str) -> Iterator[tuple[int, str]]:
    """Yield each line after the head, with its number."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise refused_index("it is not UTF-8", Where(file, raw.count(b"\n", 0, error.start) + 1)) from None
    head, _, rest = text.partition("\n")
    stated = _loaded(head, Where(file, 1))
    require_format(stated, Where(file, 1))
    count = stated.get("releases")
    if type(count) is int and rest.count("\n") != count:  # cut off, as by a server that was interrupted
        raise refused_index(f"it was cut off: the lines that it has are not the {count:,} that it states", Where(file))
    for number, line in enumerate(rest.split("\n"), start=2):
        if line:
            yield number, line


def _loaded(line: str, where: Where) -> Any:
    try:
        return strict_json(line)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "it nests too deeply or has wrong numbers"
        raise refused_index(f"it is not JSON: {reason}", where) from None


def _parsed(line: str, where: Where) -> SearchLine:
    fields = _loaded(line, where)
    if not isinstance(fields, dict):
        raise refused_index("a line is not an object", where)
    name, versions, tools = fields.get("name"), fields.get("versions"), fields.get("tools")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise refused_index("`name` is not the normalised name of a distribution", where)
    if not isinstance(versions, list) or not versions or not all(_is_version(version) for version in versions):
        raise refused_index(f"`versions` of '{name}' are not versions", where)
    if not isinstance(tools, list) or not all(_is_tool(tool) for tool in tools):
        raise refused_index(f"`tools` of '{name}' are not texts", where)
    texts = [fields.get(key, "") for key in _TEXTS]
    packaged = {group: fields.get(group, []) for group in GROUPS}
    if not all(isinstance(text, str) for text in texts) or not all(map(_is_texts, packaged.values())):
        raise refused_index(f"a text of '{name}' is not one", where)
    groups = {group: tuple(names) for group, names in packaged.items()}
    publisher, check = texts[1:]
    to_adopt = fields.get("adopt") is True
    return SearchLine(name, versions[0], tuple(versions), texts[0], tuple(tools), groups, publisher, check, to_adopt)


def _is_version(value: Any) -> bool:
    return isinstance(value, str) and VERSION.fullmatch(value) is not None


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def _is_tool(value: Any) -> bool:
    keys = ("name", "description", "permissions")
    return isinstance(value, dict) and all(isinstance(value.get(key), str) for key in keys)


def _searched(line: SearchLine) -> str:
    """Return every text of a release that a search is about, with its case folded."""
    texts = [line.name, line.summary, *(text for tool in line.tools for text in (tool["name"], tool["description"]))]
    return "\n".join([*texts, *(name for names in line.packaged.values() for name in names)]).casefold()
