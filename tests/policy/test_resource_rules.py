"""Rules on what a call reads, writes and connects to hold for the place that is meant, however it is spelt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strands_cli.policy.decision import Decision, decide
from strands_cli.policy.file_places import Workspace
from strands_cli.policy.rule import Access, Effect, Request, Rule, make_rule

READS = {"resources": {"reads": ["file:{path}"], "writes": []}, "capabilities": {"network": []}}
WRITES = {"resources": {"reads": [], "writes": ["file:{path}"]}, "capabilities": {"network": []}}
CONNECTS = {"resources": {"reads": [], "writes": [], "connects": ["url:{url}"]}}


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A workspace with a folder of secrets, a link to it, and a mount of it."""
    root = tmp_path / "work"
    for file in ("secrets/key.txt", "docs/deep/note.md", "empty/.keep"):
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        (root / file).write_text("text")
    (root / "link").symlink_to("secrets")
    (root / "docs" / "inner").symlink_to("../secrets/key.txt")
    return Workspace(str(root), {"s": str(root / "secrets"), "d": str(root / "docs")})


def rule(effect: Effect, access: Access, *globs: str, tools: str = "*") -> Rule:
    return make_rule(effect, tools, "user", "policy.yaml:1", touching=((access, globs),))


def asked(claims: dict[str, Any], workspace: Workspace, **arguments: Any) -> Request:
    return Request(("t", "acme/t"), claims=claims, arguments=arguments, workspace=workspace)


def effect_of(rule: Rule, request: Request) -> str:
    """Return what a rule makes of a call that is allowed or asked about without it."""
    return decide([rule], request).effect


SPELLINGS = [
    "secrets/key.txt",
    "./secrets//key.txt",
    "docs/../secrets/key.txt",
    "SECRETS/KEY.TXT",
    "secrets%2fkey.txt",
    "secrets\\key.txt",
    "ｓecrets/key.txt",
    "secrets/key.txt\u200b",
    "secrets/new.txt",
    "link/key.txt",
    "docs/inner",
    "@s/key.txt",
    "@s",
    "secrets",
    ".",
    "",
    "docs/..",
    "docs",  # it has a link to a key
]


@pytest.mark.parametrize("path", SPELLINGS)
def test_a_denied_folder_is_denied_however_a_call_names_it_or_a_folder_above(path: str, workspace: Workspace) -> None:
    for written in ("secrets/**", f"{workspace.root}/secrets/**", "./secrets/**", "**/secrets/**"):
        assert effect_of(rule("deny", "reads", written), asked(READS, workspace, path=path)) == "deny", written
    argument = make_rule("deny", "t(path=secrets/**)", "user", "policy.yaml:1")
    assert effect_of(argument, asked(READS, workspace, path=path)) == "deny"


def test_an_absolute_path_is_denied_as_the_relative_one(workspace: Workspace) -> None:
    denies = make_rule("deny", "t(path=secrets/**)", "user", "policy.yaml:1")
    for path in (f"{workspace.root}/secrets/key.txt", f"file://{workspace.root}/secrets/key.txt", workspace.root):
        assert effect_of(denies, asked(READS, workspace, path=path)) == "deny"
        assert effect_of(rule("deny", "reads", "secrets/**"), asked(READS, workspace, path=path)) == "deny"


@pytest.mark.parametrize("path", ["docs/deep/note.md", "docs/deep", "empty", "@d/deep", "secretsx/key.txt"])
def test_what_has_nothing_denied_below_it_is_not_denied(path: str, workspace: Workspace) -> None:
    assert effect_of(rule("deny", "reads", "secrets/**"), asked(READS, workspace, path=path)) != "deny"
    assert effect_of(rule("deny", "writes", "**"), asked(READS, workspace, path=path)) != "deny"


def test_a_path_in_the_home_directory_is_denied_by_any_name(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home/.ssh").mkdir(parents=True)
    keys = Workspace(workspace.root, {"k": str(tmp_path / "home/.ssh")})
    for path in ("@k/id", "~/.ssh/id", str(tmp_path / "home/.ssh/id"), "../home/.ssh/id"):
        assert effect_of(rule("deny", "reads", "~/.ssh/**"), asked(READS, keys, path=path)) == "deny", path


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"resources": {"reads": []}},
        {"resources": {"reads": ["file"], "writes": ["file"]}},
        {"resources": {"reads": ["*"], "writes": [7]}},
        {"resources": {"reads": ["file:{other}"], "writes": ["file:{other}"]}},
        {"capabilities": {"filesystem": [{"path": ".", "mode": "read"}]}},
    ],
)
def test_what_a_tool_does_not_declare_may_be_what_is_denied(claims: dict[str, Any], workspace: Workspace) -> None:
    denying = [rule("deny", "writes", "secrets/**"), rule("deny", "connects", "evil.com")]
    assert decide(denying, asked(claims, workspace, path="docs/a")).effect == "deny"


def test_a_tool_that_declares_that_it_touches_nothing_is_not_denied(workspace: Workspace) -> None:
    nothing = {"capabilities": {"filesystem": [], "network": []}}
    rules = [rule("deny", access, "**") for access in ("reads", "writes", "connects")]
    assert decide(rules, asked(nothing, workspace)).effect == "ask"


def test_a_folder_above_a_mount_is_above_what_is_denied_in_the_mount(workspace: Workspace) -> None:
    inner = Workspace(workspace.root, {"m": f"{workspace.root}/docs/deep"})
    for path in (".", "docs", "docs/deep", "@m"):
        assert effect_of(rule("deny", "reads", "@m/**"), asked(READS, inner, path=path)) == "deny", path
    assert effect_of(rule("deny", "reads", "@m/**"), asked(READS, inner, path="empty")) == "ask"


def test_a_folder_that_cannot_be_read_or_is_too_large_counts_as_denied(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    denies = rule("deny", "reads", "**/*.key")
    assert effect_of(denies, asked(READS, workspace, path="docs")) == "ask"
    monkeypatch.setattr("strands_cli.policy.file_places.MAX_WORK", 1)
    assert effect_of(denies, asked(READS, workspace, path="docs")) == "deny"


@pytest.mark.parametrize(
    ("path", "effect"),
    [
        ("docs/a.md", "allow"),
        ("docs/deep", "allow"),
        ("@d/a.md", "allow"),
        ("docs/inner", "ask"),  # a link to a key
        ("docs/../secrets/key.txt", "ask"),
        ("link/a", "ask"),
        ("~/docs/a", "ask"),
        ("docs%2fa", "ask"),
        (".", "ask"),
    ],
)
def test_an_allowed_folder_is_allowed_by_what_a_path_leads_to(path: str, effect: str, workspace: Workspace) -> None:
    for allows in (rule("allow", "writes", "docs/**"), make_rule("allow", "t(path=docs/**)", "user", "policy.yaml:1")):
        assert effect_of(allows, asked(WRITES, workspace, path=path)) == effect
        assert effect_of(allows, asked({}, workspace, path=path)) == ("ask" if allows.touching else effect_plain(path))
    assert effect_of(rule("allow", "reads", "docs/**"), asked(WRITES, workspace, path=path)) == "ask"


def effect_plain(path: str) -> str:
    """Return what a rule on an argument makes of a tool that does not declare that the argument is a path."""
    return "allow" if path.startswith("docs/") and ".." not in path and "%" not in path else "ask"


def test_an_allowed_folder_whose_glob_is_not_of_all_below_allows_no_walk(workspace: Workspace) -> None:
    assert effect_of(rule("allow", "reads", "docs/*"), asked(READS, workspace, path="docs/deep")) == "ask"
    assert effect_of(rule("allow", "reads", "docs/*"), asked(READS, workspace, path="docs/x")) == "allow"


EVIL = [
    "https://evil.com/a",
    "https://evil.com:443/a",
    "https://evil.com./a",
    "https://EVIL.com",
    "https://evil.com?x",
    "https://evil.com#x",
    "https://evil。com/a",
    "https://ｅvil.com/a",
    "https://user:word@evil.com/a",
    "https:\\\\evil.com\\a",
    " https://evil.com/a",
    "HTTPS://evil.com:0443/a",
]


@pytest.mark.parametrize(
    "path",
    ["/a/../private/x", "/./private/x", "//private/x", "/a/%2e%2e/private/x", "/a/..%2fprivate/x", "/%70rivate/"],
)
def test_a_denied_path_of_an_address_is_denied_in_every_spelling(path: str, workspace: Workspace) -> None:
    request = asked(CONNECTS, workspace, url=f"http://h:8955{path}")
    assert effect_of(rule("deny", "connects", "http://h:8955/private/**"), request) == "deny"
    assert effect_of(rule("allow", "connects", "http://h:8955/a/**"), request) == "ask"


@pytest.mark.parametrize("url", EVIL)
def test_a_denied_address_is_denied_in_every_spelling(url: str, workspace: Workspace) -> None:
    request = asked(CONNECTS, workspace, url=url)
    for glob in ("https://evil.com/**", "https://evil.com", "evil.com", "*.com", "https://EVIL.com:443/**"):
        assert effect_of(rule("deny", "connects", glob), request) == "deny", glob
    argument = make_rule("deny", "t(url=https://evil.com/**)", "user", "policy.yaml:1")
    assert effect_of(argument, request) == "deny"
    assert effect_of(rule("deny", "connects", "https://vil.com/**", "evil.co"), request) == "ask"


@pytest.mark.parametrize(
    ("url", "glob"),
    [
        ("http://2130706433/", "127.0.0.1"),
        ("http://0x7f.1/", "http://127.0.0.1/**"),
        ("http://[::ffff:127.0.0.1]:80/", "127.0.0.1"),
        ("http://[::FFFF:1]/", "[::ffff:1]"),
        ("http://bücher.example/", "bücher.example"),
        ("http://xn--bcher-kva.example/", "bücher.example"),
        ("http://evil.com:8080/x", "evil.com"),
        ("evil.com/x", "https://evil.com/x"),
    ],
)
def test_hosts_are_compared_as_they_are_resolved(url: str, glob: str, workspace: Workspace) -> None:
    assert effect_of(rule("deny", "connects", glob), asked(CONNECTS, workspace, url=url)) == "deny"


@pytest.mark.parametrize(
    ("url", "effect"),
    [
        ("https://good.com/v1/a?b=c", "allow"),
        ("https://good.com:443/v1/a", "allow"),
        ("https://GOOD.com/v1/", "allow"),
        ("https://good.com:8443/v1/a", "ask"),
        ("https://good.com.evil.com/v1/a", "ask"),
        ("https://evil.com@good.com/v1/a", "ask"),
        ("https://evil.com\\@good.com/v1/a", "ask"),
        ("https://good.com/v1/../admin", "ask"),
        ("http://good.com/v1/a", "ask"),
    ],
)
def test_an_allowed_address_is_allowed_in_its_usual_form(url: str, effect: str, workspace: Workspace) -> None:
    claims = CONNECTS | {"capabilities": {"filesystem": []}}
    for allows in (
        rule("allow", "connects", "https://good.com/v1/**"),
        make_rule("allow", "t(url=https://good.com/v1/**)", "user", "policy.yaml:1"),
    ):
        assert effect_of(allows, asked(claims, workspace, url=url)) == effect


def test_the_hosts_that_a_tool_names_are_those_it_connects_to(workspace: Workspace) -> None:
    request = asked({"capabilities": {"network": ["api.acme.com"]}}, workspace)
    assert effect_of(rule("deny", "connects", "https://api.acme.com/private/**"), request) == "deny"
    assert effect_of(rule("deny", "connects", "evil.com"), request) == "ask"


def test_before_a_call_such_a_rule_depends_on_the_arguments_unless_nothing_is_declared(workspace: Workspace) -> None:
    def before(claims: dict[str, Any]) -> str:
        return rule("deny", "reads", "secrets/**").standing(Request(("t",), claims=claims))

    assert [before(READS), before({}), before(WRITES)] == ["depends", "yes", "no"]


def test_a_rule_that_denies_reading_and_writing_denies_each(workspace: Workspace) -> None:
    denies = make_rule("deny", "*", "user", "p:1", touching=(("reads", ("secrets/**",)), ("writes", ("secrets/**",))))
    for claims in (READS, WRITES):
        assert effect_of(denies, asked(claims, workspace, path="secrets/x")) == "deny"
        assert effect_of(denies, asked(claims, workspace, path="docs/x")) != "deny"


def test_a_tool_made_of_tools_is_decided_call_by_call(workspace: Workspace) -> None:
    made = Request(("t",), arguments={}, composed=True, workspace=workspace)
    assert decide([rule("deny", "reads", "**")], made) == decide([], made) == Decision("allow", decide([], made).rule)
