"""A secret that a model says or receives is in no event, row or request."""

from __future__ import annotations

from strands_cli.events import ModelText
from strands_cli.secrets.redactor import MARK
from tests.agents.kit import RunContext, Script, Site, asking


def test_a_turn_is_stored_and_passed_on_without_a_secret_that_came_in_pieces(site: Site) -> None:
    secret = "sk-0123456789abcdef"
    half, rest = secret[:7], secret[7:]

    def split(_request: object) -> list[dict[str, object]]:
        deltas = [{"text": half}, {"text": rest}]
        told = [{"contentBlockDelta": {"delta": delta}} for delta in deltas]
        end = [{"contentBlockStop": {}}, {"messageStop": {"stopReason": "end_turn"}}]
        return [{"messageStart": {"role": "assistant"}}, *told, *end]

    def calls(_request: object) -> list[dict[str, object]]:
        start = {"contentBlockStart": {"start": {"toolUse": {"name": "echo", "toolUseId": "t1"}}}}
        deltas = [{"toolUse": {"input": '{"text": "' + half}}, {"toolUse": {"input": rest + '"}'}}]
        told = [{"contentBlockDelta": {"delta": delta}} for delta in deltas]
        end = [{"contentBlockStop": {}}, {"messageStop": {"stopReason": "tool_use"}}]
        return [{"messageStart": {"role": "assistant"}}, start, *told, *end]

    site.install("from strands import tool\n@tool\ndef echo(text: str) -> str:\n    return text\n", entry=":echo")
    host = RunContext()
    model = Script(calls, split)
    answer = asking(model, *site.plan("native:echo"), host=host, secrets=[secret], prompt=f"the key is {secret}")
    assert answer.text == MARK
    assert rest not in f"{host.events} {host.rows()} {model.requests}"
    assert f"the key is {MARK}" in str(model.requests[0])
    assert "".join(event.text for event in host.of(ModelText)) == MARK
