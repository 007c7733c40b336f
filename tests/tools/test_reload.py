"""A plugin that changes during a run is loaded again between two calls, and what it held is closed first."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from strands_cli.agents.assemble import tools_of_plan
from strands_cli.engine.scope import StepScope
from strands_cli.engine.standalone import StandaloneRun
from strands_cli.errors import Denied
from strands_cli.tools.manifest_check import LoadedTool
from strands_cli.tools.reload import Reloader
from strands_cli.tools.tool_loading import load_tools
from tests.agents.kit import Site
from tests.agents.test_assemble import BOX, planned

LOGGED = BOX.replace("log = []", "from pathlib import Path").replace(
    "log.append('closed')", "\n        with Path('log').open('a') as log: log.write('closed old')"
)


class Held:
    """A run's box of one tool, as `--watch` holds it, and the file it is in."""

    def __init__(self, site: Site, source: str = LOGGED, **install: Any) -> None:
        site.install(source, name="box", **{"entry": ":Box", "manifest": False, **install})
        self.plan = planned(site, "[native:box]")
        self.reloader = Reloader(self.plan, partial(load_tools, base_dir=self.plan.base_dir))
        (self.file,) = (site.directory / "strands_tool_box").glob("__init__.py")

    async def load(self) -> tuple[LoadedTool, StepScope]:
        toolbox = await self.reloader.load_all(tools_of_plan(self.plan))
        return toolbox.get(tools_of_plan(self.plan)[0])[0], StandaloneRun().scope()

    def edit(self, old: str, new: str) -> None:
        text = self.file.read_text(encoding="utf-8")
        assert old in text
        self.file.write_text(text.replace(old, new), encoding="utf-8")

    async def call(self, tool: LoadedTool, scope: StepScope) -> str:
        async with self.reloader.as_it_is_now(tool, scope) as now:
            return await said_by(now)


async def said_by(tool: LoadedTool) -> str:
    tool_use = {"toolUseId": "t", "name": tool.planned.name, "input": {"text": "x"}}
    answer: Any = await tool.raw.invoke(tool_use, {}, lambda _: None)
    return str(answer["content"][0]["text"])


def test_a_call_in_flight_keeps_the_tool_it_began_with_and_the_next_one_waits_for_it(site: Site) -> None:
    held = Held(site)

    async def work() -> None:
        tool, scope = await held.load()
        async with held.reloader.as_it_is_now(tool, scope) as now:
            held.edit("'boxed '", "'newly '")
            following = asyncio.create_task(held.call(tool, scope))
            done, _ = await asyncio.wait({following}, timeout=0.3)
            assert not done, "the plugin is loaded again under a call"
            assert await said_by(now) == "boxed x"
        assert await following == "newly x"
        await held.reloader.toolbox.close()

    asyncio.run(work())


def test_what_the_old_one_held_is_closed_once_and_the_new_one_at_the_end(site: Site) -> None:
    held = Held(site)

    async def work() -> list[str]:
        tool, scope = await held.load()
        held.edit("closed old", "closed new")
        logs = [Path("log").exists()]
        await held.call(tool, scope)
        logs.append(Path("log").read_text() == "closed old")
        assert logs == [False, True]
        return await held.reloader.toolbox.close()

    assert asyncio.run(work()) == []
    assert Path("log").read_text() == "closed oldclosed new"


def test_a_plugin_that_cannot_be_imported_is_out_of_order_until_it_can_again(site: Site) -> None:
    held = Held(site)

    async def work() -> list[str]:
        tool, scope = await held.load()
        said = []
        for old, new in [("pathlib", "no_such_module"), ("no_such_module", "pathlib")]:
            held.edit(old, new)
            said += [await held.call(tool, scope), await held.call(tool, scope)]
        await held.reloader.toolbox.close()
        return said

    *broken, mended, again = asyncio.run(work())
    assert all("unavailable: " in said and "native:box" in said and "no_such_module" in said for said in broken)
    assert mended == again == "boxed x"


def test_a_tool_that_is_gone_stays_what_it_was_for_this_run(site: Site) -> None:
    held = Held(site)

    async def work() -> str:
        tool, scope = await held.load()
        held.edit("class Box", "class Other")
        said = await held.call(tool, scope)
        await held.reloader.toolbox.close()
        return said

    assert asyncio.run(work()) == "boxed x"


def test_code_that_is_no_longer_what_its_manifest_says_is_refused(site: Site) -> None:
    source = (
        "TOOL_SPEC = {'name': 'box', 'description': 'd', 'inputSchema': {'json': {'type': 'object', "
        "'properties': {'text': {'type': 'string'}}, 'required': ['text']}}}\n"
        "def box(tool, **kwargs):\n    return {'status': 'success', 'content': [{'text': 'boxed'}]}\n"
    )
    held = Held(site, source, entry="", manifest=True)

    async def work() -> None:
        tool, scope = await held.load()
        assert await held.call(tool, scope) == "boxed"
        held.edit("'required': ['text']", "'required': []")
        for _ in range(2):
            with pytest.raises(Denied, match="manifest-mismatch"):
                await held.call(tool, scope)
        held.edit("'required': []", "'required': ['text']")
        assert await held.call(tool, scope) == "boxed"

    asyncio.run(work())
