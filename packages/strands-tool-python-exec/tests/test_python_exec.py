"""What a call answers: output, result, errors with their line, files, packages, limits and refusals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from python_exec_calls import PYTHON, call, refusal

from strands_tool_python_exec import _engine
from strands_tool_python_exec.python_exec import python_exec

SOURCES = str(Path(_engine.__file__).parent.parent)


held = pytest.mark.usefixtures("held")


@held
@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("1 + 1", 2),
        ("{'a': [1, 2.5, None, 'x']}", {"a": [1, 2.5, None, "x"]}),
        ("{1, }", "{1}"),
        ("float('nan')", "nan"),
        ("x = 1", None),
        ("print", "<built-in function print>"),
    ],
)
def test_the_last_expression_is_the_result(code: str, expected: object) -> None:
    assert call(code).get("result") == expected


@held
@pytest.mark.parametrize(
    ("code", "kind", "line"),
    [
        ("x = 1\n\n1 / 0", "ZeroDivisionError", 3),
        ("x = 1\nif:", "SyntaxError", 2),
        ("def f():\n    raise KeyError(1)\nf()", "KeyError", 2),
        ("import json\njson.loads('{')", "JSONDecodeError", 2),
        ("import sys\nsys.exit(3)", "SystemExit", 2),
        ("import os\nos._exit(3)", "Exit", None),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", 1),
        ("def f(): f()\nf()", "RecursionError", 1),
        ("x = '\\0'\neval(x)", "SyntaxError", 2),
    ],
)
def test_an_error_names_its_type_and_the_line_of_the_code(code: str, kind: str, line: int | None) -> None:
    error = call(code)["error"]
    assert (error["type"], error["line"]) == (kind, line)


@held
def test_a_traceback_shows_the_code_and_none_of_our_frames() -> None:
    answer = call("def f():\n    return 1 / 0\nf()")
    assert "return 1 / 0" in answer["stderr"]
    assert "_child" not in answer["stderr"]


@held
def test_a_report_that_the_code_forges_changes_no_verdict_of_ours() -> None:
    forged = (
        'import os\nfor n in range(3, 20):\n    try: os.write(n, b\'{"layers": {}, "result": 1}\\n[[[\')\n'
        "    except OSError: pass\nos.abort()"
    )
    answer = call(forged)
    assert answer["error"]["type"] == "Killed"
    assert "result" not in answer
    assert answer["layers"]["seccomp"] == "allowlist"


@held
@pytest.mark.parametrize(
    "code",
    ["import os\nos.close(1)\nos.close(2)", "import os\nos.closerange(0, 64)", "import sys\nsys.stdout.close()"],
)
def test_a_program_that_closes_its_streams_still_ends_by_itself(code: str) -> None:
    answer = call(code)
    assert answer["limits_hit"] == []
    assert answer.get("error", {}).get("type") != "Killed"


@held
def test_a_program_that_closes_its_streams_has_no_more_time_for_that() -> None:
    assert call("import os\nos.closerange(0, 64)\nwhile True: pass", timeout=0.5)["limits_hit"] == ["wall_time"]


@held
@pytest.mark.parametrize(
    "code",
    ["'\\ud800'", "raise ValueError('\\ud800')", "open('a', 'w', errors='surrogatepass').write('\\ud800')", "# \ud800"],
)
def test_an_answer_can_always_be_encoded(code: str) -> None:
    json.dumps(call(code, files={"b.txt": "\ud800"}), ensure_ascii=False).encode()


@held
def test_an_error_that_cannot_be_printed_is_still_named() -> None:
    code = "class X(Exception):\n    def __str__(self): raise ValueError\nraise X"
    answer = call(code)
    assert answer["error"] == {"type": "X", "message": "", "line": 3}
    assert "_child" not in answer["stderr"]


@held
def test_files_go_in_and_come_out_by_name() -> None:
    code = "open('b.txt', 'w').write(open('a.txt').read().upper())\nopen('c.bin', 'wb').write(b'\\xff')"
    answer = call(code, files={"a.txt": "grüße\r\n"})
    assert answer["files"] == {"b.txt": "GRÜSSE\r\n"} or answer["files"] == {"b.txt": "GRÜSSE\n"}
    assert any("c.bin" in notice for notice in answer["notices"])


@held
def test_a_link_left_behind_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    answer = call(f"import os\nos.symlink({str(tmp_path / 'secret')!r}, 'a.txt')\nos.mkfifo('b') if 0 else None")
    assert "files" not in answer


@held
def test_calls_share_nothing() -> None:
    call("open('a', 'w').close()\nimport builtins\nbuiltins.x = 1")
    assert call("import os\n[os.listdir(), 'x' in globals()]")["result"] == [[], False]


@held
def test_only_listed_packages_can_be_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("listed", "beside"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("answer = 42\n")
    monkeypatch.syspath_prepend(tmp_path)
    config = {"packages": ["listed"]}
    assert call("import listed\nlisted.answer", config=config)["result"] == 42
    assert "error" in call("import beside", config=config)
    assert "error" in call("import listed")


@held
def test_a_package_that_is_not_installed_is_named() -> None:
    error = refusal({"config": {"packages": ["no_such_package"]}}, code="1")
    assert (error["code"], error["details"]["reason"]) == ("unavailable", "package")
    assert "no_such_package" in error["message"]


@held
@pytest.mark.parametrize("name", ["../a", "/etc/a", "a/b", "", ".", "..", "a\0b", "x" * 200, ".hidden"])
def test_a_file_name_that_is_no_plain_name_is_refused(name: str) -> None:
    assert refusal(code="1", files={name: "x"})["details"]["reason"] == "files"


@held
def test_a_deadline_shortens_the_time_and_a_cancelled_call_ends_at_once() -> None:
    result = python_exec(
        {"toolUseId": "u", "input": {"code": "while True: pass"}},
        strands_cli={"deadline": time.monotonic() + 0.3},
    )
    assert result["content"][-1]["json"]["limits_hit"] == ["wall_time"]
    cancel = threading.Event()
    timer = threading.Timer(0.2, cancel.set)
    timer.start()
    assert refusal({"cancel": cancel}, code="while True: pass")["code"] == "cancelled"
    timer.join()


@held
def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    call("import os\nos.makedirs('a/b')\nopen('a/b/c', 'w').close()")
    call("while True: pass", timeout=0.2)
    assert list(tmp_path.iterdir()) == []
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


@held
def test_the_sandbox_dies_with_its_parent(tmp_path: Path, every_way: str) -> None:
    """A real SIGKILL of the parent; the pipe it held has its end when the sandbox is gone."""
    namespaces = _engine.verdict().namespaces
    program = (
        f"import sys; sys.path.insert(0, {SOURCES!r})\n"
        "from strands_tool_python_exec import _engine, _process\n"
        "import os; keep = os.dup(1); os.set_inheritable(keep, True)\n"
        "start = _process._start\n"
        "def with_pipe(scratch, channel):\n"
        "    import subprocess; popen = subprocess.Popen\n"
        "    subprocess.Popen = lambda *a, **k: popen(*a, **{**k, 'pass_fds': (channel, keep)})\n"
        "    return start(scratch, channel)\n"
        "_process._start = with_pipe\n"
        "code = f'import os, time; os.write({keep}, b\"up\"); time.sleep(15)'\n"
        f"_process.run(_engine.request_for(code, machine={_engine.verdict().machine!r}, namespaces={namespaces},"
        " timeout_s=60))\n"
    )
    environment = {"TMPDIR": str(tmp_path)}
    with subprocess.Popen([PYTHON, "-I", "-S", "-c", program], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        assert parent.stdout.read(2) == b"up"
        began = time.monotonic()
        os.kill(parent.pid, signal.SIGKILL)
        assert parent.stdout.read() == b""
        assert time.monotonic() - began < 5


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become someone else")
@pytest.mark.parametrize("namespaces", [True, False])
def test_it_holds_for_an_ordinary_user(namespaces: bool) -> None:
    system = next((path for path in ("/usr/bin/python3", "/usr/local/bin/python3") if Path(path).exists()), None)
    if system is None or subprocess.run([system, "-c", "import sys; assert sys.version_info >= (3, 11)"]).returncode:
        pytest.skip("no system Python that an ordinary user can start")
    program = (
        f"import sys; sys.path.insert(0, {SOURCES!r})\n"
        "from strands_tool_python_exec import _engine\n"
        f"found = _engine._test(_engine.verdict().machine, namespaces={namespaces})\n"
        "import os; print(os.geteuid(), found.reason or 'holds', len(found.layers))\n"
    )
    done = subprocess.run(
        [system, "-I", "-c", program], user=65534, group=65534, extra_groups=[], cwd="/", env={}, capture_output=True
    )
    assert done.stdout.decode() == "65534 holds 4\n", done.stderr.decode()


def test_a_machine_where_the_engine_does_not_hold_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = _engine.Verdict(reason="this kernel has no Landlock")
    monkeypatch.setattr(_engine, "verdict", lambda: verdict)
    error = refusal(code="print(1)")
    assert error["code"] == "unavailable"
    assert "this kernel has no Landlock" in error["message"]


@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("win32", "AMD64"), ("linux", "riscv64")])
def test_another_platform_is_refused_with_the_reason(
    system: str, machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    reason = _engine.verdict.__wrapped__().reason
    assert "needs Linux" in reason or "riscv64" in reason


@held
@pytest.mark.parametrize("layer", ["_landlock.restrict", "_seccomp.install"])
def test_the_self_test_sees_a_missing_layer(layer: str, tmp_path: Path) -> None:
    """In a copy of the package whose layer does nothing; only a sandbox that holds may pass."""
    import shutil

    copy = tmp_path / "strands_tool_python_exec"
    shutil.copytree(Path(_engine.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    module, name = layer.split(".")
    with (copy / f"{module}.py").open("a") as file:
        file.write(f"\n\ndef {name}(*arguments):\n    return 0\n")
    program = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from strands_tool_python_exec import _engine; print(_engine.verdict().reason)"
    )
    done = subprocess.run([PYTHON, "-I", "-S", "-B", "-c", program], capture_output=True, text=True, check=True)
    assert "the sandbox does not hold here: " in done.stdout
    assert ("read" in done.stdout) == (module == "_landlock")


@held
@pytest.mark.parametrize(
    "given",
    [{}, {"code": 1}, {"code": "1", "timeout": 0}, {"code": "1", "files": []}, {"code": "1", "x": 1}],
)
def test_a_bad_input_runs_nothing(given: dict[str, object]) -> None:
    assert refusal(**given)["code"] == "invalid_input"
