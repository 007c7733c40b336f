"""Packages that declare nothing for strands-cli: an index lists their tools, and every way to them is to adopt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from index_kit import built, document_of

from strands_cli.api import Denied, PluginInstaller
from strands_cli.cli.program import run_program
from strands_cli_index.installing.download import unpack_wheel
from strands_cli_index.installing.preview import preview_of
from tests.distributions import make_distribution
from tests.distributions.wheels import make_wheel

# They make wheels, indexes or keys.
pytestmark = pytest.mark.wheels

SOURCE = """\
raise SystemExit("imported")
from strands import tool


@tool
def find_contact(name: str) -> str:
    \"\"\"Find a contact.

    Args:
        name: Whose.
    \"\"\"
    return name
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Return an index with a package for the SDK that declares no tools."""
    (tmp_path / "wheels").mkdir()
    files = {"strands_crm/__init__.py": "", "strands_crm/contacts.py": SOURCE}
    make_wheel(tmp_path / "wheels", "strands-crm", "0.3", files=files, requires=["strands-agents>=1"])
    assert built(tmp_path / "wheels", tmp_path / "site").findings == ()
    return tmp_path / "site"


def test_the_tools_of_a_package_that_declares_none_are_in_the_index(site: Path) -> None:
    (release,) = document_of(site)["releases"]
    (tool,) = release["tools"]
    assert (release["adopt"], release["check"]) == (True, None)
    assert (tool["name"], tool["entry"], tool["described_by"]) == (
        "find_contact",
        "strands_crm.contacts:find_contact",
        "source",
    )
    assert tool["input_schema"]["required"] == ["name"]
    assert tool["broken"] is None
    page = (site / "plugins" / "strands-crm.html").read_text()
    assert "strands plugin adopt strands-crm --install" in page
    assert "plugin install strands-crm" not in page


def test_a_search_finds_them_with_the_command_that_adopts(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["plugin", "search", "find_contact", "--index", str(site)]) == 0
    assert f"strands plugin adopt strands-crm --install --index {site}\n" in capsys.readouterr().out
    assert run_program(["plugin", "search", "find_contact", "--index", str(site), "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["plugins"]
    assert (one["adopt"], [tool["name"] for tool in one["tools"]]) == (True, ["find_contact"])


def test_the_build_says_how_many_tools_can_be_adopted(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wheels = str(site.with_name("wheels"))
    assert run_program(["plugin", "index", "build", wheels, "-o", str(site.with_name("again"))]) == 0
    assert capsys.readouterr().out == "strands-crm 0.3: 1 tool to adopt\n1 release\n"


def test_installed_workflows_are_searched_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    points = "[strands_cli.workflows]\nmail = strands_flow_mail:flows\n"
    files = {"strands_flow_mail/__init__.py": "", "strands_flow_mail/flows/sorting.yaml": "version: 2\n"}
    make_distribution(tmp_path / "site", "strands-flow-mail", "0.2", points, files)
    monkeypatch.syspath_prepend(tmp_path / "site")
    for word in ("sorting", "strands-flow-mail"):
        assert run_program(["plugin", "search", word, "--json"]) == 0
        (one,) = json.loads(capsys.readouterr().out)["plugins"]
        assert (one["name"], one["installed"]) == ("strands-flow-mail", "0.2")
        assert one["workflows"] == ["mail", "sorting"]


@pytest.mark.parametrize(
    ("rule", "publisher", "allowed"),
    [
        ("{deny: '*', publisher: '!github:acme/*'}", None, False),
        ("{deny: '*', publisher: '!github:acme/*'}", "github:acme/crm", True),
        ("{deny: '*', publisher: 'github:evil/*'}", "github:evil/crm", False),
        ("{deny: '*', source: adopted}", "github:acme/crm", False),
        ("{deny: other}", None, True),
    ],
)
def test_policy_is_asked_about_tools_to_adopt_before_anything_is_installed(
    rule: str, publisher: str | None, allowed: bool, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (wheel,) = (site / "wheels").glob("*.whl")
    (tmp_path / "tree").mkdir()
    (tmp_path / "strands-policy.yaml").write_text(f"version: 1\nrules: [{rule}]\n")
    monkeypatch.chdir(tmp_path)
    installer = PluginInstaller(str(wheel))
    fetched = unpack_wheel(wheel, tmp_path / "tree", installer)
    preview = preview_of(fetched, installer, lambda name: None, publisher)
    assert [record.name for record, _ in preview.adoptable] == ["find_contact"]
    if allowed:
        preview.require_one_allowed(installer)
        return
    with pytest.raises(Denied) as caught:
        preview.require_one_allowed(installer)
    assert [finding.code for finding in caught.value.findings] == ["plugin-denied"]
