"""Versions: how they may be written, and mistakes in them; and names in prompts that nothing defines."""

from __future__ import annotations

import json

import pytest

from strands_cli.app import load
from tests.wordings import Wording


@pytest.mark.parametrize("version", ["2", "2.0", "'2'", "'2.0'", "' 2 '"])
def test_the_version_of_the_present_format_may_be_a_text(version: str) -> None:
    flow = f"version: {version}\nname: f\nagents: {{a: {{prompt: A}}}}\nruntime: {{provider: openai, model_id: m}}\n"
    assert load("<text>", flow + "pattern: {type: chain, config: {steps: [{agent: a, input: x}]}}\n").findings == ()


@pytest.mark.parametrize("prompt", ["Say {{ word }}.", "Use {{ tasks.x.response }}.", "{{ steps[0].text }} is wrong."])
def test_an_unknown_name_in_a_prompt_has_raw_in_its_fix(prompt: str) -> None:
    flow = {
        "version": 2,
        "name": "f",
        "runtime": {"provider": "openai", "model_id": "m"},
        "agents": {"a": {"prompt": prompt}},
        "pattern": {"type": "chain", "config": {"steps": [{"agent": "a", "input": "x"}]}},
    }
    found = [one for one in load("<text>", json.dumps(flow)).findings if "`{% raw %}`" in (one.fix or "")]
    assert len(found) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [("true", "wrong-type"), ("[1]", "wrong-type"), ("", "missing-key"), ("null", "missing-key")],
)
def test_a_version_is_a_number_or_a_text(text: str, message: str) -> None:
    flow = f"version: {text}\nname: f\nagents: {{a: {{prompt: A}}}}\nruntime: {{provider: openai, model_id: m}}\n"
    found = load("<text>", flow + "pattern: {type: chain, config: {steps: [{agent: a, input: x}]}}\n").findings
    assert [(one.code, one.where and one.where.line) for one in found] == [(message, 1)]


@pytest.mark.parametrize(("key", "line"), [("name", 2), ("/pattern/config/steps/0/agent", 5)])
def test_a_key_without_a_value_has_a_message_of_its_own(key: str, line: int, wording: Wording) -> None:
    name, agent = ("", "a") if key == "name" else ("f", "")
    flow = f"version: 2\nname: {name}\nruntime: {{provider: openai, model_id: m}}\nagents: {{a: {{prompt: A}}}}\n"
    flow += f"pattern: {{type: chain, config: {{steps: [{{agent: {agent}, input: x}}]}}}}\n"
    (found,) = [one for one in load("<text>", flow).findings if one.code == "missing-key"]
    assert found.where is not None
    assert found.where.line == line
    wording([found.message, found.fix])
