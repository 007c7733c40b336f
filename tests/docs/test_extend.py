"""The recipes of "Extend strands-cli" work as they are written: those of a distribution touch no file of the core."""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import CLONE, blocks
from tests.test_house import LINT

PAGE = CLONE / "docs" / "how-to" / "extend.md"
CORE = "src/strands_cli"
DISTRIBUTION = "strands-cli-yours"
# The files of each recipe: another one makes the recipe longer, so that it fails here first.
PLACES = {
    "option": [f"{CORE}/planning/run_request.py"],
    "tool": [
        f"{CORE}/toolref.py",
        f"{CORE}/planning/planned_tool.py",
        f"{CORE}/planning/plan_values.py",
        f"{CORE}/planning/resolve/tool_resolver.py",
        f"{CORE}/tools/echo_tools.py",
        f"{CORE}/tools/tool_loading.py",
        f"{CORE}/tools/calls/trust.py",
    ],
}
FLOW = """\
version: 2
name: echoes
runtime: {provider: replay, recording: echoes.recording.yaml}
agents: {bat: {prompt: You listen., tools: ['echo:hello']}}
pattern:
  type: chain
  config: {steps: [{tool: 'echo:hello', input: {}}, {agent: bat, input: Listen.}]}
"""
RECORDING = "recording: 1\nsteps: {steps.1: [{calls: [{hello: {}}]}, {text: done}]}\n"


# A distribution of its own adds these, as the page shows it: no file of the core is touched.
OF_DISTRIBUTIONS = {
    "command": PAGE.with_name("commands.md"),
    "provider": PAGE.with_name("providers.md"),
    "pattern": PAGE.with_name("patterns.md"),
    "store": PAGE.with_name("add-a-store.md"),
    "exporter": PAGE.with_name("exporters.md"),
    "notification": PAGE.with_name("add-a-notification.md"),
}
# What is too long for its page.
STORE = CLONE / "examples" / "store"
TOOL = CLONE / "examples" / "extend" / "kind-of-tool.diff"
ASK = """\
version: 2
name: ask
runtime: {provider: replay, recording: turns.yaml}
agents: {reader: {prompt: You read.}}
pattern: {type: chain, config: {steps: [{type: hitl, prompt: Which book?}]}}
"""


@dataclass(frozen=True)
class Change:
    """A part of a file, and what takes its place."""

    file: str
    old: str
    new: str


def sources_of(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder, without those that Python makes of them."""
    files = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def changes_of(recipe: str) -> Iterator[Change]:
    """Yield the changes of a recipe: `+++` names a file, `@@` begins another change in it."""
    texts = [block.text for block in blocks(PAGE) if block.marks.get("recipe") == recipe]
    for text in [TOOL.read_text("utf-8")] if recipe == "tool" else texts:
        for part in text.split("+++ ")[1:]:
            file, _, rest = part.partition("\n")
            for hunk in rest.rstrip("\n").split("\n@@\n"):
                lines = hunk.splitlines()
                old = [line[1:] for line in lines if not line.startswith("+")]
                yield Change(file, "\n".join(old), "\n".join(line[1:] for line in lines if not line.startswith("-")))


def files_of(page: Path) -> dict[str, str]:
    """Return the files that a page has, or that the example has to which it leads."""
    files = {block.marks["file"]: block.text for block in blocks(page) if "file" in block.marks}
    if page == OF_DISTRIBUTIONS["store"]:
        files |= {f"{DISTRIBUTION}/{name}": text.decode() for name, text in sources_of(STORE).items()}
    return files


@dataclass(frozen=True)
class Copy:
    """A copy of `src/`, and commands that use it."""

    root: Path
    sources: Path
    environment: dict[str, str] = field(default_factory=dict)

    def write(self, file: str, text: str) -> None:
        """Write a file."""
        (self.root / file).parent.mkdir(parents=True, exist_ok=True)
        (self.root / file).write_text(text, "utf-8")

    def install(self, page: Path) -> None:
        """Write the files of a page, build the wheel of its distribution, and install that beside the core."""
        for file, text in files_of(page).items():
            self.write(file, text)
        words = ("-m", "hatchling", "build", "-t", "wheel", "-d", str(self.root))
        self._run({"PATH": ""}, *words, directory=self.root / DISTRIBUTION)
        (wheel,) = self.root.glob("*.whl")
        with zipfile.ZipFile(wheel) as opened:
            opened.extractall(self.root / "site")

    def follow(self, recipe: str) -> None:
        """Apply the changes of a recipe; the place of each is found exactly once."""
        for change in changes_of(recipe):
            path = self.root / change.file
            text = path.read_text("utf-8") if change.old else ""
            assert text.count(change.old) == 1 or not change.old, change
            path.write_text(text.replace(change.old, change.new) if change.old else f"{change.new}\n", "utf-8")

    def python(self, *words: str, code: int = 0) -> str:
        """Run Python with the copy; return what it prints."""
        places = f"{self.sources}:{self.root / 'site'}"
        environment = {"PYTHONPATH": places, "HOME": str(self.root), "COLUMNS": "200", "PATH": ""}
        return self._run({**environment, **self.environment}, *words, code=code)

    def keeps_the_rules(self) -> None:
        """Check the import contracts."""
        environment = {"PYTHONPATH": f"{self.sources}:{CLONE}", "HOME": str(self.root), "PATH": ""}
        self._run(environment, "-c", LINT, "--no-cache", "--config", str(CLONE / "pyproject.toml"))

    def _run(self, environment: dict[str, str], *words: str, code: int = 0, directory: Path | None = None) -> str:
        ran = subprocess.run(
            [sys.executable, *words],
            cwd=directory or self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout

    def strands(self, *words: str, code: int = 0) -> str:
        return self.python("-m", "strands_cli", *words, code=code)


def copied(folder: Path) -> Path:
    return Path(shutil.copytree(CLONE / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__")))


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path, copied(tmp_path))


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of `src/` that no test changes, so that Python compiles it once."""
    return copied(tmp_path_factory.mktemp("core"))


@pytest.mark.parametrize("recipe", PLACES)
def test_a_recipe_names_its_places_and_no_others(recipe: str) -> None:
    assert list(dict.fromkeys(change.file for change in changes_of(recipe))) == PLACES[recipe]


@pytest.mark.parametrize("kind", OF_DISTRIBUTIONS)
def test_what_a_distribution_adds_touches_no_file_of_the_core(kind: str) -> None:
    files = files_of(OF_DISTRIBUTIONS[kind])
    assert f"{DISTRIBUTION}/pyproject.toml" in files
    assert [file for file in files if file.startswith(("src/", CORE, "../", "/"))] == []
    assert f"({OF_DISTRIBUTIONS[kind].name})" in PAGE.read_text("utf-8")


def use_command(copy: Copy) -> None:
    assert json.loads(copy.strands("greet", "Ada", "--json")) == {"greeting": "hello Ada"}
    assert copy.strands("shelf", "add", "Emma").strip() == "added Emma"
    assert copy.strands("--help").count(DISTRIBUTION) == 3
    copy.write("ask.yaml", ASK)
    copy.write("turns.yaml", "recording: 1\nsteps: {}\n")
    copy.strands("run", "ask.yaml", code=19)
    assert copy.strands("asked").strip() == "ask, steps.0: Which book?"


def use_provider(copy: Copy) -> None:
    assert copy.strands("run", "parrot.yaml", "--quiet").strip() == "polly says hihi"
    copy.strands("plan", "parrot.yaml", "--provider", "birds", "--model", "small", code=18)


def use_pattern(copy: Copy) -> None:
    copy.strands("new", "bees", "--pattern", "talk")
    copy.strands("validate", "bees.yaml")
    steps = json.loads(copy.strands("plan", "bees.yaml", "--var", "topic=bees", "--format", "json"))["steps"]
    assert [step["key"] for step in steps] == ["lines.N"]
    assert copy.strands("run", "bees.yaml", "--var", "topic=bees", "--quiet").strip() == "Bees dance."


def use_store(copy: Copy) -> None:
    store = ("--store", f"shelf://{copy.root}/runs.db")
    copy.write("ask.yaml", ASK)
    copy.write("turns.yaml", "recording: 1\nsteps: {}\n")
    copy.strands("runs", "store", "init", *store)
    copy.strands("run", "ask.yaml", *store, code=19)
    assert copy.strands("approve", "last", "--answer", "Emma", "--quiet", *store).strip() == "Emma"
    (run,) = json.loads(copy.strands("runs", "list", "--json", *store))["runs"]
    assert run["status"] == "completed"


def use_exporter(copy: Copy) -> None:
    def exported(*words: str, code: int = 0) -> str:
        copy.strands(*words, "--export", "markdown=run.md", code=code)
        return (copy.root / "run.md").read_text("utf-8")

    assert "\nIt asks: Put it up?\n" in exported("run", "publish.yaml", code=19)
    report = exported("approve", "last", "--answer", "At noon.")
    assert "# publish: completed\n" in report
    assert "\n## Answer\n\nAt noon.\n" in report
    copy.write("publish.recording.yaml", "recording: 1\nsteps: {steps.0: [{text: It rains.}, {text: Unused.}]}\n")
    assert "\n## Reason\n\n" in exported("run", "publish.yaml", "--force", code=10)
    copy.write("run.md", "mine")
    assert exported("run", "publish.yaml", code=12) == "mine"


def use_notification(copy: Copy) -> None:
    copy.strands("plugin", "enable", DISTRIBUTION)
    with receiver() as (address, messages):
        copy.environment["YOURS_WEBHOOK"] = address
        copy.strands("run", "publish.yaml", code=19)
        command = messages[0]["questions"][0]["answer_with"]
        assert copy.strands(*shlex.split(command)[1:], "--quiet").strip() == "approved"
    assert [message["status"] for message in messages] == ["waiting", "completed"]
    assert len({message["run"] for message in messages}) == 1


@contextlib.contextmanager
def receiver() -> Iterator[tuple[str, list[Any]]]:
    """Yield the address of a webhook on this machine, and the messages that it has got."""
    messages: list[Any] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            messages.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/", messages
        server.shutdown()


USES = {
    "command": use_command,
    "provider": use_provider,
    "pattern": use_pattern,
    "store": use_store,
    "exporter": use_exporter,
    "notification": use_notification,
}


@pytest.mark.docs
@pytest.mark.parametrize("kind", OF_DISTRIBUTIONS)
def test_what_a_distribution_adds_is_used_and_the_core_is_as_it_was(kind: str, tmp_path: Path, core: Path) -> None:
    copy = Copy(tmp_path, core)
    copy.install(OF_DISTRIBUTIONS[kind])
    USES[kind](copy)
    assert sources_of(core) == sources_of(CLONE / "src")


OPTION = """
from strands_cli.planning.run_request import RunRequest
stored = RunRequest(tone="formal").to_stored()
assert stored["tone"] == "formal"
assert RunRequest.from_stored(stored, {}).tone == "formal"
"""
CHOICE = """
from strands_cli import Workflow
flow = Workflow.from_file("bees.yaml")
flow.plan(tone="formal")
"""


@pytest.mark.docs
def test_an_option_is_one_field(copy: Copy) -> None:
    copy.follow("option")
    for command in ("run", "atomic run", "plan", "resume", "approve", "reject", "rerun"):
        help_text = copy.strands(*command.split(), "--help")
        assert "--tone TONE" in help_text, command
        assert "How agents speak." in help_text, command
    copy.python("-c", OPTION)
    copy.strands("new", "bees", "--pattern", "chain")
    copy.strands("run", "bees.yaml", "--tone", "formal")
    copy.keeps_the_rules()
    copy.python("-c", CHOICE)


@pytest.mark.docs
def test_a_kind_of_tool_is_a_class_its_reference_and_its_loading(copy: Copy) -> None:
    copy.follow("tool")
    copy.keeps_the_rules()
    (copy.root / "echoes.yaml").write_text(FLOW, "utf-8")
    (copy.root / "echoes.recording.yaml").write_text(RECORDING, "utf-8")
    copy.strands("validate", "echoes.yaml")
    copy.strands("run", "echoes.yaml", "--events", "events.jsonl")
    events = [json.loads(line) for line in (copy.root / "events.jsonl").read_text("utf-8").splitlines()]
    decided = [event for event in events if event["event"] == "ToolCallDecided"]
    assert [(one["tool"], one["effect"]) for one in decided] == [("hello", "allow"), ("hello", "allow")]
