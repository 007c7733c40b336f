"""What a workflow of a stranger can do once it is run, and what it cannot; the security model says the same."""

from __future__ import annotations

import json
import sys

import pytest

from tests.cli.strands import Folder
from tests.fakes.model_server import ModelServer, Turn
from tests.security.outside import SECRET, Outside

pytestmark = pytest.mark.hostile

STEP = [{"agent": "writer", "input": "Go."}]
TURNS = {"steps.0": [{"text": "done"}]}
posix = pytest.mark.skipif(sys.platform == "win32", reason="a shell script, modes of files")


@posix
def test_a_trusted_workflow_can_have_a_program_run_as_the_source_of_a_secret(folder: Folder) -> None:
    script = folder.write("fetch.sh", "#!/bin/sh\ntouch was-run\necho any-secret-value\n")
    script.chmod(0o755)
    executor = {"id": "api", "base_url": "https://api.example.com", "headers": {"X-Key": "${secrets.X}"}}
    env = {"secrets": [{"key": "X", "source": "command", "path": "./fetch.sh"}]}
    folder.workflow(STEP, TURNS, env=env, tools={"http_executors": [executor]})
    for command in ("validate", "plan"):
        assert folder.strands(command, "flow.yaml").code == 0
        assert not (folder.work / "was-run").exists()
    for options in ((), ("--yes",)):
        assert folder.strands("run", "flow.yaml", *options).code == 21
        assert not (folder.work / "was-run").exists()
    assert folder.strands("workflows", "trust", "flow.yaml").code == 0
    assert folder.strands("run", "flow.yaml").code == 0
    assert (folder.work / "was-run").exists()


def test_a_workflow_can_send_prompts_and_a_key_to_the_host_that_it_names(folder: Folder) -> None:
    with ModelServer([Turn("done")]) as server:
        live = {"provider": "openai", "model_id": "m", "host": server.url, "failure_policy": {"retries": 0}}
        folder.workflow(STEP, runtime=live)
        ran = folder.strands("run", "flow.yaml", OPENAI_API_KEY="sk-of-the-person-who-runs-it")
        assert ran.code == 0, ran.err
        (request,) = server.requests
    assert request.headers["authorization"] == "Bearer sk-of-the-person-who-runs-it"


def test_a_workflow_can_send_a_variable_of_the_environment_to_a_service_that_it_names(
    folder: Folder, outside: Outside
) -> None:
    headers = {"X-Key": "${secrets.OF_THE_PERSON}"}
    executor = {"id": "api", "base_url": f"http://127.0.0.1:{outside.port}", "headers": headers}
    calls = [{"calls": [{"api": {"method": "GET", "path": "/"}}]}, {"when": "api: success", "text": "done"}]
    agents = {"writer": {"prompt": "x", "tools": ["api"]}}
    folder.workflow(
        STEP,
        {"steps.0": calls},
        agents=agents,
        env={"secrets": [{"key": "OF_THE_PERSON"}]},
        tools={"http_executors": [executor]},
    )
    assert folder.strands("run", "flow.yaml", OF_THE_PERSON="of-the-person-who-runs-it").code == 21  # a private network
    assert outside.heard == []
    folder.strands("workflows", "trust", "flow.yaml")
    ran = folder.strands("run", "flow.yaml", OF_THE_PERSON="of-the-person-who-runs-it")
    assert ran.code == 0, ran.err
    assert b"of-the-person-who-runs-it" in b"".join(outside.heard)


def test_a_trusted_workflow_can_let_its_agents_read_any_folder_that_it_mounts(folder: Folder, outside: Outside) -> None:
    calls = [{"calls": [{"file_read": {"path": "@there/victim.txt"}}]}, {"when": "file_read: success", "text": "done"}]
    agents = {"writer": {"prompt": "x", "tools": ["native:file_read"]}}
    folder.workflow(STEP, {"steps.0": calls}, agents=agents, env={"mounts": {"there": str(outside.tree)}})
    assert folder.strands("run", "flow.yaml").code == 21
    folder.strands("workflows", "trust", "flow.yaml")
    assert folder.strands("run", "flow.yaml").code == 0


def test_a_workflow_cannot_allow_itself_a_call(folder: Folder) -> None:
    folder.write("strands-policy.yaml", 'version: 1\nrules: [{allow: "*"}]\n')
    calls = [{"calls": [{"file_write": {"path": "a.txt", "content": "x"}}]}, {"text": "done"}]
    agents = {"writer": {"prompt": "x", "tools": ["native:file_write"]}}
    folder.workflow(STEP, {"steps.0": calls}, agents=agents)
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == 19, ran.err
    assert not (folder.work / "a.txt").exists()
    ran = folder.strands("run", "flow.yaml", "--deny")
    assert ran.code == 21, ran.err
    assert "denied: file_write" in ran.err
    assert not (folder.work / "a.txt").exists()
    folder.workflow(STEP, {"steps.0": calls}, agents=agents, security={"permissions": {"allow": ["file_write"]}})
    assert folder.strands("validate", "flow.yaml").code == 3


def test_a_workflow_cannot_write_artifacts_outside_of_the_folder_that_was_chosen(
    folder: Folder, outside: Outside
) -> None:
    before = outside.state()
    for path in ("../outside/new.txt", str(outside.tree / "new.txt"), "{{ last_response }}/../../outside/new.txt"):
        folder.workflow(STEP, TURNS, outputs={"artifacts": [{"path": path, "from": "{{ last_response }}"}]})
        assert folder.strands("run", "flow.yaml").code in (3, 12)
    assert outside.state() == before


def test_a_workflow_finds_none_of_its_own_python_imported(folder: Folder) -> None:
    folder.write("mine.py", "anything = open('imported', 'w').close()\n")
    agents = {"writer": {"prompt": "x", "tools": ["mine:anything"]}}
    folder.workflow(STEP, TURNS, agents=agents, tools={"python_path": ["."]})
    assert folder.strands("run", "flow.yaml", "--yes").code == 21
    assert not (folder.work / "imported").exists()


def test_a_secret_that_a_workflow_names_is_in_no_prompt_record_or_message(folder: Folder) -> None:
    agents = {"writer": {"prompt": "x", "tools": ["native:file_read"]}}
    folder.write("said.txt", f"the secret is {SECRET}")
    with ModelServer([Turn(calls=[("file_read", {"path": "said.txt"})]), Turn(f"it is {SECRET}")]) as server:
        live = {"provider": "openai", "model_id": "m", "failure_policy": {"retries": 0}}
        env = {"secrets": [{"key": "CANARY"}]}
        folder.workflow(STEP, runtime=live, agents=agents, env=env)
        environ = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.url, "CANARY": SECRET}
        ran = folder.strands("run", "flow.yaml", "-v", **environ)
        sent = json.dumps(server.model_requests)
    assert ran.code == 0, ran.err
    kept = b"".join(path.read_bytes() for path in folder.runs.rglob("*") if path.is_file())
    for text in (sent, ran.out, ran.err, kept.decode("utf-8", "replace")):
        assert SECRET not in text


@posix
def test_the_record_of_a_run_is_for_its_owner_alone(folder: Folder) -> None:
    folder.workflow(STEP, TURNS)
    assert folder.strands("run", "flow.yaml").code == 0
    (record,) = folder.runs.iterdir()
    assert record.stat().st_mode & 0o077 == 0
