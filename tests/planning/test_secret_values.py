"""Secrets before a run: what has no value is found with what to do, and nothing is run or opened to find it."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.errors import InvalidInput, NotEquipped
from strands_cli.planning.data_flow.planned_authority import authority_of
from strands_cli.planning.data_flow.secret_values import read_secrets, require_unwritten, secret_takers
from strands_cli.planning.plan_builder import require_runnable
from strands_cli.planning.plan_values import Plan
from tests.distributions import sound
from tests.fakes.plans import chain_of, found
from tests.wordings import Wording

KEY = {"OPENAI_API_KEY": "key-of-tests"}
STEP = "- {agent: writer, input: x}"


def with_secret(
    secret: str, folder: Path | None = None, rest: str = "", *, taken: bool = True, tools: str = "", **environ: str
) -> Plan:
    """Return a plan with secrets, all of which a server takes unless `taken` is false."""
    file = str(folder / "flow.yaml") if folder else "flow.yaml"
    names = [named or key for key, named in re.findall(r"{key: (\w+)(?:, name: (\w+))?", secret)]
    given = ", ".join(f'{name}: "${{secrets.{name}}}"' for name in names)
    server = f"tools: {{mcp: [{{id: taker, command: python3, env: {{PATH: /usr/bin, {given}}}}}]}}" if taken else ""
    sections = f"env: {{secrets: [{secret}]}}\n{tools or server}\n{rest}"
    return chain_of(STEP, rest=sections, environ={**KEY, **environ}, file=file)


@pytest.mark.parametrize(
    ("secret", "named", "fix"),
    [
        ("{key: TOKEN}", "TOKEN", "export TOKEN="),
        ("{key: t, source: file, path: none.txt}", "none.txt", "chmod 600"),
        ("{key: t, source: command, path: no-such-program --now}", "'no-such-program'", None),
        ("{key: t, source: command, path: 'a \"b'}", "No closing quotation", None),
        ("{key: t, source: command, path: ' '}", None, None),
        ("{key: t, source: keyring}", "keyring", "pip install keyring"),
    ],
)
def test_a_secret_without_a_value_is_found_where_it_is(
    tmp_path: Path, secret: str, named: str | None, fix: str | None, wording: Wording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)  # the tools of this clone bring keyring
    plan = with_secret(secret, tmp_path)
    [finding] = found(plan, "missing-secret")
    assert named is None or named in finding.message
    assert fix is None or fix in str(finding.fix)
    wording([finding.message, finding.fix])
    assert finding.where is not None
    assert finding.where.pointer == "/env/secrets/0"
    assert finding.where.line
    with pytest.raises(NotEquipped) as raised:
        require_runnable(plan)
    assert raised.value.exit_code == 18


def test_all_that_are_missing_are_found_at_once() -> None:
    assert len(found(with_secret("{key: A_TOKEN}, {key: B_TOKEN}"), "missing-secret")) == 2


def test_an_empty_variable_is_not_a_value() -> None:
    assert found(with_secret("{key: TOKEN}", TOKEN=""), "missing-secret")


def test_planning_runs_no_program(tmp_path: Path) -> None:
    program = tmp_path / "tell"
    program.write_text(f"#!/bin/sh\necho > {tmp_path / 'was-run'}\necho value-of-it\n")
    program.chmod(0o700)
    plan = with_secret("{key: t, source: command, path: ./tell}", tmp_path)
    assert found(plan, "missing-secret") == []
    assert not (tmp_path / "was-run").exists()
    assert read_secrets(plan, {"PATH": "/bin"}) == {"t": "value-of-it"}
    assert (tmp_path / "was-run").exists()


@pytest.mark.parametrize("source", ["{key: t, source: command, path: ./tell}", "{key: t, source: file, path: tell}"])
def test_what_no_one_takes_is_neither_started_nor_read(tmp_path: Path, source: str) -> None:
    program = tmp_path / "tell"
    program.write_text(f"#!/bin/sh\necho > {tmp_path / 'was-run'}\necho value-of-it\n")
    program.chmod(0o700)
    plan = with_secret(source, tmp_path, taken=False)
    assert [finding.severity for finding in found(plan, "unused-secret")] == ["warning"]
    assert read_secrets(plan, {"PATH": "/bin"}) == {}
    assert not (tmp_path / "was-run").exists()


def test_a_tool_that_policy_denies_takes_no_secret(tmp_path: Path) -> None:
    denied = 'security: {permissions: {deny: ["mcp:taker"]}}'
    plan = with_secret("{key: t, source: file, path: kept.txt}", tmp_path, denied)
    assert found(plan, "missing-secret") == []
    assert found(plan, "unused-secret") != []


def test_a_tool_that_could_not_be_planned_may_take_every_secret(tmp_path: Path) -> None:
    plan = with_secret("{key: t, source: file, path: none.txt}", tmp_path, tools="tools: {python: ['native:gone']}")
    assert "unused-secret" not in [finding.code for finding in plan.findings]
    assert found(plan, "unknown-tool") != []


def test_a_variable_that_no_one_takes_is_hidden_and_need_not_be_set() -> None:
    plan = with_secret("{key: TOKEN}", taken=False)
    assert found(plan, "missing-secret") == []
    assert read_secrets(plan, {}) == {}
    assert read_secrets(plan, {"TOKEN": "0123456789"}) == {"TOKEN": "0123456789"}


def test_a_model_takes_the_variable_of_its_key() -> None:
    plan = with_secret("{key: OPENAI_API_KEY}", taken=False, OPENAI_API_KEY="")
    assert found(plan, "missing-secret") != []


def test_each_source_gives_its_value_under_the_name_that_tools_ask_for(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("from the file\n")
    secrets = (
        "{key: VARIABLE, name: one}, {key: two, source: file, path: kept.txt}, "
        "{key: three, source: command, path: \"printf '%s\\n' 'a b; $HOME | c'\"}"
    )
    plan = with_secret(secrets, tmp_path, VARIABLE="from the variable")
    environ = {"VARIABLE": "from the variable", "PATH": "/usr/bin:/bin"}
    # No shell has read the line.
    assert read_secrets(plan, environ) == {
        "one": "from the variable",
        "two": "from the file",
        "three": "a b; $HOME | c",
    }


def test_what_cannot_be_read_is_named_without_the_output_of_the_program(tmp_path: Path, wording: Wording) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    secrets = (
        "{key: a, source: command, path: \"sh -c 'echo half-of-a-secret; echo and-more >&2; exit 3'\"}, "
        "{key: b, source: file, path: empty}, {key: c, source: file, path: binary}"
    )
    plan = with_secret(secrets, tmp_path)
    with pytest.raises(NotEquipped) as raised:
        read_secrets(plan, {"PATH": "/usr/bin:/bin"})
    messages = [finding.message for finding in raised.value.findings]
    assert [name in message for name, message in zip(("'a'", "'b'", "'c'"), messages, strict=True)] == [True] * 3
    assert "half-of-a-secret" not in str(messages)
    assert "and-more" not in str(messages)
    wording(messages)


def test_a_program_that_does_not_end_is_ended_with_what_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.setattr("strands_cli.secrets.secret_sources.COMMAND_SECONDS", 0.2)
    # The child would hold the output open for a minute.
    plan = with_secret("{key: a, source: command, path: \"sh -c 'sleep 60 & sleep 60'\"}", tmp_path)
    with pytest.raises(NotEquipped) as raised:
        read_secrets(plan, {"PATH": "/usr/bin:/bin"})
    wording(raised.value.findings[0].message)


def test_the_keyring_is_asked_by_service_and_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "keyring.py").write_text(
        "def get_password(service, key):\n"
        "    if service == 'locked':\n        raise RuntimeError('not shown')\n"
        "    return {('strands', 'a'): 'default service', ('mine', 'b'): 'own service'}.get((service, key))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(__import__("sys").modules, "keyring", raising=False)
    plan = with_secret("{key: a, source: keyring}, {key: b, source: keyring, path: mine}")
    assert found(plan, "missing-secret") == []
    assert read_secrets(plan, {}) == {"a": "default service", "b": "own service"}
    plan = with_secret("{key: x, source: keyring, path: mine}, {key: y, source: keyring, path: locked}")
    with pytest.raises(NotEquipped) as raised:
        read_secrets(plan, {})
    first, second = raised.value.findings
    assert "'x'" in first.message
    assert "'mine'" in first.message
    assert "keyring set mine x" in str(first.fix)
    assert "RuntimeError" in second.message
    assert "not shown" not in second.message
    __import__("sys").modules.pop("keyring", None)


TAKEN = "env: {take_variables: true}"


def searching(tmp_path: Path, rest: str, *secrets: str, **environ: str) -> Plan:
    """Return the plan of a workflow whose tool declares secrets."""
    site = tmp_path / "site"
    sound(site, "search", strands_cli={"capabilities": {"secrets": secrets or ["SEARCH_KEY"]}})
    rest = f"tools: {{python: [native:search]}}\n{rest}"
    return chain_of(STEP, rest=rest, catalog=discover_catalog([str(site)]), environ={**KEY, **environ})


def test_a_tool_that_needs_a_secret_no_one_names_is_an_error_with_the_line_to_write(tmp_path: Path) -> None:
    rest = "env: {secrets: [{key: SERCH_KEY}]}"
    plan = searching(tmp_path, rest, SERCH_KEY="0123456789", SEARCH_KEY="abcdefghij")
    [finding] = found(plan, "unnamed-secret")
    assert finding.severity == "error"
    assert "'search'" in finding.message
    assert "'SEARCH_KEY'" in finding.message
    assert "env: {secrets: [{key: SEARCH_KEY}]}" in str(finding.fix)
    assert "'SERCH_KEY'" in str(finding.fix)
    assert finding.where is not None
    assert finding.where.pointer == "/tools/python/0"
    with pytest.raises(NotEquipped) as raised:
        require_runnable(plan)
    assert raised.value.exit_code == 18
    assert "SEARCH_KEY" not in read_secrets(plan, {"SEARCH_KEY": "abcdefghij"})
    rest = "env: {secrets: [{key: x, name: SEARCH_KEY, source: env}]}"
    assert found(searching(tmp_path, rest, x="0123456789"), "unnamed-secret") == []


def test_where_variables_are_taken_it_is_one_that_plan_and_question_name(tmp_path: Path) -> None:
    plan = searching(tmp_path, TAKEN, SEARCH_KEY="abcdefghij")
    assert [finding.severity for finding in found(plan, "unnamed-secret")] == ["warning"]
    require_runnable(plan)
    assert read_secrets(plan, {"SEARCH_KEY": "abcdefghij"}) == {"SEARCH_KEY": "abcdefghij"}
    authority = authority_of(plan, {})
    assert [(use.kind, use.what, use.to) for use in authority.uses] == [
        ("variable", "SEARCH_KEY", ("the tool search",))
    ]
    assert ("SEARCH_KEY",) in [way.keys for way in authority.outgoing]
    without = searching(tmp_path, TAKEN)
    assert found(without, "missing-secret") != []
    assert authority_of(without, {}).digest == authority.digest, "an answer holds where the variable is not set"


def test_a_secret_without_which_a_tool_works_may_be_left_out(tmp_path: Path) -> None:
    for rest in (TAKEN, ""):
        plan = searching(tmp_path, rest, "SEARCH_KEY?", SEARCH_KEY="abcdefghij")
        assert (found(plan, "unnamed-secret"), read_secrets(plan, {"SEARCH_KEY": "abcdefghij"})) == ([], {})
        named = searching(tmp_path, "env: {secrets: [{key: SEARCH_KEY}]}", "SEARCH_KEY?", SEARCH_KEY="abcdefghij")
        assert secret_takers(named) == {"SEARCH_KEY": ("the tool search",)}


def test_a_tool_that_policy_denies_needs_no_secret(tmp_path: Path) -> None:
    for rest in (TAKEN, ""):
        plan = searching(tmp_path, f"security: {{permissions: {{deny: [search]}}}}\n{rest}")
        assert found(plan, "unnamed-secret") == []
        assert found(plan, "missing-secret") == []


@pytest.mark.parametrize("rest", ["inputs: {values: {topic: 'about 0123456789'}}", "description: see 0123456789"])
def test_a_secret_that_the_record_would_keep_is_refused(rest: str) -> None:
    plan = with_secret("{key: TOKEN}", rest=rest, TOKEN="0123456789")
    with pytest.raises(InvalidInput) as raised:
        require_unwritten(plan, read_secrets(plan, {"TOKEN": "0123456789"}))
    assert raised.value.exit_code == 3
    assert {finding.code for finding in raised.value.findings} == {"written-secret"}
    assert "0123456789" not in str([str(finding) for finding in raised.value.findings])


def test_a_workflow_without_its_secrets_in_it_is_let_through() -> None:
    plan = with_secret("{key: TOKEN}", rest="description: see TOKEN", TOKEN="0123456789")
    require_unwritten(plan, read_secrets(plan, {"TOKEN": "0123456789"}))


def test_a_secret_too_short_to_be_hidden_is_named_where_it_is(tmp_path: Path) -> None:
    for name, value in [("blank", " a-b-c-d \n"), ("two", "äöüäöüä"), ("long", "eight-ch"), ("large", " " * 400)]:
        (tmp_path / name).write_text(value)
    os.mkfifo(tmp_path / "fifo")  # would keep for ever who opens it
    names = ("blank", "two", "long", "large", "fifo")
    files = [f"{{key: {name}, source: file, path: {name}}}" for name in names]
    secrets = ", ".join(["{key: PIN, name: pin}", "{key: EIGHT}", *files])
    plan = with_secret(secrets, tmp_path, PIN="4711abc", EIGHT="4711abcd", OPENAI_API_KEY="a-long-enough-key")
    short = found(plan, "short-secret")
    assert [one.where.pointer for one in short if one.where] == [f"/env/secrets/{index}" for index in (0, 2, 3)]
    assert [one.severity for one in short] == ["warning"] * 3
    assert "'pin'" in short[0].message
    shown = "\n".join(f"{one.message} {one.fix}" for one in short)
    assert not any(one in shown for one in ("4711", "a-b-c-d", "äöü", " 7", "seven"))


@pytest.mark.parametrize(("key", "is_named"), [("tiny-k7", True), ("a-long-enough-key", False)])
def test_a_key_of_a_model_too_short_to_be_hidden_is_named(key: str, is_named: bool) -> None:
    short = found(chain_of(STEP, environ={"OPENAI_API_KEY": key}), "short-secret")
    assert [one.where is not None and "OPENAI_API_KEY" in one.message for one in short] == [True] * is_named
    assert not any(key in f"{one.message} {one.fix}" for one in short)
    at_home = "{provider: openai, model_id: m, host: 'http://127.0.0.1:9/v1'}"
    assert found(chain_of(STEP, runtime=at_home, environ={"OPENAI_API_KEY": key}), "short-secret") == []
