"""What `plugin adopt` leaves out, and why; it ends, shows where it is, and takes a private helper only by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli.api import AdoptedFile, InvalidInput
from strands_cli_dev.adoption.adoptable_tools import find_adoptable
from strands_cli_dev.adoption.candidates import Imports, survey
from strands_cli_dev.adoption.choice import choose
from tests.adoption.kit import FUNCTION, install
from tests.cli.strands import Folder

PRIVATE = FUNCTION.replace("def hello", "def _helper")
COMPUTED = FUNCTION.replace("name: str", "name: Unknown").replace("def hello", "def other")
MAKER = """\
from strands import tool


class Shop:
    def tools(self, client):
        @tool
        def buy(what: str) -> str:
            '''Buy.'''
            return what

        return [buy]


def _make(client):
    @tool
    def sell(what: str) -> str:
        '''Sell.'''
        return what

    return [sell]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Return an empty folder with a home of its own."""
    made = Folder(tmp_path)
    made.work.mkdir()
    made.site.mkdir()
    return made


def kinds(site: Path) -> None:
    install(site, files={"acme/__init__.py": "", "acme/a.py": FUNCTION, "acme/b.py": PRIVATE, "acme/c.py": COMPUTED})


def test_what_is_left_out_is_counted_with_its_reasons(folder: Folder) -> None:
    kinds(folder.site)
    ran = folder.strands("plugin", "adopt", "acme-tools", "--all")
    assert ran.code == 0, ran.err
    assert "1 of 3 tools" in ran.out
    assert "2 of 3 tools left out" in ran.err
    assert "--import" in ran.err
    assert "_helper" in ran.err
    document = folder.strands("plugin", "adopt", "acme-tools", "--all", "--json").document
    assert (document["adopted"], len(document["left_out"])) == (["hello"], 2)
    named = folder.strands("plugin", "adopt", "acme-tools", "--tool", "_helper=helper", "--json").document
    assert named["adopted"] == ["helper"]
    # What a person named once stays.
    assert folder.strands("plugin", "adopt", "acme-tools", "--yes", "--json").document["adopted"] == ["hello", "helper"]


def test_names_are_taken_out_as_they_are_printed(folder: Folder) -> None:
    kinds(folder.site)
    assert "native:hello" in folder.strands("plugin", "adopt", "acme-tools", "--all").out
    assert folder.strands("plugin", "unadopt", "native:hello").code == 0
    wrong = folder.strands("plugin", "unadopt", "native:hello")
    assert (wrong.code, "strands plugin list" in wrong.err) == (2, True)


def test_a_name_that_breaks_the_rules_gets_one_that_keeps_them(tmp_path: Path) -> None:
    kinds(tmp_path)
    found = survey("acme-tools", AdoptedFile({}), path=[str(tmp_path)])
    for alias, proper in (("Bad-Name", "bad_name"), ("2nd", "tool_2nd"), ("a b", "a_b")):
        with pytest.raises(InvalidInput) as raised:
            choose(found, [f"hello={alias}"])
        assert [one.fix for one in raised.value.findings] == [f"--tool hello={proper}"]


def test_imports_show_where_they_are_and_end(tmp_path: Path) -> None:
    files = {f"acme/m{number}.py": COMPUTED for number in range(3)}
    install(tmp_path, files={"acme/__init__.py": "", **files})
    path = [str(tmp_path)]
    said: list[str] = []
    found = survey("acme-tools", AdoptedFile({}), path=path, imports=Imports(total=0), tell=said.append)
    assert said == []
    assert all("0 seconds" in (one.problem or "") for one in found.candidates)
    named = ["acme.m1:other"]
    survey("acme-tools", AdoptedFile({}), path=path, imports=Imports(), named=named, tell=said.append)
    assert [line.rpartition(" ")[2] for line in said] == ["acme.m1"]


def test_a_package_whose_code_makes_its_tools_says_so(folder: Folder) -> None:
    install(folder.site, files={"acme/__init__.py": "", "acme/shop.py": MAKER})
    ran = folder.strands("plugin", "adopt", "acme-tools", "--all")
    assert ran.code == 3
    assert "acme.shop:Shop.tools, acme.shop:_make" in ran.err
    assert "strands plugin new acme-tools-tools" in ran.err


def test_a_name_that_no_index_of_the_person_has_is_not_installed(folder: Folder) -> None:
    ran = folder.strands("plugin", "adopt", "nosuchdist")
    assert (ran.code, "--install" in ran.err) == (3, False)


@pytest.mark.parametrize("prefix", ["./", ".//", "x/../"])
def test_a_record_with_other_paths_hides_no_tool(folder: Folder, prefix: str) -> None:
    kinds(folder.site)
    (record,) = folder.site.glob("acme*.dist-info/RECORD")
    lines = record.read_text().splitlines()
    record.write_text("".join(f"{prefix}{line}\n" for line in lines))
    assert folder.strands("plugin", "adopt", "acme-tools", "--all", "--json").document["adopted"] == ["hello"]
    assert folder.strands("plugin", "verify", "acme-tools").code == 0


def test_reading_ends_after_a_time_with_what_was_found_and_the_modules_that_are_left_out(tmp_path: Path) -> None:
    modules = {f"large/m{number}.py": FUNCTION.replace("hello", f"hello_{number}") for number in range(9)}
    install(tmp_path, "large", files=modules)
    path = [str(tmp_path)]
    whole = find_adoptable("large", path)
    assert (len(whole.tools), whole.findings) == (9, ())
    none = find_adoptable("large", path, seconds=0)
    (finding,) = none.findings
    assert (none.tools, finding.code, finding.severity) == ((), "too-much-to-adopt", "warning")
    assert ("large.m0" in finding.message, (finding.fix or "").endswith("--tool NAME")) == (True, True)
    named = find_adoptable("large", path, named=["hello_7", "large.m3:hello_3"], seconds=0)
    assert [one.name for one in named.tools] == ["hello_3", "hello_7"]
    assert [one.code for one in named.findings] == ["too-much-to-adopt"]


@pytest.mark.parametrize("lost", ["RECORD is gone", "RECORD lists data"])
def test_a_distribution_whose_files_are_unknown_has_a_message_of_its_own(lost: str, folder: Folder) -> None:
    record = install(folder.site, "acme-tools")
    if lost == "RECORD is gone":
        (record / "RECORD").unlink()
    else:
        (record / "RECORD").write_text("acme_tools/data.json,,\n")
    ran = folder.strands("plugin", "adopt", "acme-tools", "--all", "--yes")
    assert (ran.code, "RECORD" in ran.err, "in its source" in ran.err) == (3, True, False)
    assert "pip install --force-reinstall acme-tools" in ran.err
