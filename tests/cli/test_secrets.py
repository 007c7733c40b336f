"""A secret is planted, everything that could leak it tries to, and afterwards no sink holds any form of it."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from strands_cli.secrets.redactor import MARK
from tests.cli.strands import Folder, Ran
from tests.fakes.model_server import ModelServer, Turn

SECRET = "s3cr3t/+ of&mine=0042"
FORMS = {
    "value": SECRET,
    "JSON": json.dumps({SECRET: 1})[2:-5],
    "URL": quote(SECRET, safe=""),
    "hex": SECRET.encode().hex(),
    "base64": base64.b64encode(SECRET.encode()).decode().rstrip("=")[:-1],
    "base64 further in": base64.b64encode(b"x" + SECRET.encode()).decode()[3:-4],
}
DECLARES = {"strands_cli": {"capabilities": {"secrets": ["TOKEN"]}}}
LEAK = """
import base64, logging, sys, urllib.parse
value = kwargs['strands_cli']['secrets']['TOKEN']
print('printed', value)
logging.getLogger('strands.leaky').warning('logged %s', value)
try:
    raise ValueError(value)
except ValueError:
    logging.getLogger('strands.leaky').exception('traced')
raw = value.encode()
forms = [value, urllib.parse.quote(value, safe=''), raw.hex(), base64.b64encode(raw).decode()]
if tool['input'].get('text') == 'raise':
    raise RuntimeError('cannot log in with ' + value)
return {'status': 'success', 'content': [{'text': ' '.join(forms)}, {'json': {value: forms, 'known': len(value)}}]}
"""
SEES = "return answer(','.join(sorted(kwargs['strands_cli']['secrets'])) or 'nothing')"
ENV = {"secrets": [{"key": "MY_TOKEN", "name": "TOKEN"}]}
LIVE = {"provider": "openai", "model_id": "m"}


def keys(server: ModelServer) -> dict[str, str]:
    return {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.url, "MY_TOKEN": SECRET}


def sinks(folder: Folder, *ran: Ran) -> Iterator[tuple[str, bytes]]:
    """Yield everything that a run has left: files of any name, and what it printed."""
    for place in (folder.work, folder.runs, folder.root / "home"):
        for path in sorted(place.rglob("*")) if place.exists() else []:
            if path.is_file():
                yield str(path.relative_to(folder.root)), path.read_bytes()
    for one in ran:
        yield "stdout", one.out.encode()
        yield "stderr", one.err.encode()


def leaks(folder: Folder, *ran: Ran) -> list[tuple[str, str]]:
    return [
        (where, form) for where, held in sinks(folder, *ran) for form, text in FORMS.items() if text.encode() in held
    ]


def a_leaky_workflow(folder: Folder, first: str = "x") -> Path:
    folder.tool("leak", LEAK, **DECLARES)
    agents = {"writer": {"prompt": "You write.", "tools": ["native:leak"]}}
    steps = [{"tool": "leak", "input": {"text": first}}, {"agent": "writer", "input": "Use {{ steps[0].response }}"}]
    outputs = {"artifacts": [{"path": "out.md", "from": "{{ steps[0].response }} {{ last_response }} {{ TRACE }}"}]}
    return folder.workflow(steps, agents=agents, runtime=LIVE, env=ENV, outputs=outputs)


@pytest.mark.parametrize("view", ["--verbose", "--json"])
def test_no_sink_of_a_run_holds_any_form_of_a_secret(folder: Folder, view: str) -> None:
    a_leaky_workflow(folder)
    # The model knows the secret from somewhere, and says it in pieces of a few characters.
    turns = [Turn(calls=[("leak", {"text": SECRET})]), Turn(f"It is {SECRET}, or {FORMS['hex']}.")]
    with ModelServer(turns, chunk_chars=5) as server:
        options = ["--yes", "--record", "rec.yaml", "--events", "events.jsonl", view]
        ran = folder.strands("run", "flow.yaml", *options, **keys(server))
        requests = [request.body for request in server.requests]
        (run,) = folder.runs.iterdir()
        shown = folder.strands("runs", "show", run.name, "--json")
    assert ran.code == 0, ran.err
    assert leaks(folder, ran, shown) == []
    assert [form for form, text in FORMS.items() for body in requests if text.encode() in body] == []
    # The tool had the value, and what it did is there to read.
    assert f"It is {MARK}, or {MARK}." in ran.out
    for name in ("rec.yaml", "events.jsonl", "artifacts/out.md"):
        assert MARK in (folder.work / name).read_text(), name
    if view == "--verbose":
        assert f"printed {MARK}" in ran.err
        assert f"logged {MARK}" in ran.err
        assert f"ValueError: {MARK}" in ran.err
        assert f"It is {MARK}" in ran.err


def test_no_error_holds_a_secret(folder: Folder) -> None:
    a_leaky_workflow(folder, "raise")
    with ModelServer([]) as server:
        ran = folder.strands("run", "flow.yaml", "--yes", "--events", "events.jsonl", "--verbose", **keys(server))
        (run,) = folder.runs.iterdir()
        shown = folder.strands("runs", "show", run.name, "--json")
    assert ran.code == 10, ran.err
    assert leaks(folder, ran, shown) == []
    assert f"cannot log in with {MARK}" in ran.err


def test_a_provider_that_repeats_a_secret_in_its_refusal_gets_it_nowhere(folder: Folder) -> None:
    a_leaky_workflow(folder)
    with ModelServer([Turn(status=400, body={"error": {"message": f"bad {SECRET}", "type": "x"}})]) as server:
        ran = folder.strands("run", "flow.yaml", "--yes", "--verbose", **keys(server))
    assert ran.code == 10, ran.err
    assert f"bad {MARK}" in ran.err
    assert leaks(folder, ran) == []


def test_a_tool_gets_only_the_secrets_that_it_declares(folder: Folder) -> None:
    folder.tool("first", SEES, strands_cli={"capabilities": {"secrets": ["TOKEN", "UNNAMED?"]}})
    folder.tool("second", SEES, strands_cli={"capabilities": {"network": True}})
    env = {"secrets": [{"key": "MY_TOKEN", "name": "TOKEN"}, {"key": "OTHER"}]}
    steps = [{"tool": name, "input": {}} for name in ("first", "second")]
    outputs = {"artifacts": [{"path": "out.txt", "from": "{{ steps[0].response }} {{ steps[1].response }}"}]}
    folder.workflow(steps, env=env, outputs=outputs)
    ran = folder.strands("run", "flow.yaml", MY_TOKEN=SECRET, OTHER="another-secret")
    assert ran.code == 0, ran.err
    assert (folder.work / "artifacts" / "out.txt").read_text() == "TOKEN nothing"
    assert "unnamed-secret" not in ran.err, "the tool works without it"


@pytest.fixture
def asking(folder: Folder) -> Folder:
    """Return a folder with a workflow that names no secret; its tool needs one, and repeats it."""
    folder.tool("leak", LEAK, **DECLARES)
    step: dict[str, Any] = {"tool": "leak", "input": {"text": "x"}}
    folder.workflow([step, {"type": "hitl", "prompt": "Go on?"}, step], env={"take_variables": True})
    return folder


def test_a_tool_gets_a_variable_that_is_not_named_and_it_leaks_nowhere(asking: Folder) -> None:
    waits = asking.strands("run", "flow.yaml", "--detach", "--events", "events.jsonl", TOKEN=SECRET)
    assert waits.code == 19, waits.err
    assert "warning[unnamed-secret]" in waits.err
    (run,) = asking.runs.iterdir()
    ran = asking.strands("approve", run.name, "steps.1", "--answer", f"it is {SECRET}", TOKEN=SECRET)
    assert ran.code == 0, ran.err
    assert f"printed {MARK}" in waits.err
    assert leaks(asking, waits, ran) == []


def test_an_answer_that_waits_holds_no_variable_that_was_taken(asking: Folder) -> None:
    asking.strands("run", "flow.yaml", "--detach", TOKEN=SECRET)
    (run,) = asking.runs.iterdir()
    ran = asking.strands("approve", run.name, "steps.1", "--answer", f"it is {SECRET}", "--no-resume", TOKEN=SECRET)
    assert ran.code == 0, ran.err
    assert leaks(asking, ran) == []


def test_a_tool_of_version_0_whose_variable_is_not_set_is_found_before_anything_runs(asking: Folder) -> None:
    ran = asking.strands("run", "flow.yaml", "--detach")
    assert ran.code == 18
    assert {"missing-secret", "unnamed-secret"} <= set(ran.codes)
    assert not asking.runs.exists()


def test_version_1_asks_for_the_name_before_any_request(folder: Folder) -> None:
    folder.tool("leak", LEAK, **DECLARES)
    agents = {"writer": {"prompt": "You write.", "tools": ["native:leak"]}}
    folder.workflow([{"agent": "writer", "input": "Write."}], agents=agents, runtime=LIVE)
    with ModelServer([Turn("done")]) as server:
        ran = folder.strands("run", "flow.yaml", **keys(server), TOKEN=SECRET)
        assert ran.code == 18
        assert "error[unnamed-secret]" in ran.err
        assert "env: {secrets: [{key: TOKEN}]}" in ran.err
        assert server.requests == []
        valid = folder.strands("validate", "flow.yaml")
        folder.workflow([{"agent": "writer", "input": "Write."}], agents=agents, runtime=LIVE, env=ENV)
        ran = folder.strands("run", "flow.yaml", **keys(server))
    assert valid.code == 0
    assert "warning[unnamed-secret]" in valid.out + valid.err
    assert ran.code == 0, ran.err


def test_a_run_goes_on_with_its_secrets_read_again(folder: Folder) -> None:
    folder.tool("leak", LEAK, **DECLARES)
    step: dict[str, Any] = {"tool": "leak", "input": {"text": "x"}}
    folder.workflow([step, {"type": "hitl", "prompt": "Go on?"}, step], env=ENV)
    waits = folder.strands("run", "flow.yaml", "--detach", MY_TOKEN=SECRET)
    assert waits.code == 19, waits.err
    (run,) = folder.runs.iterdir()
    without = folder.strands("approve", run.name, "steps.1")
    assert without.code == 18
    assert "error[missing-secret]" in without.err
    assert "MY_TOKEN" in without.err
    ran = folder.strands("approve", run.name, "steps.1", MY_TOKEN=SECRET)
    assert ran.code == 0, ran.err
    assert leaks(folder, waits, without, ran) == []


def test_what_a_person_answers_is_kept_without_the_secret_in_it(folder: Folder) -> None:
    folder.workflow(
        [{"type": "hitl", "prompt": "Well?"}, {"tool": "sees", "input": {"text": "{{ hitl_response }}"}}], env=ENV
    )
    folder.tool("sees", "return answer(tool['input']['text'])", **DECLARES)
    waits = folder.strands("run", "flow.yaml", "--detach", MY_TOKEN=SECRET)
    (run,) = folder.runs.iterdir()
    ran = folder.strands("approve", run.name, "steps.0", "--answer", f"take {SECRET}", MY_TOKEN=SECRET)
    assert ran.code == 0, (waits.err, ran.err)
    assert ran.out == f"take {MARK}\n"
    assert leaks(folder, waits, ran) == []


def test_a_secret_in_an_input_is_refused_before_there_is_a_record(folder: Folder) -> None:
    inputs = {"required": {"topic": "string"}}
    folder.workflow([{"type": "hitl", "prompt": "{{ topic }}"}], env=ENV, inputs=inputs)
    ran = folder.strands("run", "flow.yaml", "--var", f"topic=the {SECRET}", MY_TOKEN=SECRET)
    assert ran.code == 3
    assert "written-secret" in ran.codes
    assert re.search(r"'TOKEN' .*'topic'", ran.err)
    assert leaks(folder, ran) == []
    assert not folder.runs.exists()


def test_a_key_of_a_provider_in_an_input_is_not_shown(folder: Folder) -> None:
    folder.workflow([{"type": "hitl", "prompt": "Well?"}], inputs={"required": {"topic": "string"}})
    folder.strands("run", "flow.yaml", "--detach", "--var", f"topic=the {SECRET}", OPENAI_API_KEY=SECRET)
    shown = folder.strands("runs", "show", "last", OPENAI_API_KEY=SECRET)
    assert (shown.code, f"the {MARK}" in shown.out, SECRET in shown.out) == (0, True, False)


def test_a_tool_called_by_hand_gets_what_it_declares_from_the_environment(folder: Folder) -> None:
    folder.tool("leak", LEAK, **DECLARES)
    ran = folder.strands("tools", "run", "leak", "--input", "{}", TOKEN=SECRET)
    assert ran.code == 0, ran.err
    assert MARK in ran.out
    assert f"printed {MARK}" in ran.err
    assert leaks(folder, ran) == []


OWN = """
TOOL_SPEC = {"name": "own", "description": "Own.", "inputSchema": {"json": {"type": "object"}},
             "annotations": {"readOnlyHint": True}, "strands_cli": CLAIMS}

def own(tool, **kwargs):
    return {"status": "success", "content": [{"text": ",".join(kwargs["strands_cli"]["secrets"])}]}
"""
LITERAL = "{'capabilities': {'secrets': ['TOKEN']}}"


@pytest.mark.parametrize(
    ("takes", "claims", "code"),
    [(True, LITERAL, 0), (False, LITERAL, 18), (True, f"dict({LITERAL})", 18), (False, "dict()", 0)],
)
def test_custom_python_is_read_for_the_secrets_that_it_needs(
    folder: Folder, takes: bool, claims: str, code: int
) -> None:
    folder.write("own.py", OWN.replace("CLAIMS", claims))
    tools = {"python_path": ["."], "python": ["own:own"]}
    folder.workflow([{"tool": "own:own", "input": {}}], env={"take_variables": takes}, tools=tools)
    allowed = {"STRANDS_CUSTOM_TOOL_ALLOWLIST": "own:own"}
    ran = folder.strands("run", "flow.yaml", "--yes", **allowed, TOKEN=SECRET)
    assert (ran.code, ran.out) == (code, "TOKEN\n" if claims == LITERAL and not code else "\n" if not code else "")
    if code:
        assert "error[unnamed-secret]" in ran.err, "what only an import shows must be named"
        assert not folder.runs.exists()


def test_the_tool_of_an_agent_file_takes_its_variable_since_nothing_can_name_it(folder: Folder) -> None:
    folder.tool("sees", SEES, **DECLARES)
    folder.write("agent.yaml", {"prompt": "You look.", "tools": ["native:sees"]})
    turns = [Turn(calls=[("sees", {})]), Turn("done")]
    with ModelServer(turns) as server:
        ran = folder.strands(
            "atomic",
            "run",
            "agent.yaml",
            "--input",
            "x",
            "--provider",
            "openai",
            "--model",
            "m",
            **keys(server),
            TOKEN=SECRET,
        )
        assert ran.code == 0, ran.err
        assert "TOKEN" in json.dumps(json.loads(server.requests[-1].body)["messages"][-1])
        assert "unnamed-secret" not in ran.err
        without = folder.strands(
            "atomic", "run", "agent.yaml", "--input", "x", "--provider", "openai", "--model", "m", **keys(server)
        )
    assert without.code == 18
    assert "missing-secret" in without.codes


def test_an_answer_that_waits_holds_no_secret_of_a_file_and_no_workflow_is_read(folder: Folder) -> None:
    (folder.work / "token.txt").write_text(f"{SECRET}\n")
    (folder.work / "token.txt").chmod(0o600)
    secrets = {"secrets": [{"key": "TOKEN", "source": "file", "path": "token.txt"}]}
    folder.tool("leak", LEAK, **DECLARES)
    step: dict[str, Any] = {"tool": "leak", "input": {"text": "x"}}
    folder.workflow([{"type": "hitl", "prompt": "Well?"}, step], env=secrets)
    waits = folder.strands("run", "flow.yaml", "--detach")
    assert waits.code == 19, waits.err
    (run,) = folder.runs.iterdir()
    (folder.work / "flow.yaml").unlink()
    ran = folder.strands("approve", run.name, "steps.0", "--answer", f"take {SECRET}", "--no-resume")
    assert ran.code == 0, ran.err
    (folder.work / "token.txt").unlink()
    assert leaks(folder, ran) == []


def test_an_answer_that_waits_holds_no_personal_data_where_the_workflow_hides_it(folder: Folder) -> None:
    folder.tool("sees", "return answer(tool['input']['text'])")
    step: dict[str, Any] = {"tool": "sees", "input": {"text": "x"}}
    guardrails = {"guardrails": {"pii_redaction": True}}
    folder.workflow([{"type": "hitl", "prompt": "Well?"}, step], security=guardrails)
    assert folder.strands("run", "flow.yaml", "--detach").code == 19
    (run,) = folder.runs.iterdir()
    ran = folder.strands("approve", run.name, "steps.0", "--answer", "ask ada@lovelace.org", "--no-resume")
    assert ran.code == 0, ran.err
    assert not [name for name, data in sinks(folder, ran) if b"ada@lovelace.org" in data]


def test_the_journal_of_a_run_is_opened_without_the_readers_of_workflows() -> None:
    words = "import sys, strands_cli.engine.stored_runs.opened; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
    readers = ("strands_cli.workflow", "strands_cli.planning", "strands_cli.yaml_files", "pydantic", "yaml")
    assert [name for name in ran.stdout.split() if name.startswith(readers)] == []
