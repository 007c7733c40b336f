"""`plugin adopt` and `unadopt`: what they show, write, refuse and suggest."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from strands_cli.api import AdoptedFile, InvalidInput, Manifest
from strands_cli_dev.adoption.adoption_file import adopt
from strands_cli_dev.adoption.candidates import survey
from tests.adoption.kit import install
from tests.cli.strands import Folder

# Its commands scan what was just installed, in processes of their own.
pytestmark = pytest.mark.wheels

TOOL = """
@tool
def {0}(text: str, times: int = 2) -> str:
    '''Say {0}.

    Args:
        text: What to say.
    '''
"""
HEAD = "from strands import tool\n"
ACME = {
    "acme_tools/__init__.py": "",
    "acme_tools/greet.py": HEAD + TOOL.format("hello") + TOOL.format("bye"),
    "acme_tools/other.py": HEAD + TOOL.format("hello"),
    "acme_tools/tests/test_it.py": HEAD + TOOL.format("only_a_test"),
    "acme_tools/made.py": HEAD + "class In: ...\n@tool\ndef later(x: In): 'Later.'\n",
    "acme_tools/holder.py": (
        f"{HEAD}class BigDesk:\n    'A desk.'\n    @tool\n    def lift(self, n: int) -> str:\n        'Lift it.'\n"
        "class Needy:\n    def __init__(self, key):\n        ...\n    @tool\n    def use(self): 'Use.'\n"
    ),
}
REQUIRES = "Requires-Dist: strands-agents>=1\n"


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Return an empty folder with a home of its own."""
    made = Folder(tmp_path)
    made.work.mkdir()
    made.site.mkdir()
    return made


@pytest.fixture
def acme(folder: Folder) -> Folder:
    """Return a folder in whose site `acme-tools` is installed, which needs the SDK and declares no tools."""
    record = install(folder.site, files=ACME)
    with (record / "METADATA").open("a", encoding="utf-8") as stream:
        stream.write(REQUIRES)
    return folder


def adopted(folder: Folder) -> dict[str, Any]:
    (file,) = folder.root.rglob("strands-adopted.json")
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["distributions"]
    return document


def test_every_tool_is_found_with_its_input_and_nothing_is_imported(acme: Folder) -> None:
    (acme.site / "acme_tools" / "__init__.py").write_text("raise SystemExit('imported')\n")
    ran = acme.strands("plugin", "adopt", "Acme_Tools", "--all", "--json")
    assert ran.code == 0, ran.err
    tools = {tool["entry"]: tool for tool in ran.document["tools"]}
    assert list(tools) == [
        "acme_tools.greet:hello",
        "acme_tools.greet:bye",
        "acme_tools.holder:BigDesk",
        "acme_tools.holder:Needy",
        "acme_tools.made:later",
        "acme_tools.other:hello",
    ]
    schema = tools["acme_tools.greet:bye"]["definition"]["input_schema"]
    assert schema["properties"]["text"] == {"type": "string", "description": "What to say."}
    assert schema["required"] == ["text"]
    assert tools["acme_tools.other:hello"]["name"] == "acme_tools_hello"
    assert "key" in tools["acme_tools.holder:Needy"]["problem"]
    assert "In" in tools["acme_tools.made:later"]["problem"]
    assert ran.document["adopted"] == ["acme_tools_hello", "big_desk", "bye", "hello"]
    assert [finding["code"] for finding in ran.document["findings"]] == ["two-of-one-name"]


def test_what_is_adopted_is_a_tool_like_any_other(acme: Folder) -> None:
    assert acme.strands("plugin", "adopt", "acme-tools", "--tool", "hello=greet").code == 3  # there are two
    ran = acme.strands("plugin", "adopt", "acme-tools", "--tool", "acme_tools.greet:hello=greet", "--tool", "big_desk")
    assert ran.code == 0, ran.err
    assert adopted(acme)["acme-tools"]["tools"]["greet"]["called"] == "hello"
    assert set(adopted(acme)["acme-tools"]["files"]) >= {"acme_tools/greet.py", "acme_tools/__init__.py"}
    listed = {tool["name"]: tool for tool in acme.strands("list-tools", "--json").document["tools"]}
    assert {listed["greet"]["status"], listed["big_desk"]["status"]} == {"available"}
    assert "lift" in json.dumps(listed["big_desk"]["members"])


def test_an_unknown_tool_names_the_command_that_adopts_it(acme: Folder) -> None:
    ran = acme.strands("tools", "show", "native:bye")
    assert ran.err.endswith("strands plugin adopt --tool bye\n")
    done = acme.strands("plugin", "adopt", "--tool", "bye")
    assert (done.code, "acme-tools" in done.out) == (0, True), done.err
    assert acme.strands("tools", "show", "native:bye").code == 0
    qualified = acme.strands("tools", "show", "native:acme-tools/hello")
    assert "plugin adopt acme-tools --tool hello" in qualified.err


def test_a_tool_without_a_package_that_needs_the_sdk_is_not_looked_for(folder: Folder) -> None:
    install(folder.site, files=ACME)
    assert "plugin adopt" not in folder.strands("tools", "show", "native:bye").err


def test_tools_are_added_kept_and_taken_out(acme: Folder) -> None:
    acme.strands("plugin", "adopt", "acme-tools", "--tool", "bye=later_bye")
    acme.strands("plugin", "adopt", "acme-tools", "--tool", "big_desk")
    assert set(adopted(acme)["acme-tools"]["tools"]) == {"later_bye", "big_desk"}
    assert acme.strands("plugin", "adopt", "acme-tools", "--tool", "acme_tools.greet:hello=later_bye").code == 3
    (acme.site / "acme_tools" / "greet.py").write_text(HEAD + TOOL.format("bye").replace("Say", "Wave"))
    assert "broken" in json.dumps(acme.strands("list-tools", "--json").document["tools"])
    assert acme.strands("plugin", "adopt", "acme-tools", "--yes").code == 0
    tools = adopted(acme)["acme-tools"]["tools"]
    assert set(tools) == {"later_bye", "big_desk"}
    assert "Wave" in tools["later_bye"]["definition"]["description"]
    assert acme.strands("plugin", "unadopt", "later_bye").code == 0
    assert acme.strands("plugin", "unadopt", "acme-tool").err.count("acme-tools") == 1
    assert acme.strands("plugin", "unadopt", "acme-tools").code == 0
    assert adopted(acme) == {}


@pytest.mark.parametrize(
    ("arguments", "code", "shown"),
    [
        (["acme-tolls"], 3, "acme-tools"),
        (["quite-other"], 3, "strands plugin search quite-other"),
        (["acme-tools"], 2, "--all"),
        (["acme-tools", "--all", "--tool", "bye"], 2, "--tool"),
        (["acme-tools", "--tool", "by"], 3, "--tool bye"),
        (["acme-tools", "--tool", "bye=Bye!"], 3, "--tool bye=bye"),
        (["acme-tools", "--tool", "later"], 3, "--import"),
        (["acme-tools", "--tool", "needy"], 3, "key"),
        (["acme-tools", "--tool", "bye=calculator"], 3, "calculator"),
        (["strands-tool-calculator", "--all"], 3, "native:calculator"),
        (["pytest", "--all"], 3, "strands plugin list"),
        (["../acme", "--all"], 2, "name a distribution"),
    ],
)
def test_what_cannot_be_adopted_is_refused_with_a_way(
    acme: Folder, arguments: list[str], code: int, shown: str
) -> None:
    ran = acme.strands("plugin", "adopt", *arguments)
    assert ran.code == code, ran.err
    assert shown in ran.err
    assert not list(acme.root.rglob("strands-adopted.json"))


def test_a_project_file_is_written_beside_the_workflows(acme: Folder) -> None:
    assert acme.strands("plugin", "adopt", "acme-tools", "--all", "--project").code == 0
    assert (acme.work / "strands-adopted.json").is_file()
    assert acme.strands("plugin", "unadopt", "acme-tools", "--project").code == 0


def test_two_adoptions_at_once_are_both_kept(acme: Folder) -> None:
    names = [f"other-{number}" for number in range(6)]
    for name in names:
        package = name.replace("-", "_")
        record = install(acme.site, name, files={f"{package}/__init__.py": HEAD + TOOL.format(package)})
        with (record / "METADATA").open("a", encoding="utf-8") as stream:
            stream.write(REQUIRES)
    with ThreadPoolExecutor(len(names)) as pool:
        ran = list(pool.map(lambda name: acme.strands("plugin", "adopt", name, "--all"), names))
    assert [one.code for one in ran] == [0] * len(names)
    assert set(adopted(acme)) == set(names)


def test_a_name_that_was_given_in_the_meantime_is_not_given_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    install(tmp_path / "site")
    install(tmp_path / "site", "other-tools", files={"other_tools/__init__.py": HEAD + TOOL.format("hello")})
    both = [survey(name, AdoptedFile()) for name in ("acme-tools", "other-tools")]
    for found in both[:1]:
        adopt(tmp_path / "a.json", found.tools.distribution, found.adoptable, adds=False)
    with pytest.raises(InvalidInput, match="by now"):
        adopt(tmp_path / "a.json", "other-tools", both[1].adoptable, adds=False)


def test_what_policy_denies_is_not_adopted(acme: Folder) -> None:
    (acme.work / "strands-policy.yaml").write_text("version: 1\nrules:\n  - deny: native:bye\n")
    ran = acme.strands("plugin", "adopt", "acme-tools", "--tool", "bye")
    assert (ran.code, "adoption-denied" in ran.err) == (21, True)
    assert acme.strands("plugin", "adopt", "acme-tools", "--yes").code == 0
    assert "bye" not in adopted(acme)["acme-tools"]["tools"]


def test_a_damaged_file_is_not_overwritten(acme: Folder) -> None:
    file = acme.work / "strands-adopted.json"
    file.write_text("{")
    assert acme.strands("plugin", "adopt", "acme-tools", "--all", "--project").code == 3
    assert file.read_text() == "{"


def test_a_patch_for_the_authors_applies_and_is_a_sound_manifest(acme: Folder) -> None:
    checkout = acme.work / "acme"
    (checkout / "src" / "acme_tools").mkdir(parents=True)
    (checkout / "pyproject.toml").write_text('[project]\nname = "acme-tools"\nversion = "1.0"')
    ran = acme.strands("plugin", "adopt", "acme-tools", "--patch", checkout)
    assert ran.code == 0, ran.err
    subprocess.run(["git", "apply", "acme-tools.patch"], cwd=checkout, check=True, timeout=60)
    manifest = checkout / "src" / "acme_tools" / "strands_tools.json"
    parsed, findings = Manifest.parse(manifest.read_bytes(), str(manifest), "acme-tools")
    assert parsed is not None, findings
    assert [tool["name"] for tool in parsed.tools] == ["bye", "hello"]
    project = (checkout / "pyproject.toml").read_text()
    assert '\n[project.entry-points."strands_cli.tools"]\nbye = "acme_tools.greet:bye"\n' in project
    assert not list(acme.root.rglob("strands-adopted.json"))


def test_a_thousand_tools_and_broken_modules_are_reported(folder: Folder) -> None:
    many = HEAD + "".join(f"@tool\ndef t{number}(x: int): 'Do {number}.'\n" for number in range(1_001))
    install(folder.site, files={"acme_tools/__init__.py": many, "acme_tools/bad.py": "from strands import tool\ndef ("})
    ran = folder.strands("plugin", "adopt", "acme-tools", "--all", "--json")
    assert len(ran.document["adopted"]) == 1_000
    found = ran.document["findings"]
    assert {finding["code"] for finding in found} <= {"too-much-to-adopt", "unreadable-source"}
    assert any("strands plugin adopt acme-tools --tool NAME" in str(finding["fix"]) for finding in found)
    assert folder.strands("plugin", "adopt", "acme-tools", "--tool", "t1000").code == 0


def test_what_was_adopted_can_be_adopted_again_without_a_terminal(acme: Folder) -> None:
    acme.strands("plugin", "adopt", "acme-tools", "--tool", "bye")
    assert "pass --yes for those" in acme.strands("plugin", "adopt", "acme-tools").err


def test_a_tool_to_adopt_is_closer_than_one_of_a_similar_name(acme: Folder) -> None:
    acme.strands("plugin", "adopt", "acme-tools", "--tool", "hello=byes")
    assert "strands plugin adopt --tool bye" in acme.strands("tools", "show", "native:bye").err


def test_where_only_code_can_make_the_tools_a_plugin_is_the_way(folder: Folder) -> None:
    needy = f"{HEAD}class Needy:\n    def __init__(self, key):\n        ...\n    @tool\n    def use(self): 'Use.'\n"
    install(folder.site, files={"acme_tools/__init__.py": needy})
    assert "strands plugin new acme-tools-tools" in folder.strands("plugin", "adopt", "acme-tools", "--all").err


def test_nothing_that_a_package_says_reaches_the_terminal_as_it_is(folder: Folder) -> None:
    source = f"{HEAD}@tool\ndef hello(x: int):\n    'Do.\\x1b[2J\\u202e'\n"
    install(folder.site, files={"acme_tools/__init__.py": source})
    ran = folder.strands("plugin", "adopt", "acme-tools", "--all")
    assert ran.code == 3
    assert "hidden" in ran.err or "U+202E" in ran.err
    assert "\x1b" not in ran.err
    assert "\u202e" not in ran.err


def test_what_only_running_code_shows_is_adopted_by_importing_it(folder: Folder) -> None:
    inner = "    @tool\n    def inner(x: int) -> str:\n        'Do.'\n        return f'is {x}'\n"
    source = f"{HEAD}def make():\n{inner}    return [inner]\n"
    install(folder.site, files={"acme_tools/__init__.py": source})
    refused = folder.strands("plugin", "adopt", "acme-tools", "--all")
    assert (refused.code, "strands plugin adopt acme-tools --import" in refused.err) == (3, True)
    assert folder.strands("plugin", "adopt", "acme-tools", "--all", "--import").code == 0
    assert adopted(folder)["acme-tools"]["imported"] is True
    assert folder.strands("tools", "run", "make.inner", "--input", '{"x": 3}').out.strip() == "is 3"
    again = folder.strands("plugin", "adopt", "acme-tools", "--yes")
    assert (again.code, "strands plugin adopt acme-tools --import" in again.err) == (3, True)
