"""Servers together with imports, workflows as tools, tools that are loaded again, plugins that watch."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
import sys

import pytest

from tests.fakes.model_server import Turn
from tests.servers.conftest import Site, tool
from tests.yaml_texts import read_yaml, write_yaml

# Each test starts processes, and waits for them.
pytestmark = pytest.mark.hostile


def imported(program: str, site: Site) -> list[str]:
    """Return which of the packages of servers a program has imported in the end."""
    shown = "import sys; print([name for name in ('mcp', 'strands', 'anyio') if name in sys.modules])"
    ran = subprocess.run(
        [sys.executable, "-c", f"{program}\n{shown}"], cwd=site.world.folder, capture_output=True, text=True, check=True
    )
    found: list[str] = read_yaml(ran.stdout.splitlines()[-1])
    return found


def test_planning_a_workflow_with_servers_imports_nothing_of_theirs(site: Site) -> None:
    site.add()
    (site.world.folder / "flow.yaml").write_text(write_yaml(site.world.document(site.text())))
    planned = "from strands_cli import app\nassert app.plan('flow.yaml').agents['a'].tools"
    assert imported(planned, site) == []


def test_a_workflow_that_is_a_tool_has_servers_of_its_own(site: Site) -> None:
    site.add("inner", calls={"read": {"text": "a page"}})
    steps = [{"tool": "mcp:inner/read", "input": {"text": "x"}}]
    part = site.world.document(site.text(pattern={"type": "chain", "config": {"steps": steps}}))
    (site.world.folder / "part.yaml").write_text(write_yaml(part))
    inner = site.servers.pop()
    site.run(("part", {}), more={"agents": {"a": {"prompt": "You help.", "tools": ["workflow:./part.yaml"]}}})
    site.servers.append(inner)
    assert "a page" in site.results()[0]
    assert site.called("inner") == [("read", {"text": "x"})]
    assert site.alive() == []


def test_two_agents_share_a_server(site: Site) -> None:
    site.add(tools=[tool("read")])
    agents = {name: {"prompt": "You help.", "tools": ["mcp:docs"]} for name in ("a", "b")}
    steps = [{"agent": "a", "input": "one"}, {"agent": "b", "input": "two"}]
    site.world.turns = [Turn(calls=[("read", {})]), Turn("x"), Turn(calls=[("read", {})]), Turn("y")]
    ran = site.world.run(site.text(agents=agents, pattern={"type": "chain", "config": {"steps": steps}}), yes=True)
    assert ran.error is None, ran.error
    assert len(site.called()) == 2
    assert len(site.started()) == 1


def test_a_run_that_is_stopped_while_its_servers_start_leaves_none(site: Site) -> None:
    from strands_cli import Workflow

    site.add(silent=True, stubborn=True)
    site.add("other")
    file = site.world.folder / "flow.yaml"
    file.write_text(write_yaml(site.world.document(site.text())))

    async def go() -> None:
        run = asyncio.create_task(Workflow.from_file(file).run_async(yes=True, runs_dir=site.world.folder / "runs"))
        while not (site.started() and site.started("other")):
            await asyncio.sleep(0.01)
        run.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await run

    asyncio.run(go())
    assert site.alive() == []
