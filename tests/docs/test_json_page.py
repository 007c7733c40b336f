"""The page on JSON has the fields of each command's document and of each event, and no others."""

from __future__ import annotations

import dataclasses
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from strands_cli import events
from tests.cli.strands import EXAMPLES, Folder
from tests.cli.test_help import COMMANDS as COMMANDS_OF_PROGRAM
from tests.distributions import make_distribution
from tests.docs.pages import CLONE

# It reads every source.
pytestmark = pytest.mark.docs

PAGE = (CLONE / "docs" / "reference" / "json.md").read_text("utf-8")
QUICKSTART = str(EXAMPLES / "quickstart.yaml")
ORDERS = str(EXAMPLES / "batch" / "orders.yaml")
ORDER_ROWS = str(EXAMPLES / "batch" / "orders.csv")
CALCULATOR = CLONE / "packages" / "strands-tool-calculator"
COMMANDS = {
    "run": ["run", QUICKSTART],
    "run that did not complete": ["run", str(EXAMPLES / "approve-and-write.yaml"), "--detach"],
    "runs list": ["runs", "list"],
    "batch run": ["batch", ORDERS, ORDER_ROWS, "-o", "again.jsonl"],
    "batch status": ["batch", "status", "orders"],
    "runs show": ["runs", "show", "last"],
    "runs show KEY": ["runs", "show", "last", "steps.0/tool.0.file_read"],
    "runs report": ["runs", "report", "last"],
    "validate": ["validate", QUICKSTART],
    "plan": ["plan", QUICKSTART],
    "explain": ["explain", QUICKSTART],
    "explain policy": ["explain", "policy", "calculator"],
    "lock --check": ["lock", "--check"],
    "workflows list": ["workflows", "list"],
    "list-tools": ["list-tools"],
    "tools show": ["tools", "show", "calculator"],
    "tools run": ["tools", "run", "calculator", "--input", '{"expression": "1"}'],
    "plugin list": ["plugin", "list"],
    "doctor": ["doctor", "--no-engines"],
    "explain supported": ["explain", "supported"],
}
SMALL = {
    "explain CODE": ["explain", "lock-missing"],
    "new": ["new", "bees"],
    "workflows trust": ["workflows", "trust", QUICKSTART],
    "runs delete": ["runs", "delete", "last"],
    "batch cancel": ["batch", "cancel", "orders"],
    "runs prune": ["runs", "prune", "--older-than", "1d"],
    "runs store init": ["runs", "store", "init"],
    "runs store migrate": ["runs", "store", "migrate"],
    "runs store check": ["runs", "store", "check"],
    "plugin new": ["plugin", "new", "bees"],
    "plugin manifest": ["plugin", "manifest", str(CALCULATOR)],
    "plugin check": ["plugin", "check", "strands-tool-calculator"],
    "plugin install": ["plugin", "install", "strands-tool-calculator"],
    "plugin enable": ["plugin", "enable", "strands-hooks-bees"],
    "workflows agent new": ["workflows", "agent", "new", "bees"],
    "plugin verify": ["plugin", "verify"],
    "models list": ["models", "list"],
    "models default": ["models", "default"],
    "models alias": ["models", "alias", "fast", "openai/tiny"],
    "keys list": ["keys", "list"],
    "workflows agent list": ["workflows", "agent", "list"],
    "workflows agent test": ["workflows", "agent", "test", str(EXAMPLES / "atomic" / "triage.yaml")],
}


def sections() -> dict[str, list[str]]:
    """Return the fields of each command's list."""
    found = {}
    for part in re.split(r"^##+ ", PAGE, flags=re.M):
        head, _, text = part.partition("\n")
        if head in COMMANDS:
            found[head] = [name for row in items(text) for name in re.findall(r"`([^`]+)`", row)]
    return found


def items(text: str) -> Iterator[str]:
    """Yield the names that each line of the first list of a text begins with."""
    first = ("- " + text.partition("\n- ")[2]).partition("\n\n")[0]
    return (line.partition(": ")[0] for line in first.splitlines())


FAILING = {
    "run": ["run", "none.yaml"],
    "batch run": ["batch", "none.yaml", "none.csv", "-o", "none.jsonl"],
    "batch resume": ["batch", "resume", "none"],
    "batch retry": ["batch", "retry", "none", "--failed"],
    "resume": ["resume", "none"],
    "runs rerun": ["runs", "rerun", "none", "--from", "steps.0"],
    "approve": ["approve", "none"],
    "reject": ["reject", "none"],
    "workflows agent run": ["workflows", "agent", "run", "none.yaml"],
    "workflows agent test": ["workflows", "agent", "test", "none.yaml"],
    "workflows agent validate": ["workflows", "agent", "validate", "none.yaml"],
    "plan": ["plan", "none.yaml"],
    "explain FILE": ["explain", "none.yaml"],
    "validate": ["validate", "none.yaml"],
    "lock": ["lock", "none.yaml"],
    "plugin check": ["plugin", "check", "none"],
    "plugin install": ["plugin", "install", "./none"],
    "plugin upgrade": ["plugin", "upgrade", "none"],
    "plugin uninstall": ["plugin", "uninstall", "strands-tool-calculator"],
    "plugin adopt": ["plugin", "adopt", "not-installed"],
    "plugin unadopt": ["plugin", "unadopt", "not-adopted"],
    "tools run": ["tools", "run", "none", "--input", "{}"],
}
HOOKS = "from strands_cli.hooks import hookimpl\n\n@hookimpl\ndef strands_before_load(record):\n    pass\n"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Return a folder in which a workflow has run, with a lock."""
    folder = Folder(tmp_path_factory.mktemp("prepared"))
    folder.work.mkdir()
    folder.site.mkdir()
    points = "[strands_cli.hooks]\nhooks = bees_hooks\n"
    make_distribution(folder.site, "strands-hooks-bees", "1.0", points, {"bees_hooks.py": HOOKS})
    # The budget leaves rows to do.
    few = ["--concurrency", "1", "--budget", "max_tokens=30"]
    assert folder.strands("batch", ORDERS, ORDER_ROWS, "-o", "before.jsonl", *few).code == 20
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
    (row,) = re.findall(rf"^- `{command}`: (.*)$", PAGE.partition("## Smaller documents")[2], flags=re.M)
    ran = ran_before.strands(*SMALL[command], "--json")
    assert sorted(re.findall(r"`(\w+)`", row)) == sorted(ran.document.keys() - {"format"})


def test_the_page_has_the_fields_of_an_uninstallation(ran_before: Folder) -> None:
    (row,) = re.findall(r"^- `plugin uninstall`: (.*)$", PAGE, flags=re.M)
    refused = ran_before.strands("plugin", "uninstall", "strands-tool-calculator", "--json")
    assert (refused.code, refused.document["changed"]) == (2, False)
    assert [*re.findall(r"`(\w+)`", row), "error"] == list(refused.document)[1:]


# What a field holds that has the keys of others: schemas, values of inputs, manifests, maps by name.
FREE = {"input_schema", "output_schema", "config_schema", "strands_cli", "requires", "examples", "annotations", "given"}
FREE |= {"inputs", "arguments", "request", "json", "output", "details", "capabilities", "platforms", "manifests"}


def nested(value: object, inside: bool = False) -> Iterator[str]:
    """Yield the names of all fields that are inside other fields."""
    for item in value if isinstance(value, list) else ():
        yield from nested(item, True)
    for name, item in value.items() if isinstance(value, dict) else ():
        if inside:
            yield name
        if name not in FREE:
            yield from nested(item, True)


def words_of(command: str) -> set[str]:
    """Return the names on the page in a command's own section, those that it refers to, and the shared parts."""
    parts = {part.partition("\n")[0]: part for part in re.split(r"^##+ ", PAGE, flags=re.M)}
    own = parts.get(command) or parts["Smaller documents"]
    meant = re.findall(r"as in `(?:strands )?([\w -]+?)(?: --\w+)?`", own)
    texts = [own, parts["Parts that documents share"], *(parts.get(name, "") for name in meant)]
    if command == "runs show" or "as in `plan`" in own:
        texts += [parts["run that did not complete"], parts["plan"]]
    return {word for text in texts for code in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", code)}


@pytest.mark.parametrize("command", [*COMMANDS, *SMALL])
def test_the_page_has_the_fields_inside_fields(ran_before: Folder, command: str) -> None:
    document = ran_before.strands(*{**COMMANDS, **SMALL}[command], "--json").document
    assert sorted(set(nested(document)) - words_of(command)) == []


def test_every_command_prints_json_but_four() -> None:
    plain = [path for path, command in COMMANDS_OF_PROGRAM.items() if not {"--json", "--format"} & options_of(command)]
    assert sorted(plain) == ["completion", "ui", "workers start", "workflows watch"]


def options_of(command: Any) -> set[str]:
    return {word for one in command.params for word in one.opts}


def test_the_commands_of_the_page_print_a_document_when_they_fail(ran_before: Folder) -> None:
    sentence = PAGE.partition("the findings behind it")[2].partition("print a document also")[0].partition("\n\n")[2]
    assert sorted(re.findall(r"`([^`]+)`", sentence)) == sorted(FAILING)
    for command in FAILING.values():
        ran = ran_before.strands(*command, "--json")
        assert ran.code != 0, command
        assert ran.document["format"] == 1, command


def test_every_event_has_its_fields_on_the_page() -> None:
    classes = {one.__name__: one for one in events.Event.__subclasses__()}
    rows = re.findall(r"^- `([A-Z]\w+)` \(.*?\): (.*)$", PAGE, flags=re.M)
    written = {name: re.findall(r"`(\w+)`", fields) for name, fields in rows}
    declared = {name: [one.name for one in dataclasses.fields(cls)][1:] for name, cls in classes.items()}
    assert written == declared
