"""Adopted tools in commands: they are listed, shown, called, planned, decided on and locked as any other."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.adoption.kit import FILE, FUNCTION, adopt, install
from tests.cli.strands import Folder, Ran

# Its commands scan what was just installed, in processes of their own.
pytestmark = pytest.mark.wheels

ALIASED = {"greet": "acme_tools.hello:hello"}
WORKFLOW = """\
version: 2
name: greetings
runtime: {provider: ollama, model_id: m}
agents: {a: {prompt: Greet., tools: [native:greet]}}
pattern: {type: chain, config: {steps: [{agent: a, input: Ada}]}}
"""


class Machine:
    """A folder to work in, an installed distribution, and the user's settings."""

    def __init__(self, folder: Folder) -> None:
        self.folder, self.site, self.work = folder, folder.site, folder.work
        self.config = folder.root / "config" / "strands-cli"
        self.user, self.project = self.config / FILE, self.work / FILE
        self.config.mkdir(parents=True)
        install(self.site)

    def run(self, *arguments: str) -> Ran:
        places = dict.fromkeys(("XDG_CONFIG_HOME", "APPDATA"), str(self.config.parent))
        return self.folder.strands(*arguments, **places)


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    if sys.platform == "darwin":
        pytest.skip("the user's settings are in the home directory there")
    folder = Folder(tmp_path)
    folder.work.mkdir()
    yield Machine(folder)
    folder.end_started()


def test_a_listing_says_from_which_file_and_since_when(machine: Machine) -> None:
    adopt(machine.user, machine.site, ALIASED)
    plain = machine.run("list-tools")
    assert any(line.split()[:3] == ["greet", "available", "acme-tools"] for line in plain.out.splitlines())
    assert "adopted" not in plain.out
    with_source = machine.run("list-tools", "--source")
    assert f"adopted: 2026-11-23 in {machine.user} (user)" in with_source.out
    assert "'hello'" in with_source.out
    tools = {tool["name"]: tool for tool in json.loads(machine.run("list-tools", "--json").out)["tools"]}
    assert tools["greet"]["source"]["adopted"] == {
        "file": str(machine.user),
        "level": "user",
        "since": "2026-11-23",
        "called": "hello",
        "imported": False,
    }
    assert {tool["source"]["adopted"] for name, tool in tools.items() if name != "greet"} == {None}
    assert f"adopted: 2026-11-23 in {machine.user}" in machine.run("tools", "show", "greet").out


def test_a_tool_is_called_by_its_alias(machine: Machine) -> None:
    adopt(machine.user, machine.site, ALIASED)
    done = machine.run("tools", "run", "greet", "--input", '{"name": "Ada"}', "--json")
    assert (done.code, done.err) == (0, "")
    assert "hello Ada" in done.out


def test_the_file_of_the_folder_counts_in_it(machine: Machine) -> None:
    adopt(machine.project, machine.site, ALIASED)
    (machine.work / "w.yaml").write_text(WORKFLOW, encoding="utf-8")
    assert "(project)" in machine.run("list-tools", "--source").out
    planned = machine.run("plan", "w.yaml")
    assert "native:greet" in planned.out
    assert (planned.code, planned.err) == (0, "")
    assert machine.run("validate", "w.yaml").err == ""
    assert "native:greet" in machine.run("workflows", "schema").out
    other = machine.work / "other"
    other.mkdir()
    (other / "w.yaml").write_text(WORKFLOW, encoding="utf-8")
    assert "unknown-tool" in machine.run("plan", "other/w.yaml").err


def test_an_alias_of_a_project_is_allowed_by_the_tools_own_name(machine: Machine) -> None:
    adopt(machine.project, machine.site, ALIASED)
    [greet] = json.loads(machine.run("explain", "policy", "native:greet", "--json").out)["tools"]
    assert "--allow acme-tools/hello or --yes" in greet["changes"][0]


def test_unknown_safety_asks_and_rules_may_name_the_source(machine: Machine) -> None:
    adopt(machine.user, machine.site, ALIASED)
    asked = json.loads(machine.run("explain", "policy", "native:greet", "--json").out)["tools"][0]
    assert asked["sources"] == ["adopted", "index", "PYTHONPATH"] or set(asked["sources"]) >= {"adopted", "index"}
    assert (asked["load"]["effect"], asked["call"]["effect"]) == ("allow", "ask")
    policy = machine.config / "policy.yaml"
    policy.write_text("version: 1\nrules:\n  - deny: '*'\n    source: adopted\n", encoding="utf-8")
    denied = json.loads(machine.run("explain", "policy", "native:greet", "--json").out)["tools"][0]
    assert denied["load"]["effect"] == "deny"
    refused = machine.run("tools", "run", "greet", "--input", "{}")
    assert refused.code == 21


def test_the_users_policy_keeps_a_project_from_adopting(machine: Machine) -> None:
    adopt(machine.project, machine.site, ALIASED)
    policy = machine.config / "policy.yaml"
    policy.write_text("version: 1\nrules:\n  - deny: '*'\n    source: adopted\n", encoding="utf-8")
    listed = json.loads(machine.run("list-tools", "--json").out)["tools"]
    [greet] = [tool for tool in listed if tool["name"] == "greet"]
    assert greet["status"] == "broken"
    assert str(policy) in greet["reason"]


def test_a_lock_covers_it_and_a_changed_tool_is_a_difference_by_field(machine: Machine) -> None:
    adopt(machine.user, machine.site, ALIASED)
    (machine.work / "w.yaml").write_text(WORKFLOW, encoding="utf-8")
    assert machine.run("lock").code == 0
    lock = (machine.work / "strands.lock").read_text("utf-8")
    assert 'name = "acme-tools"' in lock
    assert "acme_tools/hello.py" in lock
    assert machine.run("lock", "--check").code == 0
    module = machine.site / "acme_tools" / "hello.py"
    module.write_text(FUNCTION.replace("Say hello to", "Send mail to"), encoding="utf-8")
    broken = machine.run("lock", "--check")
    assert broken.code == 18
    assert "description" in broken.err
    assert "Send mail to a person." in machine.run("tools", "show", "greet").out
    assert "strands plugin adopt acme-tools" in broken.err
    adopt(machine.user, machine.site, ALIASED)
    changed = machine.run("lock", "--check")
    assert changed.code == 21
    assert "Send mail to" in changed.out + changed.err


def test_a_broken_one_is_reported_once_and_by_every_command(machine: Machine) -> None:
    adopt(machine.user, machine.site, ALIASED)
    (machine.site / "acme_tools" / "hello.py").write_text(FUNCTION + "\n", encoding="utf-8")
    listed = machine.run("list-tools", "--check")
    assert listed.code == 3
    assert listed.err.count("adopted-changed") == 1
    assert machine.run("tools", "run", "greet", "--input", "{}").code == 18
    doctor = machine.run("doctor", "--json")
    assert "'greet' of acme-tools" in doctor.out
    plugins = json.loads(machine.run("plugin", "list", "--json").out)["plugins"]
    [acme] = [plugin for plugin in plugins if plugin["name"] == "acme-tools"]
    assert (acme["status"], "adopted" in acme["sources"]) == ("1 broken", True)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": 9}', '{"version": 1, "distributions": {"a": 1}}'])
@pytest.mark.parametrize("level", ["user", "project"])
def test_a_damaged_file_hides_no_other_tool(text: str, level: str, machine: Machine) -> None:
    before = machine.run("list-tools").out
    file = machine.user if level == "user" else machine.project
    file.write_text(text, encoding="utf-8")
    listed = machine.run("list-tools")
    assert (listed.code, listed.out) == (0, before)
    assert str(file) in listed.err
    assert "error[" in listed.err


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_a_link_to_nowhere_adopts_nothing(machine: Machine) -> None:
    machine.project.symlink_to(machine.work / "absent")
    listed = machine.run("list-tools")
    assert (listed.code, listed.codes) == (0, ["bad-adopted-file"])


def test_terminal_codes_of_a_package_are_not_printed(machine: Machine) -> None:
    source = FUNCTION.replace("Say hello to a person.", "Say \\x1b[2Jhello\\x07.")
    install(machine.site, "acme-tools", files={"acme_tools/__init__.py": "", "acme_tools/hello.py": source})
    adopt(machine.user, machine.site, ALIASED)
    for command in (["list-tools", "--source"], ["tools", "show", "greet"]):
        assert "\x1b" not in machine.run(*command).out
