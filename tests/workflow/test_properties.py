"""Laws of the spec room: no text makes it crash, and every node of every document has a place."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_cli.errors import InvalidInput
from strands_cli.workflow.loader import load_spec
from strands_cli.workflow.templates.plugin_filters import TemplateError
from strands_cli.workflow.templates.template import Templates
from strands_cli.yaml_files.document import Document, escape
from strands_cli.yaml_files.document_reader import read_document
from tests.workflow.spoiled import CHAIN, HEAD, SPOILED

# Many made-up values take seconds.
pytestmark = pytest.mark.hostile

READABLE = st.text(st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | READABLE,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(READABLE, inner, max_size=4),
    max_leaves=20,
)
PIECES = [
    "a: ",
    "- ",
    "&x ",
    "*x",
    "<<: ",
    "{",
    "}",
    "[",
    "]",
    "'",
    '"',
    "|",
    ">",
    "\n",
    "  ",
    "\t",
    "#",
    "!!str ",
    "? ",
    ": ",
    "---\n",
    "...\n",
    "agents",
    "pattern",
    "type: chain",
    "{{ steps[0] }}",
    "{% if %}",
    "\0",
    "\ufeff",
    "\ud800",
    "é",
    "%",
    "~",
    "1e99",
]
YAMLISH = st.lists(st.sampled_from(PIECES) | READABLE, max_size=30).map("".join)


def pointers(value: Any, at: str = "") -> Iterator[str]:
    yield at
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        yield from pointers(item, f"{at}/{escape(key)}")


@given(JSON.filter(lambda value: value is not None))
@settings(max_examples=150, deadline=None)
def test_every_pointer_of_a_document_has_an_exact_position(value: Any) -> None:
    for text in (yaml.safe_dump(value, allow_unicode=True), json.dumps(value)):
        document = read_document("f", text)
        assert set(document.positions) >= set(pointers(document.value))
        lines = text.count("\n") + text.count("\x85") + text.count("\u2028") + text.count("\u2029") + 1
        assert all(1 <= line <= lines and column >= 1 for line, column in document.positions.values())


@given(JSON.filter(lambda value: value is not None))
@settings(max_examples=150, deadline=None)
def test_json_is_read_as_the_json_module_reads_it(value: Any) -> None:
    assert read_document("f", json.dumps(value)).value == value
    assert read_document("f", json.dumps(value, ensure_ascii=False)).value == value


def document_or_none(text: str) -> Document | None:
    with contextlib.suppress(InvalidInput):
        return read_document("f", text)
    return None


@given(YAMLISH)
@settings(max_examples=300, deadline=None)
def test_loading_never_raises_but_with_findings(text: str) -> None:
    document = document_or_none(text)
    if document is None:
        return
    for pointer in pointers(document.value):
        assert document.where(pointer).line
    loaded = load_spec(document)
    assert loaded.spec is not None or loaded.findings


@given(JSON, st.sampled_from(sorted(SPOILED)), st.integers(0, 30))
@settings(max_examples=200, deadline=None)
def test_a_workflow_with_any_value_anywhere_never_crashes(value: Any, name: str, at: int) -> None:
    whole = yaml.safe_load(SPOILED[name][0] if at % 3 else HEAD + CHAIN)
    if not isinstance(whole, dict):
        return
    places = [pointer for pointer in pointers(whole) if pointer]
    *path, last = [part.replace("~1", "/").replace("~0", "~") for part in places[at % len(places)].split("/")[1:]]
    holder: Any = whole
    for part in path:
        holder = holder[int(part)] if isinstance(holder, list) else next(v for k, v in holder.items() if str(k) == part)
    holder[int(last) if isinstance(holder, list) else last] = value
    loaded = load_spec(read_document("f", json.dumps(whole)))
    for finding in loaded.findings:
        assert finding.where is not None
        assert finding.where.line


@given(YAMLISH, st.dictionaries(st.sampled_from(["a", "steps", "x"]), JSON, max_size=3))
@settings(max_examples=200, deadline=None)
def test_a_template_fails_only_with_a_template_error(text: str, names: dict[str, Any]) -> None:
    templates = Templates()
    wrapped = "{{ " + text + " }}"
    if templates.template_error(wrapped) is None:
        with contextlib.suppress(TemplateError):
            assert isinstance(templates.render(wrapped, names), str)


@given(JSON, READABLE)
@settings(max_examples=100, deadline=None)
def test_values_are_never_templates(value: Any, text: str) -> None:
    templates = Templates()
    assert templates.render_value("{{ a }}", {"a": value}) == value
    assert templates.render("{{ a }}", {"a": "{{ " + text + " }}"}) == "{{ " + text + " }}"
