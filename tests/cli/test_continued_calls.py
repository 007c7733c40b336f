"""A tool step that failed goes on with its corrected file, and each question is answered once, for what it asks."""

from __future__ import annotations

import re
import shlex
from typing import Any

import pytest

from strands_cli.engine.stored_runs.described import named_run
from strands_cli.errors import RunRecordError
from strands_cli.store_place import StorePlace
from tests.cli.strands import Folder, Ran
from tests.fakes.http_service import HttpService
from tests.yaml_texts import read_yaml

GATE = {"type": "hitl", "prompt": "Publish?"}


def reading(path: str) -> dict[str, Any]:
    return {"tool": "native:file_read", "input": {"path": path}}


def writing(path: str) -> dict[str, Any]:
    return {"tool": "native:file_write", "input": {"path": path, "content": "x"}}


def corrects(ran: Ran) -> list[str]:
    """Return the command for a corrected file, without `strands`."""
    (line,) = [line for line in ran.err.splitlines() if "--spec" in line]
    return shlex.split(line[line.index("strands ") :])[1:]


def test_a_tool_step_that_failed_goes_on_with_other_arguments(folder: Folder) -> None:
    (folder.work / "here.txt").write_text("text")
    for wrong in ("/etc/hostname", "not-here.txt"):
        folder.workflow([writing("a.txt"), reading(wrong)])
        failed = folder.strands("run", "flow.yaml", "--yes", "--force")
        assert failed.code == 10
        assert ("\ncontinue with" in failed.err) is (wrong == "not-here.txt")  # a refusal comes again
        folder.workflow([writing("a.txt"), reading("here.txt")])
        done = folder.strands(*corrects(failed))
        assert (done.code, done.out) == (0, "text\n"), done.err


def test_a_person_is_asked_again_for_other_arguments(folder: Folder) -> None:
    folder.workflow([writing("/nowhere/x.txt")])
    assert folder.strands("run", "flow.yaml").code == 19
    failed = folder.strands("approve", "last")
    folder.workflow([writing("good.txt")])
    asks = folder.strands(*corrects(failed))
    assert (asks.code, "path: good.txt" in asks.err) == (19, True)
    assert folder.strands("approve", "last").code == 0
    assert (folder.work / "good.txt").read_text() == "x"


def test_what_is_done_stays_as_it_was(folder: Folder) -> None:
    folder.workflow([writing("a.txt"), reading("not-here.txt")])
    failed = folder.strands("run", "flow.yaml", "--yes")
    folder.workflow([writing("b.txt"), reading("not-here.txt")])
    assert folder.strands(*corrects(failed)).code == 17
    assert not (folder.work / "b.txt").exists()


def test_a_stored_answer_leaves_no_question_behind_and_names_the_next_command(folder: Folder) -> None:
    folder.workflow([GATE])
    folder.strands("run", "flow.yaml")
    stored = folder.strands("approve", "last", "--no-resume")
    (line,) = [line for line in stored.err.splitlines() if line.startswith("next: ")]
    (run,) = folder.strands("runs", "list", "--json").document["runs"]
    assert (run["status"], "answered" in run["reason"], "Publish?" in run["reason"]) == ("waiting", True, False)
    assert "strands resume" in folder.strands("runs", "show", "last").out
    assert folder.strands(*shlex.split(line.removeprefix("next: strands "))).code == 0


EXEC = "native:python_exec"
SLEEP = "import time; time.sleep(0.4)"
FILL = "open('x', 'wb').write(b'x' * 5_000_000)"


@pytest.mark.parametrize(
    ("arguments", "config", "advised", "better"),
    [
        ({"code": SLEEP, "timeout": 0.2}, {}, "`timeout` in the input", {"timeout": 20}),
        ({"code": SLEEP}, {"timeout_s": 0.2}, "`timeout` in the input", {"timeout": 20}),
        ({"code": SLEEP, "timeout": 20}, {"max_timeout_s": 0.2}, "`max_timeout_s` in the `config`", {}),
        ({"code": FILL}, {"disk_mb": 1}, "`disk_mb` in the `config`", {}),
        ({"code": "len(b'x' * 300_000_000)"}, {"memory_mb": 128}, "`memory_mb` in the `config`", {}),
    ],
)
def test_a_limit_of_a_tool_step_is_raised_where_the_message_says(
    arguments: dict[str, Any], config: dict[str, Any], advised: str, better: dict[str, Any], folder: Folder
) -> None:
    def run(arguments: dict[str, Any], config: dict[str, Any]) -> Ran:
        tools = {"tools": {"python": [{"tool": EXEC, "config": config}]}} if config else {}
        folder.workflow([{"tool": EXEC, "input": arguments}], **tools)
        return folder.strands("run", "flow.yaml")

    failed = run(arguments, config)
    assert (failed.code, advised in failed.err, "`tools.python`" in failed.err) == (10, True, not better)
    assert (
        run(
            {**arguments, **better},
            config if better else {name: 20 if value < 100 else 900 for name, value in config.items()},
        ).code
        == 0
    )


def _configured(ran: Ran) -> dict[str, Any]:
    """Return the tool with its configuration as the advice writes it."""
    found = re.search(r"as `(\{tool: .*?\}\})`, where it is listed: in `tools.python`", " ".join(ran.err.split()))
    assert found is not None, ran.err
    entry: dict[str, Any] = read_yaml(found[1])
    return entry


@pytest.mark.parametrize("tool", ["web_fetch", "http_request"])
def test_a_tool_step_and_an_agent_take_what_the_advice_writes_into_tools(tool: str, folder: Folder) -> None:
    with HttpService({"/x": {"body": "served"}}) as service:
        call = {"tool": f"native:{tool}", "input": {"url": f"http://127.0.0.1:{service.port}/x"}}
        folder.workflow([call])
        entry = _configured(folder.strands("run", "flow.yaml"))
        folder.workflow([call], tools={"python": [entry]})
        folder.strands("workflows", "trust", "flow.yaml")
        done = folder.strands("run", "flow.yaml")
    assert (done.code, "served" in done.out) == (0, True)
    agents = {"a": {"prompt": "A", "tools": [entry]}}
    folder.workflow([{"agent": "a", "input": "x"}], agents=agents, runtime={"provider": "ollama", "model_id": "m"})
    assert folder.strands("validate", "flow.yaml").code == 0


def test_no_run_of_another_moment_is_proposed(tmp_path: Any) -> None:
    def fix(name: str) -> str:
        try:
            named_run(name, ["20261127-135727-487d66"], StorePlace(tmp_path), list)
        except RunRecordError as error:
            return error.fix or ""
        raise AssertionError(name)

    assert "did you mean" not in fix("20261127-145247-3cea80")
    for typo in ("20261127-135727-487d67", "20261127-135728-487d66"):
        assert "20261127-135727-487d66" in fix(typo)
