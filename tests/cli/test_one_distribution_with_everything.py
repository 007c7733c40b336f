"""A stranger's distribution with a part of each kind, written from the pages: it works, is refused, and goes away."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.api.test_distributions import imports_of
from tests.cli.strands import Folder, Ran
from tests.distributions import make_distribution
from tests.docs.pages import CLONE

pytestmark = pytest.mark.wheels

SOURCE = CLONE / "tests" / "distributions" / "strands-cli-yours"
STORE = CLONE / "examples" / "store"
NAME, PACKAGE = "strands-cli-yours", "strands_cli_yours"
POINTS = """\
[strands_cli.commands]
books = json:loads
[strands_cli.providers]
parrot = json:loads
[strands_cli.patterns]
talk = json:loads
[strands_cli.filters]
shout = json:loads
[strands_cli.secrets]
vault = json:loads
[strands_cli.formats]
tasks = json:loads
[strands_cli.stores]
shelf = json:loads
[strands_cli.exporters]
plain = json:loads
[strands_cli.tools]
stamp = strands_cli_theirs
"""
SEAL = "seven-seals"
CONTRACT = """
from strands_cli_dev import Example, ToolContract


class TestStamp(ToolContract):
    tool = "strands_cli_yours.stamp"
    examples = [Example({"text": "hi"}, expected="hi (3)")]
    secrets = {"SEAL": "wax"}
"""
HELLO = [{"text": "hello"}]
RECORDINGS = {
    "turns.yaml": {"steps.0": HELLO},
    "tasks.recording.yaml": {"steps.0": HELLO},
    "talk.yaml": {"lines.0": HELLO, "lines.1": HELLO},
    "none.yaml": {},
}


def replayed(name: str) -> dict[str, str]:
    return {"provider": "replay", "recording": name}


def flow(step: Mapping[str, Any], runtime: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "version": 2,
        "name": "flow",
        "runtime": runtime or replayed("turns.yaml"),
        "agents": {"bird": {"prompt": "You repeat.", "tools": []}},
        "pattern": {"type": "chain", "config": {"steps": [step]}},
        **more,
    }


GO = {"agent": "bird", "input": "go"}
SEALED = {"secrets": [{"key": "SEAL_OF_TESTS", "name": "SEAL", "source": "env"}]}
VAULT = {"secrets": [{"key": "seal", "name": "SEAL", "source": "vault", "path": "team"}]}
PARROT = {"provider": "parrot", "model_id": "polly", "options": {"volume": 2}}
TALK = {"type": "talk", "config": {"speaker": GO, "times": 2}}
PLAIN = flow(GO)
TASKS = {"format": "tasks", "title": "flow", "tasks": ["Say hello."]}
WHOLE = flow(
    GO,
    PARROT,
    env=VAULT,
    pattern={
        "type": "talk",
        "config": {
            "speaker": {"agent": "bird", "input": "{{ 'hi' | shout }}"},
            "closing": {"tool": "native:stamp", "input": {"text": "{{ line | shout('?') }}"}},
        },
    },
)


class Part(NamedTuple):
    """A workflow that names a part, the command that uses it, how that ends where the part is absent, and its name."""

    workflow: Mapping[str, Any]
    words: tuple[str, ...]
    absent: tuple[int, str]
    name: str


SHOW = {"tool": "native:show", "input": {}}
SHELF = ("--store", "shelf://{work}/runs.db")
RUN = ("run", "flow.yaml", "--quiet")
PARTS = {
    "command": Part(PLAIN, ("books",), (2, ""), "books"),
    "provider": Part(flow(GO, PARROT), RUN, (3, "unknown-provider"), "parrot"),
    "pattern": Part(flow(GO, replayed("talk.yaml"), pattern=TALK), RUN, (3, "unknown-pattern"), "talk"),
    "filter": Part(flow({"agent": "bird", "input": "{{ 'hi' | shout }}"}), RUN, (3, "bad-template"), "shout"),
    "secret": Part(flow(SHOW, replayed("none.yaml"), env=VAULT), RUN, (3, "bad-value"), "vault"),
    "format": Part(TASKS, RUN, (18, "unknown-format"), "tasks"),
    "store": Part(PLAIN, (*RUN, *SHELF), (2, ""), "shelf"),
    "exporter": Part(PLAIN, (*RUN, "--export", "plain=run.txt"), (2, ""), "plain"),
    "tool": Part(
        flow({"tool": "native:stamp", "input": {"text": "hi"}}, replayed("none.yaml"), env=SEALED),
        RUN,
        (3, "unknown-tool"),
        "stamp",
    ),
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel and install it, by its path, into a directory."""
    root = tmp_path_factory.mktemp("yours")
    project = root / NAME
    shutil.copytree(SOURCE, project, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(STORE / "src" / PACKAGE / "__init__.py", project / "src" / PACKAGE / "shelf.py")
    for words in (
        ["-m", "strands_cli", "plugin", "manifest", ".", "--write"],
        ["-m", "hatchling", "build", "-t", "wheel", "-d", str(root)],
    ):
        subprocess.run([sys.executable, *words], cwd=project, capture_output=True, check=True)
    (wheel,) = root.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(root / "site")]
    subprocess.run([*pip, str(wheel)], capture_output=True, check=True)
    return root / "site"


@pytest.fixture
def yours(folder: Folder, installed: Path) -> Folder:
    """Return a folder in which the distribution is installed beside the core."""
    shutil.copytree(installed, folder.site, dirs_exist_ok=True)
    for name, turns in RECORDINGS.items():
        folder.write(name, {"recording": 1, "steps": turns})
    folder.write("vault/team/seal", SEAL)
    spec = {"capabilities": {"secrets": ["SEAL"]}}
    folder.tool("show", "return answer(str(len(kwargs['strands_cli']['secrets']['SEAL'])))", strands_cli=spec)
    assert folder.strands("runs", "store", "init", *words_of(SHELF, folder)).code == 0
    return folder


def words_of(words: tuple[str, ...], folder: Folder) -> list[str]:
    return [word.replace("{work}", str(folder.work)) for word in words]


def used(part: Part, folder: Folder) -> Ran:
    """Write the workflow of a part and type its command."""
    folder.write("flow.yaml", part.workflow)
    return folder.strands(*words_of(part.words, folder), SEAL_OF_TESTS=SEAL)


def spy_on(folder: Folder) -> None:
    """Have the distribution show when it is imported."""
    with (folder.site / PACKAGE / "__init__.py").open("a", encoding="utf-8") as file:
        file.write(f"open({str(folder.root / 'imported')!r}, 'w').close()\n")


def was_imported(folder: Folder) -> bool:
    return (folder.root / "imported").exists()


@pytest.mark.parametrize("kind", PARTS)
def test_each_part_is_used(kind: str, yours: Folder) -> None:
    ran = used(PARTS[kind], yours)
    shown = {
        "command": "0 books",
        "provider": "polly says gogo",
        "secret": str(len(SEAL)),
        "tool": f"hi ({len(SEAL)})",
    }
    assert (ran.code, ran.out) == (0, shown.get(kind, "hello") + "\n"), ran.err


def test_it_imports_the_names_for_distributions_only(installed: Path) -> None:
    imported = set(imports_of(installed / PACKAGE))
    assert {name.rpartition(".")[0] for name in imported} == {"strands_cli.api"}


def test_its_tool_passes_the_tests_of_every_tool(yours: Folder) -> None:
    yours.write("test_stamp.py", CONTRACT)
    ran = yours.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_stamp.py"])
    assert ran.code == 0, ran.out


def test_a_workflow_uses_them_together(yours: Folder) -> None:
    store = words_of(SHELF, yours)
    yours.write("flow.yaml", WHOLE)
    assert yours.strands("validate", "flow.yaml").code == 0
    assert yours.strands("plan", "flow.yaml", *store).code == 0
    ran = yours.strands("run", "flow.yaml", "--quiet", "--export", "plain=run.txt", *store)
    assert (ran.code, ran.out) == (0, f"POLLY SAYS HI!HI!? ({len(SEAL)})\n"), ran.err
    assert (yours.work / "run.txt").read_text("utf-8") == f"plain: flow is completed\n{ran.out}"
    assert yours.strands("books", "--json", *store).document == {"books": 1}
    assert yours.strands("runs", "show", "last", *store).code == 0
    assert SEAL not in (yours.work / "runs.db").read_text(encoding="utf-8", errors="replace")


def test_each_part_is_listed_without_an_import(yours: Folder) -> None:
    spy_on(yours)
    assert f"Count the runs of a store. ({NAME})" in " ".join(yours.strands("--help").out.split())
    assert "stamp" in yours.strands("list-tools").out
    (row,) = [one for one in yours.strands("plugin", "list", "--json").document["plugins"] if one["name"] == NAME]
    shown = " ".join(map(str, row.values()))
    assert [part.name for part in PARTS.values() if part.name not in shown] == []
    assert not was_imported(yours)


@pytest.mark.parametrize("kind", PARTS)
def test_a_denied_distribution_is_not_imported(kind: str, yours: Folder) -> None:
    spy_on(yours)
    yours.write("strands-policy.yaml", f"version: 1\nrules:\n- {{deny: '*', distribution: {NAME}}}\n")
    ran = used(PARTS[kind], yours)
    assert (ran.code, ran.codes[-1]) == (21, "tool-denied" if kind == "tool" else "part-denied"), ran.err
    assert NAME in ran.err
    assert not was_imported(yours)


@pytest.mark.parametrize("kind", PARTS)
def test_what_changed_since_the_lock_is_not_imported(kind: str, yours: Folder) -> None:
    part = PARTS[kind]
    yours.write("flow.yaml", part.workflow)
    is_of_a_command_line = kind in ("command", "store", "exporter")
    locked = yours.strands("lock", *(("--update", NAME) if is_of_a_command_line else ()))
    assert locked.code == 0, locked.err
    assert used(part, yours).code == 0
    spy_on(yours)
    ran = used(part, yours)
    assert (ran.code, "lock-changed" in ran.codes) == (21, True), ran.err
    assert NAME in ran.err
    assert not was_imported(yours)
    if not is_of_a_command_line and kind != "tool":
        assert yours.strands("lock", "--check").code == 21
        assert not was_imported(yours)
    again = yours.strands("lock", "--update", NAME)
    assert again.code == 0, again.err
    assert used(part, yours).code == 0


@pytest.mark.parametrize("kind", PARTS)
def test_two_owners_of_a_name_are_refused_with_both_names(kind: str, yours: Folder) -> None:
    spy_on(yours)
    stamp = (SOURCE / "src" / PACKAGE / "stamp.py").read_text(encoding="utf-8")
    make_distribution(yours.site, "strands-cli-theirs", "1.0", POINTS, {"strands_cli_theirs.py": stamp})
    ran = used(PARTS[kind], yours)
    codes = {"tool": (3, "tool-conflict")}
    assert (ran.code, ran.codes[-1]) == codes.get(kind, (21, "part-taken")), ran.err
    assert "strands-cli-theirs" in ran.err
    assert NAME in ran.err
    assert not was_imported(yours)


@pytest.mark.parametrize("kind", PARTS)
def test_a_workflow_says_which_part_is_absent(kind: str, yours: Folder) -> None:
    shutil.rmtree(yours.site / PACKAGE)
    shutil.rmtree(next(yours.site.glob(f"{PACKAGE}-*.dist-info")))
    ran = used(PARTS[kind], yours)
    assert (ran.code, "".join(ran.codes[-1:])) == PARTS[kind].absent, ran.err
    assert PARTS[kind].name in ran.err


def test_a_distribution_that_was_removed_leaves_no_trace(yours: Folder) -> None:
    yours.write("flow.yaml", WHOLE)
    assert yours.strands("run", "flow.yaml", "--quiet").code == 0
    shutil.rmtree(yours.site / PACKAGE)
    shutil.rmtree(next(yours.site.glob(f"{PACKAGE}-*.dist-info")))
    yours.write("plain.yaml", PLAIN)
    for words in (
        ("--help",),
        ("list-tools",),
        ("explain", "supported"),
        ("workflows", "list"),
        ("plugin", "list"),
        ("validate", "plain.yaml"),
        ("plan", "plain.yaml"),
        ("run", "plain.yaml", "--quiet"),
        ("runs", "list"),
        ("runs", "show", "last"),
    ):
        ran = yours.strands(*words)
        assert (ran.code, NAME in ran.out + ran.err) == (0, False), (words, ran.out, ran.err)
