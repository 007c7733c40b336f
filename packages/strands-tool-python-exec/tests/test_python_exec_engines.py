"""Which engine runs, what is reported of each, and that none is trusted by its name."""

from __future__ import annotations

import dataclasses
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from python_exec_calls import PYTHON, call, refusal

import strands_tool_kit
from strands_tool_python_exec import _engine, _monty, engines
from strands_tool_python_exec.python_exec import close

WORDS = {"enforced", "best effort", "not available"}


def test_the_report_on_the_engines_is_data_of_the_agreed_shape() -> None:
    said = json.loads(json.dumps(engines.engines()))
    assert [engine["engine"] for engine in said] == ["locked-cpython", "monty"]
    for engine in said:
        assert set(engine) == {"engine", "available", "reason", "layers"}
        assert engine["available"] is not bool(engine["reason"])
        assert set(engine["layers"].values()) <= WORDS


def test_the_manifest_names_the_function_that_says_it() -> None:
    from strands_tool_python_exec.python_exec import TOOL_SPEC

    module, _, function = TOOL_SPEC["strands_cli"]["engines"].partition(":")  # type: ignore[index]
    code = f"import json, {module} as m; print(json.dumps(m.{function}()))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == engines.engines()


@pytest.mark.parametrize(
    ("namespaces", "disk", "expected"),
    [
        ("user, mount, net, ipc, uts, tmpfs", "enforced", ("enforced", "enforced")),
        ("user, mount, net, ipc, uts", "best effort", ("enforced", "best effort")),
        ("not available (Operation not permitted)", "best effort", ("not available", "best effort")),
        ("not used", "best effort", ("not available", "best effort")),
    ],
)
def test_a_layer_that_is_not_in_force_is_not_called_enforced(
    namespaces: str, disk: str, expected: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    layers = {"landlock": "version 7", "seccomp": "allowlist", "rlimits": "enforced"}
    found = _engine.Verdict("x86_64", True, (*layers.items(), ("namespaces", namespaces), ("disk", disk)))
    monkeypatch.setattr(_engine, "verdict", lambda: found)
    said = engines.engines()[0]["layers"]
    assert (said["namespaces"], said["scratch size"]) == expected


@pytest.mark.usefixtures("held")
def test_each_result_says_which_engine_and_layers_were_in_force(every_way: str) -> None:
    answer = call("1")
    assert answer["engine"] == "locked-cpython"
    assert set(answer["layers"]) == {"landlock", "seccomp", "rlimits", "namespaces", "disk"}
    assert answer["layers"]["disk"] == (
        "enforced" if answer["layers"]["namespaces"].endswith("tmpfs") else "best effort"
    )
    if every_way == "no-namespaces":
        assert answer["layers"]["namespaces"] == "not used"


@pytest.mark.usefixtures("held")
def test_where_the_kernel_gives_no_namespaces_it_holds_and_says_so() -> None:
    """In a user namespace that may have no further ones, as in many containers."""
    sources = [str(Path(str(package.__file__)).parent.parent) for package in (_engine, strands_tool_kit)]
    code = (
        f"import json, sys; sys.path[:0] = {sources!r}\n"
        "from strands_tool_python_exec.engines import engines\n"
        "from strands_tool_python_exec.python_exec import close, python_exec\n"
        "answer = python_exec({'toolUseId': 'u', 'input': {'code': '6 * 7'}})['content'][-1]['json']\n"
        "close(); print(json.dumps([engines()[0], answer]))"
    )
    forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec "
    command = [
        "unshare",
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        f"{forbid} {shlex.quote(PYTHON)} -I -c {shlex.quote(code)}",
    ]
    if shutil.which("unshare") is None or subprocess.run([*command[:3], "true"], check=False).returncode:
        pytest.skip("there is no user namespace to forbid others in")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "max_user_namespaces" in done.stderr:
        pytest.skip("the number of namespaces cannot be set here")
    said, answer = json.loads(done.stdout)
    assert (said["available"], said["reason"]) == (True, "")
    assert (said["layers"]["namespaces"], said["layers"]["scratch size"]) == ("not available", "best effort")
    assert (answer["result"], answer["layers"]["disk"]) == (42, "best effort")
    assert answer["layers"]["namespaces"].startswith("not available (")


@pytest.mark.usefixtures("held")
def test_a_sandbox_that_cannot_be_started_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    close()
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    error = refusal(code="print(1)")
    assert (error["code"], error["retryable"], error["details"]) == ("unavailable", True, {"reason": "sandbox"})
    assert "No such file or directory" in error["message"]


@pytest.mark.parametrize("word", ["auto", "locked-cpython", "monty"])
def test_nothing_is_run_where_no_engine_holds(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above all not in a plain child process."""
    monkeypatch.setattr(_engine, "verdict", lambda: _engine.Verdict(reason="no walls here"))
    monkeypatch.setattr(_monty, "reason", lambda: "not installed")
    monkeypatch.setattr(subprocess, "Popen", None)
    error = refusal({"config": {"engine": word}}, code="print(1)")
    assert (error["code"], error["details"]) == ("unavailable", {"reason": "engine"})


def test_monty_is_named_with_the_way_to_get_it_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic_monty", None)
    assert "pip install 'strands-tool-python-exec[monty]'" in _monty.reason.__wrapped__()


def test_the_first_engine_that_holds_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_engine, "verdict", lambda: dataclasses.replace(_engine.Verdict(), machine="x86_64"))
    monkeypatch.setattr(_monty, "reason", lambda: "not asked")
    assert engines.choose() == ("locked-cpython", "")
