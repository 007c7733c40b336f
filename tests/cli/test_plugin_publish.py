"""`strands plugin publish` as a person types it: new plugins, whose wheel it builds, and the file for CI."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.cli.strands import CLONE, Folder
from tests.wordings import Wording

OFFLINE = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0"}


@pytest.fixture
def offline(folder: Folder) -> Folder:
    folder.environ |= OFFLINE
    return folder


SETTINGS = """
[build-system]
requires = []
build-backend = "missing"
backend-path = ["."]
[project]
name = "bees"
version = "1"
readme = "pipe.md"
"""


def test_a_build_is_announced_before_it_runs(offline: Folder) -> None:
    (offline.work / "pyproject.toml").write_text(SETTINGS)
    os.mkfifo(offline.work / "pipe.md")
    ran = offline.strands("plugin", "publish", "--check", ".", "--json")
    assert (ran.code, ran.document["ok"]) == (3, False)
    assert "building the wheel" in ran.err
    ran = offline.strands("plugin", "publish", "--check", ".", "--wheel", "absent.whl")
    assert "building" not in ran.err


def test_a_folder_without_settings_that_can_be_read_is_not_waited_for(offline: Folder) -> None:
    os.mkfifo(offline.work / "pyproject.toml")
    assert offline.strands("plugin", "publish", "--check", ".").code == 3
    (offline.work / "pyproject.toml").unlink()
    (offline.work / "setup.py").write_text("raise SystemExit")
    ran = offline.strands("plugin", "publish", "--check", ".")
    assert (ran.code, "fix: write pyproject.toml" in ran.err) == (3, True)


@pytest.mark.wheels
@pytest.mark.parametrize("form", ["module", "function", "agent_tool", "class", "provider"])
def test_nothing_blocks_a_new_plugin_and_its_author_is_asked_for_words_links_and_ci(offline: Folder, form: str) -> None:
    offline.strands("plugin", "new", "bees", "--form", form)
    ran = offline.strands("plugin", "publish", "--check", "strands-tool-bees", "--json")
    assert ran.code == 0, ran.out
    found = {topic["name"]: topic["findings"] for topic in ran.document["topics"] if topic["findings"]}
    assert found.keys() == {"summary", "links", "attestations"}
    assert ran.document["wheel"]["file"].startswith("strands_tool_bees-")
    assert ran.document["plugins"] == [{"kind": "tool", "name": "bees"}]


@pytest.mark.wheels
@pytest.mark.parametrize(
    "place", sorted(path.parent for path in (CLONE / "packages").glob("*/pyproject.toml")), ids=lambda path: path.name
)
def test_nothing_blocks_the_first_party_distributions(offline: Folder, place: Path) -> None:
    ran = offline.strands("plugin", "publish", "--check", str(place), "--json")
    assert ran.code == 0, ran.out
    assert ran.document["ok"]


@pytest.mark.wheels
def test_a_project_that_does_not_build_is_checked_as_far_as_it_goes(offline: Folder, wording: Wording) -> None:
    offline.strands("plugin", "new", "bees", "--description", "Count bees.")
    project = offline.work / "strands-tool-bees" / "pyproject.toml"
    text = project.read_text(encoding="utf-8")
    project.write_text(text.replace('readme = "README.md"', 'readme = "NONE.md"'), encoding="utf-8")
    ran = offline.strands("plugin", "publish", "--check", "strands-tool-bees")
    assert ran.code == 3
    states = re.findall(r"^(ok|warning|failed) +([a-z ]+?)  ", ran.out, flags=re.M)
    assert [name for state, name in states if state == "failed"] == ["readme", "wheel"]
    wording(ran.out.splitlines()[-1])


def test_the_file_for_ci_goes_where_the_fix_says(offline: Folder) -> None:
    offline.strands("plugin", "new", "bees")
    (offline.work / "strands-tool-bees" / ".git").mkdir()
    ran = offline.strands("plugin", "publish", "--check", "strands-tool-bees", "--wheel", "none.whl", "--json")
    (fix,) = [
        one["fix"] for topic in ran.document["topics"] for one in topic["findings"] if one["code"] == "not-attested"
    ]
    place = "strands-tool-bees/.github/workflows"
    assert fix == f"mkdir -p {place} && strands plugin publish --ci strands-tool-bees > {place}/publish.yml"
    printed = offline.strands("plugin", "publish", "--ci", "strands-tool-bees")
    assert printed.out == ran.document["ci"]["text"]
    os.makedirs(offline.work / place)  # noqa: PTH103
    (offline.work / place / "publish.yml").write_text(printed.out, encoding="utf-8")
    again = offline.strands("plugin", "publish", "--check", "strands-tool-bees", "--wheel", "none.whl")
    assert "not-attested" not in again.out


@pytest.mark.parametrize("options", [[], ["--check", "--ci"]], ids=["neither", "both"])
def test_one_of_two_options_says_what_to_do(offline: Folder, options: list[str], wording: Wording) -> None:
    ran = offline.strands("plugin", "publish", *options)
    assert ran.code == 2
    wording(ran.err)


def test_warnings_block_where_that_is_asked_for(offline: Folder) -> None:
    offline.strands("plugin", "new", "bees")
    ran = offline.strands("plugin", "publish", "--check", "strands-tool-bees", "--wheel", "none.whl", "--strict")
    assert ran.code == 3


def test_a_name_from_a_file_makes_no_line_of_output(offline: Folder) -> None:
    place = offline.work / "odd"
    place.mkdir()
    (place / "pyproject.toml").write_text('[project]\nname = "a\\nok       wheel\\u001b[31m"\nversion = "1"\n', "utf-8")
    ran = offline.strands("plugin", "publish", "--check", "odd", "--wheel", "none.whl")
    assert ran.code == 3
    assert "\x1b" not in ran.out
    assert not re.search(r"^ok +wheel", ran.out, flags=re.M)
