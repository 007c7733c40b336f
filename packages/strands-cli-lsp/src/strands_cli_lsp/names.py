"""Completion, hover and definitions: the names of the format, the installed tools and the document at a place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from strands_cli.api import InstalledTools, StrandsCliError, UsageError, Workflow, read_document
from strands_cli_lsp.cursor import MARK, Cursor, cursors, expression_before
from strands_cli_lsp.schema_nodes import schemas_at, values_of

_WORD = re.compile(r"[\w.:$/@-]*$")
_NAME = re.compile(r"[\w-]+")
_PATH = re.compile(r"((?:[A-Za-z_]\w*)(?:\.\w+|\[\d+\]|\['[^']*'\])*)\.\w*$")
_OF_AGENTS, _OF_IDS = ("agent", "producer"), ("deps", "to", "from", "default")
FILTERS = (
    *("default", "first", "fromjson", "int", "join", "last", "length", "list", "lower", "replace", "round", "sort"),
    *("string", "tojson", "trim", "truncate", "upper"),
)
Item = dict[str, Any]
_WORKFLOW = re.compile(r"^[\"']?(pattern|agents)[\"']?\s*:|^\s*\{\s*\"", re.MULTILINE)
_AGENT = re.compile(r"^(prompt|\$ref)\s*:", re.MULTILINE)


def kind_of(text: str) -> str | None:
    """Return whether a text is meant as a workflow or an agent; None for other YAML."""
    return "workflow" if _WORKFLOW.search(text) else "agent" if _AGENT.search(text) else None


def complete(path: str, text: str, buffers: dict[str, str], line: int, column: int) -> list[Item]:
    """Return what may be written at a cursor, each with the columns that it replaces."""
    before = text.split("\n")[line][:column]
    if (expression := expression_before(before)) is not None:
        return _in_template(path, text, line, column, *expression)
    begin = column - len((_WORD.search(before) or [""])[0])
    items: dict[str, Item] = {}
    tools = InstalledTools(Path(path).parent)
    schema = tools.workflow_schema(of_agent=kind_of(text) == "agent")
    for cursor in cursors(text, line, begin, column, keys=re.search(r":\s+[^,{]*$", before) is None):
        for item in _of_cursor(cursor, tools, schema, text):
            items.setdefault(item["label"], {**item, "begin": begin})
    return list(items.values())


def _of_cursor(cursor: Cursor, tools: InstalledTools, schema: dict[str, Any], text: str) -> Iterator[Item]:
    if cursor.is_key:
        holder: Any = cursor.data
        for token in cursor.path[:-1]:
            holder = holder[token]
        written = {key: value for key, value in holder.items() if MARK not in key}
        for each in schemas_at(
            schema, cursor.path[:-1], {**cursor.data, **written} if len(cursor.path) == 1 else cursor.data
        ):
            for key, child in each.get("properties", {}).items():
                if key not in written:
                    yield _item(key, "key", child.get("description", ""), f"{key}: ")
        return
    keys = [token for token in cursor.path if isinstance(token, str)]
    config = _section(cursor.data, "pattern", "config")
    if keys and keys[-1] in _OF_AGENTS:
        yield from (_item(name, "agent") for name in _section(cursor.data, "agents") or _below(text, "agents"))
    elif keys and keys[-1] in _OF_IDS and keys[0] == "pattern":
        yield from (_item(name, "id") for name in _ids(config))
    elif keys and keys[-1] in ("tool", "tools", "python", "tool_overrides"):
        for record in tools.all():
            yield _item(f"native:{record.ref_name}", "tool", record.description or "")
    for value in values_of(schemas_at(schema, cursor.path, cursor.data)):
        yield _item(value, "value")


def _item(label: str, kind: str, about: str = "", insert: str | None = None) -> Item:
    return {"label": label, "kind": kind, "about": about, "insert": insert or label}


def _below(text: str, section: str) -> list[str]:
    """Return the names below a section, by the indentation of a text that cannot be read."""
    block = re.search(rf"^{section}:[^\S\n]*\n((?:(?:[ \t]+.*)?\n)*)", f"{text}\n", re.MULTILINE)
    first = re.match(r"\s*?\n?( +)", block[1]) if block else None
    return re.findall(rf"^{first[1]}([\w.-]+):", block[1], re.MULTILINE) if block and first else []


def _section(data: Any, *keys: str) -> dict[str, Any]:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else None
    return data if isinstance(data, dict) else {}


def _ids(config: dict[str, Any]) -> Iterator[str]:
    for name in ("nodes", "routes"):
        yield from _section(config, name)
    for name in ("tasks", "branches"):
        part = config.get(name)
        items = part if isinstance(part, list) else []
        yield from (str(item["id"]) for item in items if isinstance(item, dict) and "id" in item)


def _in_template(path: str, text: str, line: int, column: int, begin: int, expression: str) -> list[Item]:
    """Return the names for an expression, those behind a dot, or the filters."""
    start = column - len((re.search(r"\w*$", expression) or [""])[0])
    if re.search(r"\|\s*\w*$", expression):
        return [{**_item(name, "filter"), "begin": start} for name in FILTERS]
    rest = text.split("\n")[line][column:]
    end = column + len((re.match(r".*?[}%]\}", rest) or [""])[0])
    parts: list[str | int] = []
    if (dotted := _PATH.search(expression)) is not None:
        words = re.findall(r"\w+|'[^']*'", dotted[1])
        parts = [int(word) if word.isdigit() else word.strip("'") for word in words]
    for cursor in cursors(text, line, begin, end, keys=False):
        workflow = Workflow.from_text(cursor.text, base_dir=Path(path).parent)
        return [{**_item(name, "name"), "begin": start} for name in workflow.template_names(cursor.pointer, parts)]
    return []


def hover(path: str, text: str, buffers: dict[str, str], line: int, column: int) -> str | None:
    """Return a description of the key or the tool at a place, as Markdown."""
    place = _at(path, text, line, column)
    if place is None:
        return None
    pointer, is_key, value = place
    tools = InstalledTools(Path(path).parent)
    if not is_key and isinstance(value, str) and (about := _about_tool(value, tools)):
        return about
    tokens = [token.replace("~1", "/").replace("~0", "~") for token in pointer.split("/")[1:]]
    steps: Sequence[str | int] = [int(token) if token.isdigit() else token for token in tokens]
    document = read_document(path, text).value
    described = schemas_at(tools.workflow_schema(of_agent=kind_of(text) == "agent"), steps, document)
    about = next((each["description"] for each in described if each.get("description")), None)
    return f"**{tokens[-1]}**: {about}" if about and tokens else None


def _about_tool(ref: str, tools: InstalledTools) -> str | None:
    name = ref.removeprefix("native:").partition("@")[0].rpartition("/")[2]
    try:
        record = tools.find(name)
        decisions = [f"- {each.name}: {each.call.effect} ({each.call.rule})" for each in tools.policy_of(record)]
    except (UsageError, StrandsCliError):
        return None
    return "\n".join(
        [f"**{name}** of {record.distribution} {record.version}", "", record.description or "", "", *decisions]
    )


def _at(path: str, text: str, line: int, column: int) -> tuple[str, bool, Any] | None:
    """Return the pointer of the key or the value at a place, whether it is the key, and the value."""
    try:
        document = read_document(path, text)
    except StrandsCliError:
        return None
    places = [(at, pointer, True) for pointer, at in document.keys.items()]
    places += [(at, pointer, False) for pointer, at in document.positions.items() if pointer]
    fitting = [place for place in places if place[0][0] == line + 1 and place[0][1] <= column + 1]
    if not fitting:
        return None
    _, pointer, is_key = max(fitting, key=lambda place: (place[0][1], place[2]))
    value: Any = document.value
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]
    return pointer, is_key, value


def definition(path: str, text: str, buffers: dict[str, str], line: int, column: int) -> list[Any] | None:
    """Return the file and the place where the name at a place is defined."""
    place = _at(path, text, line, column)
    if place is None:
        return None
    pointer, _, value = place
    if pointer.endswith("/$ref") and isinstance(value, str):
        return [str(Path(path).parent / value), 0, 0]
    content = text.split("\n")[line]
    words = [match[0] for match in _NAME.finditer(content) if match.start() <= column <= match.end()]
    document = read_document(path, text)
    is_agent = pointer.rpartition("/")[2] in _OF_AGENTS or (isinstance(value, str) and value.startswith("agent:"))
    for word in words:
        index = re.search(rf"steps\[({word})\]", content) if word.isdigit() else None
        pointers = [f"/agents/{word}"] if is_agent else [f"/pattern/config/steps/{index[1]}"] if index else []
        pointers += [f"/pattern/config/{part}/{word}" for part in ("nodes", "routes")]
        pointers += [f"/inputs/{part}/{word}" for part in ("required", "optional", "values")]
        pointers += [
            each.removesuffix("/id")
            for each in document.positions
            if re.fullmatch(r"/pattern/config/(tasks|branches)/\d+/id", each) and _value(document.value, each) == word
        ]
        found = next((each for each in pointers if each in document.keys or each in document.positions), None)
        if found is not None:
            at = document.keys.get(found) or document.positions[found]
            return [path, at[0] - 1, at[1] - 1]
    return None


def _value(value: Any, pointer: str) -> Any:
    for token in pointer.split("/")[1:]:
        value = value[int(token)] if isinstance(value, list) else value[token]
    return value
