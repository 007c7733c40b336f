"""What the pages say is true: every block is run, validated or parsed, and every link leads somewhere.

Comment lines directly above a block say how it is checked (CONTRIBUTING.md lists them): `fragment`, `file: NAME`,
`exits: CODE`, `not run: REASON`, and `command: NAME` for the README's two commands, which `.ci/run` runs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.docs.pages import CLONE, Block, blocks, links, pages
from tests.warm_programs import WarmPrograms
from tests.yaml_texts import read_yaml

pytestmark = pytest.mark.docs

SECONDS = 300
SHELLS = {"sh", "bash", "shell"}
PLAIN = {"text", "mermaid", "jinja", "ini", "diff", "dockerfile", "markdown"}


def page_name(page: Path) -> str:
    return page.relative_to(CLONE).as_posix()


@pytest.fixture(scope="module")
def programs() -> Iterator[Path]:
    """Return a folder with a `strands` that begins warm."""
    with WarmPrograms() as made:
        yield made.folder


@pytest.fixture
def workspace(tmp_path: Path, programs: Path) -> Path:
    """Return a folder with a copy of the examples, in which a page's blocks run one after another."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    (tmp_path / "programs").symlink_to(programs)
    if (CLONE / "examples").is_dir():
        ignored = shutil.ignore_patterns("__pycache__", "out", "artifacts")
        shutil.copytree(CLONE / "examples", folder / "examples", ignore=ignored)
    return folder


def run(command: list[str], workspace: Path, expected: str) -> str:
    """Run a command as a newcomer would: no keys, an empty home; return stdout and stderr as one text."""
    kept = {key: value for key, value in os.environ.items() if not key.endswith("_API_KEY") and "STRANDS" not in key}
    home = workspace.parent / "home"
    home.mkdir(exist_ok=True)
    places = [workspace.parent / "programs", Path(sys.executable).parent]
    path = os.pathsep.join([*map(str, places), kept.get("PATH", os.defpath)])
    ran = subprocess.run(
        command,
        cwd=workspace,
        env={**kept, "HOME": str(home), "PATH": path, "XDG_DATA_HOME": str(home / "data"), "NO_COLOR": "1"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert ran.returncode == int(expected), f"exit {ran.returncode}, expected {expected}:\n{ran.stdout}"
    return ran.stdout


def check_shell(block: Block, workspace: Path) -> None:
    run(["bash", "-euo", "pipefail", "-c", block.text], workspace, block.marks.get("exits", "0"))


def check_console(block: Block, workspace: Path) -> None:
    """Run each `$ command`; the lines below it must be its output, where `...` matches anything."""
    for part in re.split(r"^\$ ", block.text, flags=re.M)[1:]:
        command, _, shown = part.partition("\n")
        printed = run(["bash", "-euo", "pipefail", "-c", command], workspace, block.marks.get("exits", "0"))
        pattern = r".*?".join(re.escape(piece) for piece in shown.strip().split("..."))
        assert not shown.strip() or re.fullmatch(pattern, printed.strip(), re.S), f"$ {command}\n{printed}"


def check_python(block: Block, workspace: Path) -> None:
    run([sys.executable, "-W", "error", "-c", block.text], workspace, block.marks.get("exits", "0"))


def check_yaml(block: Block, workspace: Path) -> None:
    """Validate a workflow as `strands validate` does; anything else must at least be YAML."""
    value = read_yaml(block.text)
    if "fragment" in block.marks or ("file" in block.marks and not is_workflow(value)):
        return
    assert is_workflow(value), "neither a workflow nor marked <!-- fragment --> or <!-- file: NAME -->"
    path = workspace / block.marks.get("file", "from-the-page.yaml")
    path.write_text(block.text, encoding="utf-8")
    run(["strands", "validate", str(path)], workspace, block.marks.get("exits", "0"))


def is_workflow(value: object) -> bool:
    return isinstance(value, dict) and "pattern" in value and bool({"agents", "name"} & value.keys())


CHECKS: dict[str, Callable[[Block, Path], object]] = {
    "yaml": check_yaml,
    "json": lambda block, _: json.loads(block.text),
    "jsonl": lambda block, _: [json.loads(line) for line in block.text.splitlines()],
    "toml": lambda block, _: tomllib.loads(block.text),
    "python": check_python,
    "console": check_console,
    **dict.fromkeys(SHELLS, check_shell),
    **dict.fromkeys(PLAIN, lambda *_: None),
}


def check_block(block: Block, workspace: Path) -> str | None:
    """Check one block as its language and marks ask; return what is wrong, or None."""
    if "command" in block.marks:
        return None
    if "not run" in block.marks:
        return None if block.marks["not run"] else f"{block}: say why it is not run: <!-- not run: REASON -->"
    if "file" in block.marks:
        path = workspace / block.marks["file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
    if "file" in block.marks and block.language == "python":
        compile(block.text, str(block), "exec")
        return None
    if block.language not in CHECKS:
        return f"{block}: name the block's language, `text` if it is none of {sorted(CHECKS)}"
    try:
        CHECKS[block.language](block, workspace)
    except (AssertionError, ValueError, yaml.YAMLError, subprocess.TimeoutExpired) as problem:
        return f"{block}: {problem}"
    return None


# Pages that need a Postgres are followed where there is one.
ELSEWHERE = {"docs/how-to/two-workers.md": "tests/postgres/test_two_workers_page.py"}


# A tutorial begins in an empty directory and an environment of its own: see test_tutorial.py.
@pytest.mark.parametrize(
    "page",
    [page for page in pages() if page_name(page) not in ELSEWHERE and "tutorial" not in page.parts],
    ids=page_name,
)
def test_every_block_of_the_page_does_what_it_says(page: Path, workspace: Path) -> None:
    wrong = [problem for block in blocks(page) if (problem := check_block(block, workspace))]
    assert not wrong, "\n\n".join(wrong)


@pytest.mark.parametrize("page", pages(), ids=page_name)
def test_every_link_into_the_repository_leads_somewhere(page: Path) -> None:
    assert [target for target in links(page) if not (page.parent / target).exists()] == []


def test_the_readme_has_the_two_commands_that_ci_runs() -> None:
    commands = {
        block.marks["command"]: block.text.splitlines()
        for block in blocks(CLONE / "README.md")
        if "command" in block.marks
    }
    assert commands.keys() >= {"quickstart", "test"}
    assert all(len(lines) == 1 for lines in commands.values()), "each is one line"
