"""`plugin enable` and `plugin disable` edit the user's policy file and nothing else in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.errors import Denied
from strands_cli.plugins.switching import HookFiles, disable_hooks, enable_hooks
from strands_cli.policy.decision import Policy, SwitchedOn
from tests.cli.strands import Folder
from tests.distributions import make_distribution

HOOKS = "from strands_cli.hooks import hookimpl\n\n@hookimpl\ndef strands_before_load(record):\n    pass\n"
FILE = """\
# my rules
version: 1   # always
rules:
  - deny: shell   # never
hooks:   # mine
  # the first one
  - strands-hooks-first  # audit
  - name: Strands_Hooks.Second
    may: allow
locked: false
"""


@pytest.fixture
def plugged(folder: Folder) -> Folder:
    """A folder with three installed hook plugins."""
    for name in ("first", "second", "third"):
        module = f"strands_hooks_{name}"
        points = f"[strands_cli.hooks]\nhooks = {module}\n"
        make_distribution(folder.site, f"strands-hooks-{name}", "1.0", points, {f"{module}.py": HOOKS})
    return folder


def user_file(folder: Folder) -> Path:
    return folder.root / "home" / ".config" / "strands-cli" / "policy.yaml"


def written(folder: Folder, text: str) -> Path:
    path = user_file(folder)
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


def test_a_plugin_is_switched_on_and_off_and_the_rest_of_the_file_stays(plugged: Folder) -> None:
    path = written(plugged, FILE)
    path.chmod(0o640)
    ran = plugged.strands("plugin", "enable", "strands-hooks-third")
    assert (ran.code, ran.out) == (0, f"strands-hooks-third: on (was: off), in {path}\n")
    assert path.read_text() == FILE.replace("may: allow\n", "may: allow\n  - strands-hooks-third\n")
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(path.parent.iterdir()) == [path]
    assert plugged.strands("plugin", "enable", "Strands_Hooks_Third").out.startswith("strands-hooks-third: on already")
    ran = plugged.strands("plugin", "enable", "strands-hooks-third", "--may", "allow")
    assert "on, may allow (was: on)" in ran.out
    assert "- {name: strands-hooks-third, may: allow}\n" in path.read_text()
    listed = {one["name"]: one for one in plugged.strands("plugin", "list", "--json").document["plugins"]}
    assert (listed["strands-hooks-third"]["hooks_may"], listed["strands-hooks-first"]["hooks_may"]) == ("allow", None)
    assert plugged.strands("plugin", "disable", "strands-hooks-third").code == 0
    assert path.read_text() == FILE
    assert "off already" in plugged.strands("plugin", "disable", "strands-hooks-third").out


def test_a_plugin_that_is_required_stays_so_until_a_person_says_otherwise(plugged: Folder) -> None:
    path = written(plugged, FILE)
    ran = plugged.strands("plugin", "enable", "strands-hooks-first", "--required")
    assert "on, required (was: on)" in ran.out
    assert "  - {name: strands-hooks-first, required: true}  # audit\n" in path.read_text()
    assert "on, may allow, required" in plugged.strands("plugin", "enable", "strands-hooks-first", "--may", "allow").out
    assert "{name: strands-hooks-first, may: allow, required: true}" in path.read_text()
    assert plugged.strands("plugin", "enable", "strands-hooks-first", "--not-required").code == 0
    assert path.read_text() == FILE


def test_every_plugin_can_leave_and_the_file_stays_valid(plugged: Folder) -> None:
    path = written(plugged, FILE)
    for name in ("strands-hooks-second", "strands-hooks-first"):
        assert plugged.strands("plugin", "disable", name).code == 0
    head = FILE.partition("  - strands")[0]
    assert path.read_text() == f"{head}  []  # audit\nlocked: false\n"
    assert plugged.strands("plugin", "enable", "strands-hooks-first").code == 0
    assert path.read_text() == f"{head}  [strands-hooks-first]  # audit\nlocked: false\n"


def test_a_file_is_made_where_there_is_none_and_a_link_to_it_stays_one(plugged: Folder) -> None:
    assert plugged.strands("plugin", "enable", "strands-hooks-first").code == 0
    path = user_file(plugged)
    assert path.read_text() == "version: 1\nhooks:\n  - strands-hooks-first\n"
    assert path.stat().st_mode & 0o777 == 0o600
    real = plugged.write("dotfiles/policy.yaml", "version: 1\n")
    path.unlink()
    path.symlink_to(real)
    assert plugged.strands("plugin", "enable", "strands-hooks-first").code == 0
    assert path.is_symlink()
    assert real.read_text() == "version: 1\nhooks:\n  - strands-hooks-first\n"


@pytest.mark.parametrize("text", ["{version: 1, hooks: [strands-hooks-first]}", '{"version": 1, "rules": []}'])
def test_a_file_in_one_line_is_edited_too(plugged: Folder, text: str) -> None:
    path = written(plugged, text)
    assert plugged.strands("plugin", "enable", "strands-hooks-second", "--may", "allow").code == 0
    assert "{name: strands-hooks-second, may: allow}]" in path.read_text()
    assert plugged.strands("plugin", "disable", "strands-hooks-second").code == 0
    assert plugged.strands("plugin", "list").code == 0


def test_a_form_that_cannot_be_edited_is_left_with_the_line_to_write(plugged: Folder) -> None:
    text = "version: 1\n...\n"
    path = written(plugged, text)
    ran = plugged.strands("plugin", "enable", "strands-hooks-first")
    assert (ran.code, path.read_text()) == (3, text)
    assert "hooks: [strands-hooks-first]" in ran.err


def test_a_wrong_name_gets_the_nearest_one_and_nothing_is_written(plugged: Folder) -> None:
    for command in ("enable", "disable"):
        ran = plugged.strands("plugin", command, "strands-hook-first")
        assert ran.code == 3
        assert "did you mean 'strands-hooks-first'?" in ran.err
    assert plugged.strands("plugin", "enable", "strands-tool-calculator").code == 3
    assert not user_file(plugged).exists()


def test_a_plugin_that_cannot_be_used_is_not_switched_on(plugged: Folder) -> None:
    (plugged.site / "strands_hooks_first.py").write_text("raise OSError('broken')\n")
    ran = plugged.strands("plugin", "enable", "strands-hooks-first")
    assert (ran.code, ran.codes) == (21, ["hook-failed"])
    assert not user_file(plugged).exists()


def test_the_managed_file_decides_and_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_distribution(
        tmp_path, "managed-hooks", "1.0", "[strands_cli.hooks]\nhooks = managed_hooks\n", {"managed_hooks.py": HOOKS}
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    managed = Policy(hooks=(SwitchedOn("managed_hooks", "managed", "/etc/strands/policy.yaml:3"),))
    files = HookFiles(managed, Policy(), tmp_path / "policy.yaml")
    with pytest.raises(Denied, match=r"/etc/strands/policy\.yaml:3"):
        enable_hooks("managed-hooks", files, discover_catalog(), may_allow=True)
    with pytest.raises(Denied, match=r"/etc/strands/policy\.yaml:3"):
        disable_hooks("managed-hooks", files)
    assert not os.path.lexists(files.file)
    enable_hooks("managed-hooks", files, discover_catalog(), may_allow=False)
    own = Policy(hooks=(SwitchedOn("managed-hooks", "user", "x:3", may_allow=True),))
    from strands_cli.policy.decision import joined

    assert [hook.may_allow for hook in joined(managed, own).hooks] == [False]
