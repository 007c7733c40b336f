"""What the listing reads from a module's source is what loading the module gives, or is left to loading."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.catalog.source.source_reader import read_tool
from strands_cli.tools.tool_forms import NotAToolError, read_tools
from tests.agents.kit import Site
from tests.wordings import Wording

TOOL = "@tool\ndef {0}(text: str) -> str:\n    'Does {0}.'\n    return text\n"
SOURCES = {
    "agreeing": "",
    "agreeing.other": "from strands import tool\n" + TOOL.format("kin") + "def plain(): ...\nSETTING = 1\n",
    "strange": "from strands import tool\n" + TOOL.format("foreign") + "def make(function=None): return object()\n",
}
STATEMENTS = [
    *(TOOL.format(name) for name in ("one", "two")),
    "@tool(name='called')\ndef three(): 'Three.'\n",
    "@tool_metadata(read_only=True)\n@tool\ndef four(): 'Four.'\n",
    "def one(): ...\n",
    "@functools.cache\ndef helper(): ...\n",
    "@strange.make\ndef decorated(): ...\n",
    "from agreeing.other import kin\n",
    "from .other import kin as two, SETTING\n",
    "from .other import plain\n",
    "from strange import foreign\n",
    "from pathlib import Path\n",
    "alias = one\n",
    "made = tool(helper)\n",
    "LIMIT = 3\n",
    "client = strange.make()\n",
    "logger = logging.getLogger(__name__)\n",
    "one = None\n",
    "del two\n",
    "if LIMIT:\n    from strange import foreign\n",
    "try:\n    import json\nexcept ImportError:\n    json = None\n",
    "if sys.platform != 'none':\n    @tool\n    def two(): 'Two.'\n",
    "for one in []: ...\n",
    "from strange import *\n",
    "class Thing: ...\n",
]
NAMES = ["one", "two", "called", "three", "four", "kin", "foreign", "alias", "made", "LIMIT", "Thing", "Path", "absent"]
ALL = st.one_of(
    st.just(""),
    st.lists(st.sampled_from(NAMES), max_size=4).map(lambda names: f"__all__ = {names!r}\n"),
    st.lists(st.sampled_from(NAMES), max_size=2).map(lambda names: f"__all__ = {names!r}\n__all__ += ['one']\n"),
    st.just("__all__ = [name for name in ('one', 'two')]\n"),
)
HEAD = (
    "import functools, logging, sys\nimport strange\nfrom strands import tool\n"
    "from strands_cli.metadata import tool_metadata\n"
)
SUITE = "agreeing.suite"


@pytest.fixture(autouse=True, scope="module")
def modules() -> Iterator[None]:
    for name, source in SOURCES.items():
        sys.modules[name] = module_of(name, source)
    yield
    for name in SOURCES:
        del sys.modules[name]


def module_of(name: str, source: str) -> ModuleType:
    module = ModuleType(name)
    vars(module)["__package__"] = name.rpartition(".")[0] or name
    if name == "agreeing":
        vars(module)["__path__"] = []
    exec(compile(source, name, "exec"), vars(module))
    return module


def listed(source: str) -> list[str] | None:
    """Return the tools that the source shows, or None where it leaves them to loading."""

    def read_module(name: str) -> tuple[str, bytes] | None:
        text = {**SOURCES, SUITE: source}.get(name)
        return None if text is None else (f"/{name}.py", text.encode())

    told = read_tool(SUITE, None, read_module)
    if told.members is None:
        return None
    return [str(member.name) for member in told.members or (told,)]


def loaded(source: str) -> list[str] | None:
    """Return the tools that loading gives, or None where the module cannot be run."""
    try:
        module = module_of(SUITE, source)
        return [tool.name for tool in asyncio.run(read_tools(module, {}, []))]
    except NotAToolError:
        return []
    except NameError:  # the statements use names that are not there: no module anyone ships
        return None


@settings(deadline=None, max_examples=150)
@given(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=6), ALL)
def test_the_listing_shows_what_loading_gives_or_leaves_it_to_loading(statements: list[str], exported: str) -> None:
    source = HEAD + "".join(statements) + exported
    shown, given_by_loading = listed(source), loaded(source)
    if shown is not None and given_by_loading is not None:
        assert sorted(shown) == sorted(given_by_loading), source


@pytest.mark.parametrize(
    ("source", "tools"),
    [
        (TOOL.format("one") + "from .other import kin\n__all__ = ['one', 'kin']\n", ["one", "kin"]),
        (TOOL.format("one") + "from .other import kin\n", ["one"]),
        (TOOL.format("one") + "LIMIT = 3\nclass Thing: ...\n__all__ = ['one', 'LIMIT', 'Thing']\n", ["one"]),
        (TOOL.format("one") + TOOL.format("two") + "client = strange.make()\n", ["one", "two"]),
        (TOOL.format("one") + TOOL.format("one"), ["one"]),
        (TOOL.format("one") + "alias = one\n", ["one"]),
        (TOOL.format("one") + "from strange import foreign\n__all__ = ['one', 'foreign']\n", None),
        (TOOL.format("one") + "__all__ = ['o' + 'ne']\n", None),
        ("def helper(): ...\none = tool(helper)\n", None),
    ],
)
def test_common_modules_are_shown_and_the_others_are_left_to_loading(source: str, tools: list[str] | None) -> None:
    assert listed(HEAD + source) == tools
    assert loaded(HEAD + source)


def test_a_module_that_exports_its_own_tool_and_one_of_another_distribution_works(site: Site, wording: Wording) -> None:
    head = "from strands import tool\n"
    site.install(head + TOOL.format("foreign"), name="other", manifest=False)
    source = head + TOOL.format("one") + "from strands_tool_other import foreign\n__all__ = ['one', 'foreign']\n"
    site.install(source, name="suite", manifest=False)
    record = next(tool for tool in discover_catalog([str(site.directory)]).tools if tool.name == "suite")
    assert record.status == "unknown"
    wording(record.reason)
    planned = site.plan("native:suite")
    offered = site.load("native:suite").offered(planned)
    assert sorted(tool.planned.name for tool in offered) == ["foreign", "one"]
