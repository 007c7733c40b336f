"""The page on JSON has the fields of each command's document and of each event, and no others."""

from __future__ import annotations

import dataclasses
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from strands_cli import events
from tests.cli.strands import EXAMPLES, Folder
from tests.docs.pages import CLONE

PAGE = (CLONE / "docs" / "reference" / "json.md").read_text("utf-8")
QUICKSTART = str(EXAMPLES / "quickstart.yaml")
COMMANDS = {
    "run": ["run", QUICKSTART],
    "run that did not complete": ["run", str(EXAMPLES / "approve-and-write.yaml"), "--detach"],
    "runs list": ["runs", "list"],
    "runs show": ["runs", "show", "last"],
    "validate": ["validate", QUICKSTART],
    "plan": ["plan", QUICKSTART],
    "explain": ["explain", QUICKSTART],
    "explain policy": ["explain", "policy", "calculator"],
    "lock --check": ["lock", "--check"],
    "list-tools": ["list-tools"],
    "tools show": ["tools", "show", "calculator"],
    "tools run": ["tools", "run", "calculator", "--input", '{"expression": "1"}'],
    "plugin list": ["plugin", "list"],
    "doctor": ["doctor", "--no-engines"],
    "list-supported": ["list-supported"],
}
SMALL = {
    "explain CODE": ["explain", "lock-missing"],
    "new": ["new", "bees"],
    "trust": ["trust", QUICKSTART],
    "runs delete": ["runs", "delete", "last"],
    "runs prune": ["runs", "prune", "--older-than", "1d"],
    "plugin check": ["plugin", "check", "strands-tool-calculator"],
    "plugin verify": ["plugin", "verify"],
    "atomic list": ["atomic", "list"],
    "atomic test": ["atomic", "test", str(EXAMPLES / "atomic" / "triage.yaml")],
}


def sections() -> dict[str, list[str]]:
    """Return the fields of each command's table."""
    found = {}
    for part in re.split(r"^##+ ", PAGE, flags=re.M):
        head, _, text = part.partition("\n")
        if head in COMMANDS:
            found[head] = [name for row in first_column(text) for name in re.findall(r"`([^`]+)`", row)]
    return found


def first_column(text: str) -> Iterator[str]:
    table = text.partition("| field |")[2].partition("\n\n")[0]
    return (line.split(" | ")[0] for line in table.splitlines()[2:])


FAILING = {
    "run": ["run", "none.yaml"],
    "resume": ["resume", "none"],
    "rerun": ["rerun", "none", "--from", "steps.0"],
    "approve": ["approve", "none"],
    "reject": ["reject", "none"],
    "atomic run": ["atomic", "run", "none.yaml"],
    "atomic test": ["atomic", "test", "none.yaml"],
    "atomic validate": ["atomic", "validate", "none.yaml"],
    "plan": ["plan", "none.yaml"],
    "explain FILE": ["explain", "none.yaml"],
    "validate": ["validate", "none.yaml"],
    "lock": ["lock", "none.yaml"],
    "plugin check": ["plugin", "check", "none"],
    "tools run": ["tools", "run", "none", "--input", "{}"],
}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Return a folder in which a workflow has run, with a lock."""
    folder = Folder(tmp_path_factory.mktemp("prepared"))
    folder.work.mkdir()
    folder.site.mkdir()
    assert folder.strands("run", QUICKSTART, "--out", folder.work / "before").code == 0
    assert folder.strands("new", "sum").code == 0
    assert folder.strands("lock").code == 0
    return folder


@pytest.fixture
def ran_before(prepared: Folder, tmp_path: Path) -> Folder:
    """Return a copy of that folder, which a command may change."""
    shutil.copytree(prepared.root, tmp_path, dirs_exist_ok=True)
    return Folder(tmp_path)


@pytest.mark.parametrize("command", COMMANDS)
def test_the_page_has_the_fields_of_a_command(ran_before: Folder, command: str) -> None:
    ran = ran_before.strands(*COMMANDS[command], "--json")
    assert sorted(sections()[command]) == sorted(ran.document.keys() - {"format"})
    assert ran.document["format"] == 1


@pytest.mark.parametrize("command", SMALL)
def test_the_page_has_the_fields_of_a_small_document(ran_before: Folder, command: str) -> None:
    (row,) = re.findall(rf"^\| `{command}` \| (.*) \|$", PAGE, flags=re.M)
    ran = ran_before.strands(*SMALL[command], "--json")
    assert sorted(re.findall(r"`(\w+)`", row)) == sorted(ran.document.keys() - {"format"})


def test_the_commands_of_the_page_print_a_document_when_they_fail(ran_before: Folder) -> None:
    sentence = PAGE.partition("the findings behind it")[2].partition("print a document also")[0].partition("\n\n")[2]
    assert sorted(re.findall(r"`([^`]+)`", sentence)) == sorted(FAILING)
    for command in FAILING.values():
        ran = ran_before.strands(*command, "--json")
        assert ran.code != 0, command
        assert ran.document["format"] == 1, command


def test_every_event_has_its_fields_on_the_page() -> None:
    classes = {one.__name__: one for one in events.Event.__subclasses__()}
    rows = re.findall(r"^\| `([A-Z]\w+)` \| .* \| (.*) \|$", PAGE, flags=re.M)
    written = {name: re.findall(r"`(\w+)`", fields) for name, fields in rows}
    declared = {name: [one.name for one in dataclasses.fields(cls)][1:] for name, cls in classes.items()}
    assert written == declared
