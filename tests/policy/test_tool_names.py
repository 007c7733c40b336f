"""A name without a distribution admits only the distribution that is called after it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.planning.planned_tool import InstalledTool, request_of
from strands_cli.policy.decision import decide
from strands_cli.policy.rule import Effect, Level, Request, Rule
from strands_cli.policy.tool_claims import is_bare, meant_distribution


def request(distribution: str, tool: str) -> Request:
    """Return a tool of a distribution as policy sees it."""
    names = (tool, f"native:{tool}", f"{distribution}/{tool}", f"native:{distribution}/{tool}")
    return Request(names, annotations={"readOnlyHint": True}, distribution=distribution)


@pytest.mark.parametrize(
    ("word", "bare", "meant"),
    [
        ("calculator", True, "strands-tool-calculator"),
        ("native:current_time", True, "strands-tool-current-time"),
        ("strands_tools.shell", True, "strands-tool-shell"),
        ("db.query", True, "strands-tool-db"),
        ("file_*", True, None),
        ("native:*", True, None),
        ("*/file_read", True, None),
        ("*", False, None),
        ("strands-tool-files/file_*", False, None),
        ("native:strands-tool-files/*", False, None),
        ("strands-tool-*/x", False, None),
        ("mcp:shelf", False, None),
        ("mcp:*", False, None),
    ],
)
def test_a_word_is_bare_if_it_names_no_distribution(word: str, bare: bool, meant: str | None) -> None:
    assert is_bare(word) == bare
    if bare:
        assert meant_distribution(word) == meant


def test_a_family_is_named_by_itself_and_by_no_other_glob() -> None:
    grep = ToolRecord("grep", "strands-tool-files", "1", "m", "grep", "m", None, "", family="files")
    ours = InstalledTool(name="grep", ref="native:grep", record=grep)
    evil = InstalledTool(name="grep", ref="native:grep", record=replace(grep, distribution="strands-tool-evil"))

    def fits(word: str, effect: Effect, tool: InstalledTool) -> bool:
        return Rule(effect, word, "user", "p:1").matches(request_of(tool))

    for word in ("native:files.*", "strands-tool-files/files.*", "native:Strands_Tool_Files/files.*"):
        assert fits(word, "deny", ours)
        assert fits(word, "deny", evil) == (word == "native:files.*")
        assert fits(word, "allow", ours) == (word != "native:files.*"), "a bare word admits what is called after it"
        assert not fits(word, "allow", evil)
    for word in ("native:f*", "strands-tool-files/file*", "native:files*", "native:file.*", "files.*"):
        assert not fits(word, "deny", ours), word
        assert not fits(word, "allow", ours), word


LEVELS: tuple[Level, ...] = ("managed", "user", "project")


@pytest.mark.parametrize("level", LEVELS)
def test_a_wall_of_names_admits_no_distribution_that_was_not_meant(level: Level) -> None:
    wall = Rule("deny", "*", level, "p:1", unless=("calculator", "native:file_*", "strands-tool-files/file_*"))
    admitted = [request("strands-tool-calculator", "calculator"), request("strands-tool-files", "file_read")]
    strangers = [request("strands-tool-evil", "calculator"), request("strands-tool-evil", "file_exfil")]
    assert [decide([wall], one).effect for one in admitted] == ["allow", "allow"]
    assert [decide([wall], one).effect for one in strangers] == ["deny", "deny"]


@pytest.mark.parametrize("level", LEVELS)
def test_an_allow_of_a_name_allows_no_distribution_that_was_not_meant(level: Level) -> None:
    def allowed(rule: Rule, distribution: str) -> bool:
        return rule.matches(request(distribution, "shout"))

    ours, evil = "strands-tool-shout", "strands-tool-evil"
    for word, fits in (("shout", [ours]), ("sh*", []), (f"{ours}/sh*", [ours]), ("*", [ours, evil])):
        assert [name for name in (ours, evil) if allowed(Rule("allow", word, level, "p:1"), name)] == fits, word
    by_key = Rule("allow", "sh*", level, "p:1", distribution=(evil,))
    assert [name for name in (ours, evil) if allowed(by_key, name)] == [evil]
    assert Rule("deny", "shout", level, "p:1").matches(request(evil, "shout"))
