from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_cli.catalog.source.source_module import SourceError
from strands_cli.catalog.source.source_reader import read_tool
from strands_cli.catalog.source.source_tool import SourceTool
from tests.distributions import SCHEMA, module_source


def read(source: str, attribute: str | None = None, module: str = "pkg.foo", **others: str) -> SourceTool:
    sources = {module: source, **{name.replace("__", "."): text for name, text in others.items()}}

    def read_module(name: str) -> tuple[str, bytes] | None:
        text = sources.get(name)
        return None if text is None else (f"/{name.replace('.', '/')}.py", text.encode())

    return read_tool(module, attribute, read_module)


def test_a_literal_spec_gives_everything() -> None:
    told = read(module_source("foo", annotations={"readOnlyHint": True}, strands_cli={"timeout_s": 3}))
    assert (told.name, told.kind, told.description, told.input_schema) == ("foo", "module", "Does foo.", SCHEMA)
    assert (told.annotations, told.strands_cli) == ({"readOnlyHint": True}, {"timeout_s": 3})
    assert told.complete
    assert told.line == 4


def test_an_annotated_spec_with_a_bare_schema_is_the_same() -> None:
    told = read(
        "TOOL_SPEC: dict = {'name': 'foo', 'description': 'D.', 'inputSchema': {'type': 'object'}}\ndef foo(): ..."
    )
    assert told.input_schema == {"type": "object"}
    assert told.complete


def test_a_computed_spec_is_unknown_and_not_guessed() -> None:
    told = read("NAME = 'foo'\nTOOL_SPEC = {'name': NAME, 'description': 'D.', 'inputSchema': {}}\ndef foo(tool): ...")
    assert (told.kind, told.name, told.description, told.complete, told.line) == ("module", None, None, False, 3)


DECORATED = """
from strands import tool

@tool
def foo(text: str) -> str:
    \"\"\"Say it loudly.

    And twice.

    Args:
        text: What to say.

    Returns:
        The shout.
    \"\"\"
    return text
"""


def test_a_decorated_function_gives_its_name_and_the_description_the_sdk_makes(tmp_path: Path) -> None:
    told = read(DECORATED, "foo")
    (tmp_path / "decorated_foo_module.py").write_text(DECORATED)
    sys.path.insert(0, str(tmp_path))
    try:
        real = importlib.import_module("decorated_foo_module").foo.tool_spec
    finally:
        sys.path.remove(str(tmp_path))
        del sys.modules["decorated_foo_module"]
    assert (told.name, told.description) == (real["name"], real["description"])
    assert (told.kind, told.line, told.complete) == ("function", 5, False)
    assert told.input_schema == real["inputSchema"]["json"]
    assert told.literal.input_schema is None, "the signature is not a manifest's schema"


@pytest.mark.parametrize(
    "head",
    ["from strands import tool as t\n@t", "import strands\n@strands.tool", "from strands.tools import tool\n@tool()"],
)
def test_the_decorator_is_known_by_every_usual_spelling(head: str) -> None:
    assert read(f"{head}\nasync def foo():\n    'D.'\n", "foo").kind == "function"


def test_literal_words_of_the_decorator_win_over_the_function() -> None:
    told = read(
        "from strands import tool\n"
        "@tool(name='loud', description='D.', inputSchema={'json': {'type': 'object'}})\n"
        "def foo(): ...\n",
        "foo",
    )
    assert (told.name, told.description, told.input_schema) == ("loud", "D.", {"type": "object"})
    assert told.complete


def test_computed_words_of_the_decorator_are_unknown() -> None:
    told = read("from strands import tool\n@tool(name=N, description=D)\ndef foo(): ...\n", "foo")
    assert (told.name, told.description) == (None, None)


def test_tool_metadata_is_read_wherever_it_is() -> None:
    told = read(
        "@tool_metadata(read_only=True, timeout_s=3)\n@tool\n@m.tool_metadata(read_only=False, idempotent=True)\n"
        "def foo(): ...\n",
        "foo",
    )
    assert told.annotations == {"readOnlyHint": True, "idempotentHint": True}
    assert told.strands_cli == {"timeout_s": 3}


SUITE = "@tool\ndef one():\n    'One.'\n\n@tool\ndef two():\n    'Two.'\n\ndef helper(): ...\n"


def test_a_module_of_several_tools_is_a_suite() -> None:
    told = read(SUITE)
    assert told.kind == "suite"
    assert [(one.name, one.description) for one in told.members or ()] == [("one", "One."), ("two", "Two.")]


def test_all_chooses_the_members_of_a_suite() -> None:
    told = read(SUITE + "@tool\ndef three(): 'Three.'\n__all__ = ['one', 'three']\n")
    assert [one.name for one in told.members or ()] == ["one", "three"]


def test_tool_specs_is_a_suite() -> None:
    specs = "[{'name': 'a', 'description': 'A.', 'inputSchema': {}}, {'name': 'b'}]"
    told = read(f"TOOL_SPECS = {specs}\ndef a(): ...\ndef b(): ...")
    assert told.kind == "suite"
    assert [(one.name, one.complete) for one in told.members or ()] == [("a", True), ("b", False)]


def test_a_module_with_one_decorated_function_is_that_tool() -> None:
    assert read("@tool\ndef one():\n    'One.'\n").kind == "function"


def test_a_class_gives_its_tool_methods() -> None:
    told = read("class Db:\n    'Rows.'\n    @tool\n    def query(self): 'Q.'\n    def other(self): ...\n", "Db")
    assert (told.kind, told.description, [one.name for one in told.members or ()]) == ("class", "Rows.", ["query"])


def test_an_agent_tool_and_a_provider_are_known_by_their_bases() -> None:
    assert read("class Foo(AgentTool): ...", "Foo").kind == "agent_tool"
    assert read("class Foo(strands.tools.ToolProvider): ...", "Foo").kind == "provider"
    assert read("def provide():\n    'Gives tools.'\n", "provide").kind == "provider"
    assert read("def provide(): ...", "provide").members is None


@pytest.mark.parametrize(
    ("source", "attribute"),
    [("foo = make()", "foo"), ("", "foo"), ("class Foo(Something): ...", "Foo"), ("x = 1", None), ("a = 1", "a.b")],
)
def test_what_source_does_not_say_is_unknown(source: str, attribute: str | None) -> None:
    told = read(source, attribute)
    assert (told.kind, told.members, told.complete) == ("unknown", None, False)


def test_a_name_imported_from_the_same_package_is_followed() -> None:
    told = read("from .impl import real as foo\n", "foo", module="pkg.api", pkg__impl="@tool\ndef real(): 'R.'\n")
    assert (told.name, told.kind, told.file) == ("real", "function", "/pkg/impl.py")


def test_a_name_imported_from_elsewhere_is_not_followed() -> None:
    told = read("from other.impl import foo\n", "foo", other__impl="@tool\ndef foo(): 'R.'\n")
    assert told.kind == "unknown"


def test_two_modules_that_import_from_each_other_end() -> None:
    told = read("from .b import foo\n", "foo", module="pkg.a", pkg__b="from .a import foo\n")
    assert told.kind == "unknown"


@pytest.mark.parametrize("value", ["b'bytes'", "{1, 2}", "1e999", "'\\ud800'", "{(1, 2): 3}"])
def test_a_literal_that_is_not_data_is_unknown(value: str) -> None:
    told = read(f"TOOL_SPEC = {{'name': 'foo', 'description': 'D.', 'inputSchema': {{'x': {value}}}}}")
    assert (told.kind, told.name, told.complete) == ("module", None, False)


def test_half_characters_of_a_docstring_are_escaped() -> None:
    assert read("@tool\ndef foo():\n    '\\ud800 D.'\n", "foo").description == "\\ud800 D."


def test_the_last_definition_counts_as_when_it_runs() -> None:
    assert read("@tool\ndef foo(): 'First.'\n\n@tool\ndef foo(): 'Last.'\n", "foo").description == "Last."


def test_what_is_not_python_says_where() -> None:
    with pytest.raises(SourceError) as caught:
        read("x = 1\ndef broken(:\n")
    assert caught.value.line == 2


@pytest.mark.parametrize("source", ["\0", "(" * 20_000, "x = " + "-" * 100_000 + "1", "#" * 2_000_001])
def test_hostile_source_is_an_error_and_no_crash(source: str) -> None:
    with pytest.raises(SourceError):
        read(source)


@settings(deadline=None)
@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(source: str) -> None:
    try:
        read(source.encode("utf-8", "replace").decode())
        read(source.encode("utf-8", "replace").decode(), "foo")
    except SourceError:
        pass
