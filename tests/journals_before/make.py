"""Write the fixtures of this folder with the `strands` that is named: the one of the journals' format, not a new one.

Usage: PYTHONPATH=. python tests/journals_before/make.py STRANDS
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.distributions import make_distribution
from tests.journals_before.cases import (
    FIXTURES,
    NEW,
    OLD_ROOT,
    SECRET,
    STORED,
    Stored,
    effects_of,
    lasting,
    shown_by_key,
)

ROOT = Path(OLD_ROOT)
PACKAGE = "strands_tool_before"
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
# `look` and `send` wait for ever until the file `go` is there: the program is killed in them.
BODIES = {
    "tally": ("note(text)", {"readOnlyHint": True}, {}),
    "look": ("wait(text)", {"readOnlyHint": True}, {}),
    "send": ("wait(text)\n    note(text)", {"readOnlyHint": False, "destructiveHint": False}, {}),
    "reveal": (
        "text = text + ' ' + kwargs['strands_cli']['secrets']['TOKEN']",
        {"readOnlyHint": True},
        {"capabilities": {"secrets": ["TOKEN"]}},
    ),
}
SHARED = """import pathlib
import threading


def note(text):
    with open('made', 'a', encoding='utf-8') as stream:
        stream.write(text + '\\n')


def wait(text):
    if not pathlib.Path('go').exists():
        print('waits in', text, flush=True)
        threading.Event().wait()
"""


def source_of(name: str) -> str:
    """Return the source of one tool."""
    body, annotations, ours = BODIES[name]
    described = {"name": name, "description": f"Does {name}.", "inputSchema": {"json": SCHEMA}}
    literal = {**described, "annotations": annotations, **({"strands_cli": ours} if ours else {})}
    return (
        f"from {PACKAGE} import note, wait\n\nTOOL_SPEC = {literal!r}\n\n\n"
        f"def {name}(tool, **kwargs):\n    text = tool['input']['text']\n    {body}\n"
        "    return {'toolUseId': tool['toolUseId'], 'status': 'success', 'content': [{'text': text}]}\n"
    )


def install_tools() -> None:
    """Install the four tools as one distribution, with a RECORD."""
    files = {f"{PACKAGE}/__init__.py": SHARED, **{f"{PACKAGE}/{name}.py": source_of(name) for name in BODIES}}
    entry_points = {name: f"{PACKAGE}.{name}" for name in BODIES}
    info = make_distribution(ROOT / "site", "strands-tool-before", "1.0", entry_points, files)
    (info / "INSTALLER").write_text("hand\n", encoding="utf-8")
    lines = [f"{info.name}/RECORD,,\n"]
    for path in sorted((ROOT / "site").rglob("*")):
        if path.is_file():
            digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).rstrip(b"=").decode()
            lines.append(f"{path.relative_to(ROOT / 'site').as_posix()},sha256={digest},{path.stat().st_size}\n")
    (info / "RECORD").write_text("".join(lines), encoding="utf-8")


def environment() -> dict[str, str]:
    """Return the environment of every command."""
    ours = {"HOME": f"{ROOT}/home", "STRANDS_RUNS_DIR": f"{ROOT}/runs", "PYTHONPATH": f"{ROOT}/site"}
    return {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", "MY_TOKEN": SECRET, **ours}


def strands(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the old program in the folder of the workflows."""
    command = [sys.argv[1], *arguments]
    return subprocess.run(
        command, cwd=ROOT / "work", env=environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True
    )


def begin(stored: Stored) -> None:
    """Make one run; kill it where it has to be killed."""
    words = ["run", f"{stored.name}.yaml", "--out", f"out/{stored.name}", *stored.begin]
    if not stored.killed:
        print(stored.name, strands(*words).returncode)
        return
    run = subprocess.Popen(
        [sys.argv[1], *words], cwd=ROOT / "work", env=environment(), stderr=subprocess.PIPE, text=True
    )
    assert run.stderr is not None
    assert any("waits in" in line for line in run.stderr), f"{stored.name} ended"
    run.send_signal(signal.SIGKILL)
    print(stored.name, run.wait())


def ids() -> dict[str, str]:
    """Return the id of each run by the name of its workflow file."""
    listed = json.loads(strands("runs", "list", "--json").stdout)["runs"]
    return {Path(run["file"]).stem: run["id"] for run in listed}


def shown(run: str) -> Any:
    """Return what the program shows of a run."""
    return shown_by_key(json.loads(strands("runs", "show", run, "--json").stdout))


def made() -> list[str]:
    """Return what tools have noted so far."""
    return (ROOT / "work" / "made").read_text(encoding="utf-8").splitlines()


def answer(run: str, words: Sequence[str]) -> dict[str, Any]:
    """Continue a copy of the run and return what came of it."""
    saved, before = ROOT.with_name("saved"), len(made())
    shutil.copytree(ROOT, saved)
    try:
        (ROOT / "work" / "go").touch()
        ran = strands(*(run if word == "RUN" else word for word in words), "--json")
        result = json.loads(ran.stdout) if ran.stdout else None
        now = result["run"] if result else run
        names = {now: NEW} if now != run else {}
        answered = {
            "code": ran.returncode,
            "result": result,
            "effects": effects_of(ROOT / "runs" / now),
            "made": made()[before:],
        }
        return {"words": list(words), **lasting(answered, names)}
    finally:
        shutil.rmtree(ROOT)
        saved.rename(ROOT)


def written(listed: Any, runs: dict[str, Any]) -> str:
    """Return the answers as JSON with one line for each."""
    lines = []
    for name, run in runs.items():
        head = f'{json.dumps(name)}: {{"id": {json.dumps(run["id"])}, "shown": {json.dumps(run["shown"])}'
        rest = ",\n  ".join(json.dumps(one, ensure_ascii=False) for one in run["continued"])
        lines.append(f'{head}, "continued": [\n  {rest}]}}')
    return f'{{"listed": {json.dumps(listed)},\n"runs": {{\n' + ",\n".join(lines) + "}}\n"


def main() -> None:
    """Make the runs, keep them, and write down what the program says of them and how it continues them."""
    shutil.rmtree(ROOT, ignore_errors=True)
    shutil.copytree(
        FIXTURES / "work", ROOT / "work", ignore=shutil.ignore_patterns("strands.lock", "recorded.*", "made", "out")
    )
    install_tools()
    print("lock", strands("lock").returncode)
    for stored in STORED:
        begin(stored)
    for database in ROOT.glob("runs/*/journal.sqlite"):
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    runs = ids()
    answers = {
        stored.name: {
            "id": runs[stored.name],
            "shown": lasting(shown(runs[stored.name]), {}),
            "continued": [answer(runs[stored.name], words) for words in stored.continuations],
        }
        for stored in STORED
    }
    listed = lasting(json.loads(strands("runs", "list", "--json").stdout), {})
    print("recording", strands("run", "graph.yaml", "--record", "recorded.yaml", "--runs-dir", "elsewhere").returncode)
    shutil.rmtree(ROOT / "work" / "elsewhere")
    for name in ("work", "site"):
        shutil.rmtree(FIXTURES / name)
        shutil.copytree(ROOT / name, FIXTURES / name)
    shutil.make_archive(str(FIXTURES / "runs"), "zip", ROOT, "runs")
    (FIXTURES / "answers.json").write_text(written(listed, answers), encoding="utf-8")


if __name__ == "__main__":
    main()
