"""The guardrails of a workflow at the command line: no network, only some tools, no personal data, with reports."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.cli.strands import Folder
from tests.cli.test_secrets import sinks
from tests.fakes.model_server import ModelServer, Turn
from tests.wordings import Wording

OFF = {"capabilities": {"network": []}}
ON = {"capabilities": {"network": ["*"]}}
MAIL, CARD, PHONE = "bob@mail.example", "4111 1111 1111 1111", "+49 30 1234567"
GUEST = "eve@guest.example"
LIVE = {"provider": "openai", "model_id": "m"}


def guarded(
    folder: Folder, tools: list[Any], calls: list[Any], own: dict[str, Any] | None = None, **guardrails: Any
) -> None:
    turns = {"steps.0": [{"calls": calls}, {"text": "done"}]}
    agents = {"writer": {"prompt": "You write.", "tools": tools}}
    steps = [{"agent": "writer", "input": "go"}]
    folder.workflow(steps, turns, agents=agents, tools=own or {}, security={"guardrails": guardrails})


def test_without_a_network_only_tools_that_say_so_are_called(folder: Folder) -> None:
    for name, says in (("off", OFF), ("on", ON), ("silent", {}), ("vague", {"capabilities": {"subprocess": False}})):
        folder.tool(name, f"return answer('{name} answers')", strands_cli=says)
    (folder.work / "lib").mkdir()
    (folder.work / "lib" / "own.py").write_text(
        "from strands import tool\n@tool\ndef mine(text: str) -> str:\n    'Do.'\n    return text\n"
    )
    names = ["off", "on", "silent", "vague"]
    tools = [*(f"native:{name}" for name in names), "calculator", "own:mine"]
    calls = [
        *({name: {"text": "x"}} for name in names),
        {"calculator": {"expression": "6 * 7"}},
        {"mine": {"text": "x"}},
    ]
    guarded(folder, tools, calls, {"python_path": ["lib"]}, deny_network=True)
    env = {"STRANDS_CUSTOM_TOOL_ALLOWLIST": "own:mine"}
    ran = folder.strands("run", "flow.yaml", "--yes", "--events", "events.jsonl", **env)
    assert ran.code == 0, ran.err
    events = [json.loads(line) for line in (folder.work / "events.jsonl").read_text().splitlines()]
    decided = {
        event["tool"]: (event["effect"], event["rule"]) for event in events if event["event"] == "ToolCallDecided"
    }
    rule = "security.guardrails.deny_network (flow.yaml:1)"
    assert decided.pop("off")[0] == decided.pop("calculator")[0] == "allow"
    assert decided.keys() == {"on", "silent", "vague", "mine"}
    assert {(effect, reason.startswith(f"{rule}: ")) for effect, reason in decided.values()} == {("deny", True)}
    planned = folder.strands("plan", "flow.yaml", **env).out
    assert planned.count("security.guardrails.deny_network") == 4


def test_only_what_is_listed_is_called_whatever_it_is_called_by(folder: Folder) -> None:
    folder.tool("shout", "return answer('LOUD')")
    tools = [{"tool": "native:shout", "as": "loud"}, "calculator"]
    calls = [{"loud": {"text": "x"}}, {"calculator": {"expression": "1 + 1"}}]
    guarded(folder, tools, calls, allow_tools=["strands_cli.tools.shout"])
    ran = folder.strands("run", "flow.yaml", "--yes")
    assert ran.code == 0, ran.err
    assert "warning" not in ran.err
    assert "denied: calculator: security.guardrails.allow_tools (flow.yaml:1)" in ran.err
    assert "denied: loud" not in ran.err


def test_nothing_may_be_called_where_the_list_is_empty_and_a_step_says_so_before_the_run(folder: Folder) -> None:
    guarded(folder, ["calculator"], [{"calculator": {"expression": "1 + 1"}}], allow_tools=[])
    assert "denied: calculator" in folder.strands("run", "flow.yaml", "--yes").err
    folder.workflow(
        [{"tool": "http_request", "input": {"url": "http://localhost"}}],
        security={"guardrails": {"deny_network": True}},
    )
    ran = folder.strands("run", "flow.yaml", "--yes")
    assert ran.code == 21
    assert re.search(r"'http_request', .*: security\.guardrails\.deny_network", ran.err)


@pytest.mark.parametrize("guardrail", ["deny_network", "allow_tools"])
def test_explain_policy_names_a_guardrail_as_the_deciding_rule(
    guardrail: str, folder: Folder, wording: Wording
) -> None:
    guarded(folder, ["native:http_request"], [], **{guardrail: True if guardrail == "deny_network" else ["calculator"]})
    (tool,) = folder.strands("explain", "policy", "native:http_request", "flow.yaml", "--json").document["tools"]
    assert tool["call"]["effect"] == "deny"
    assert tool["call"]["rule"].startswith(f"security.guardrails.{guardrail} (flow.yaml:1)")
    assert not [change for change in tool["changes"] if "--allow" in change]
    wording([tool["call"]["rule"], tool["changes"]])
    assert tool["rules"][0]["origin"] == f"security.guardrails.{guardrail} (flow.yaml:1)"
    assert tool["rules"][0].get("capability", []) == (["network"] if guardrail == "deny_network" else [])


LEAK = f"""
print('printed', {MAIL!r})
import logging
logging.getLogger('strands.leaky').warning('logged %s', {CARD!r})
return {{'status': 'success', 'content': [
    {{'text': 'Write to {MAIL}, call {PHONE}, order 4500012345 of 2026-11-21'}},
    {{'json': {{'{MAIL}': {{'card': 4111111111111111, 'phone': '5551234567'}}}}}}]}}
"""
PERSONAL = [MAIL, CARD, "4111111111111111", PHONE, "5551234567"]


def leaky(folder: Folder, *, on: bool = True) -> None:
    folder.tool("leak", LEAK, strands_cli=OFF)
    agents = {"writer": {"prompt": f"You write to {GUEST}.", "tools": ["native:leak"]}}
    steps = [
        {"tool": "leak", "input": {"text": "x"}},
        {"agent": "writer", "input": "For {{ guest }}: {{ steps[0].response }}"},
    ]
    outputs = {
        "artifacts": [{"path": "out.md", "from": "{{ guest }} {{ steps[0].response }} {{ last_response }} {{ TRACE }}"}]
    }
    folder.workflow(
        steps,
        agents=agents,
        runtime=LIVE,
        outputs=outputs,
        inputs={"required": {"guest": "string"}},
        security={"guardrails": {"pii_redaction": on}},
    )


@pytest.mark.parametrize("on", [True, False])
def test_personal_data_reaches_neither_model_nor_any_sink(on: bool, folder: Folder) -> None:
    leaky(folder, on=on)
    turns = [Turn(calls=[("leak", {"text": "x"})]), Turn(f"Ask {MAIL} or {PHONE}, order 4500012345.")]
    with ModelServer(turns, chunk_chars=3) as server:
        keys = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.url}
        options = ["--var", f"guest={GUEST}", "--record", "rec.yaml", "--events", "events.jsonl", "--verbose"]
        ran = folder.strands("run", "flow.yaml", *options, **keys)
        requests = [request.body.decode() for request in server.requests]
        (run,) = folder.runs.iterdir()
        shown = folder.strands("runs", "show", run.name, "--json")
    assert ran.code == 0, ran.err
    places = [(where, form) for where, held in sinks(folder, ran, shown) for form in PERSONAL if form.encode() in held]
    seen = [form for form in (*PERSONAL, GUEST) for body in requests if form in body]
    if not on:  # the control: every way is open
        assert {MAIL, PHONE, GUEST} <= set(seen)
        assert {"artifacts/out.md", "events.jsonl", "rec.yaml", "stdout"} <= {
            where.split("/", 1)[-1] for where, _ in places
        }
        return
    assert (places, seen) == ([], [])
    assert "Ask [e-mail] or [phone number], order 4500012345." in ran.out
    assert "printed [e-mail]" in ran.err
    assert "logged [card number]" in ran.err
    artifact = (folder.work / "artifacts" / "out.md").read_text()
    assert artifact.startswith("[e-mail] Write to [e-mail], call [phone number], order 4500012345 of 2026-11-21")
    assert "For [e-mail]: Write to [e-mail]" in requests[0].replace("\\n", "\n")
    assert '"phone": "[phone number]"' in json.dumps([json.loads(body) for body in requests]).replace(
        '\\"', '"'
    ).replace("\\\\", "")
    # Inputs are unchanged in the journal: the run could not continue without them.
    assert [
        where for where, held in sinks(folder, ran, shown) if GUEST.encode() in held and "flow.yaml" not in where
    ] == [where for where, held in sinks(folder) if GUEST.encode() in held and "flow.yaml" not in where]


def test_a_run_goes_on_with_what_it_has_kept_out_of_its_record(folder: Folder) -> None:
    folder.tool("tell", f"return answer(tool['input']['text'] + ' {MAIL}')", strands_cli=OFF)
    steps = [
        {"tool": "tell", "input": {"text": "{{ guest }}"}},
        {"type": "hitl", "prompt": "Who?"},
        {"tool": "tell", "input": {"text": "{{ guest }} {{ hitl_response }}"}},
    ]
    security = {"guardrails": {"pii_redaction": True}}
    folder.workflow(steps, security=security, inputs={"required": {"guest": "string"}})
    assert folder.strands("run", "flow.yaml", "--detach", "--var", f"guest={GUEST}").code == 19
    (run,) = folder.runs.iterdir()
    ran = folder.strands("approve", run.name, "--answer", f"ask {PHONE}", "--json")
    assert (ran.code, ran.document["response"]) == (0, "[e-mail] ask [phone number] [e-mail]"), ran.err
    held = b"".join(path.read_bytes() for path in run.rglob("*") if path.is_file())
    assert MAIL.encode() not in held.replace(folder.work.as_posix().encode(), b"")
    assert PHONE.encode() not in held
