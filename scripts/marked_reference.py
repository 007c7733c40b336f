"""The tables that the code makes in pages written by hand, between two marks: hooks, and fields."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from strands_cli.catalog import manifest
from strands_cli.catalog import manifest as definition_check
from strands_cli.hooks import hookspecs as specs
from strands_cli.provider_table import Provider

# What the checks of a manifest do not say: what each field is for. Every field of the model has its line here.
MEANINGS: dict[str, dict[str, str]] = {
    "manifest": {
        "manifest_version": f"the version of the manifest, {manifest.MANIFEST_FORMAT}",
        "api": "the versions of the calling contract that the tools support, `min` to `max`; default: "
        f"{manifest.CONTRACT}",
        "distribution": "the name of the distribution; a manifest that names another one is refused",
        "tools": "one object for each tool, and for each member of a class, suite or provider",
    },
    "tool": {
        "name": "the name of its entry point, or of the member",
        "entry": "the value of the entry point, `package.module` or `package.module:attribute`",
        "kind": "`module` (a `TOOL_SPEC` and its function), `function` (`@tool`), `agent_tool`, or, for members: "
        "`class`, `suite`, `provider`",
        "description": "what the model reads",
        "input_schema": "JSON Schema of the input, which is an object",
        "output_schema": "JSON Schema of the result",
        "annotations": "the hints below; an absent one is unknown, and unknown is never treated as safe",
        "strands_cli": "the object below, as under `strands_cli` of a `TOOL_SPEC`",
        "requires": "what the tool needs, as below; without it the tool is listed as `unmet`",
        "config_schema": "JSON Schema of the `config` a workflow may give it, which is an object; a text with "
        '`"format": "secret-name"` names a declared secret',
        "examples": "calls for people: objects with `input`, and perhaps `output`, `title`, `description`",
        "family": "the group by which `list-tools --family` filters",
        "category": "the group by which `list-tools --category` filters",
        "deprecated": "that it will be removed, as below",
    },
    "annotations": {
        "title": "a name for people",
        "readOnlyHint": "it changes nothing",
        "destructiveHint": "it may undo or overwrite what is there",
        "idempotentHint": "calling it again with the same input changes nothing more",
        "openWorldHint": "it reads or reaches what others control, such as the network",
    },
    "strands_cli": {
        "requires_confirmation": "each call asks a person",
        "read_only_when": "JSON Schema for the input; a call that matches it only reads",
        "capabilities": "`network`, `filesystem`, `subprocess`, `env`, `secrets`: what it can do",
        "resources": "what a call reads, writes and connects to, see [Resources](#resources)",
        "timeout_s": "the longest time for one call, in seconds",
        "max_output_bytes": "the size at which its result is cut",
        "engines": "the function that lists its engines, see below",
        "earlier": "earlier names of inputs, see below",
        "polls": "it is called again to wait: see [Loops](../explanation/budgets-and-retries.md#loops)",
    },
    "requires": {
        "distributions": "distributions, as PEP 508 requirements",
        "modules": "modules that must be installed",
        "python": "a version specifier for Python",
        "os": "one or more of `linux`, `macos`, `windows`",
        "env": "names of environment variables that must be set",
    },
    "deprecated": {"since": "the version", "replacement": "what to use instead"},
}


def marked(page: str, name: str, table: str) -> str:
    """Return a page with the table between its two marks.

    Raises:
        SystemExit: the page does not have the two marks, once each.
    """
    opening, closing = f"<!-- made from the code: {name} -->\n", "<!-- end -->\n"
    before, found, rest = page.partition(opening)
    _, ended, after = rest.partition(closing)
    if not found or not ended or opening in after:
        raise SystemExit(f"a page lacks the marks of '{name}': {opening.strip()} ... {closing.strip()}")
    return f"{before}{opening}\n{table}\n{closing}{after}"


def hooks_page(page: str) -> str:
    """Return the page of hooks with the list of all hooks and their types; its sections say what they are for."""
    return marked(page, "hooks", "\n".join(_hook_items(specs)) + "\n")


def _hook_items(module: ModuleType) -> Iterator[str]:
    for name in specs.NAMES:
        signature = inspect.signature(getattr(module, name))
        arguments = ", ".join(f"{one.name}: {one.annotation}" for one in signature.parameters.values())
        yield f"- `{name}({arguments}) -> {signature.return_annotation}`"


def _words(annotation: str) -> str:
    """Return a type for a table, where a bar would end the cell."""
    return re.sub(r"\s*\|\s*", " or ", annotation)


def providers_page(page: str) -> str:
    """Return the how-to page of providers with the table of the fields of `Provider`."""
    return marked(page, "provider", _table(["field", "type", "by default", "what it is"], _provider_rows()))


def _provider_rows() -> Iterator[list[str]]:
    described = (inspect.getdoc(Provider) or "").partition("Attributes:\n")[2]
    meanings = dict(re.findall(r"^    (\w+): (.*(?:\n        .*)*)", described, re.MULTILINE))
    fields = dataclasses.fields(Provider)
    if [field.name for field in fields] != list(meanings):
        raise SystemExit("marked_reference.py: the docstring of Provider does not have its fields in their order")
    for field in fields:
        kind = str(field.type).removesuffix(" | None").replace("Place", "tuple[str, ...]")
        yield [f"`{field.name}`", f"`{_words(kind)}`", _default(field), " ".join(meanings[field.name].split())]


def _default(field: dataclasses.Field[Any]) -> str:
    if field.name == "distribution":
        return ""
    if field.default_factory is not dataclasses.MISSING:
        return "none"
    if field.default is dataclasses.MISSING:
        return "required"
    value = field.default
    words = sorted(value) if isinstance(value, frozenset) else value
    return f"`{words}`" if words not in (None, (), [], False) else "no" if value is False else "none"


def manifest_page(page: str) -> str:
    """Return the page of the manifest with the lists of its fields."""
    for name, fields in _parts().items():
        if fields.keys() != MEANINGS[name].keys():
            raise SystemExit(f"marked_reference.py: the meanings of '{name}' are not those of {sorted(fields)}")
    for name, fields in _parts().items():
        page = marked(page, name, "".join(_field_items(name, fields)))
    return page


def _parts() -> dict[str, Mapping[str, Any]]:
    return {
        "manifest": manifest._TOP_FIELDS,
        "tool": definition_check._TOOL_FIELDS,
        "annotations": definition_check._HINTS,
        "strands_cli": definition_check._STRANDS_CLI,
        "requires": definition_check._REQUIRES,
        "deprecated": definition_check._DEPRECATED,
    }


def _field_items(name: str, fields: Mapping[str, Any]) -> Iterator[str]:
    needed = {"tool": definition_check.REQUIRED, "manifest": ("manifest_version", "distribution", "tools")}.get(
        name, ()
    )
    for field, kind in fields.items():
        is_number = isinstance(kind, tuple) and float in kind
        words = "a number" if is_number else definition_check._type_names(kind)
        yield f"- `{field}` ({words}{', required' if field in needed else ''}): {MEANINGS[name][field]}\n"


def _table(titles: list[str], rows: Iterable[list[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in lines)
