from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.catalog.manifest import differences
from strands_cli.errors import InvalidInput
from strands_cli_dev.child_import import ImportFailure, import_in_child
from strands_cli_dev.plugin_check.manifests import check_manifests, make_manifests, write_manifests
from strands_cli_dev.plugin_check.plugin_project import read_project
from tests.distributions import GROUP, SCHEMA, make_distribution, module_source
from tests.wordings import Wording

pytestmark = pytest.mark.wheels

PACKAGE = "strands_tool_foo"
MANIFEST = f"src/{PACKAGE}/strands_tools.json"


def project(directory: Path, entry_points: dict[str, str], files: dict[str, str]) -> Path:
    lines = "".join(f'{name} = "{value}"\n' for name, value in entry_points.items())
    text = f'[project]\nname = "strands-tool-foo"\n[project.entry-points."{GROUP}"]\n{lines}'
    (directory / "src" / PACKAGE).mkdir(parents=True)
    (directory / "pyproject.toml").write_text(text)
    for path, contents in {"__init__.py": "", **files}.items():
        (directory / "src" / PACKAGE / path).write_text(contents)
    return directory


def made(directory: Path) -> list[dict[str, Any]]:
    (document,) = make_manifests(read_project(directory)).values()
    assert {key: document[key] for key in document if key != "tools"} == {
        "manifest_version": 1,
        "api": {"min": 1, "max": 1},
        "distribution": "strands-tool-foo",
    }
    tools: list[dict[str, Any]] = document["tools"]
    return tools


def test_a_literal_spec_is_read_and_never_imported(tmp_path: Path) -> None:
    source = module_source("foo", annotations={"readOnlyHint": True}) + "\nraise SystemExit('imported')\n"
    (tool,) = made(project(tmp_path, {"foo": PACKAGE}, {"__init__.py": source}))
    assert tool == {
        "name": "foo",
        "entry": PACKAGE,
        "kind": "module",
        "description": "Does foo.",
        "input_schema": SCHEMA,
        "annotations": {"readOnlyHint": True},
        "strands_cli": {},
    }


COMPUTED = """
NAME = "foo"
print("noise on stdout")
TOOL_SPEC = {"name": NAME, "description": "Computed.", "inputSchema": {"json": {"type": "object"}}}
def foo(tool, **kwargs): ...
"""
SDK = "from strands import tool\nfrom strands_cli.metadata import tool_metadata\n"
FUNCTION = SDK + "@tool_metadata(read_only=True, timeout_s=3)\n@tool\ndef foo(text: str) -> str:\n    'Says it.'\n"
CLASS = f"""{SDK}
class Db:
    @tool_metadata(destructive=True)
    @tool
    def query(self, sql: str) -> str:
        'Q.'
"""
SUITE = SDK + "@tool\ndef one(a: int) -> int:\n    'One.'\n@tool\ndef two(a: int) -> int:\n    'Two.'\n"
SPECS = (
    "X = {}\nTOOL_SPECS = [dict(name=n, description=n, inputSchema=X) for n in ('a', 'b')]\n"
    + "def a(tool): ...\ndef b(tool): ...\n"
)
AGENT_TOOL = """
from strands.types.tools import AgentTool
class Foo(AgentTool):
    tool_name = "foo"
    tool_type = "python"
    tool_spec = {"name": "foo", "description": "An AgentTool.", "inputSchema": {"json": {"type": "object"}}}
    async def stream(self, tool_use, invocation_state, **kwargs):
        yield None
"""
PROVIDER = f"""from strands.tools import ToolProvider
{SUITE}
async def provide():
    return [one, two]

class Provider(ToolProvider):
    async def load_tools(self, **kwargs):
        return [two]
    def add_consumer(self, consumer_id, **kwargs): ...
    def remove_consumer(self, consumer_id, **kwargs): ...
"""


@pytest.mark.parametrize(
    ("source", "attribute", "kind", "names"),
    [
        (COMPUTED, "", "module", ["foo"]),
        (FUNCTION, ":foo", "function", ["foo"]),
        (FUNCTION, "", "function", ["foo"]),
        (CLASS, ":Db", "class", ["query"]),
        (CLASS + "db = Db()\n", ":db", "class", ["query"]),
        (SUITE, "", "suite", ["one", "two"]),
        (SPECS, "", "suite", ["a", "b"]),
        (AGENT_TOOL, ":Foo", "agent_tool", ["foo"]),
        (AGENT_TOOL + "foo = Foo()\n", ":foo", "agent_tool", ["foo"]),
        (PROVIDER, ":provide", "provider", ["one", "two"]),
        (PROVIDER, ":Provider", "provider", ["two"]),
    ],
    ids=[
        "computed",
        "function",
        "lone",
        "class",
        "instance",
        "suite",
        "specs",
        "agent",
        "agent-instance",
        "call",
        "provider",
    ],
)
def test_what_is_not_literal_is_imported_in_a_child_process(
    tmp_path: Path, source: str, attribute: str, kind: str, names: list[str]
) -> None:
    tools = made(project(tmp_path, {"foo": PACKAGE + attribute}, {"__init__.py": source}))
    assert [(tool["kind"], tool["name"]) for tool in tools] == [(kind, name) for name in names]
    assert all(tool["description"] for tool in tools)
    assert all(isinstance(tool["input_schema"], dict) for tool in tools)


def test_threads_that_an_import_leaves_do_not_hold_us(tmp_path: Path) -> None:
    waits = "import threading\nthreading.Thread(target=threading.Event().wait).start()\n"
    (tool,) = made(project(tmp_path, {"foo": PACKAGE}, {"__init__.py": waits + COMPUTED}))
    assert tool["description"] == "Computed."


def test_an_import_that_hangs_or_writes_to_us_does_neither(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    noisy = "import os\nos.write(1, b'noise')\nos.write(2, b'noise')\n"
    directory = project(tmp_path, {"foo": PACKAGE}, {"__init__.py": noisy + COMPUTED})
    assert made(directory)
    assert capfd.readouterr() == ("", "")
    (directory / MANIFEST).parent.joinpath("__init__.py").write_text("import threading\nthreading.Event().wait()")
    with pytest.raises(ImportFailure) as caught:
        import_in_child([str(directory / "src")], PACKAGE, [None], 1)
    assert caught.value.timed_out


@pytest.mark.parametrize(
    "source",
    [
        "X = {}\nTOOL_SPEC = dict(name='foo', description='D', inputSchema=X)",
        "X = 1j\nTOOL_SPEC = dict(name='foo', description=X, inputSchema={})\ndef foo(tool): ...",
        "class Foo: ...",
        "raise BaseException('odd')",
    ],
)
def test_what_could_never_be_called_gets_no_manifest(tmp_path: Path, source: str, wording: Wording) -> None:
    value = f"{PACKAGE}:Foo" if "Foo" in source else PACKAGE
    with pytest.raises(InvalidInput) as caught:
        make_manifests(read_project(project(tmp_path, {"foo": value}, {"__init__.py": source})))
    wording(caught.value.findings[0].message)


def test_tool_metadata_reaches_the_manifest(tmp_path: Path) -> None:
    (tool,) = made(project(tmp_path, {"foo": f"{PACKAGE}:foo"}, {"__init__.py": FUNCTION}))
    assert (tool["annotations"], tool["strands_cli"]) == ({"readOnlyHint": True}, {"timeout_s": 3})
    assert tool["input_schema"]["required"] == ["text"]


def test_a_written_manifest_passes_its_own_check_and_the_catalog(tmp_path: Path) -> None:
    directory = project(tmp_path, {"foo": PACKAGE}, {"__init__.py": module_source("foo")})
    (file,) = write_manifests(read_project(directory))
    assert file == directory / MANIFEST
    assert check_manifests(read_project(directory)) == []
    make_distribution(tmp_path / "src", "strands-tool-foo", entry_points={"foo": PACKAGE})
    found = discover_catalog([str(tmp_path / "src")])
    record = found.get("foo")
    assert found.findings == ()
    assert record is not None
    assert record.manifest == str(file)
    assert [path.name for path in file.parent.iterdir() if "tmp" in path.name] == []


def test_what_no_code_says_is_kept_when_writing_again(tmp_path: Path) -> None:
    directory = project(tmp_path, {"foo": PACKAGE}, {"__init__.py": module_source("foo")})
    file = directory / MANIFEST
    write_manifests(read_project(directory))
    document = json.loads(file.read_text())
    document["api"] = {"min": 1, "max": 2}
    document["tools"][0] |= {"family": "words", "examples": [{"input": {"text": "x"}}], "description": "Stale."}
    file.write_text(json.dumps(document))
    write_manifests(read_project(directory))
    again = json.loads(file.read_text())
    assert again["api"] == {"min": 1, "max": 2}
    assert (again["tools"][0]["family"], again["tools"][0]["description"]) == ("words", "Does foo.")
    assert again["tools"][0]["examples"] == [{"input": {"text": "x"}}]


def test_drift_names_every_differing_field(tmp_path: Path) -> None:
    directory = project(tmp_path, {"foo": PACKAGE}, {"__init__.py": module_source("foo")})
    write_manifests(read_project(directory))
    file = directory / MANIFEST
    document = json.loads(file.read_text())
    document["distribution"] = "strands-tool-bar"
    document["tools"][0]["description"] = "Old."
    document["tools"][0]["input_schema"]["properties"] = {"text": {"type": "integer"}}
    document["tools"][0]["annotations"] = {"readOnlyHint": True}
    file.write_text(json.dumps(document))
    found = [
        (finding.where.pointer if finding.where else "", *re.findall('"(.*?)"', finding.message))
        for finding in check_manifests(read_project(directory))
        if finding.code == "manifest-drift"
    ]
    assert found == [
        ("/distribution", "strands-tool-bar", "strands-tool-foo"),
        ("/tools/0/description", "Old.", "Does foo."),
        ("/tools/0/input_schema/properties/text/type", "integer", "string"),
        ("/tools/0/annotations/readOnlyHint",),
    ]


def test_the_order_of_tools_is_not_drift_and_a_missing_one_is(tmp_path: Path) -> None:
    files = {"a.py": module_source("a"), "b.py": module_source("b")}
    directory = project(tmp_path, {"b": f"{PACKAGE}.b", "a": f"{PACKAGE}.a"}, files)
    write_manifests(read_project(directory))
    file = directory / MANIFEST
    document = json.loads(file.read_text())
    assert [tool["name"] for tool in document["tools"]] == ["a", "b"]
    document["tools"].reverse()
    file.write_text(json.dumps(document))
    assert check_manifests(read_project(directory)) == []
    del document["tools"][0]
    file.write_text(json.dumps(document))
    assert [finding.code for finding in check_manifests(read_project(directory))] == ["manifest-drift"]


def test_no_manifest_at_all_is_drift(tmp_path: Path, wording: Wording) -> None:
    directory = project(tmp_path, {"foo": PACKAGE}, {"__init__.py": module_source("foo")})
    (finding,) = check_manifests(read_project(directory))
    wording(finding.message)


@pytest.mark.parametrize(
    ("value", "source"),
    [
        (PACKAGE, "import no_such_module_here"),
        (PACKAGE, "import os; os._exit(3)"),
        (PACKAGE, "import sys; sys.exit('bye')"),
        (PACKAGE, "def ("),
        (PACKAGE, "x = 1"),
        (f"{PACKAGE}:absent", ""),
        (f"{PACKAGE}:provide", "def provide(): return [3]"),
        (f"{PACKAGE}.absent", ""),
        ("other_package", ""),
        (PACKAGE, module_source("bar")),
    ],
)
def test_code_that_holds_no_tool_says_what_is_wrong(tmp_path: Path, value: str, source: str, wording: Wording) -> None:
    directory = project(tmp_path, {"foo": value}, {"__init__.py": source})
    with pytest.raises(InvalidInput) as caught:
        make_manifests(read_project(directory))
    wording(caught.value.findings[0].message)


def test_a_single_file_cannot_carry_a_manifest(tmp_path: Path, wording: Wording) -> None:
    directory = project(tmp_path, {"foo": "lonely"}, {})
    (directory / "src" / "lonely.py").write_text(module_source("foo"))
    with pytest.raises(InvalidInput) as caught:
        make_manifests(read_project(directory))
    wording(caught.value.findings[0].fix)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "[project",
        "[project]\nname = 'x'\n",
    ],
)
def test_a_directory_that_is_not_a_plugin_says_so(tmp_path: Path, text: str | None, wording: Wording) -> None:
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(InvalidInput) as caught:
        read_project(tmp_path)
    wording(caught.value.findings[0].message)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab/~"), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None)
@example([True], [1])
@example({"a/b": 0}, {"a/b": False})
@given(JSON, JSON)
def test_documents_differ_exactly_where_they_are_not_equal(old: Any, new: Any) -> None:
    assert list(differences(old, old)) == []
    same = json.dumps(old, sort_keys=True) == json.dumps(new, sort_keys=True)
    assert (list(differences(old, new)) == []) == same
