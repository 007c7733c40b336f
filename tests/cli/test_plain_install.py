"""`plugin install`, `upgrade` and `uninstall` of the core: pip or uv, with a line that there is no preview."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.distributions.wheels import make_wheel, tool_wheel
from tests.installing_person import Person, make_home, person_of

pytestmark = pytest.mark.wheels

INSTALL = "pip install 'strands-cli[index]'"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with strands-cli alone."""
    return make_home(tmp_path_factory.mktemp("plain"))


@pytest.fixture(params=["pip", "uv"])
def person(environment: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Person]:
    yield from person_of(environment, tmp_path, request.param)


@pytest.fixture
def anyone(environment: Path, tmp_path: Path) -> Iterator[Person]:
    yield from person_of(environment, tmp_path, "uv")


def test_a_wheel_is_installed_without_a_preview_and_the_line_says_what_brings_one(
    person: Person, tmp_path: Path
) -> None:
    done = person.strands("plugin", "install", tool_wheel(tmp_path, "shout"), "--yes", "--json")
    assert done.code == 0, done.err
    known = done.document
    assert (known["distribution"], known["version"], known["changed"]) == ("strands-tool-shout", "1.0", True)
    assert INSTALL in done.err
    assert "shout" in person.strands("list-tools").out
    removed = person.strands("plugin", "uninstall", "strands_tool_shout", "-y")
    assert removed.out == "uninstalled strands-tool-shout\n", removed.err
    assert not person.has("strands-tool-shout")


def test_by_name_it_comes_from_the_index_of_the_installer_and_is_upgraded(person: Person, tmp_path: Path) -> None:
    (shelf := tmp_path / "shelf").mkdir()
    tool_wheel(shelf, "shout")
    index = {"PIP_FIND_LINKS": str(shelf), "UV_FIND_LINKS": str(shelf), "UV_NO_INDEX": "1"}
    assert person.strands("plugin", "upgrade", "strands-tool-shout", "--yes", **index).code == 2
    done = person.strands("plugin", "install", "strands-tool-shout", "--yes", **index)
    assert (done.code, done.out) == (0, "installed strands-tool-shout 1.0\n"), done.err
    again = person.strands("plugin", "install", "strands-tool-shout", **index)
    assert (again.code, INSTALL in again.err) == (0, False)
    tool_wheel(shelf, "shout", "1.1")
    upgraded = person.strands("plugin", "upgrade", "strands-tool-shout", "--yes", **index)
    assert (upgraded.code, upgraded.out) == (0, "installed strands-tool-shout 1.1\n"), upgraded.err


def test_without_a_person_nothing_happens_unless_yes_was_passed(anyone: Person, tmp_path: Path) -> None:
    asked = anyone.strands("plugin", "install", tool_wheel(tmp_path, "shout"))
    assert (asked.code, "--yes" in asked.err) == (2, True)
    assert not anyone.has("strands-tool-shout")


@pytest.mark.parametrize("by_name", [False, True])
def test_what_policy_denies_is_not_installed(anyone: Person, tmp_path: Path, *, by_name: bool) -> None:
    (anyone.work / "strands-policy.yaml").write_text(
        'version: 1\nrules:\n  - {deny: "*", distribution: "strands-tool-sh*", reason: ask Ada}\n'
    )
    what = "strands-tool-shout" if by_name else tool_wheel(tmp_path, "shout")
    refused = anyone.strands("plugin", "install", what, "--yes")
    assert (refused.code, refused.codes) == (21, ["plugin-denied"])
    assert "ask Ada" in refused.err
    assert not anyone.has("strands-tool-shout")


def test_hooks_stay_off_unless_they_are_asked_for(anyone: Person, tmp_path: Path) -> None:
    points = "[strands_cli.hooks]\naudit = strands_hooks_audit\n"
    source = (
        "from strands_cli.hooks import hookimpl\n\n@hookimpl\ndef strands_before_load(record):\n    '''Observe.'''\n"
    )
    wheel = make_wheel(tmp_path, "strands-hooks-audit", "1.0", points, {"strands_hooks_audit/__init__.py": source})
    off = anyone.strands("plugin", "install", wheel, "--yes", "--json")
    assert (off.code, off.document["hooks"], off.document["hooks_on"]) == (0, ["audit"], False)
    on = anyone.strands("plugin", "install", wheel, "--yes", "--enable", "--json")
    assert (on.code, on.document["hooks_on"]) == (0, True), on.err


def test_what_only_the_index_has_says_what_to_install(anyone: Person, tmp_path: Path) -> None:
    for words in (["search", "x"], ["index", "build", "wheels", "-o", "site"], ["publisher", "strands-tool-shout"]):
        absent = anyone.strands("plugin", *words)
        assert (absent.code, INSTALL in absent.err) == (18, True), absent.err
    named = anyone.strands("plugin", "install", "x", "--index", str(tmp_path), "--yes")
    assert (named.code, INSTALL in named.err) == (18, True)
    shown = anyone.strands("plugin", "--help")
    assert "strands-cli-index" not in shown.out.partition("Commands:")[0]
    assert "  search" not in shown.out


def test_the_earlier_option_of_verify_names_the_command(anyone: Person) -> None:
    refused = anyone.strands("plugin", "verify", "--publisher")
    assert (refused.code, "strands plugin publisher" in refused.err) == (2, True)
