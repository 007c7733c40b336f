"""What a call answers: output, result, errors with their line, files, packages, limits and refusals."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from python_exec_calls import call, program_without, refusal

from strands_tool_python_exec import _engine, _monty, _sandbox
from strands_tool_python_exec.python_exec import close, python_exec

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
        ("'x' * 100_000", f"'{'x' * 8191}... [100002 characters in all]"),
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
        'import os\nfor n in range(3, 64):\n    try: os.write(n, b\'{"layers": {}, "result": 1}\\n[[[\')\n'
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
@pytest.mark.parametrize("value", ["NaN", "1e999", "[-Infinity]"])
def test_a_forged_value_that_is_not_json_is_left_out(value: str) -> None:
    report = f"os.write(n, b'{{\"result\": {value}}}')"
    code = f"import os\nfor n in range(3, 64):\n    try: {report}\n    except OSError: pass\nos._exit(0)"
    answer = call(code)
    assert "result" not in answer
    json.dumps(answer, allow_nan=False)


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
    assert answer["files_base64"] == {"c.bin": "/w=="}


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
def test_a_file_name_that_is_not_a_plain_name_is_refused(name: str) -> None:
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
    close()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    descriptors = len(list(Path("/proc/self/fd").iterdir()))
    call("import os\nos.makedirs('a/b')\nopen('a/b/c', 'w').close()")
    call("while True: pass", timeout=0.2)
    close()
    assert list(tmp_path.iterdir()) == []
    assert len(list(Path("/proc/self/fd").iterdir())) == descriptors


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become someone else")
@pytest.mark.parametrize("namespaces", [True, False])
def test_it_holds_for_an_ordinary_user(namespaces: bool) -> None:
    system = next((path for path in ("/usr/bin/python3", "/usr/local/bin/python3") if Path(path).exists()), None)
    if system is None or subprocess.run([system, "-c", "import sys; assert sys.version_info >= (3, 11)"]).returncode:
        pytest.skip("no system Python that an ordinary user can start")
    program = (
        f"import sys; sys.path.insert(0, {SOURCES!r})\n"
        "from strands_tool_python_exec import _engine\n"
        f"found = _engine.tested(_engine.verdict().machine, namespaces={namespaces})\n"
        "import os; print(os.geteuid(), found.reason or 'holds', len(found.layers))\n"
    )
    done = subprocess.run(
        [system, "-I", "-c", program], user=65534, group=65534, extra_groups=[], cwd="/", env={}, capture_output=True
    )
    assert done.stdout.decode() == "65534 holds 5\n", done.stderr.decode()


def test_a_machine_where_the_engine_does_not_hold_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = _engine.Verdict(reason="REASON 1")
    monkeypatch.setattr(_engine, "verdict", lambda: verdict)
    monkeypatch.setattr(_monty, "reason", lambda: "REASON 2")
    error = refusal(code="print(1)")
    assert error["code"] == "unavailable"
    assert "locked-cpython: REASON 1; monty: REASON 2" in error["message"]


@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("win32", "AMD64"), ("linux", "riscv64")])
def test_another_platform_is_refused_with_the_reason(
    system: str, machine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    reason = _engine.verdict.__wrapped__().reason
    assert ("riscv64" if system == "linux" else "Linux") in reason


@held
@pytest.mark.parametrize("layer", ["landlock", "seccomp"])
@pytest.mark.parametrize("namespaces", [True, False])
def test_the_self_test_sees_a_missing_layer(layer: str, namespaces: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    without = program_without(layer)
    monkeypatch.setattr(_sandbox, "program", lambda: without)
    reason = _engine.tested(_engine.verdict().machine, namespaces=namespaces).reason
    assert reason
    assert ("read" in reason) == (layer == "landlock")


@held
@pytest.mark.parametrize(
    "given",
    [{}, {"code": 1}, {"code": "1", "timeout": 0}, {"code": "1", "files": []}, {"code": "1", "x": 1}],
)
def test_a_bad_input_runs_nothing(given: dict[str, object]) -> None:
    assert refusal(**given)["code"] == "invalid_input"
