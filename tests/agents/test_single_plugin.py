"""One plugin without a workflow: its calls have the contract of a run, and those of an agent are checked."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from strands_cli.agents.loaded_plugin import LoadedPlugin, load_plugin, run_to_answer
from strands_cli.tools.tool_forms import NotAToolError

SOURCE = """
import time

SEEN = []
TOOL_SPEC = {
    "name": "speak",
    "description": "Say a text several times.",
    "inputSchema": {"json": {"type": "object", "properties": {"times": {"type": "integer"}}, "required": ["times"]}},
    "outputSchema": {"type": "object"},
    "annotations": {"readOnlyHint": True, "destructiveHint": False},
    "strands_cli": {"timeout_s": 0.5, "max_output_bytes": 2000, "capabilities": {"secrets": ["TOKEN", "MORE?"]}},
}


def speak(tool, **kwargs):
    SEEN.append(kwargs.get("strands_cli"))
    times = tool["input"]["times"]
    if times < 0:
        time.sleep(-times)
    if times == 0:
        raise ValueError("no times")
    return {"toolUseId": tool["toolUseId"], "status": "success", "content": [{"json": {"said": "ha" * times}}]}


def close():
    SEEN.append("closed")
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "speak.py").write_text(SOURCE, encoding="utf-8")
    return "speak"


def used(target: Any, use: Callable[[LoadedPlugin], Awaitable[Any]], **settings: Any) -> Any:
    async def work() -> Any:
        plugin = await load_plugin(target, **settings)
        try:
            return await use(plugin)
        finally:
            assert await plugin.close() == []

    return run_to_answer(work())


def test_its_tools_are_values(module: str) -> None:
    async def use(plugin: LoadedPlugin) -> Any:
        return plugin.tools["speak"]

    tool = used(module, use)
    assert (tool.timeout_s, tool.max_output_bytes, tool.secrets) == (0.5, 2000, ("TOKEN", "MORE"))
    assert (tool.input_schema["required"], tool.output_schema) == (["times"], {"type": "object"})
    assert (tool.is_repeatable, tool.reads_only({"times": 1})) == (True, True)
    assert sys.modules[module].SEEN == ["closed"]


def test_a_direct_call_has_the_contract_of_a_run(module: str, tmp_path: Path) -> None:
    settings = {"config": {"voice": "low"}, "secrets": {"TOKEN": "t", "OTHER": "o"}}
    outcome = used(module, lambda plugin: plugin.call(("speak", {"times": 1}), "use-1", tmp_path), **settings)
    assert outcome.in_shape
    assert outcome.value["toolUseId"] == "use-1"
    contract = sys.modules[module].SEEN[0]
    assert (contract["config"], contract["secrets"]) == ({"voice": "low"}, {"TOKEN": "t"})
    assert contract["workspace"]["root"] == str(tmp_path)


@pytest.mark.parametrize("times", [0, -2, 3000])
def test_a_direct_call_is_not_corrected(module: str, tmp_path: Path, times: int) -> None:
    outcome = used(module, lambda plugin: plugin.call(("speak", {"times": times}), "use-1", tmp_path))
    assert (isinstance(outcome.raised, ValueError), outcome.late, outcome.in_shape) == (
        times == 0,
        times < 0,
        times > 0,
    )


def test_a_call_of_an_agent_is_checked_and_limited(module: str, tmp_path: Path) -> None:
    calls = [("speak", {"times": times}) for times in (1, "two", -2, 3000)]
    results = used(module, lambda plugin: plugin.call_by_agent(calls, tmp_path))
    assert [result["toolUseId"] for result in results] == [f"call.1.{number}" for number in range(4)]
    assert [result["status"] for result in results][:3] == ["success", "error", "error"]
    assert len(str(results[3]["content"])) < 3000
    assert len(sys.modules[module].SEEN) == 4, "the second call is refused by its schema; the last is the end"


def test_a_call_of_a_plain_agent_has_no_contract(module: str) -> None:
    [result] = used(module, lambda plugin: plugin.call_by_plain_agent([("speak", {"times": 1})]))
    assert result["status"] == "success"
    assert sys.modules[module].SEEN == [None, "closed"]


def test_a_cancelled_call_ends(module: str, tmp_path: Path) -> None:
    assert used(module, lambda plugin: plugin.cancel(("speak", {"times": -1}), "use-1", tmp_path))


def test_an_object_without_a_tool_is_an_error() -> None:
    with pytest.raises(NotAToolError):
        run_to_answer(load_plugin(object()))


def test_a_hanging_thread_does_not_delay_the_end() -> None:
    program = (
        "import asyncio, time; from strands_cli.api import run_to_answer\n"
        "async def work():\n"
        "    asyncio.get_running_loop().run_in_executor(None, time.sleep, 60)\n"
        "    return 'answer'\n"
        "print(run_to_answer(work()))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert ran.stdout == "answer\n"
