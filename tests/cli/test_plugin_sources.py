"""Template filters and sources of secrets of installed distributions work like the core's."""

from __future__ import annotations

import pytest

from strands_cli.default_parts import FILTERS
from strands_cli.errors import NotEquipped
from strands_cli.parts.named_parts import Part
from strands_cli.workflow.templates.plugin_filters import import_filters, plugin_filter
from tests.cli.strands import Folder
from tests.distributions import make_distribution

MODULE = """
import os
from pathlib import Path

Path(os.environ["IMPORTED"]).touch()
NUMBER = 7


def shout(text, mark="!"):
    if text == "bug":
        raise KeyError("no voice")
    if text == "hang":
        import time
        time.sleep(600)
    if text == "object":
        return object()
    if isinstance(text, list):
        text.clear()
        return "cleared"
    return text.upper() + mark


def vault(secret):
    if secret.key == "raises":
        raise RuntimeError("the value is vault-value-9")
    if secret.key == "empty":
        return ""
    if secret.key == "number":
        return 7
    return f"vault-value-of-{secret.key}-{secret.path}"
"""
POINTS = """\
[strands_cli.filters]
shout = strands_cli_yours:shout
number = strands_cli_yours:NUMBER
join = strands_cli_yours:shout
[strands_cli.secrets]
vault = strands_cli_yours:vault
env = strands_cli_yours:vault
"""


@pytest.fixture
def plugin(folder: Folder) -> Folder:
    """Install a distribution with filters and a source of secrets, and a tool that shows a secret's length."""
    make_distribution(folder.site, "strands-cli-yours", "1.0", POINTS, {"strands_cli_yours/__init__.py": MODULE})
    folder.environ["IMPORTED"] = str(folder.root / "imported")
    folder.tool("echo", "return answer(tool['input']['text'])")
    return folder


def echo(folder: Folder, template: str, **sections: object) -> None:
    folder.workflow([{"tool": "native:echo", "input": {"text": template}}], **sections)


def was_imported(folder: Folder) -> bool:
    return (folder.root / "imported").exists()


def test_a_filter_is_checked_and_used_in_a_run(plugin: Folder) -> None:
    first = {"tool": "native:echo", "input": {"text": "hi"}}
    shouted = "{{ last_response | shout }} {{ last_response | shout(mark='?') }}"
    plugin.workflow([first, {"tool": "native:echo", "input": {"text": shouted}}])
    assert plugin.strands("validate", "flow.yaml").code == 0
    assert plugin.strands("run", "flow.yaml").out == "HI! HI?\n"


def test_a_filter_cannot_change_what_a_run_has(plugin: Folder) -> None:
    inputs = {"optional": {"words": {"type": "array", "default": ["a", "b"]}}}
    echo(plugin, "{{ words | shout }} {{ words | length }}", inputs=inputs)
    assert plugin.strands("run", "flow.yaml").out == "cleared 2\n"


def test_a_filter_of_the_core_is_never_that_of_a_plugin(plugin: Folder) -> None:
    echo(plugin, "{{ ['a', 'b'] | join('-') }}")
    assert plugin.strands("run", "flow.yaml").out == "a-b\n"
    assert not was_imported(plugin)


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("{{ 'bug' | shout }}", "the template filter `shout` of strands-cli-yours failed: KeyError: 'no voice'"),
        ("{{ 'hang' | shout }}", "the template filter `shout` of strands-cli-yours did not answer in"),
        ("{{ 'object' | shout }}", "the template filter `shout` of strands-cli-yours returns object"),
        (
            "{{ 'x' | number }}",
            "`number` of strands-cli-yours (strands_cli_yours:NUMBER) is int, not a function",
        ),
    ],
)
def test_a_filter_that_fails_names_its_distribution(plugin: Folder, template: str, problem: str) -> None:
    echo(plugin, template)
    ran = plugin.strands("run", "flow.yaml")
    assert (ran.code in (3, 10, 18), problem in ran.err) == (True, True), ran.err
    assert "strands-cli-yours" in ran.err.partition("fix: ")[2]


def test_a_typo_is_answered_with_the_name_of_a_plugins_filter(plugin: Folder) -> None:
    echo(plugin, "{{ 'hi' | shuot }}")
    ran = plugin.strands("validate", "flow.yaml")
    assert (ran.code, "'shout'" in ran.err) == (3, True)
    assert not was_imported(plugin)


def test_a_filter_is_imported_where_its_name_is_a_word_of_a_text() -> None:
    plugin_filter(Part(FILTERS, "unheard", "strands-cli-yours", "no_such_module:unheard"))
    import_filters(["unheard_of", "{{ x | join }}"])
    with pytest.raises(NotEquipped):
        import_filters(["{{ x | unheard }}"])


DENIES = "version: 1\nrules:\n- {deny: '*', distribution: strands-cli-yours}\n"


def test_a_denied_filter_is_not_imported(plugin: Folder) -> None:
    plugin.write("strands-policy.yaml", DENIES)
    echo(plugin, "{{ 'hi' | shout }}")
    for command in ("validate", "run"):
        ran = plugin.strands(command, "flow.yaml")
        assert (ran.code, ran.codes) == (21, ["part-denied"]), ran.err
    assert not was_imported(plugin)


def takes_secret(folder: Folder, **secret: str) -> None:
    declared = {"secrets": [{"key": "token", "name": "TOKEN", **secret}]}
    spec = {"capabilities": {"secrets": ["TOKEN"]}}
    folder.tool("show", "return answer(str(len(kwargs['secrets']['TOKEN'])))", strands_cli=spec)
    folder.workflow([{"tool": "native:show", "input": {}}], env=declared)


def test_a_source_of_secrets_is_planned_without_an_import(plugin: Folder) -> None:
    takes_secret(plugin, source="vault", path="team")
    assert plugin.strands("plan", "flow.yaml").code == 0
    assert not was_imported(plugin)


@pytest.mark.parametrize(
    ("key", "problem"), [("raises", "raised RuntimeError"), ("empty", "is empty"), ("number", "is int")]
)
def test_a_source_that_fails_names_its_distribution_and_no_value(plugin: Folder, key: str, problem: str) -> None:
    takes_secret(plugin, source="vault", key=key)
    ran = plugin.strands("run", "flow.yaml")
    assert (ran.code, problem in ran.err, "vault-value" in ran.err) == (18, True, False), ran.err
    assert "strands-cli-yours" in ran.err


def test_an_unknown_source_is_a_mistake_with_the_sources_there_are(plugin: Folder) -> None:
    takes_secret(plugin, source="vaul")
    ran = plugin.strands("validate", "flow.yaml")
    assert (ran.code, "did you mean `vault`?" in ran.err) == (3, True), ran.err
    assert not was_imported(plugin)


def test_a_denied_source_is_not_imported(plugin: Folder) -> None:
    plugin.write("strands-policy.yaml", DENIES)
    takes_secret(plugin, source="vault")
    ran = plugin.strands("run", "flow.yaml")
    assert (ran.code, ran.codes) == (21, ["part-denied"]), ran.err
    assert not was_imported(plugin)


def test_a_variable_is_never_read_by_a_plugin(plugin: Folder) -> None:
    takes_secret(plugin, source="env", key="TOKEN")
    plugin.strands("run", "flow.yaml", TOKEN="plain-value-1")
    assert not was_imported(plugin)


def test_both_are_listed(plugin: Folder) -> None:
    listed = plugin.strands("explain", "supported", "--json").document
    assert {"name": "shout", "description": "of strands-cli-yours"} in listed["template_filters"]
    assert {"name": "vault", "description": "of strands-cli-yours"} in listed["secret_sources"]
    assert not was_imported(plugin)


def test_both_are_locked_with_their_workflow(plugin: Folder) -> None:
    takes_secret(plugin, source="vault", path="team")
    assert plugin.strands("lock").code == 0
    assert "strands-cli-yours" in (plugin.work / "strands.lock").read_text()
    echo(plugin, "{{ 'hi' | shout }}")
    assert plugin.strands("lock").code == 0
    assert "strands-cli-yours" in (plugin.work / "strands.lock").read_text()
    with (plugin.site / "strands_cli_yours" / "__init__.py").open("a") as file:
        file.write("# changed\n")
    ran = plugin.strands("run", "flow.yaml")
    assert (ran.code, "lock-changed" in ran.codes) == (21, True)


@pytest.mark.parametrize("kind", ["filter", "secret"])
def test_the_lock_beside_the_workflow_counts_from_every_folder(plugin: Folder, kind: str) -> None:
    if kind == "filter":
        echo(plugin, "{{ 'hi' | shout }}")
    else:
        takes_secret(plugin, source="vault", path="team")
    assert plugin.strands("lock").code == 0
    elsewhere = plugin.root / "elsewhere"
    elsewhere.mkdir()
    flow = str(plugin.work / "flow.yaml")
    assert plugin.strands("plan", flow, "--locked", cwd=elsewhere).code == 0
    assert not was_imported(plugin)
    with (plugin.site / "strands_cli_yours" / "__init__.py").open("a") as file:
        file.write("# changed\n")
    ran = plugin.strands("run", flow, cwd=elsewhere)
    assert (ran.code, "lock-changed" in ran.codes, was_imported(plugin)) == (21, True, False)


@pytest.mark.parametrize("kind", ["filter", "secret"])
def test_the_lock_beside_the_workflow_must_have_them(plugin: Folder, kind: str) -> None:
    echo(plugin, "hi")
    assert plugin.strands("lock").code == 0
    if kind == "filter":
        echo(plugin, "{{ 'hi' | shout }}")
    else:
        takes_secret(plugin, source="vault", path="team")
    ran = plugin.strands("run", "flow.yaml")
    assert (ran.code, was_imported(plugin)) == (21, False)
    assert "strands-cli-yours" in ran.err
    assert plugin.strands("lock", "flow.yaml").code == 0
    assert plugin.strands("plan", "flow.yaml", "--locked").code == 0


def test_a_plan_shows_what_calls_a_filter_as_it_is_written(plugin: Folder) -> None:
    echo(plugin, "{{ 'hi' | shout }}")
    planned = plugin.strands("plan", "flow.yaml")
    assert (planned.code, "{{ 'hi' | shout }}" in planned.out, was_imported(plugin)) == (0, True, False)
