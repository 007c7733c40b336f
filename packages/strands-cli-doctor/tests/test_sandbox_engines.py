"""A tool's self-test runs in a process of its own: whatever it does there, the doctor has one line for it."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.catalog.distributions.scan import search_path
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli_doctor import sandbox_engines as engines
from strands_cli_doctor.sandbox_engines import Engine, find_engines
from tests.distributions import make_distribution, manifest_of, tool
from tests.wordings import Wording

STRONG = {"engine": "strong", "available": True, "reason": "", "layers": {"wall": "enforced", "size": "best effort"}}
AWAY = {"engine": "away", "available": False, "reason": "not installed", "layers": {"wall": "not available"}}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a directory that plugins are imported from."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def install(
    site: Path, body: str, named: str = "strands_tool_box.engines:engines", name: str = "box"
) -> tuple[ToolRecord, ...]:
    """Install a tool whose self-test has this body, and return the tools of the directory."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    package = f"strands_tool_{name}"
    files = {f"{package}/__init__.py": "", f"{package}/engines.py": f"import os, sys\n\n\ndef engines():\n{lines}"}
    described = tool(name, package, strands_cli={"engines": named})
    distribution = f"strands-tool-{name}"
    make_distribution(site, distribution, "1.0", {name: package}, files, manifest_of(distribution, described))
    return tuple(discover_catalog([str(site)]).tools)


def test_engines_are_reported_in_the_order_of_the_tool_and_the_first_that_holds_is_named(
    site: Path, wording: Wording
) -> None:
    found, (line,) = find_engines(install(site, f"return [{AWAY!r}, {STRONG!r}]"), search_path())
    layers = (("wall", "enforced"), ("size", "best effort"))
    assert found == [
        Engine("box", "away", False, "not installed", (("wall", "not available"),)),
        Engine("box", "strong", True, "", layers),
    ]
    assert ("box" in line.name, line.status) == (True, "ok")
    wording([line.name, line.message])
    assert "strands_tool_box" not in sys.modules


def test_a_tool_without_an_engine_that_holds_is_a_warning_with_every_reason(site: Path, wording: Wording) -> None:
    _, (line,) = find_engines(install(site, f"return [{AWAY!r}]"), search_path())
    assert line.status == "warning"
    assert AWAY["engine"] in line.message
    assert AWAY["reason"] in line.message
    wording(line.message)


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("raise RuntimeError('no luck')", "RuntimeError: no luck"),
        ("sys.exit(3)", " 3:"),
        ("os.kill(os.getpid(), 9)", " -9"),
        ("print('{}')", None),
        ("return {'engine': 'x'}", None),
        ("return [dict(engine='x', available=1, reason='', layers={})]", None),
        ("return [dict(engine='x', available=True, reason='', layers={'wall': 'strong'})]", None),
        ("return [object()]", "TypeError"),
        ("os.write(1, b'[]'); os._exit(0)", None),
        ("return ['x' * 100_000]", None),
    ],
)
def test_a_self_test_that_fails_is_one_failed_line(site: Path, body: str, named: str | None, wording: Wording) -> None:
    found, (line,) = find_engines(install(site, body), search_path())
    assert (found, "box" in line.name, line.status) == ([], True, "failed")
    assert named is None or named in line.message
    wording(line.message)
    assert "\n" not in line.message


def test_what_a_self_test_prints_is_not_its_answer(site: Path) -> None:
    found, (line,) = find_engines(
        install(site, f"print('[]')\nos.write(1, b'noise')\nreturn [{STRONG!r}]"), search_path()
    )
    assert ([engine.name for engine in found], line.status) == (["strong"], "ok")


def test_a_self_test_that_hangs_is_ended_with_all_it_started(
    site: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    pipe = site / "pipe"
    os.mkfifo(pipe)
    held: list[bytes] = []
    reader = threading.Thread(target=lambda: held.append(pipe.read_bytes()), daemon=True)
    reader.start()
    monkeypatch.setattr(engines, "SECONDS", 1.0)
    # A grandchild keeps the pipe open: the reader ends only when that is gone as well.
    body = f"held = os.open({str(pipe)!r}, os.O_WRONLY)\nos.fork()\nimport threading\nthreading.Event().wait()"
    _, (line,) = find_engines(install(site, body), search_path())
    assert line.status == "failed"
    wording(line.message)
    reader.join(120)
    assert held == [b""]


def test_a_reference_of_another_form_runs_nothing(site: Path, wording: Wording) -> None:
    _, (line,) = find_engines(install(site, "return []", named="os;system:x"), search_path())
    assert ("box" in line.name, line.status) == (True, "failed")
    wording(line.message)


def test_the_self_test_of_a_denied_tool_is_not_run(site: Path, wording: Wording) -> None:
    tools = install(site, f"open({str(site / 'ran')!r}, 'w').close()\nreturn []")
    _, (line,) = find_engines(tools, search_path(), {("strands-tool-box", "box")})
    assert ("box" in line.name, line.status) == (True, "ok")
    wording(line.message)
    assert not (site / "ran").exists()


def test_the_current_directory_is_not_a_source_of_self_tests(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = install(site, f"return [{STRONG!r}]")
    (folder := site / "folder" / "strands_tool_box").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise SystemExit('hostile')\n")
    monkeypatch.chdir(site / "folder")
    monkeypatch.syspath_prepend("")
    _, (line,) = find_engines(tools, search_path())
    assert line.status == "ok"
