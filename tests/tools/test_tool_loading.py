"""Plugins are imported once, from nowhere else than they were found, and refused where they differ from their word."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from strands_cli.errors import Denied, ExitCode, NotEquipped
from strands_cli.tools.tool_loading import close_the_current_directory, custom_folders, load_tools
from tests.agents.kit import SCHEMA, RunContext, Script, Site, asking, calling, run, text
from tests.distributions import booby_trapped, exits_on_import, make_distribution
from tests.wordings import Wording

ECHO = "def echo(tool, **kwargs):\n    return {'status': 'success', 'content': [{'text': 'real'}]}\n"
DECORATED = "from strands import tool\n@tool\ndef echo(text: str) -> str:\n    return 'real'\n"


def spec(name: str = "echo", schema: Any = None, **more: Any) -> str:
    return f"TOOL_SPEC = {dict(name=name, description='Echo.', inputSchema={'json': schema or SCHEMA}, **more)!r}\n"


# -- against the manifest

TWO = {"type": "object", "properties": {"text": {"type": "string"}, "extra": {"type": "string"}}, "required": ["text"]}
FREE = {"type": "object", "properties": {"text": {"type": "string"}}}


@pytest.mark.parametrize(
    ("source", "declared", "differs"),
    [
        (spec("other").replace("echo", "other") + ECHO.replace("echo", "other"), {}, "other"),
        (spec(schema=TWO) + ECHO, {}, "properties"),
        (spec(schema=FREE) + ECHO, {}, "required"),
        (spec() + ECHO, {"annotations": {"readOnlyHint": True}}, "annotations"),
        (spec(annotations={"destructiveHint": True}) + ECHO, {}, "annotations"),
        (spec(strands_cli={"timeout_s": 5}) + ECHO, {"strands_cli": {"timeout_s": 50}}, "strands_cli"),
        (
            spec(annotations={"destructiveHint": True}) + ECHO,
            {"input_schema": None, "annotations": {"readOnlyHint": True}},
            "annotations",
        ),
    ],
    ids=["name", "properties", "required", "claimed", "concealed", "limits", "no schema"],
)
def test_a_tool_that_is_not_what_its_manifest_says_is_refused_before_any_call(
    site: Site, source: str, declared: dict[str, Any], differs: str, wording: Wording
) -> None:
    site.install(source, declared)
    model = Script("never")
    with pytest.raises(Denied, match=rf"^manifest-mismatch: native:echo .*\b{differs}\b") as caught:
        asking(model, *site.plan("native:echo"))
    wording(caught.value)
    assert model.requests == []
    assert caught.value.exit_code == ExitCode.DENIED
    assert "strands plugin manifest --write" in (caught.value.fix or "")


def test_what_the_model_sees_is_the_manifest_and_not_the_code(site: Site) -> None:
    site.install(spec() + ECHO, {"description": "As declared."})
    model = Script("done")
    asking(model, *site.plan("native:echo"))
    assert model.requests[0]["tools"][0]["description"] == "As declared."


def test_a_tool_without_a_description_is_offered_all_the_same(site: Site) -> None:
    site.install(f"TOOL_SPEC = {{'name': 'echo', 'inputSchema': {SCHEMA!r}}}\n{ECHO}", manifest=False)
    model = Script("done")
    asking(model, *site.plan("native:echo"))
    assert [tool["name"] for tool in model.requests[0]["tools"]] == ["echo"]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"type": "object", "properties": {"text": {"type": "string", "pattern": "("}}},
        {"type": "object", "properties": {"text": {"$ref": "#/$defs/nowhere"}}},
        {"type": "object", "properties": {"text": {"$ref": "http://127.0.0.1:9/schema.json"}}},
    ],
    ids=["type", "pattern", "dangling", "remote"],
)
def test_a_schema_that_cannot_be_used_is_found_before_any_call(
    site: Site, schema: dict[str, Any], wording: Wording
) -> None:
    site.install(spec(schema=schema) + ECHO, manifest=False)
    with pytest.raises(NotEquipped) as raised:
        site.load("native:echo")
    wording(raised.value)


# -- imports


def test_an_import_that_raises_names_the_tool_and_how_to_see_it(site: Site, tmp_path: Path, wording: Wording) -> None:
    booby_trapped(site.directory, "trap", tmp_path / "sentinel")
    with pytest.raises(NotEquipped) as caught:
        site.load("native:trap")
    wording(caught.value.message)
    assert "python -c 'import strands_tool_trap.trap'" in (caught.value.fix or "")
    assert (tmp_path / "sentinel").exists()


def test_an_import_that_raises_gives_no_key_away(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    site.install("import os\nraise RuntimeError(os.environ['OPENAI_API_KEY'])\n")
    with pytest.raises(NotEquipped, match=r"RuntimeError: \[secret\]$"):
        site.load("native:echo")


def test_an_import_that_exits_does_not_end_the_program(site: Site) -> None:
    exits_on_import(site.directory, "leaves")
    with pytest.raises(NotEquipped, match="SystemExit: 7"):
        site.load("native:leaves")


def test_a_module_that_went_missing_after_planning_is_reported(site: Site) -> None:
    site.install(spec() + ECHO)
    planned = site.plan("native:echo")
    (site.directory / "strands_tool_echo" / "__init__.py").write_text("import strands_tool_echo.absent\n")
    with pytest.raises(NotEquipped, match=r"ModuleNotFoundError: No module named 'strands_tool_echo.absent'"):
        run(load_tools(planned))


def test_an_import_cannot_move_the_process_or_its_search_path(site: Site, tmp_path: Path) -> None:
    (tmp_path / "planted").mkdir()
    meddling = f"import os, sys\nsys.path.insert(0, {str(tmp_path / 'planted')!r})\nos.chdir({str(tmp_path)!r})\n"
    site.install(meddling + spec() + ECHO)
    here, path = Path.cwd(), list(sys.path)
    site.load("native:echo")
    assert Path.cwd() == here
    assert sys.path == path


def test_the_current_directory_is_not_a_place_to_import_from(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.install("import custom_bait\n" + spec() + ECHO)
    (Path.cwd() / "custom_bait.py").write_text("raise SystemExit('taken from the current directory')\n")
    for entry in ("", ".", str(Path.cwd())):
        monkeypatch.setattr(sys, "path", [entry, *sys.path])
        with pytest.raises(NotEquipped, match="No module named 'custom_bait'"):
            site.load("native:echo")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")
def test_a_link_to_the_current_directory_is_not_a_place_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "link"), str(tmp_path)])
    close_the_current_directory()
    assert sys.path == [str(tmp_path)]


@pytest.mark.skipif(sys.platform == "win32", reason="a current directory cannot be deleted there")
def test_a_current_directory_that_was_deleted_is_not_an_obstacle(site: Site, tmp_path: Path) -> None:
    site.install(spec() + ECHO)
    planned = site.plan("native:echo")
    gone = tmp_path / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    try:
        sys.path.insert(0, "relative")
        toolbox = run(load_tools(planned))
    finally:
        os.chdir(tmp_path)
    assert [loaded.planned.name for loaded in toolbox.offered(planned)] == ["echo"]
    assert "relative" not in sys.path


def test_loading_that_is_cancelled_is_not_taken_for_a_broken_plugin(site: Site) -> None:
    source = "import asyncio\nBEGUN = []\nasync def provide():\n    BEGUN.append(1)\n    await asyncio.Event().wait()\n"
    site.install(source, name="suite", entry=":provide", manifest=False)

    async def work() -> None:
        task = asyncio.create_task(load_tools(site.plan("native:suite")))
        while not getattr(sys.modules.get("strands_tool_suite"), "BEGUN", ()):
            await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        run(work())


def test_what_was_loaded_is_closed_when_a_later_tool_fails(site: Site, tmp_path: Path) -> None:
    closing = (
        "from strands import tool\nclass Box:\n    @tool\n    def get(self, text: str) -> str:\n        return ''\n"
        f"    def close(self):\n        open({str(tmp_path / 'closed')!r}, 'w').close()\n"
    )
    site.install(closing, name="db", entry=":Box", manifest=False)
    exits_on_import(site.directory, "leaves")
    with pytest.raises(NotEquipped):
        site.load("native:db", "native:leaves")
    assert (tmp_path / "closed").exists()


def test_a_module_is_imported_once_for_all_references(site: Site, tmp_path: Path) -> None:
    log = tmp_path / "log"
    site.install(f"with open({str(log)!r}, 'a') as log:\n    log.write('x')\n" + spec() + ECHO)
    site.load("native:echo", {"tool": "echo", "as": "again"}, {"tool": "native:strands-tool-echo/echo", "as": "third"})
    assert log.read_text() == "x"


@pytest.mark.parametrize("ref", ["strands_tools.echo", "strands_tools.echo.echo", "strands_tools.echo:echo"])
@pytest.mark.parametrize("source", [spec() + ECHO, DECORATED], ids=["TOOL_SPEC", "@tool"])
def test_a_tool_of_the_older_collection_is_called_by_its_old_names(site: Site, ref: str, source: str) -> None:
    files = {"strands_tools/__init__.py": "", "strands_tools/echo.py": source}
    make_distribution(site.directory, "strands-agents-tools", "0.8.10", None, files)
    assert text(site.call(ref)) == "real"


# -- custom Python


@pytest.fixture
def folder(site: Site, tmp_path: Path) -> Path:
    site.python_path = (os.path.relpath(tmp_path / "flow" / "lib"),)
    site.allowed = ("custom_*", "custom_tools.*", "custom_tools:echo", "custom_tools:shout", "custom_tools:Box")
    (tmp_path / "flow" / "lib").mkdir(parents=True)
    (tmp_path / "flow" / "lib" / "custom_tools.py").write_text(
        "from strands import tool\nfrom custom_words import WORD\n"
        + spec()
        + ECHO.replace("'real'", "WORD")
        + "@tool\ndef shout(text: str) -> str:\n    return text.upper()\n"
        "class Box:\n    @tool\n    def put(self, text: str) -> str:\n        return 'put'\n"
        "    @tool\n    def get(self, text: str) -> str:\n        return 'got'\n"
    )
    (tmp_path / "flow" / "lib" / "custom_words.py").write_text("WORD = 'custom'\n")
    return tmp_path / "flow"


@pytest.mark.parametrize(
    ("ref", "name", "said"),
    [
        ("custom_tools:echo", "echo", "custom"),
        ("custom_tools.shout", "shout", "HI"),
        ("custom_tools:Box", "get", "got"),
    ],
)
def test_allowed_python_of_the_workflow_is_found_in_its_own_folders(
    site: Site, folder: Path, ref: str, name: str, said: str
) -> None:
    planned = site.plan(ref)
    path = list(sys.path)
    toolbox = run(load_tools(planned, custom_folders(folder, ["lib"])))
    assert sys.path == path
    loaded = next(tool for tool in toolbox.offered(planned) if tool.planned.name == name)
    answer = run(loaded.raw.invoke({"toolUseId": "1", "name": name, "input": {"text": "hi"}}, {}, print))  # type: ignore[arg-type]
    assert text(answer) == said


def test_an_installed_module_wins_over_one_in_the_workflows_folder(site: Site, folder: Path) -> None:
    (site.directory / "custom_tools.py").write_text(spec() + ECHO)
    planned = site.plan("custom_tools:echo")
    toolbox = run(load_tools(planned, custom_folders(folder, ["lib"])))
    [loaded] = toolbox.offered(planned)
    answer = run(loaded.raw.invoke({"toolUseId": "1", "name": "echo", "input": {}}, {}, print))  # type: ignore[arg-type]
    assert text(answer) == "real"


def test_installed_plugins_do_not_find_modules_in_the_workflows_folder(site: Site, folder: Path) -> None:
    site.install("import custom_words\n" + spec() + ECHO)
    with pytest.raises(NotEquipped, match="No module named 'custom_words'"):
        run(load_tools(site.plan("native:echo"), custom_folders(folder, ["lib"])))


@pytest.mark.parametrize("entry", ["..", "lib/../..", "/", "escape"])
def test_a_python_path_outside_the_workflows_folder_is_denied(
    site: Site, folder: Path, entry: str, wording: Wording
) -> None:
    if hasattr(os, "symlink") and sys.platform != "win32":
        (folder / "escape").symlink_to(folder.parent)
    with pytest.raises(Denied) as raised:
        run(load_tools(site.plan("custom_tools:echo"), custom_folders(folder, [entry])))
    wording(raised.value)


def test_a_python_path_inside_is_a_list_of_folders(folder: Path) -> None:
    assert custom_folders(folder, [".", "lib"]) == [str(folder.resolve()), str((folder / "lib").resolve())]


def test_a_tool_gets_its_contract(site: Site) -> None:
    said = "{k: (v if k in ('config', 'workspace', 'secrets') else type(v).__name__) for k, v in strands_cli.items()}"
    source = (
        spec() + f"def echo(tool, strands_cli):\n    return {{'status': 'success', 'content': [{{'json': {said}}}]}}\n"
    )
    declared = {"capabilities": {"secrets": ["token"]}}
    source = source.replace("TOOL_SPEC = {", f"TOOL_SPEC = {{'strands_cli': {declared}, ", 1)
    site.install(source, {"config_schema": {"type": "object"}, "strands_cli": declared})
    [planned] = site.plan({"tool": "native:echo", "config": {"size": [1]}})
    result = calling(planned, {"text": "hi"}, host=RunContext())
    assert result["content"] == [
        {
            "json": {
                "config": {"size": [1]},
                "workspace": {"root": "/nowhere"},
                "secrets": {"token": "t"},
                "deadline": "float",
                "cancel": "Event",
                "context": "dict",
                "run_id": "NoneType",
                "call_key": "str",
                "idempotency_key": "NoneType",
                "connection_refusal": "function",
            }
        }
    ]
