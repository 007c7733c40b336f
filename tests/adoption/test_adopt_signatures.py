"""The input schema of a `@tool` function that is read from its source is the one that the SDK makes of it."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

from strands_cli.catalog.source.source_reader import tools_of_module
from strands_cli.catalog.source.source_tool import SourceTool

HEAD = """
import datetime
import enum
import pathlib
import typing
import typing as t
import uuid
import warnings
from collections.abc import Mapping, Sequence
from functools import wraps
from typing import Annotated, Any, Dict, List, Literal, Optional, Set, Text, Tuple, Union
from pydantic import BaseModel, Field
from strands import tool, ToolContext
from typing_extensions import deprecated

LIMIT = 7
SLOW: float = 2.5
LESS = -3
WORD = "per page"
Mode = Literal["fast", "slow"]
Modes = Optional[List[Mode]]

class Colour(enum.Enum):
    RED = "red"

class Body(BaseModel):
    text: str

def logged(function):
    @wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)
    return inner

def changed(function):
    def inner(other: int):
        return function(other)
    return inner
"""
# The parameters of a function, each in a module of its own.
SEEN = (
    "",
    "a",
    "a: str",
    "a: int, b: float, c: bool",
    "a: str = 'x', b: int = 3, c: float = 1.5, d: bool = False",
    "a: str = None",
    "a: Optional[str] = None",
    "a: Optional[str]",
    "a: str | None = None",
    "a: 'str | None' = None",
    "a: 'Optional[List[str]]' = None",
    "a: Union[str, List[str]]",
    "a: Optional[Union[str, List[str]]] = None",
    "a: Union[str, Optional[int]] = 3",
    "a: Union[int, int]",
    "a: Any, b: Optional[Any] = None, c: typing.Any = 1, d: object = None",
    "a: list, b: List, c: List[int], d: list[dict], e: List[List[Any]]",
    "a: dict, b: Dict, c: Dict[str, Any], d: dict[str, int], e: Dict[str, List[str]]",
    "a: Optional[Dict[str, str]] = None, b: Optional[Dict] = None, c: t.Dict[str, t.Any] = None",
    "a: Literal['x', 'y'], b: Literal['x'], c: Literal[1, 'x'], d: Literal[True] = True",
    "a: Optional[Literal['q']] = None",
    "a: Union[bool, Dict[str, Any]], b: Optional[Union[bool, Literal['basic', 'advanced']]] = False",
    "a: Mode = 'fast', b: Modes = None",
    "a: int = LIMIT, b: float = SLOW, c: int = LESS, d: str = WORD",
    "a: float = -45.0, b: int = +1",
    "a: tuple, b: Tuple[int, ...], c: set, d: Set[str], e: frozenset[int]",
    "a: Sequence[str], b: Mapping[str, int], c: typing.Sequence[int] = (), d: Text = ''",
    "a: datetime.datetime, b: datetime.date, c: uuid.UUID, d: pathlib.Path, e: bytes, f: datetime.timedelta",
    "a: Annotated[str, 'what it is'], b: Annotated[Optional[int], 'how many', 'more'] = None",
    "a: list[str] = [], b: dict = {'x': 1}",
    "*, a: int, b: int = 1",
    "a: int, /, b: int = 1",
    "a: str, **kwargs: Any",
    "a: str, *args: int",
    "a: str, agent: Any = None",
    "a: Optional[List[Dict[str, Union[str, int]]]] = None",
)
DOCS = (
    '"""Do it."""',
    '"""Do it.\n\n    Args:\n        a: The first, of\n            two lines.\n        b (int): The second.\n\n    """',
    '"""Do it.\n\n    :param a: The first.\n    :returns: A text.\n    """',
    '"""Do it.\n\n    Parameters\n    ----------\n    a : str\n        The first.\n    """',
)


def _read(source: str, name: str = "made_here") -> list[SourceTool]:
    raw = source.encode()
    return tools_of_module(name, lambda module: (f"{name}.py", raw) if module == name else None)


def _load(source: str, folder: Path, name: str) -> object:
    file = folder / f"{name}.py"
    file.write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


def _same(found: SourceTool, loaded: object) -> None:
    spec = getattr(loaded, found.attribute or "").tool_spec
    assert found.name == spec["name"]
    assert found.description == spec["description"]
    assert found.input_schema == spec["inputSchema"]["json"]
    assert found.unknown == ()


@pytest.mark.parametrize("future", [False, True], ids=["", "postponed"])
@pytest.mark.parametrize("parameters", SEEN)
def test_the_schema_of_parameters_is_the_one_of_the_sdk(parameters: str, future: bool, tmp_path: Path) -> None:
    body = f"@tool\ndef made({parameters}):\n    '''Do it.'''\n"
    source = ("from __future__ import annotations\n" if future else "") + HEAD + body
    (found,) = _read(source)
    _same(found, _load(source, tmp_path, "made_here"))


@pytest.mark.parametrize("doc", DOCS)
def test_the_descriptions_of_parameters_are_those_of_the_sdk(doc: str, tmp_path: Path) -> None:
    source = f"{HEAD}@tool\ndef made(a: str, b: int = 1, c: str = ''):\n    {doc}\n    return ''\n"
    (found,) = _read(source)
    _same(found, _load(source, tmp_path, "made_here"))


@pytest.mark.parametrize(
    "function",
    [
        "@tool(context=True)\ndef made(a: str, tool_context: ToolContext): 'Do.'",
        "@tool(context='ctx')\ndef made(a: str, ctx: ToolContext): 'Do.'",
        "@tool(name='other', description='Says.')\ndef made(a: str): 'Do.'",
        "@tool(description=WORD)\ndef made(a: str): 'Do.'",
        "@tool(description='a ' + 'b')\ndef made(a: str): 'Do.'",
        "@tool\n@logged\ndef made(a: str, b: int = 2): 'Do.'",
        "@tool\n@deprecated('old')\ndef made(a: str): 'Do.'",
        "@tool\nasync def made(a: str): 'Do.'",
        "import strands\n@strands.tool\ndef made(a: str): 'Do.'",
        "from strands import tool as t2\n@t2\ndef made(a: str): 'Do.'",
    ],
)
def test_forms_of_the_decorator(function: str, tmp_path: Path) -> None:
    (found,) = _read(HEAD + function)
    _same(found, _load(HEAD + function, tmp_path, "made_here"))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("@tool\ndef made(a: Body): 'Do.'", "Body"),
        ("@tool\ndef made(a: Colour): 'Do.'", "Colour"),
        ("@tool\ndef made(a: Annotated[int, Field(ge=1)]): 'Do.'", "Field"),
        ("@tool\ndef made(a: int = Field(default=1, ge=1)): 'Do.'", "Field"),
        ("@tool\ndef made(a: List[Body]): 'Do.'", "Body"),
        ("@tool\ndef made(a: Dict[int, str]): 'Do.'", "Dict[int, str]"),
        ("@tool\ndef made(a: missing.Thing): 'Do.'", "missing.Thing"),
        ("@tool\ndef made(a: 'not a type('): 'Do.'", "not a type"),
        ("def f(): return 'x'\n@tool(description=f())\ndef made(a: int): 'Do.'", "description"),
        ("@tool(inputSchema=dict(json={}))\ndef made(a: int): 'Do.'", "input schema"),
        ("@tool(**{'context': True})\ndef made(a: int): 'Do.'", "context"),
        ("@tool\n@changed\ndef made(a: int): 'Do.'", "@changed"),
        ("@logged\n@tool\ndef made(a: int): 'Do.'", "@logged"),
        ("if LIMIT:\n    @tool\n    def made(a: int): 'Do.'", "bound to something else"),
        ("@tool\ndef made(a: int): 'Do.'\nmade = None", "bound to something else"),
        ("str = int\n@tool\ndef made(a: str): 'Do.'", ""),
        ("Mode = Body\n@tool\ndef made(a: Mode): 'Do.'", "Mode"),
        ("if LIMIT:\n    Maybe = str\n@tool\ndef made(a: Maybe): 'Do.'", "Maybe"),
    ],
)
def test_what_only_loading_shows_is_unknown_with_its_reason(function: str, reason: str) -> None:
    (found,) = _read(HEAD + function)
    assert found.unknown or not reason
    assert reason in " ".join(found.unknown)


def test_a_default_that_is_code_is_left_out_and_named() -> None:
    (found,) = _read(f"{HEAD}import os\n@tool\ndef made(a: int = LIMIT + 1, b: str = os.sep): 'Do.'")
    assert found.computed == ("a", "b")
    assert found.input_schema is not None
    assert "default" not in found.input_schema["properties"]["a"]
    assert "required" not in found.input_schema


@pytest.mark.parametrize(
    ("default", "reason"),
    [
        ("os.cpu_count()", ""),
        ("os.environ.get('A', 'b').strip()", ""),
        ("dict(a=1)", ""),
        ("' '.join(['a'])", ""),
        ("Field(description='How many')", "Field"),
        ("made_elsewhere()", "made_elsewhere"),
        ("Body(text='a')", "Body"),
    ],
)
def test_a_default_that_is_called_is_left_out_unless_it_may_be_pydantics(default: str, reason: str) -> None:
    (found,) = _read(f"{HEAD}import os\nfrom acme import made_elsewhere\n@tool\ndef made(a: Any = {default}): 'Do.'")
    assert found.computed == ("a",)
    assert found.unknown == () if not reason else reason in found.unknown[0]


def test_of_two_definitions_of_one_name_the_later_one_is_the_tool() -> None:
    (found,) = _read(f"{HEAD}@tool\ndef made(a: int): 'First.'\n@tool\ndef made(b: int): 'Second.'")
    assert (found.description, found.unknown) == ("Second.", ())


def test_another_librarys_tool_is_not_one() -> None:
    assert _read("from langchain.tools import tool\n@tool\ndef made(a: int): 'Do.'") == []


def test_nothing_that_is_read_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    code = f"open({str(mark)!r}, 'w')"
    source = f"{HEAD}{code}\n@tool\ndef made(a: {code} = {code}): 'Do.'\n"
    ast.parse(source)
    assert _read(source)[0].unknown
    assert not mark.exists()
