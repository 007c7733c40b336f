"""What is carried into a sandbox and out of it by name: files, and the packages that are listed."""

from __future__ import annotations

import base64
import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from python_exec_calls import call, refusal

pytestmark = pytest.mark.usefixtures("held")


def test_bytes_go_in_and_come_out_unchanged() -> None:
    every = bytes(range(256))
    code = "content = open('a.bin', 'rb').read()\nopen('b.bin', 'wb').write(content[::-1])"
    answer = call(code, files_base64={"a.bin": base64.b64encode(every).decode()})
    assert base64.b64decode(answer["files_base64"]["b.bin"]) == every[::-1]
    assert "files" not in answer


def test_only_what_is_new_or_changed_comes_back() -> None:
    code = "open('b', 'a').write('2')\nopen('c', 'w').write('3')\nopen('d', 'wb').write(b'\\xff')"
    answer = call(code, files={"a": "1", "b": "1"}, files_base64={"d": "/w=="})
    assert answer["files"] == {"b": "12", "c": "3"}
    assert "files_base64" not in answer


def test_what_is_too_large_or_deep_stays_and_is_named() -> None:
    code = (
        "import os\nopen('small', 'w').write('x')\nopen('large', 'wb').write(b'\\xff' * 3000)\n"
        "os.mkdir('d')\nopen('d/inside', 'w').write('x')\nopen('odd\\nname', 'w').write('x')"
    )
    answer = call(code, config={"max_output_bytes": 2048})
    assert answer["files"] == {"small": "x"}
    large, odd = sorted(answer["notices"])
    assert "'large'" in large
    assert "'odd\\nname'" in odd


@pytest.mark.parametrize("text", ["x", "=", "/w==\n", "/w", "é"])
def test_what_is_not_base64_is_refused(text: str) -> None:
    error = refusal(code="1", files_base64={"a": text})
    assert (error["code"], error["details"]) == ("invalid_input", {"reason": "files", "field": "files_base64"})


def test_a_name_is_given_once() -> None:
    assert refusal(code="1", files={"a": "1"}, files_base64={"a": "/w=="})["details"]["reason"] == "files"


def test_files_together_have_a_limit() -> None:
    assert refusal(code="1", files={"a": "x" * (3 << 20), "b": "é" * (1 << 20)})["details"]["reason"] == "length"


def test_large_code_and_files_reach_the_sandbox() -> None:
    code = "# " + "x" * 190_000 + "\nlen(open('a').read())"
    assert call(code, files={"a": "y" * (3 << 20)})["result"] == 3 << 20


@pytest.fixture
def compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a package as numpy is: shared code inside it, libraries beside it, data that it opens itself."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    package, libraries = tmp_path / "bundled", tmp_path / "bundled.libs"
    package.mkdir()
    libraries.mkdir()
    (package / "table.json").write_text("[1, 2, 3]")
    (package / "__init__.py").write_text(
        "import ctypes, json, pathlib\n"
        "here = pathlib.Path(__file__).parent\n"
        "table = json.loads((here / 'table.json').read_text())\n"
        "beside = (here.parent / 'bundled.libs' / 'note').read_text()\n"
        "def twice(n): return ctypes.CDLL(str(here.parent / 'bundled.libs' / 'libtwice.so')).twice(n)\n"
    )
    (libraries / "note").write_text("beside")
    if compiler:
        (tmp_path / "twice.c").write_text("int twice(int n) { return 2 * n; }\n")
        target = str(libraries / "libtwice.so")
        subprocess.run([compiler, "-shared", "-fPIC", "-o", target, str(tmp_path / "twice.c")], check=True)
    monkeypatch.syspath_prepend(tmp_path)
    return libraries / "libtwice.so"


def test_a_listed_package_brings_its_files_and_the_libraries_beside_it(compiled: Path) -> None:
    code = "import bundled\n[bundled.table, bundled.beside]"
    assert call(code, config={"packages": ["bundled"]})["result"] == [[1, 2, 3], "beside"]
    assert call(code)["error"]["type"] == "ModuleNotFoundError"


def test_a_listed_package_may_load_machine_code(compiled: Path) -> None:
    if not compiled.exists():
        pytest.skip("no C compiler")
    assert call("import bundled\nbundled.twice(21)", config={"packages": ["bundled"]})["result"] == 42


def test_what_lies_beside_a_listed_package_cannot_be_read(compiled: Path) -> None:
    (compiled.parent.parent / "other.txt").write_text("secret")
    code = f"open({str(compiled.parent.parent / 'other.txt')!r}).read()"
    assert call(code, config={"packages": ["bundled"]})["error"]["type"] == "PermissionError"


@pytest.mark.skipif(importlib.util.find_spec("numpy") is None, reason="numpy is not installed here")
def test_numpy_computes() -> None:
    code = "import numpy as np\nfloat(np.linalg.det(np.array([[1.0, 2.0], [3.0, 4.0]])))"
    answer = call(code, config={"packages": ["numpy"]})
    assert round(answer["result"], 9) == -2.0
    answer = call("import numpy as np\nnp.save('a.npy', np.arange(3))", config={"packages": ["numpy"]})
    assert list(answer["files_base64"]) == ["a.npy"]


def test_the_standard_library_is_not_a_package_to_list() -> None:
    assert json.loads(call("import json\njson.dumps([1])")["result"]) == [1]
    assert refusal({"config": {"packages": ["sys"]}}, code="1")["details"]["reason"] == "package"
