from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli.catalog.catalog import Catalog, discover_catalog
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.errors import ExitCode, Finding, InvalidInput, NotEquipped
from strands_cli.toolref import ToolRef
from tests.distributions import broken_manifest, make_distribution, module_source, sound, twin, without_manifest
from tests.wordings import Wording


@pytest.fixture
def installed(tmp_path: Path) -> Catalog:
    sound(tmp_path, "http_request", "1.5")
    sound(tmp_path, "twin", "1.0")
    twin(tmp_path, "twin", "other-tools")
    broken_manifest(tmp_path, "bad")
    sound(tmp_path, "poor", requires={"modules": ["no_such_module_here"]})
    without_manifest(tmp_path, "db", "class Db:\n    @tool\n    def query(self): 'Q.'\n", "Db")
    without_manifest(tmp_path, "later", "later = make()", "later")
    return discover_catalog([str(tmp_path)])


@pytest.mark.parametrize(
    ("ref", "distribution", "name"),
    [
        ("http_request", "strands-tool-http-request", "http_request"),
        ("native:http_request", "strands-tool-http-request", "http_request"),
        ("native:http_request@>=1.2,<2", "strands-tool-http-request", "http_request"),
        ("native:http_request@1.5", "strands-tool-http-request", "http_request"),
        ("native:Strands_Tool.Http-Request/http_request", "strands-tool-http-request", "http_request"),
        ("strands_cli.tools.http_request", "strands-tool-http-request", "http_request"),
        ("strands_tools.http_request.http_request", "strands-tool-http-request", "http_request"),
        ("native:other-tools/twin", "other-tools", "twin"),
        ("native:db", "strands-tool-db", "db"),
        ("native:db.query", "strands-tool-db", "query"),
        ("native:later.any_member", "strands-tool-later", "any_member"),
    ],
)
def test_a_reference_means_one_record(installed: Catalog, ref: str, distribution: str, name: str) -> None:
    for form in (ref, ToolRef.parse(ref)):
        record = installed.resolve(form)
        assert (record.distribution, record.name) == (distribution, name)


@pytest.mark.parametrize(
    ("ref", "code"),
    [
        ("native:http_requst", "unknown-tool"),
        ("http-request", "unknown-tool"),
        ("HTTP_Request", "unknown-tool"),
        ("native:zzz_qqq", "unknown-tool"),
        ("native:duckduckgo_search", "unknown-tool"),
        ("query", "unknown-tool"),
        ("native:db.qury", "unknown-tool"),
        ("native:http_request.get", "unknown-tool"),
        ("native:strands-tool-zzz/zzz", "unknown-tool"),
        ("native:strands-tool-db/dbb", "unknown-tool"),
        ("native:http_request@>=2", "tool-version"),
        ("twin", "tool-conflict"),
        ("native:twin@>=1", "tool-conflict"),
        ("bad", "tool-broken"),
        ("poor", "tool-unmet"),
        ("acme.text:shout", "not-in-catalog"),
        ("db.query", "not-in-catalog"),
        ("nativ:http_request", "not-in-catalog"),
        ("mcp:github/issue", "not-in-catalog"),
        ("agent:researcher", "not-in-catalog"),
        ("workflow:./sub.yaml", "not-in-catalog"),
        ("strands_tools.zzz", "unknown-tool"),
        ("two words", "bad-tool-ref"),
    ],
)
def test_a_reference_that_means_nothing_says_why_and_what_to_do(
    installed: Catalog, ref: str, code: str, wording: Wording
) -> None:
    found = installed.lookup(ref)
    assert isinstance(found, Finding)
    assert found.code == code
    wording(f"{found.message} {found.fix}")


@pytest.mark.parametrize(
    ("ref", "kind", "exit_code"),
    [
        ("zzz", InvalidInput, ExitCode.INVALID),
        ("twin", InvalidInput, ExitCode.INVALID),
        ("bad", NotEquipped, ExitCode.NOT_EQUIPPED),
        ("poor", NotEquipped, ExitCode.NOT_EQUIPPED),
    ],
)
def test_resolving_raises_by_who_must_act(
    installed: Catalog, ref: str, kind: type[Exception], exit_code: ExitCode
) -> None:
    with pytest.raises(kind) as caught:
        installed.resolve(ref)
    error = caught.value
    assert isinstance(error, (InvalidInput, NotEquipped))
    assert error.exit_code == exit_code
    assert [finding.code for finding in error.findings] == [installed.lookup(ref).code]  # type: ignore[union-attr]


def test_a_conflict_that_is_settled_still_needs_what_it_requires(tmp_path: Path) -> None:
    sound(tmp_path, "foo", requires={"modules": ["no_such_module_here"]})
    twin(tmp_path, "foo", "other-tools")
    found = discover_catalog([str(tmp_path)])
    settled = found.lookup("native:strands-tool-foo/foo")
    assert isinstance(settled, Finding)
    assert settled.code == "tool-unmet"
    assert isinstance(found.lookup("native:other-tools/foo"), ToolRecord)


@pytest.mark.parametrize(
    ("version", "specifier", "fits"),
    [
        ("1.5", ">=1,<2", True),
        ("2.0rc1", ">=1,<2", False),
        ("1.0rc1", ">=1.0rc1", True),
        ("1!1.5", ">=1,<2", False),
        ("1!1.5", "1!1.5", True),
        ("1.5+cu12", "1.5", True),
        ("1.5+cu12", ">=1,<2", True),
        ("not-a-version", ">=1", False),
    ],
)
def test_a_reference_to_an_exotic_version(tmp_path: Path, version: str, specifier: str, fits: bool) -> None:
    sound(tmp_path, "foo", version)
    found = discover_catalog([str(tmp_path)]).lookup(f"native:foo@{specifier}")
    assert isinstance(found, ToolRecord) is fits
    if isinstance(found, Finding):
        assert found.code == "tool-version"
        assert version in found.message


class TestLegacy:
    def install(self, directory: Path) -> Catalog:
        files = {
            "strands_tools/__init__.py": "raise RuntimeError('imported')",
            "strands_tools/calculator.py": module_source("calculator"),
            "strands_tools/shout.py": "from strands import tool\n@tool\ndef shout(text):\n    'Shouts.'\n",
            "strands_tools/browser.py": "class LocalBrowser:\n    @tool\n    def browse(self): 'B.'\n",
            "strands_tools/broken.py": "def (",
        }
        make_distribution(directory, "strands-agents-tools", "0.8.10", files=files)
        return discover_catalog([str(directory)])

    @pytest.mark.parametrize(
        ("ref", "kind", "entry", "description"),
        [
            ("strands_tools.calculator", "module", "strands_tools.calculator", "Does calculator."),
            ("strands_tools.calculator.calculator", "module", "strands_tools.calculator", "Does calculator."),
            ("strands_tools.shout:shout", "function", "strands_tools.shout", "Shouts."),
            ("strands_tools.browser:LocalBrowser", "class", "strands_tools.browser:LocalBrowser", "1 tool: browse"),
        ],
    )
    def test_a_module_of_the_old_package_is_described_from_its_source(
        self, tmp_path: Path, ref: str, kind: str, entry: str, description: str
    ) -> None:
        record = self.install(tmp_path).resolve(ref)
        assert (record.kind, record.entry, record.description) == (kind, entry, description)
        assert (record.distribution, record.version) == ("strands-agents-tools", "0.8.10")

    def test_an_installed_tool_of_that_name_comes_first(self, tmp_path: Path) -> None:
        sound(tmp_path, "calculator")
        assert self.install(tmp_path).resolve("strands_tools.calculator").distribution == "strands-tool-calculator"

    @pytest.mark.parametrize(
        ("ref", "code"), [("strands_tools.absent", "unknown-tool"), ("strands_tools.broken", "tool-broken")]
    )
    def test_what_it_does_not_have_is_a_finding(self, tmp_path: Path, ref: str, code: str) -> None:
        found = self.install(tmp_path).lookup(ref)
        assert isinstance(found, Finding)
        assert found.code == code
