"""A stranger's entry points with every mistake: what nothing can use is reported, and nothing of the core is hidden."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from strands_cli.default_parts import (
    COMMANDS,
    CORE,
    FILTERS,
    FORMATS,
    MOST_CHARACTERS_OF_A_NAME,
    PROVIDERS,
    RESERVED,
    SECRETS,
    STORES,
    owner_by_name,
)
from strands_cli.workflow.loader import PRESENT
from strands_cli.workflow.templates.sandbox import Sandbox
from tests.cli.strands import Folder
from tests.distributions import make_distribution

MODULE = """
import sys

import click
import typer

from strands_cli.api import FormatProblem, Translation


def good():
    print("good")


CORE_NUMBER = 3


def leaves():
    sys.exit("no shelf")


def truth():
    return True


def too_much():
    return 256


async def later():
    pass


@click.command()
def of_click():
    print("click")


bare = typer.Typer()
listed = typer.Typer(callback=good)
both = typer.Typer(callback=good, invoke_without_command=True)
called = typer.Typer()


@called.callback(invoke_without_command=True)
def callback():
    print("good too")


class Half:
    open = init = check = print  # and no `migrate`


def stopped():
    raise KeyboardInterrupt


def exits(*_):
    raise SystemExit(4)


def vault(secret):
    return f"from {secret.path}"


def itself(document):
    document.pop("format")
    document["tasks"] = document
    return Translation(document)


def numbered(document):
    return Translation({"version": 2, 7: "seven"})


def objects(document):
    return Translation({"version": 2, "name": object()})


def texts(document):
    return Translation({"version": 2}, ["a text"])


def misplaced(document):
    return Translation({"version": 2}, places={"/name": 3})


def two(document):
    raise RuntimeError("asked for a version of the core")
"""
PRINTS = "print('noise')\n\n\ndef command(times: int = 1):\n    pass\n"


def install(folder: Folder, points: str, name: str = "strands-cli-odd") -> None:
    package = name.replace("-", "_")
    make_distribution(
        folder.site, name, "2.0", points, {f"{package}/__init__.py": MODULE, f"{package}/prints.py": PRINTS}
    )


def faults(folder: Folder) -> list[dict[str, Any]]:
    ran = folder.strands("plugin", "list", "--json")
    assert ran.code == 0, ran.err
    return [one for one in ran.document["findings"] if "strands-cli-odd" in one["message"]]


def ran_with_filter(folder: Folder, name: str) -> Any:
    steps = [{"agent": "writer", "input": f"{{{{ 'x' | {name} }}}}"}]
    folder.workflow(steps, {"steps.0": [{"text": "done"}]})
    return folder.strands("run", "flow.yaml", "--quiet")


UNFIT = [
    (COMMANDS, "UPPER"),
    (COMMANDS, "two words"),
    (COMMANDS, "dots.name"),
    (COMMANDS, "--x"),
    (COMMANDS, ""),
    (COMMANDS, "bell\x07"),
    (COMMANDS, "n" * (MOST_CHARACTERS_OF_A_NAME + 1)),
    (FILTERS, "two-words"),
    (FILTERS, "3d"),
    (STORES, "MEMORY"),
    (STORES, "mem ory"),
    (PROVIDERS, "Open AI"),
    (SECRETS, "<vault>"),
    (FORMATS, "crew/2"),
]


@pytest.mark.parametrize(("group", "name"), UNFIT)
def test_a_name_that_cannot_be_written_is_reported_and_adds_nothing(folder: Folder, group: str, name: str) -> None:
    install(folder, f"[{group}]\n{name} = strands_cli_odd:good\nproper = strands_cli_odd:good\n")
    assert [one["code"] for one in faults(folder)] == ["bad-part-name"]
    plugins = folder.strands("plugin", "list", "--json").document["plugins"]
    (odd,) = (one for one in plugins if one["name"] == "strands-cli-odd")
    assert odd["parts"] == [{"group": group, "name": "proper"}]


@pytest.mark.parametrize("name", ["UPPER", "two words", "dots.name"])
def test_what_help_does_not_list_cannot_be_typed(folder: Folder, name: str) -> None:
    install(folder, f"[{COMMANDS}]\n{name} = strands_cli_odd:good\n")
    assert folder.strands(name).code == 2


def test_a_long_name_leaves_the_table_of_commands_as_it_is(folder: Folder) -> None:
    install(folder, f"[{COMMANDS}]\ngood = strands_cli_odd:good\n{'n' * 60} = strands_cli_odd:good\n")
    row = next(line for line in folder.strands("--help").out.splitlines() if line.startswith("  good "))
    assert row.endswith("(strands-cli-odd)")


@pytest.mark.parametrize("group", ["strands_cli.command", "strands-cli.commands", "strands_cli.Stores", "strands_cli."])
def test_a_group_that_nothing_reads_is_reported(folder: Folder, group: str) -> None:
    install(folder, f"[{group}]\ngood = strands_cli_odd:good\n[{COMMANDS}]\ngood = strands_cli_odd:good\n")
    assert "unknown-group" in [one["code"] for one in faults(folder)]


def test_a_name_that_one_distribution_has_twice_is_none(folder: Folder) -> None:
    install(folder, f"[{COMMANDS}]\ngood = strands_cli_odd:good\ngood = strands_cli_odd:truth\n")
    assert [one["code"] for one in faults(folder)] == ["part-taken"]
    assert folder.strands("good").codes == ["part-taken"]
    assert folder.strands("--help").out.count("  good ") == 1


def test_an_equal_line_twice_is_one_claim(folder: Folder) -> None:
    install(folder, f"[{COMMANDS}]\ngood = strands_cli_odd:good\ngood = strands_cli_odd:good\n")
    assert faults(folder) == []
    assert folder.strands("good").out == "good\n"


@pytest.mark.parametrize("value", ["strands_cli_odd:good [fast]", "strands_cli_odd : good[fast,slow]"])
def test_extras_of_a_value_are_not_part_of_the_attribute(folder: Folder, value: str) -> None:
    install(folder, f"[{COMMANDS}]\ngood = {value}\n")
    assert folder.strands("good").out == "good\n"
    folder.write("strands-policy.yaml", "version: 1\nlocked: true\n")
    assert folder.strands("lock", "--update", "strands-cli-odd").code == 0
    assert folder.strands("good").out == "good\n"


def test_names_of_the_core_are_those_that_it_has() -> None:
    assert set(Sandbox().filters) <= {*RESERVED[FILTERS], "regex_search"}
    assert owner_by_name(FORMATS, f"version-{PRESENT}") == CORE


@pytest.mark.parametrize(("group", "name"), [(FILTERS, "upper"), (FILTERS, "fromjson"), (FORMATS, "version-2")])
def test_a_name_of_the_core_that_a_stranger_claims_stays_the_cores(folder: Folder, group: str, name: str) -> None:
    install(folder, f"[{group}]\n{name} = strands_cli_odd:two\n")
    assert [one["code"] for one in faults(folder)] == ["part-taken"]
    folder.workflow([{"agent": "writer", "input": "{{ 'x' | upper }}"}], {"steps.0": [{"text": "done"}]}, version=2)
    ran = folder.strands("run", "flow.yaml", "--quiet")
    assert (ran.code, ran.out) == (0, "done\n"), ran.err


@pytest.mark.parametrize("name", ["leaves", "truth", "too_much", "later"])
def test_an_end_without_an_exit_code_is_reported(folder: Folder, name: str) -> None:
    install(folder, f"[{COMMANDS}]\nend = strands_cli_odd:{name}\n")
    ran = folder.strands("end")
    assert (ran.code, ran.err.count("\n"), "strands-cli-odd" in ran.err) == (70, 2, True), ran.err
    assert name != "leaves" or "no shelf" in ran.err


def test_a_command_that_ctrl_c_stops_says_so(folder: Folder) -> None:
    install(folder, f"[{COMMANDS}]\nend = strands_cli_odd:stopped\n")
    assert folder.strands("end").code == 130
    make_distribution(
        folder.site,
        "strands-cli-slow",
        "1.0",
        f"[{COMMANDS}]\nslow = strands_cli_slow:slow\n",
        {"strands_cli_slow.py": "raise KeyboardInterrupt\n"},
    )
    ran = folder.strands("slow", "--json")
    assert (ran.code, ran.document["error"]["code"], ran.err.count("\n")) == (130, "interrupted", 1)


@pytest.mark.parametrize(
    ("name", "code", "of_help"), [("bare", 18, 18), ("listed", 2, 0), ("called", 0, 0), ("both", 0, 0)]
)
def test_an_application_without_commands_is_reported_or_called(
    folder: Folder, name: str, code: int, of_help: int
) -> None:
    install(folder, f"[{COMMANDS}]\nend = strands_cli_odd:{name}\n")
    ran = folder.strands("end")
    assert (ran.code, "bug in strands-cli" in ran.err) == (code, False), ran.err
    assert ("good" in ran.out) == (code == 0)
    assert folder.strands("end", "--help").code == of_help


def test_a_bug_of_any_kind_is_that_of_its_distribution(folder: Folder) -> None:
    module = "class Odd(BaseException):\n    pass\n\n\ndef fail():\n    raise Odd\n"
    points = f"[{COMMANDS}]\nend = strands_cli_lone:fail\n"
    make_distribution(folder.site, "strands-cli-lone", "1.0", points, {"strands_cli_lone.py": module})
    ran = folder.strands("end")
    assert (ran.code, "strands-cli-lone" in ran.err) == (70, True), ran.err


def test_an_object_of_click_is_refused_in_words_of_its_own(folder: Folder) -> None:
    install(folder, f"[{COMMANDS}]\nend = strands_cli_odd:of_click\n")
    ran = folder.strands("end")
    assert (ran.code, ran.codes, "NameError" in ran.err) == (18, ["part-broken"], False), ran.err


@pytest.mark.parametrize(("name", "words"), [("prints", "--t"), ("nowhere", "--t"), ("nowhere", "")])
def test_completion_shows_nothing_of_an_import(folder: Folder, name: str, words: str) -> None:
    install(folder, f"[{COMMANDS}]\nend = strands_cli_odd.{name}:command\n")
    environment = {"_STRANDS_COMPLETE": "complete_bash", "COMP_WORDS": f"strands end {words}", "COMP_CWORD": "2"}
    ran = folder.run([sys.executable, "-m", "strands_cli"], **environment)
    assert (ran.out.split(), ran.err) == (["--times"] if name == "prints" else [], "")


@pytest.mark.parametrize("address", ["odd://x", "function://x", "half://x"])
def test_a_store_that_opens_nothing_is_broken_and_no_bug_of_the_core(folder: Folder, address: str) -> None:
    install(
        folder,
        f"[{STORES}]\nodd = strands_cli_odd:__name__\nfunction = strands_cli_odd:good\nhalf = strands_cli_odd:Half\n",
    )
    ran = folder.strands("runs", "list", "--store", address)
    assert (ran.code, ran.codes) == (18, ["part-broken"]), ran.err


@pytest.mark.parametrize("name", ["exits", "itself", "numbered", "objects", "texts", "misplaced"])
def test_a_translation_without_a_document_is_broken(folder: Folder, name: str) -> None:
    install(folder, f"[{FORMATS}]\ncrew = strands_cli_odd:{name}\n")
    folder.write("flow.yaml", "format: crew\n")
    ran = folder.strands("validate", "flow.yaml")
    assert (ran.code, "part-broken" in ran.out + ran.err) == (18, True), ran.out + ran.err


def test_a_filter_that_ends_the_process_fails_its_step(folder: Folder) -> None:
    install(folder, f"[{FILTERS}]\nshout = strands_cli_odd:exits\n")
    ran = ran_with_filter(folder, "shout")
    assert (ran.code, "strands-cli-odd" in ran.err) == (10, True), ran.err


@pytest.mark.parametrize("value", ["strands_cli_odd:gone", "strands_cli_absent:shout", "strands_cli_odd:CORE_NUMBER"])
def test_a_filter_that_cannot_be_used_stops_the_run_before_its_first_step(folder: Folder, value: str) -> None:
    install(folder, f"[{FILTERS}]\nshout = {value}\n")
    steps = [{"agent": "writer", "input": "x"}, {"agent": "writer", "input": "{{ 'x' | shout }}"}]
    folder.workflow(steps, {"steps.0": [{"text": "done"}], "steps.1": [{"text": "done"}]})
    assert folder.strands("plan", "flow.yaml").code == 0  # a plan imports no filter
    ran = folder.strands("run", "flow.yaml", "--json")
    assert (ran.code, ran.document["status"], "strands-cli-odd" in ran.err) == (18, "failed", True), ran.err
    assert folder.strands("runs", "list", "--json").document["runs"] == []


def test_a_filter_of_another_workflow_stops_no_run(folder: Folder) -> None:
    install(folder, f"[{FILTERS}]\nshout = strands_cli_odd:gone\n")
    folder.workflow([{"agent": "writer", "input": "x"}], {"steps.0": [{"text": "done"}]})
    assert folder.strands("run", "flow.yaml").code == 0


def test_a_filter_that_may_not_be_imported_has_its_place(folder: Folder) -> None:
    install(folder, f"[{FILTERS}]\nshout = strands_cli_odd:exits\n")
    folder.write("strands-policy.yaml", "version: 1\nrules:\n- {deny: '*', distribution: strands-cli-odd}\n")
    ran = ran_with_filter(folder, "shout")
    assert (ran.code, ran.codes, len(ran.places)) == (21, ["part-denied"], 1), ran.err
    assert "/pattern/config/steps/0/input" in ran.places[0]


def test_a_source_of_secrets_may_have_a_path(folder: Folder) -> None:
    install(folder, f"[{SECRETS}]\nvault = strands_cli_odd:vault\n")
    secrets = [{"key": "token", "source": "vault", "path": "team"}]
    folder.workflow([{"agent": "writer", "input": "x"}], {"steps.0": [{"text": "x"}]}, env={"secrets": secrets})
    assert "no-effect" not in folder.strands("validate", "flow.yaml").err


@pytest.mark.parametrize(
    ("narrowed", "code"),
    [("version: '<2'", 0), ("version: '>=2'", 21), ("source: editable", 0), ("source: PYTHONPATH", 21)],
)
def test_a_rule_about_other_versions_and_sources_of_a_distribution_does_not_deny_it(
    folder: Folder, narrowed: str, code: int
) -> None:
    install(folder, f"[{COMMANDS}]\ngood = strands_cli_odd:good\n")
    rule = f"{{deny: '*', distribution: strands-cli-odd, {narrowed}}}"
    folder.write("strands-policy.yaml", f"version: 1\nrules:\n- {rule}\n")
    ran = folder.strands("good")
    assert ran.code == code, ran.err


def test_two_versions_in_one_directory_are_reported(folder: Folder) -> None:
    install(folder, f"[{COMMANDS}]\ngood = strands_cli_odd:good\n")
    make_distribution(folder.site, "strands-cli-odd", "3.0", f"[{COMMANDS}]\nbetter = strands_cli_odd:good\n", {})
    assert [one["code"] for one in faults(folder)] == ["duplicate-distribution"]


def test_the_list_has_the_source_of_a_distribution_without_tools(folder: Folder) -> None:
    install(folder, f"[{COMMANDS}]\ngood = strands_cli_odd:good\n")
    plugins = folder.strands("plugin", "list", "--json").document["plugins"]
    (odd,) = (one for one in plugins if one["name"] == "strands-cli-odd")
    assert odd["sources"] == ["PYTHONPATH", "index"]
    (ours,) = (one for one in plugins if one["name"] == "strands-cli-doctor")
    assert ours["sources"]
