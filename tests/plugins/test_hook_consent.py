"""Hooks are switched on by an answer of the person, given with the command or at the terminal, and by nothing else."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from strands_cli.cli.commands import plugin_installer as hook_consent
from strands_cli.errors import Denied, InvalidInput
from tests.cli.strands import Folder
from tests.distributions import make_distribution

NAME = "strands-hooks-quiet"
HOOKS = "from strands_cli.hooks import hookimpl\n\n@hookimpl\ndef strands_before_load(record):\n    pass\n"
POINTS = "[strands_cli.hooks]\nquiet = strands_hooks_quiet\n"


@pytest.fixture
def user_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the user's policy file, in a home with an installed hook plugin."""
    make_distribution(tmp_path / "site", NAME, "1.0", POINTS, {"strands_hooks_quiet.py": HOOKS})
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "config" / "strands-cli" / "policy.yaml"


def installed(**more: Any) -> dict[str, Any]:
    return {"distribution": NAME, "changed": True, "hooks": ["quiet"], "hooks_on": None, **more}


def at_a_terminal(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    import io

    from strands_cli.cli.terminal import terminal_human

    monkeypatch.setattr(terminal_human, "is_interactive", lambda: True)
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))


@pytest.mark.parametrize(
    ("answer", "on"), [("y\n", True), ("YES\n", True), ("\n", False), ("no\n", False), ("", False)]
)
def test_a_person_is_asked_once_in_one_line(
    answer: str,
    on: bool,
    user_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    at_a_terminal(monkeypatch, answer)
    known = installed()
    hook_consent.switch_on_hooks(known, None, yes=False)
    assert known["hooks_on"] is on
    asked = [line for line in capsys.readouterr().err.splitlines() if "[y/N]" in line]
    assert len(asked) == 1
    assert NAME in asked[0]
    assert user_file.exists() is on
    if on:
        assert user_file.read_text() == f"version: 1\nhooks:\n  - {NAME}\n"


@pytest.mark.parametrize(("enable", "yes", "on"), [(True, False, True), (False, False, False), (None, True, False)])
def test_a_script_answers_with_the_command_while_yes_alone_leaves_hooks_off(
    enable: bool | None, yes: bool, on: bool, user_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_a_terminal(monkeypatch, "y\n")
    known = installed()
    hook_consent.switch_on_hooks(known, enable, yes=yes)
    assert known["hooks_on"] is on
    assert user_file.exists() is on


def test_without_a_terminal_hooks_stay_off(user_file: Path) -> None:
    known = installed()
    hook_consent.switch_on_hooks(known, None, yes=False)
    assert (known["hooks_on"], user_file.exists()) == (False, False)


@pytest.mark.parametrize("more", [{"hooks": []}, {"changed": False}])
def test_where_nothing_with_hooks_was_installed_there_is_no_question(
    more: dict[str, Any], user_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_a_terminal(monkeypatch, "y\n")
    known = installed(**more)
    hook_consent.switch_on_hooks(known, None, yes=False)
    assert (known["hooks_on"], user_file.exists()) == (None, False)


def test_hooks_that_are_on_are_not_asked_about_again(
    user_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    user_file.parent.mkdir(parents=True)
    user_file.write_text(f"version: 1\nhooks: [{{name: {NAME}, may: allow}}]\n")
    at_a_terminal(monkeypatch, "y\n")
    known = installed()
    hook_consent.switch_on_hooks(known, None, yes=False)
    assert known["hooks_on"] is True
    assert "[y/N]" not in capsys.readouterr().err
    assert "may: allow" in user_file.read_text()


def test_what_policy_denies_is_not_switched_on(user_file: Path) -> None:
    user_file.parent.mkdir(parents=True)
    text = f"version: 1\nrules:\n  - deny: '{NAME}/*'\n"
    user_file.write_text(text)
    known = installed()
    with pytest.raises(Denied):
        hook_consent.switch_on_hooks(known, True, yes=False)
    assert (known["hooks_on"], user_file.read_text()) == (False, text)


def test_a_distribution_without_hooks_has_none_to_switch_on(user_file: Path) -> None:
    with pytest.raises(InvalidInput, match="no hooks"):
        hook_consent.switch_on_hooks(installed(distribution="pytest", hooks=[]), True, yes=False)
    assert not user_file.exists()


def test_what_is_installed_already_is_switched_on_by_the_same_command(folder: Folder) -> None:
    make_distribution(folder.site, NAME, "1.0", POINTS, {"strands_hooks_quiet.py": HOOKS})
    ran = folder.strands("plugin", "install", NAME, "--enable", "--json")
    assert ran.code == 0, ran.err
    assert (ran.document["changed"], ran.document["hooks_on"]) == (False, True)
    (listed,) = [one for one in folder.strands("plugin", "list", "--json").document["plugins"] if one["name"] == NAME]
    assert listed["hooks_on"]
