"""The recipes of "Add an option, a kind of tool" work as they are written, in the places that they name."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.distributions import make_distribution
from tests.docs.pages import CLONE, blocks
from tests.test_house import LINT

PAGE = CLONE / "docs" / "how-to" / "extend.md"
PROVIDERS = CLONE / "docs" / "how-to" / "providers.md"
TOY = CLONE / "tests" / "patterns" / "toy"
CORE = "src/strands_cli"
SIDES = ("workflow", "engine")
# The files of each recipe: another one makes the recipe longer, so that it fails here first.
PLACES = {
    "option": [f"{CORE}/planning/run_request.py"],
    "tool": [
        f"{CORE}/toolref.py",
        f"{CORE}/planning/planned_tools/planned_tool.py",
        f"{CORE}/planning/plan/plan_values.py",
        f"{CORE}/planning/resolve/tool_resolver.py",
        f"{CORE}/tools/forms/echo_tools.py",
        f"{CORE}/tools/loading/tool_loading.py",
        f"{CORE}/tools/calls/trust.py",
    ],
}
FLOW = """\
version: 1
name: echoes
runtime: {provider: replay, recording: echoes.recording.yaml}
agents: {bat: {prompt: You listen., tools: ['echo:hello']}}
pattern:
  type: chain
  config: {steps: [{tool: 'echo:hello', input: {}}, {agent: bat, input: Listen.}]}
"""
RECORDING = "recording: 1\nsteps: {steps.1: [{calls: [{hello: {}}]}, {text: done}]}\n"


# A distribution of its own adds these: no file of the core is touched.
OF_DISTRIBUTIONS = {"provider": PROVIDERS}


@dataclass(frozen=True)
class Change:
    """A part of a file, and what takes its place."""

    file: str
    old: str
    new: str


def changes_of(recipe: str) -> Iterator[Change]:
    """Yield the changes of a recipe's blocks: `+++` names a file, `@@` begins another change in it."""
    for block in blocks(PAGE):
        if block.marks.get("recipe") != recipe:
            continue
        for part in block.text.split("+++ ")[1:]:
            file, _, rest = part.partition("\n")
            for hunk in rest.rstrip("\n").split("\n@@\n"):
                lines = hunk.splitlines()
                old = [line[1:] for line in lines if not line.startswith("+")]
                yield Change(file, "\n".join(old), "\n".join(line[1:] for line in lines if not line.startswith("-")))


@dataclass(frozen=True)
class Copy:
    """A copy of `src/`, and commands that use it."""

    root: Path

    def follow(self, recipe: str) -> None:
        """Apply the changes of a recipe; the place of each is found exactly once."""
        for change in changes_of(recipe):
            path = self.root / change.file
            text = path.read_text("utf-8") if change.old else ""
            assert text.count(change.old) == 1 or not change.old, change
            path.write_text(text.replace(change.old, change.new) if change.old else f"{change.new}\n", "utf-8")

    def python(self, *words: str, code: int = 0) -> str:
        """Run Python with the copy; return what it prints."""
        environment = {"PYTHONPATH": str(self.root / "src"), "HOME": str(self.root), "COLUMNS": "200", "PATH": ""}
        return self._run(environment, *words, code=code)

    def keeps_the_rules(self) -> None:
        """Check the import contracts."""
        environment = {"PYTHONPATH": f"{self.root / 'src'}:{CLONE}", "HOME": str(self.root), "PATH": ""}
        self._run(environment, "-c", LINT, "--no-cache", "--config", str(CLONE / "pyproject.toml"))

    def _run(self, environment: dict[str, str], *words: str, code: int = 0) -> str:
        ran = subprocess.run(
            [sys.executable, *words], cwd=self.root, env=environment, capture_output=True, text=True, check=False
        )
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout

    def strands(self, *words: str, code: int = 0) -> str:
        return self.python("-m", "strands_cli", *words, code=code)


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    shutil.copytree(CLONE / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    return Copy(tmp_path)


@pytest.mark.parametrize("recipe", PLACES)
def test_a_recipe_names_its_places_and_no_others(recipe: str) -> None:
    assert list(dict.fromkeys(change.file for change in changes_of(recipe))) == PLACES[recipe]


@pytest.mark.parametrize("recipe", OF_DISTRIBUTIONS)
def test_what_a_distribution_adds_touches_no_file_of_the_core(recipe: str) -> None:
    files = [block.marks["file"] for block in blocks(OF_DISTRIBUTIONS[recipe]) if "file" in block.marks]
    assert files
    assert [file for file in files if file.startswith(("src/", CORE))] == []
    assert f"({OF_DISTRIBUTIONS[recipe].name})" in PAGE.read_text("utf-8")


@pytest.mark.docs
def test_a_provider_is_a_distribution_of_its_own(copy: Copy) -> None:
    for block in blocks(PROVIDERS):
        if file := block.marks.get("file"):
            place = copy.root / str(file).replace("strands-cli-yours/src/", "src/")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(block.text, "utf-8")
    project = tomllib.loads((copy.root / "strands-cli-yours" / "pyproject.toml").read_text("utf-8"))["project"]
    points = project["entry-points"]["strands_cli.providers"]
    lines = "".join(f"{name} = {value}\n" for name, value in points.items())
    make_distribution(copy.root / "src", project["name"], "0.1.0", f"[strands_cli.providers]\n{lines}", {})
    assert copy.strands("run", "parrot.yaml", "--quiet").strip() == "polly says hihi"
    copy.strands("plan", "parrot.yaml", "--provider", "birds", "--model", "small", code=18)


@pytest.mark.docs
def test_a_pattern_touches_no_file_of_the_core(copy: Copy) -> None:
    files = {f"strands_cli_yours/{side}_side.py": (TOY / f"{side}_side.py").read_text("utf-8") for side in SIDES}
    named = {file: text.replace("tests.patterns.toy", "strands_cli_yours") for file, text in files.items()}
    points = "[strands_cli.patterns]\ntalk = strands_cli_yours.workflow_side:Talk\n"
    make_distribution(
        copy.root / "src", "strands-cli-yours", "1.0", points, {"strands_cli_yours/__init__.py": "", **named}
    )
    copy.strands("new", "bees", "--pattern", "talk")
    copy.strands("validate", "bees.yaml")
    steps = json.loads(copy.strands("plan", "bees.yaml", "--format", "json"))["steps"]
    assert [step["key"] for step in steps] == ["talk.N", "last_word"]
    copy.strands("run", "bees.yaml", code=19)
    (run,) = json.loads(copy.strands("runs", "list", "--json"))["runs"]
    assert copy.strands("approve", run["id"], "--answer", "They do.").strip() == "They do."


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
