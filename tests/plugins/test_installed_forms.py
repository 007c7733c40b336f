"""Every form of tool, from an installed wheel: called by a model, by a step without one, and by hand."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from strands_cli import app
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.engine.journal.sqlite_journal import SqliteJournal
from strands_cli.planning.machine.installation import read_installation
from strands_cli.policy.decision import Policy
from tests.cli.strands import Folder
from tests.cli.test_resume import LIVE, live, run_id
from tests.fakes.model_server import ModelServer, Turn
from tests.plugins import zoo
from tests.plugins.installed import install, make_wheel

CONFIG = {"word": "w"}
TOOLS = {member: name for name, form in zoo.FORMS.items() for member in form.members or (name,)}
KEYS = sorted(
    [
        "call_key",
        "cancel",
        "config",
        "connection_refusal",
        "context",
        "deadline",
        "idempotency_key",
        "run_id",
        "secrets",
        "workspace",
    ]
)


@pytest.fixture(scope="session", params=["manifest", "source"])
def zoo_site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("zoo")
    sources = zoo.files(manifest=request.param == "manifest")
    install(make_wheel(place, zoo.DISTRIBUTION, "1.0", sources, zoo.entries()), place / "site")
    return place / "site"


@pytest.fixture
def folder(tmp_path: Path, zoo_site: Path) -> Folder:
    made = Folder(tmp_path)
    made.work.mkdir()
    made.site.symlink_to(zoo_site)
    return made


def check(member: str, said: dict[str, Any], root: Path, config: dict[str, Any]) -> None:
    """Compare what a tool says it was given with what its form is to be given."""
    form = zoo.FORMS[TOOLS[member]]
    assert said["text"] == f"to {member}"
    if form.contract or member == "suite_get":
        assert said["keys"] == KEYS, member
        assert (said["config"], said["root"]) == (config, str(root))
        assert (said["deadline"], said["cancelled"]) == ("float", False)
    if form.made_with:
        assert said["made_with"] == config, member


def test_a_model_calls_them_all_in_one_turn(folder: Folder) -> None:
    tools = [{"tool": f"native:{name}", "config": CONFIG} for name in zoo.FORMS]
    folder.workflow(
        [{"agent": "writer", "input": "Go."}], runtime=LIVE, agents={"writer": {"prompt": "You call.", "tools": tools}}
    )
    calls = [(member, {"text": f"to {member}"}) for member in TOOLS]
    with ModelServer([Turn(calls=calls), Turn("done")]) as server:
        ran = folder.strands("run", "flow.yaml", "--yes", "--events", "events.jsonl", **live(server))
        assert (ran.code, ran.out) == (0, "done\n"), ran.err
        offered = {one["function"]["name"] for one in server.model_requests[0]["tools"]}
        told = [message for message in server.model_requests[1]["messages"] if message["role"] == "tool"]
    assert offered == set(TOOLS)
    said = dict(zip(TOOLS, (json.loads(text_of(message)) for message in told), strict=True))
    for member, one in said.items():
        check(member, one, folder.work, CONFIG)
    # One instance for all tools of the class, and for the whole run.
    assert [said[name]["made"] for name in ("box_put", "box_get")] == [1, 1]
    assert [said[name]["calls"] for name in ("box_put", "box_get", "thing_put", "thing_get")] == [1, 2, 1, 2]
    events = [json.loads(line) for line in (folder.work / "events.jsonl").read_text().splitlines()]
    halfway = {event["tool"] for event in events if event.get("value") == "half way"}
    assert halfway >= {name for name, form in zoo.FORMS.items() if form.streams}


def text_of(message: dict[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def test_steps_without_a_model_call_them_all(folder: Folder) -> None:
    refs = {
        member: f"native:{name}" + (f".{member}" if zoo.FORMS[name].members else "") for member, name in TOOLS.items()
    }
    folder.workflow([{"tool": ref, "input": {"text": f"to {member}"}} for member, ref in refs.items()])
    ran = folder.strands("run", "flow.yaml", "--yes")
    assert ran.code == 0, ran.err
    with contextlib.closing(SqliteJournal.open(folder.runs / run_id(folder), hold=False)) as journal:
        rows = list(journal.rows("tool"))
    assert [row.key.rpartition(".")[2] for row in rows] == list(TOOLS)
    for member, row in zip(TOOLS, rows, strict=True):
        check(member, json.loads(row.output["content"][0]["text"]), folder.work, {})


def test_each_is_called_by_hand(zoo_site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(zoo_site))
    catalog = discover_catalog([str(zoo_site)])
    for member, name in TOOLS.items():
        ref = f"native:{name}" + (f".{member}" if zoo.FORMS[name].members else "")
        planned = app.plan_tool(ref, read_installation(policy=Policy(), catalog=catalog))
        result = asyncio.run(app.run_tool(planned, {"text": f"to {member}"}))
        assert result["status"] == "success", result
        check(member, json.loads(result["content"][0]["text"]), tmp_path, {})


def test_a_tool_behind_another_name_is_the_same_tool(folder: Folder) -> None:
    tools = [{"tool": "native:box.box_put", "as": "keep"}, {"tool": "native:mod", "as": "echo"}]
    agents = {"writer": {"prompt": "You call.", "tools": tools}}
    calls = [{"keep": {"text": "to box_put"}}, {"echo": {"text": "to mod"}}]
    folder.workflow(
        [{"agent": "writer", "input": "Go."}], {"steps.0": [{"calls": calls}, {"text": "ok"}]}, agents=agents
    )
    ran = folder.strands("run", "flow.yaml", "--yes")
    assert (ran.code, ran.out) == (0, "ok\n"), ran.err
    with contextlib.closing(SqliteJournal.open(folder.runs / run_id(folder), hold=False)) as journal:
        assert {row.output["status"] for row in journal.rows("tool")} == {"success"}
