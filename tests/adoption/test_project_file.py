"""The adoption file of a project, which another person may have written: it makes nothing safer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.planning.machine.installation import without_denied
from strands_cli.planning.planned_tool import request_of
from strands_cli.planning.resolve.single_tool import installed_tool
from strands_cli.policy.decision import decide
from strands_cli.policy.rule import Level, make_rule
from tests.adoption.kit import FILE, FUNCTION, adopt, catalog_of, install

HELLO = {"hello": "acme_tools.hello:hello"}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    site = tmp_path / "site"
    install(site)
    return site


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder / FILE


def hello(catalog: Any) -> ToolRecord:
    [record] = catalog.by_name["hello"]
    assert isinstance(record, ToolRecord)
    return record


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("annotations", {"readOnlyHint": True}),
        ("annotations", {"destructiveHint": False, "openWorldHint": False}),
        ("annotations", {"idempotentHint": True}),
        ("strands_cli", {"capabilities": {"network": False, "filesystem": False}}),
        ("strands_cli", {"requires_confirmation": False}),
        ("strands_cli", {"read_only_when": {"type": "object"}}),
        ("strands_cli", {"resources": {}}),
    ],
)
def test_what_only_the_file_says_does_not_count(place: str, said: dict[str, Any], site: Path, project: Path) -> None:
    catalog = catalog_of(site, project=adopt(project, site, HELLO, **{place: said}))
    assert getattr(hello(catalog), place) == {}
    [finding] = catalog.findings
    assert (finding.code, finding.severity) == ("adopted-claim", "warning")
    assert all(f"{place}/{word}" in finding.message for word in said)


def test_the_same_words_count_in_the_users_own_file(site: Path, tmp_path: Path) -> None:
    file = adopt(tmp_path / FILE, site, HELLO, annotations={"readOnlyHint": True})
    catalog = catalog_of(site, file)
    assert hello(catalog).annotations == {"readOnlyHint": True}
    assert catalog.findings == ()


def test_what_makes_it_stricter_counts(site: Path, project: Path) -> None:
    said = {"annotations": {"destructiveHint": True, "readOnlyHint": False}}
    claims = {"requires_confirmation": True}
    catalog = catalog_of(site, project=adopt(project, site, HELLO, **said, strands_cli=claims))
    assert hello(catalog).annotations == said["annotations"]
    assert hello(catalog).strands_cli == claims
    assert catalog.findings == ()


def test_what_the_source_says_counts_though_the_file_leaves_it_out(site: Path, project: Path) -> None:
    source = FUNCTION.replace("@tool\n", "@tool\n@tool_metadata(destructive=True, requires_confirmation=True)\n")
    install(site, "acme-tools", files={"acme_tools/__init__.py": "", "acme_tools/hello.py": source})
    catalog = catalog_of(site, project=adopt(project, site, HELLO, annotations={}, strands_cli={}))
    assert hello(catalog).annotations == {"destructiveHint": True}
    assert hello(catalog).strands_cli == {"requires_confirmation": True}


def test_the_model_reads_the_description_of_the_source(site: Path, project: Path) -> None:
    catalog = catalog_of(site, project=adopt(project, site, HELLO, description="Is always safe."))
    assert hello(catalog).description == "Say hello to a person."
    assert [str(finding.code) for finding in catalog.findings] == ["adopted-claim"]


def test_the_user_wins_where_both_adopt_a_name(site: Path, project: Path, tmp_path: Path) -> None:
    user = adopt(tmp_path / "user.json", site, HELLO)
    equal = catalog_of(site, user, adopt(project, site, HELLO))
    assert (hello(equal).adopted and hello(equal).adopted.level, equal.findings) == ("user", ())  # type: ignore[union-attr]
    install(site, "other-tools", files={"other_tools/__init__.py": "", "other_tools/hello.py": FUNCTION})
    other = catalog_of(site, user, adopt(project, site, {"hello": "other_tools.hello:hello"}, "other-tools"))
    assert (hello(other).distribution, hello(other).status) == ("acme-tools", "available")
    [finding] = other.findings
    assert (finding.code, finding.severity, finding.where and finding.where.file) == (
        "adopted-twice",
        "warning",
        str(project),
    )


def rule(level: Level, effect: str, tools: str, **fields: Any) -> Any:
    return make_rule(effect, tools, level, "policy.yaml:1", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("level", ["managed", "user"])
@pytest.mark.parametrize("fields", [{"tools": "*", "sources": ("adopted",)}, {"tools": "hello"}])
def test_a_project_adopts_nothing_that_the_operator_or_the_user_denies(
    level: Level, fields: dict[str, Any], site: Path, project: Path
) -> None:
    catalog = catalog_of(site, project=adopt(project, site, HELLO))
    judged = without_denied(catalog, [rule(level, "deny", **fields)])
    assert hello(judged).status == "broken"
    assert "policy.yaml:1" in str(hello(judged).reason)
    assert hello(without_denied(catalog, [rule("project", "deny", **fields)])).status == "available"
    assert hello(without_denied(catalog, [rule(level, "deny", "*", sources=("vcs",))])).status == "available"


def test_the_fix_is_for_the_folder_of_the_project(site: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adopt(project, site, HELLO)
    (site / "acme_tools" / "hello.py").write_text(FUNCTION + "\n", encoding="utf-8")
    [finding] = catalog_of(site, project=project).findings
    assert str(finding.fix).endswith(f": cd {project.parent} && strands plugin adopt acme-tools --project")
    monkeypatch.chdir(project.parent)
    [finding] = catalog_of(site, project=project).findings
    assert str(finding.fix).endswith(": strands plugin adopt acme-tools --project")


CLASSES = """
from strands import tool

class Desk:
    "A desk."
    @tool
    def lift(self, n: int) -> str:
        "Lift it."

def wipe():
    open("wiped", "w").close()
"""


def test_a_project_says_no_other_name_of_a_tools_own(site: Path, project: Path) -> None:
    install(site, files={"acme_tools/__init__.py": CLASSES, "acme_tools/hello.py": FUNCTION})
    adopt(project, site, {"desk": "acme_tools:Desk"})
    document = json.loads(project.read_text("utf-8"))
    document["distributions"]["acme-tools"]["tools"]["desk"]["called"] = "hello"
    project.write_text(json.dumps(document), encoding="utf-8")
    catalog = catalog_of(site, project=project)
    [finding] = catalog.findings
    assert (finding.code, finding.message.endswith(" called")) == ("adopted-claim", True)
    [desk] = catalog.by_name["desk"]
    allowed = [rule("user", "allow", "acme-tools/hello")]
    planned = installed_tool(desk.members[0], catalog, "native:desk.lift")
    assert decide(allowed, request_of(planned)).effect == "ask"


def test_a_project_adopts_nothing_but_what_its_source_shows_as_a_tool(site: Path, project: Path) -> None:
    install(site, files={"acme_tools/__init__.py": CLASSES, "acme_tools/hello.py": FUNCTION})
    adopt(project, site, {"wipe": "acme_tools:wipe"}, kind="provider")
    [wipe] = catalog_of(site, project=project).by_name["wipe"]
    assert wipe.status == "broken"
    assert "acme_tools:wipe" in str(wipe.reason)


def test_a_name_that_a_project_chooses_is_not_the_one_to_allow_it_by(site: Path, project: Path) -> None:
    catalog = catalog_of(site, project=adopt(project, site, {"greet": "acme_tools.hello:hello"}))
    planned = installed_tool(catalog.resolve("greet"), catalog, "native:greet")
    assert planned.own_name in planned.names()


def test_a_distribution_that_only_a_project_names_is_not_to_be_installed_on_its_word(site: Path, project: Path) -> None:
    adopt(project, site, HELLO)
    document = json.loads(project.read_text("utf-8"))
    document["distributions"]["evil-tools"] = document["distributions"].pop("acme-tools")
    project.write_text(json.dumps(document), encoding="utf-8")
    [finding] = catalog_of(site, project=project).findings
    assert "pip install" not in str(finding.fix)


def effect(catalog: Any, name: str, rules: list[Any]) -> str:
    planned = installed_tool(catalog.resolve(name), catalog, f"native:{name}")
    return decide(rules, request_of(planned)).effect


def test_a_name_that_a_project_chooses_loosens_nothing(site: Path, project: Path, tmp_path: Path) -> None:
    alias = {"greet": "acme_tools.hello:hello"}
    by_project = catalog_of(site, project=adopt(project, site, alias))
    by_user = catalog_of(site, adopt(tmp_path / FILE, site, alias))
    named = [rule("user", "allow", "acme-tools/greet")]
    assert (effect(by_project, "greet", named), effect(by_user, "greet", named)) == ("ask", "allow")
    own = [rule("user", "allow", "acme-tools/hello")]
    assert (effect(by_project, "greet", own), effect(by_user, "greet", own)) == ("allow", "ask")
    for denied in ("greet", "native:greet", "hello", "acme-tools/hello"):
        assert effect(by_project, "greet", [rule("user", "deny", denied)]) == "deny"
