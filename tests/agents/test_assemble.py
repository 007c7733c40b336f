"""What a run needs is there and sound before its first effect, and is let go at its end."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from strands_cli import app
from strands_cli.agents import assembly as room
from strands_cli.agents.agent_runner import RunModels, SharedModel
from strands_cli.agents.assembly import SharedRuns, assemble
from strands_cli.catalog.catalog import discover_catalog
from strands_cli.config import Settings
from strands_cli.engine.standalone import StandaloneRun
from strands_cli.errors import Denied, InvalidInput, NotEquipped
from strands_cli.planning.machine.installation import without_policy
from strands_cli.planning.plan_values import Plan
from strands_cli.planning.run_request import RunRequest
from tests.agents.kit import SCHEMA, RunContext, Site, text
from tests.wordings import Wording

WORKFLOW = """
version: 2
name: whole
runtime: {provider: replay, recording: recording.yaml}
tools: {python_path: [lib], python: %s}
agents: {a: {prompt: be brief}}
pattern: {type: chain, config: {steps: %s}}
"""
BOX = """
from strands import tool
log = []
@tool
def echo(text: str) -> str:
    "Echo."
    return 'said ' + text
@tool
def shout(text: str) -> str:
    "Shout."
    return text.upper()
class Box:
    @tool
    def echo(self, text: str) -> str:
        "Echo."
        return 'boxed ' + text
    def close(self):
        log.append('closed')
def provide():
    return [echo, shout]
"""


def planned(site: Site, tools: str, steps: str = "[{agent: a, input: go}]", **options: Any) -> Plan:
    Path("w.yaml").write_text(WORKFLOW % (tools, steps))
    turns = "{steps.0: [{text: ok}]}" if "agent" in steps else "{}"
    Path("recording.yaml").write_text(f"recording: 1\nsteps: {turns}\n")
    Path("lib").mkdir(exist_ok=True)
    settings = Settings(Path("runs"), site.allowed)
    return app.plan("w.yaml", RunRequest(**options), catalog=discover_catalog([str(site.directory)]), settings=settings)


def test_two_tools_of_one_name_that_only_loading_shows_are_found_before_the_first_step(
    site: Site, wording: Wording
) -> None:
    site.install(BOX, name="suite", entry=":provide", manifest=False)
    site.install(BOX, name="box", entry=":Box", manifest=False)
    with pytest.raises(InvalidInput) as raised:
        asyncio.run(assemble(planned(site, "[native:suite, native:box]"), {}, SharedRuns()))
    wording(raised.value)
    import strands_tool_box  # type: ignore[import-not-found]

    assert strands_tool_box.log == ["closed"]


def test_the_tools_of_a_step_that_has_its_own_are_checked_too(site: Site, wording: Wording) -> None:
    site.install(BOX, name="suite", entry=":provide", manifest=False)
    site.install(BOX, name="box", entry=":Box", manifest=False)
    steps = "[{agent: a, input: go}, {agent: a, input: go, tool_overrides: [native:suite, native:box]}]"
    with pytest.raises(InvalidInput) as raised:
        asyncio.run(assemble(planned(site, "[]", steps), {}, SharedRuns()))
    wording(raised.value)


def test_a_step_that_calls_a_whole_suite_is_found_before_the_first_step(site: Site, wording: Wording) -> None:
    site.install(BOX, name="suite", entry=":provide", manifest=False)
    steps = "[{agent: a, input: go}, {tool: 'native:suite', input: {text: hi}}]"
    with pytest.raises(InvalidInput) as raised:
        asyncio.run(assemble(planned(site, "[]", steps), {}, SharedRuns()))
    wording(raised.value)


def test_tools_are_closed_when_a_model_cannot_be_built(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.install(BOX, name="box", entry=":Box", manifest=False)
    plan = planned(site, "[native:box]", provider="openai", model="m")

    def refuse(*_: Any, **__: Any) -> Any:
        raise NotEquipped("no client")

    monkeypatch.setattr(room, "model_of", refuse)
    with pytest.raises(NotEquipped, match="no client"):
        asyncio.run(assemble(plan, {}, SharedRuns()))
    import strands_tool_box

    assert strands_tool_box.log == ["closed"]


def test_workers_are_printed_without_the_values_of_secrets(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    site.install(BOX, name="box", entry=":Box", manifest=False)

    async def work() -> str:
        workers = await assemble(planned(site, "[native:box]"), {}, SharedRuns())
        await workers.close()
        assert workers.redactor.text("key sk-0123456789abcdef") == "key [secret]"
        return f"{workers!r}"

    assert "0123456789" not in asyncio.run(work())


class Unclosable:
    class client:  # noqa: N801 - as the SDK's models have it
        @staticmethod
        def close() -> None:
            raise OSError("gone")

    def update_config(self) -> None:
        """Become one of the run's own."""


def test_what_goes_wrong_at_the_end_is_reported_and_everything_else_is_let_go(site: Site) -> None:
    site.install(BOX, name="box", entry=":Box", manifest=False)

    async def work() -> list[str]:
        workers = await assemble(planned(site, "[native:box]"), {}, SharedRuns())
        changed = SharedModel(Unclosable(), Unclosable)  # type: ignore[arg-type]
        changed.update_config()
        workers = replace(workers, models=RunModels({"a": changed}, {}))
        return await workers.close()

    (line,) = asyncio.run(work())
    assert "'a'" in line
    assert "OSError: gone" in line
    import strands_tool_box

    assert strands_tool_box.log == ["closed"]


def test_custom_python_of_the_workflow_runs_where_the_allowlist_names_it(site: Site) -> None:
    site.allowed = ("custom_words:*", "custom_words:echo")
    Path("lib").mkdir(exist_ok=True)
    Path("lib/custom_words.py").write_text(BOX)
    plan = planned(site, "[]", "[{tool: 'custom_words:echo', input: {text: hi}}]", yes=True)
    result = asyncio.run(app.run(plan, RunRequest(runs_dir=Path("runs")), StandaloneRun(), RunContext().emit))
    assert result.response == "said hi"


def test_custom_python_that_is_not_allowed_is_never_imported(site: Site, tmp_path: Path) -> None:
    Path("lib").mkdir(exist_ok=True)
    Path("lib/custom_words.py").write_text(
        f"open({str(tmp_path / 'sentinel')!r}, 'w').close()\nglobals()['echo'] = 1\n"
    )
    plan = planned(site, "[]", "[{tool: 'custom_words:echo', input: {text: hi}}]", yes=True)
    with pytest.raises(Denied):
        asyncio.run(app.run(plan, RunRequest(runs_dir=Path("runs")), StandaloneRun(), RunContext().emit))
    assert not (tmp_path / "sentinel").exists()


def test_a_tool_is_called_by_hand_without_questions_and_without_a_record(site: Site) -> None:
    spec = f"TOOL_SPEC = {{'name': 'echo', 'description': 'E.', 'inputSchema': {{'json': {SCHEMA!r}}}}}\n"
    said = "kwargs['strands_cli']['workspace']['root']"
    site.install(
        spec + f"def echo(tool, **kwargs):\n    return {{'status': 'success', 'content': [{{'text': {said}}}]}}\n"
    )
    catalog = discover_catalog([str(site.directory)])
    tool = app.plan_tool("echo", without_policy(catalog, Settings(Path("runs"))))
    assert text(asyncio.run(app.run_tool(tool, {"text": "hi"}))) == str(Path.cwd())
    assert not Path("runs").exists()


def test_a_tool_that_exits_when_called_by_hand_does_not_end_the_program(site: Site) -> None:
    spec = f"TOOL_SPEC = {{'name': 'echo', 'description': 'E.', 'inputSchema': {{'json': {SCHEMA!r}}}}}\n"
    site.install(spec + "def echo(tool, **kwargs):\n    raise SystemExit(3)\n")
    catalog = discover_catalog([str(site.directory)])
    tool = app.plan_tool("echo", without_policy(catalog, Settings(Path("runs"))))
    assert text(asyncio.run(app.run_tool(tool, {"text": "hi"}))) == "tool_failed: SystemExit: 3"
