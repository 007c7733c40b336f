"""A name of the runtime where it is not known is a finding, and never the advice to pass it as a variable."""

from __future__ import annotations

from typing import Any

import pytest

from strands_cli.app import load
from strands_cli.planning.environment import check_variables, names_in_templates
from strands_cli.workflow.model import template_sites
from strands_cli.workflow.pattern_model import YIELDING
from strands_cli.workflow.patterns.pattern_models import PATTERNS, reserved_names
from tests.yaml_texts import read_yaml, write_yaml

HEAD = {"version": 2, "name": "flow", "runtime": {"provider": "replay"}, "inputs": {"values": {"topic": "bees"}}}


def _with(pattern: str, name: str, place: str) -> str:
    """Return the starter of a pattern that prints a name in all prompts or in an artifact."""
    flow: dict[str, Any] = {**HEAD, **read_yaml(PATTERNS[pattern].starter)}
    if place == "prompt":
        for agent in flow["agents"].values():
            agent["prompt"] += f" {{{{ {name} }}}}"
    else:
        flow["outputs"]["artifacts"][0]["from"] += f" {{{{ {name} }}}}"
    return write_yaml(flow, sort_keys=False)


@pytest.mark.parametrize("place", ["prompt", "artifact"])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_name_of_the_runtime_is_never_proposed_as_a_variable(pattern: str, place: str) -> None:
    for name in sorted(reserved_names()):
        loaded = load("<text>", _with(pattern, name, place))
        assert loaded.spec is not None
        sites = [site for site in template_sites(loaded.spec) if f"{{{{ {name} }}}}" in site.text]
        assert sites
        missing = [site for site in sites if name not in site.scope]
        before = check_variables(names_in_templates(loaded.spec), loaded.document, {"topic": "bees"})
        found = [one for one in (*loaded.findings, *before) if one.severity == "error" or name in one.message]
        assert bool(found) == bool(missing), (name, found)
        assert {one.code for one in found} <= {"unknown-name", "undefined-variable"}
        assert any(one.severity == "error" for one in found) == bool(missing), "no request is paid"
        assert not [one for one in found if "--var" in f"{one.message} {one.fix}"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_name_of_a_pattern_is_known_as_one_of_the_runtime(pattern: str) -> None:
    spec = load("<text>", _with(pattern, "name", "artifact")).spec
    assert spec is not None
    assert {name for site in template_sites(spec) for name in site.scope} <= reserved_names()


@pytest.mark.parametrize("name", sorted(YIELDING))
def test_a_variable_that_only_the_command_line_gives_may_have_such_a_name(name: str) -> None:
    loaded = load("<text>", _with("chain", name, "prompt"))
    assert loaded.valid is not None
    assert check_variables(names_in_templates(loaded.valid), loaded.document, {"topic": "bees", name: "mine"}) == []


@pytest.mark.parametrize(
    ("prompt", "codes"),
    [
        ("{% if topic == 'bees' %}Buzz.{% endif %}", ["no-effect"]),
        ("{% if last_response %}Go on.{% endif %}", ["no-effect"]),
        ("{{ '' }}{% if topic == 'bees' %}Buzz.{% endif %}", []),
        ("You write Jinja, such as {% if user %}Hello{% endif %}.", []),
        ("Half a {% if", []),
    ],
)
def test_a_prompt_with_only_statements_is_text_and_says_so(prompt: str, codes: list[str]) -> None:
    flow: dict[str, Any] = {**HEAD, **read_yaml(PATTERNS["chain"].starter)}
    flow["agents"]["writer"]["prompt"] = prompt
    loaded = load("<text>", write_yaml(flow, sort_keys=False))
    assert [one.code for one in loaded.findings if one.where and one.where.pointer.endswith("/prompt")] == codes
