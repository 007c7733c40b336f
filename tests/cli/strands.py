"""Run the real `strands` in a process of its own, as a person or a script does."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.distributions import make_distribution
from tests.sessions import AUTHORITIES
from tests.warm import STRANDS, WarmProcess, can_be_warm, run_warm, start_warm

if TYPE_CHECKING:
    from tests.cli.terminal import Terminal

CLONE = Path(__file__).parent.parent.parent
EXAMPLES = CLONE / "examples"
# Far more than anything here takes, so that only what hangs runs out of it, however busy the machine is.
SECONDS = 300
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


@dataclass(frozen=True)
class Ran:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document on stdout."""
        return json.loads(self.out)

    @property
    def codes(self) -> list[str]:
        """The codes of the findings on stderr, in their order."""
        return re.findall(r"^(?:error|warning)\[([a-z0-9-]+)\]: ", self.err, re.MULTILINE)

    @property
    def reported(self) -> list[str]:
        """The errors and warnings on stderr, each with the lines that belong to it."""
        return re.findall(r"^(?:error|warning)\b.*(?:\n  .*)*", self.err, re.MULTILINE)

    @property
    def places(self) -> list[str]:
        """The places of the findings on stderr: `FILE:LINE:COLUMN  (POINTER)`."""
        return re.findall(r"^  --> (.*)$", self.err, re.MULTILINE)


@dataclass
class Folder:
    """An empty folder to work in, with a home of its own and a directory for installed tools."""

    root: Path
    environ: dict[str, str] = field(default_factory=dict)
    started: list[Started] = field(default_factory=list)

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def site(self) -> Path:
        return self.root / "site"

    @property
    def runs(self) -> Path:
        return self.root / "runs"

    def environment(self, **more: str) -> dict[str, str]:
        """Return an environment without keys, colours or settings of the machine that runs the tests."""
        # What the authorities are is set for every test, in tests/sessions.py.
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG", AUTHORITIES) if name in os.environ}
        # The path of the test run is kept in the environment: it may say where the package under test is.
        path = os.pathsep.join(filter(None, [str(self.site), os.environ.get("PYTHONPATH")]))
        ours = {"HOME": str(self.root / "home"), "STRANDS_RUNS_DIR": str(self.runs), "PYTHONPATH": path}
        return {**kept, **ours, "PYTHONDONTWRITEBYTECODE": "1", **self.environ, **more}

    def strands(self, *arguments: str | Path, given: str | None = None, cwd: Path | None = None, **env: str) -> Ran:
        """Run one command; nothing on stdin unless `given`."""
        return self.run([STRANDS, *map(str, arguments)], given=given, cwd=cwd, **env)

    def run(self, command: Sequence[str], *, given: str | None = None, cwd: Path | None = None, **env: str) -> Ran:
        """Run any command in this folder."""
        environment = self.environment(**env)
        if can_be_warm(command, environment):
            ran = run_warm(command[1:], cwd or self.work, environment, given or "", SECONDS)
            return Ran(ran.returncode, ran.stdout, ran.stderr)
        ran = subprocess.run(
            command,
            cwd=cwd or self.work,
            env=environment,
            input=given if given is not None else "",
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=SECONDS,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def terminal(self, *arguments: str | Path, columns: int = 100, **env: str) -> Terminal:
        """Start one command at a terminal."""
        from tests.cli.terminal import Terminal

        return Terminal([STRANDS, *map(str, arguments)], self.work, self.environment(**env), columns)

    def start(self, *arguments: str | Path, given: str | None = None, **env: str) -> Started:
        """Start one command and go on; nothing on stdin unless `given`."""
        self.started.append(Started(self, [STRANDS, *map(str, arguments)], env, given))
        return self.started[-1]

    def end_started(self) -> None:
        """End what a failed test has left running."""
        for started in self.started:
            if started.process.poll() is None:
                started.process.kill()
                started.process.communicate()

    def write(self, name: str, content: Any) -> Path:
        """Write a file into the working folder; anything but text as JSON, which is YAML too."""
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def workflow(
        self, steps: Sequence[Mapping[str, Any]], turns: Mapping[str, Any] | None = None, **sections: Any
    ) -> Path:
        """Write `flow.yaml`, a chain with the agent `writer`, and the recording of what its model says."""
        self.write("flow.recording.yaml", {"recording": 1, "steps": dict(turns or {})})
        spec = {
            "version": 2,
            "name": "flow",
            "runtime": {"provider": "replay", "recording": "flow.recording.yaml"},
            "agents": {"writer": {"prompt": "You write."}},
            "pattern": {"type": "chain", "config": {"steps": list(steps)}},
        }
        return self.write("flow.yaml", {**spec, **sections})

    def tool(self, name: str, body: str, **spec: Any) -> None:
        """Install a read-only tool whose function is `body`; `spec` goes over its TOOL_SPEC."""
        described = {"name": name, "description": f"Does {name}.", "inputSchema": {"json": SCHEMA}}
        literal = {**described, "annotations": {"readOnlyHint": True}, **spec}
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        source = (
            f"TOOL_SPEC = {literal!r}\n\n\n"
            "def answer(text):\n    return {'status': 'success', 'content': [{'text': text}]}\n\n\n"
            f"def {name}(tool, **kwargs):\n{lines}\n"
        )
        package = f"strands_tool_{name}"
        make_distribution(
            self.site, package.replace("_", "-"), "1.0", {name: package}, {f"{package}/__init__.py": source}
        )

    def trusts_every_workflow(self) -> None:
        """Let a rule of the person allow what workflows start and open, for tests of other things."""
        policy = self.root / "home" / ".config" / "strands-cli" / "policy.yaml"
        policy.parent.mkdir(parents=True)
        policy.write_text('version: 1\nrules: [{allow: "workflow:*"}]\n', encoding="utf-8")

    def examples(self) -> Path:
        """Copy the examples here."""
        ignored = shutil.ignore_patterns("__pycache__", "artifacts", "out")
        return Path(shutil.copytree(EXAMPLES, self.work / "examples", ignore=ignored))

    def record(self) -> dict[str, Any]:
        """Return the facts of the one run that was made, from its record."""
        from strands_cli.engine.journal.sqlite_journal import SqliteJournal

        (directory,) = self.runs.iterdir()
        journal = SqliteJournal.open(directory)
        try:
            return {name: journal.get(name) for name in ("status", "reason")}
        finally:
            journal.close()


class Started:
    """A command that is running."""

    def __init__(self, folder: Folder, command: list[str], env: dict[str, str], given: str | None = None) -> None:
        environment = folder.environment(**env)
        self.process: subprocess.Popen[str] | WarmProcess
        if can_be_warm(command, environment):
            self.process = start_warm(command[1:], folder.work, environment, given or "")
        else:
            self.process = _start_cold(command, folder.work, environment, given or "")
        self._seen: list[str] = []

    def wait_for(self, text: str) -> None:
        """Read stderr until a line holds `text`."""
        assert self.process.stderr is not None
        guard = threading.Timer(SECONDS, self.process.kill)
        guard.start()
        try:
            for line in self.process.stderr:
                self._seen.append(line)
                if text in line:
                    return
        finally:
            guard.cancel()
        raise AssertionError(f"{text!r} was never said:\n{''.join(self._seen)}")

    def send(self, number: signal.Signals) -> None:
        """Send a signal."""
        self.process.send_signal(number)

    def end(self) -> Ran:
        """Wait for the end and return everything that was printed."""
        try:
            out, err = self.process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate()
            raise
        return Ran(self.process.returncode, out, "".join(self._seen) + err)


@contextmanager
def empty_folder(root: Path) -> Iterator[Folder]:
    """Make an empty folder to run commands in, and end the processes that were started in it."""
    made = Folder(root)
    made.work.mkdir()
    made.site.mkdir()
    yield made
    made.end_started()


def _start_cold(command: list[str], cwd: Path, environment: Mapping[str, str], given: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdin is not None
    process.stdin.write(given)
    process.stdin.close()
    process.stdin = None
    return process
