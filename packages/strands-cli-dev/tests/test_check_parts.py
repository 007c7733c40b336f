"""`plugin check` of a plugin that has commands, stores or other parts: it demands no tools, and says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.strands import Folder
from tests.distributions import make_distribution

MODULE = '''
"""Parts of every kind."""

import sys

from strands_cli.hooks import hookimpl


def good():
    return 0


class Store:
    def open(self, place, address):
        raise NotImplementedError


@hookimpl
def strands_run_started(context):
    pass
'''


def project(folder: Folder, *tables: str, name: str = "strands-cli-yours", **files: str) -> Path:
    """Write a source tree; a table is `GROUP: NAME = VALUE`."""
    points = "".join('[project.entry-points."{}"]\n{}\n'.format(*table.split(": ", 1)) for table in tables)
    head = f'[project]\nname = "{name}"\nversion = "1.0"\n'
    build = '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
    place = folder.work / "yours"
    package = place / "src" / "strands_cli_yours"
    package.mkdir(parents=True)
    (place / "pyproject.toml").write_text(f"{build}{head}{points}", encoding="utf-8")
    for file, text in {"__init__": MODULE, **files}.items():
        (package / f"{file}.py").write_text(text, encoding="utf-8")
    return place


def checked(folder: Folder, place: Path | str, *words: str) -> tuple[int, dict[str, Any]]:
    ran = folder.strands("plugin", "check", place, "--json", *words)
    return ran.code, json.loads(ran.out)


def codes(document: dict[str, Any]) -> list[str]:
    return [one["code"] for one in document["findings"]]


SOUND = [
    'strands_cli.commands: greet = "strands_cli_yours:good"',
    'strands_cli.commands: greet = "strands_cli_yours:good [fast]"',
    'strands_cli.stores: memory = "strands_cli_yours:Store.open"',
    'strands_cli.stores: memory = "strands_cli_yours"',
    'strands_cli.filters: shout = "strands_cli_yours:sys.intern"',
    'strands_cli.formats: version-9 = "strands_cli_yours.other:made"',
    'strands_cli.hooks: audit = "strands_cli_yours"',
    'strands_cli.exporters: page = "strands_cli_yours"',
]


@pytest.mark.parametrize("table", SOUND)
def test_a_plugin_without_tools_is_checked(folder: Folder, table: str) -> None:
    place = project(folder, table, other="made = print\n")
    code, document = checked(folder, place, "--strict", "--import")
    assert (code, document["ok"], codes(document)) == (0, True, []), document
    assert [part["group"] for part in document["parts"]] == [table.partition(": ")[0]]
    assert "1 part checked" in folder.strands("plugin", "check", place).out


FAULTY = {
    'strands_cli.command: greet = "strands_cli_yours:good"': "unknown-group",
    'strands-cli.commands: greet = "strands_cli_yours:good"': "unknown-group",
    'strands_cli.provider: mine = "strands_cli_yours:good"': "unknown-group",
    'strands_cli.commands: greet = "strands_cli_yours:gone"': "missing-attribute",
    'strands_cli.commands: greet = "strands_cli_yours.nowhere:good"': "missing-module",
    'strands_cli.commands: greet = "strands_cli_theirs:good"': "missing-module",
    'strands_cli.commands: greet = "json:loads"': "missing-module",
    'strands_cli.commands: greet = "strands_cli_yours"': "bad-entry-point",
    'strands_cli.commands: greet = "strands_cli_yours:good:twice"': "bad-entry-point",
    'strands_cli.commands: greet = ""': "bad-entry-point",
    'strands_cli.commands: greet = "strands_cli_yours.broken:good"': "unreadable-source",
    'strands_cli.commands: "two words" = "strands_cli_yours:good"': "bad-part-name",
    'strands_cli.commands: "" = "strands_cli_yours:good"': "bad-part-name",
    'strands_cli.stores: Memory = "strands_cli_yours:Store"': "bad-part-name",
    'strands_cli.commands: run = "strands_cli_yours:good"': "part-taken",
    'strands_cli.commands: doctor = "strands_cli_yours:good"': "part-taken",
    'strands_cli.filters: upper = "strands_cli_yours:good"': "part-taken",
    'strands_cli.formats: version-2 = "strands_cli_yours:good"': "part-taken",
    'strands_cli.hooks: audit = "strands_cli_yours.gone"': "missing-module",
}


@pytest.mark.parametrize("table", FAULTY)
def test_what_is_wrong_with_a_part_is_an_error(folder: Folder, table: str) -> None:
    place = project(folder, table, broken="def good(:\n")
    code, document = checked(folder, place)
    assert (code, codes(document)) == (3, [FAULTY[table]]), document
    (finding,) = document["findings"]
    assert finding["fix"]
    meant = "strands_cli.providers" if "provider:" in table else "strands_cli.commands"
    assert FAULTY[table] != "unknown-group" or meant in finding["fix"]


def test_a_value_other_than_text_is_an_error(folder: Folder) -> None:
    code, document = checked(folder, project(folder, "strands_cli.commands: greet = 7"))
    assert (code, codes(document)) == (3, ["bad-plugin"])


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("raise KeyError('no shelf')\n", ["import-failed"]),
        ("import sys\nsys.exit(0)\n", ["import-failed"]),
        ("import time\ntime.sleep(60)\n", ["import-hangs"]),
        ("globals()['other'] = 7\n", ["import-failed"]),
    ],
)
def test_an_import_that_fails_is_an_error_where_it_is_asked_for(folder: Folder, text: str, found: list[str]) -> None:
    place = project(folder, 'strands_cli.commands: greet = "strands_cli_yours.late:made"', late=f"{text}made = 7\n")
    if "globals" in text:
        (place / "src" / "strands_cli_yours" / "late.py").write_text(text)
    assert checked(folder, place)[0] == 0
    code, document = checked(folder, place, "--import", "--seconds", "3")
    assert (code, codes(document)) == (3, found)


def test_a_name_that_an_installed_distribution_has_is_a_warning(folder: Folder) -> None:
    make_distribution(folder.site, "strands-cli-theirs", "1.0", "[strands_cli.commands]\ngreet = json:loads\n", {})
    place = project(folder, 'strands_cli.commands: greet = "strands_cli_yours:good"')
    code, document = checked(folder, place)
    assert (code, codes(document), document["findings"][0]["severity"]) == (0, ["part-taken"], "warning")


def test_an_installed_plugin_without_tools_is_checked(folder: Folder) -> None:
    points = "[strands_cli.commands]\ngreet = strands_cli_yours:gone\n[strands_cli.command]\ngreet = json:loads\n"
    make_distribution(folder.site, "strands-cli-yours", "1.0", points, {"strands_cli_yours.py": MODULE})
    code, document = checked(folder, "strands-cli-yours")
    assert (code, sorted(codes(document))) == (3, ["missing-attribute", "unknown-group"])


def test_tools_and_parts_are_both_checked(folder: Folder) -> None:
    place = project(
        folder,
        'strands_cli.tools: shout = "strands_cli_yours.gone"',
        'strands_cli.commands: greet = "strands_cli_yours:gone"',
    )
    code, document = checked(folder, place)
    assert code == 3
    assert {"missing-module", "missing-attribute"} <= set(codes(document))
