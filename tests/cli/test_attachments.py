"""Files that go to a model with a step's message: what is sent, what is stored, and what a resumed run sends."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from strands_cli.api import Runs, StorePlace
from tests.cli.strands import Folder, empty_folder
from tests.fakes.model_server import ModelServer, Turn
from tests.wordings import Wording, wording

__all__ = ["wording"]

PNG = b"\x89PNG\r\n\x1a\n" + bytes(60)
OTHER = PNG + b"other"
KEY = "sk-of-tests-4711"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as started:
        yield started


@pytest.fixture
def folder(tmp_path: Path, server: ModelServer) -> Iterator[Folder]:
    with empty_folder(tmp_path) as made:
        made.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY}
        (made.work / "a.png").write_bytes(PNG)
        yield made


def flow(folder: Folder, *steps: dict[str, Any], memory: str = "step", **sections: Any) -> None:
    runtime = {"provider": "openai", "model_id": "tiny", "failure_policy": {"retries": 0}}
    agents = {"writer": {"prompt": "You look.", "memory": memory}}
    named = [{"agent": "writer", "input": "What is it?", **step} for step in steps]
    folder.workflow(named, runtime=runtime, agents=agents, **sections)


def sent(server: ModelServer, number: int = -1) -> list[Any]:
    """Return the contents of the messages of a request behind the system prompt, with pictures as their bytes."""

    def plain(part: dict[str, Any]) -> Any:
        if part["type"] == "image_url":
            return base64.b64decode(part["image_url"]["url"].partition(",")[2])
        return part.get("text") or part["file"]["filename"]

    contents = [message["content"] for message in server.model_requests[number]["messages"][1:]]
    return [content if isinstance(content, str) else [plain(part) for part in content] for content in contents]


def rows(folder: Folder, run: str = "last") -> dict[str, Any]:
    with Runs(StorePlace(folder.runs)) as runs, runs.open(run) as opened:
        return {row.key: row for row in opened.journal.rows()}


def test_pictures_and_documents_are_blocks_before_the_message_and_texts_are_in_it(
    folder: Folder, server: ModelServer
) -> None:
    (folder.work / "b.pdf").write_bytes(b"%PDF-1.7")
    folder.write("notes.md", "# Bees\n")
    flow(folder, {"attachments": ["a.png", {"path": "b.pdf", "type": "pdf"}, "notes.md"]})
    ran = folder.strands("run", "flow.yaml", "-q")
    assert ran.code == 0, ran.err
    ((picture, document, message),) = sent(server)
    assert (picture, document) == (PNG, "b")
    assert message.endswith("notes.md:\n# Bees\n\n\nWhat is it?")
    assert "a.png, b.pdf" in message
    shown = folder.strands("runs", "show", "last").out
    assert all(name in shown for name in ("a.png (png, 68 bytes)", "b.pdf (pdf, 8 bytes)", "notes.md (md, 7 bytes)"))
    whole = folder.strands("runs", "show", "last", "steps.0/attachment.0", "--json").document["json"]
    assert (whole["path"], whole["type"], whole["size"]) == ("a.png", "png", 68)


def test_a_conversation_sends_its_pictures_again_and_stores_them_once(folder: Folder, server: ModelServer) -> None:
    large = PNG + bytes(100_000)
    (folder.work / "a.png").write_bytes(large)
    flow(folder, {"attachments": ["a.png"]}, {"input": "And now?"}, {"attachments": ["a.png"]}, memory="run")
    assert folder.strands("run", "flow.yaml", "-q").code == 0
    assert [content for content in sent(server) if isinstance(content, list) and large in content] == [
        [large, "What is it?"],
        [large, "What is it?"],
    ]
    stored = rows(folder)
    assert max(len(json.dumps(row.output)) for key, row in stored.items() if "attachment" not in key) < 2000
    run = next(folder.runs.iterdir())
    assert sum(file.stat().st_size for file in run.rglob("*") if file.is_file()) < 2 * len(large)


def failed_run(folder: Folder, server: ModelServer) -> None:
    """Run a workflow of two steps whose second model call fails."""
    (folder.work / "b.png").write_bytes(OTHER)
    flow(folder, {"attachments": ["a.png"]}, {"attachments": ["{{ file }}"]}, inputs={"required": {"file": "string"}})
    server.script = lambda request: Turn(status=400) if len(server.model_requests) > 1 else Turn("A square.")
    assert folder.strands("run", "flow.yaml", "--var", "file=b.png").code == 10
    server.script = lambda request: Turn("Fine.")


def test_a_resumed_run_sends_the_bytes_that_it_began_with(
    folder: Folder, server: ModelServer, wording: Wording
) -> None:
    failed_run(folder, server)
    (folder.work / "b.png").write_bytes(PNG)
    (folder.work / "a.png").unlink()
    ran = folder.strands("resume", "last")
    assert (ran.code, ran.out) == (0, "Fine.\n"), ran.err
    assert sent(server) == [[OTHER, "What is it?"]]
    warning = ran.reported[0].splitlines()[0]
    command, run = re.search(r"strands (runs rerun (\S+) --from steps\.1)", warning).groups()  # type: ignore[union-attr]
    wording(warning.replace(run, "RUN"))
    assert folder.strands(*command.split()).code == 0
    assert sent(server) == [[PNG, "What is it?"]]


def test_a_resumed_run_needs_no_file_and_a_rerun_reads_it_again(folder: Folder, server: ModelServer) -> None:
    failed_run(folder, server)
    for name in ("a.png", "b.png"):
        (folder.work / name).unlink()
    ran = folder.strands("resume", "last", "--json")
    assert (ran.code, ran.document["response"]) == (0, "Fine."), ran.err
    assert sent(server) == [[OTHER, "What is it?"]]
    again = folder.strands("runs", "rerun", ran.document["run"], "--from", "steps.1")
    assert (again.code, again.codes) == (2, ["attachment-missing"])
    (folder.work / "b.png").write_bytes(PNG + b"new")
    assert folder.strands("runs", "rerun", ran.document["run"], "--from", "steps.1").code == 0
    assert sent(server) == [[PNG + b"new", "What is it?"]]


def test_a_path_that_only_the_run_knows_is_checked_when_it_is_known(
    folder: Folder, server: ModelServer, wording: Wording
) -> None:
    flow(folder, {"input": "Which?"}, {"attachments": ["{{ last_response }}"]})
    server.script = lambda request: Turn("/etc/passwd")
    ran = folder.strands("run", "flow.yaml", "--json")
    assert (ran.code, len(server.model_requests)) == (10, 1)
    wording(ran.document["error"]["message"].replace(str(folder.work), "WORK"))
    server.script = lambda request: Turn("a.png")
    assert folder.strands("run", "flow.yaml").code == 0
    assert sent(server) == [[PNG, "What is it?"]]


def test_a_secret_in_a_text_is_hidden_and_one_in_a_picture_is_not_sent(
    folder: Folder, server: ModelServer, wording: Wording
) -> None:
    folder.write("notes.txt", f"the key is {KEY}")
    flow(folder, {"attachments": ["notes.txt"]})
    assert folder.strands("run", "flow.yaml", "-q").code == 0
    assert KEY not in json.dumps(server.model_requests)
    assert base64.b64decode(rows(folder)["steps.0/attachment.0"].output["data"]) == b"the key is [secret]"
    (folder.work / "a.png").write_bytes(PNG + KEY.encode())
    flow(folder, {"attachments": ["a.png"]})
    ran = folder.strands("run", "flow.yaml", "--json")
    assert (ran.code, len(server.model_requests)) == (10, 1)
    wording(ran.document["error"]["message"])


def test_numbers_in_a_picture_are_not_personal_data(folder: Folder, server: ModelServer) -> None:
    picture = PNG + b" +49 30 1234567 mail@example.com "
    (folder.work / "a.png").write_bytes(picture)
    flow(
        folder,
        {"attachments": ["a.png"]},
        {"input": "And now?"},
        memory="run",
        security={"guardrails": {"pii_redaction": True}},
    )
    assert folder.strands("run", "flow.yaml", "-q").code == 0
    assert sent(server)[0] == [picture, "What is it?"]


def test_a_plan_shows_what_is_read_and_a_strangers_workflow_asks_about_it(folder: Folder, server: ModelServer) -> None:
    flow(folder, {"attachments": ["a.png", "{{ file }}"]}, inputs={"required": {"file": "string"}})
    planned = folder.strands("plan", "flow.yaml", "--var", "file=a.png", "--json").document
    assert planned["steps"][0]["attachments"] == [{"path": "a.png", "type": "png", "size": 68}] * 2
    assert [use["what"] for use in planned["authority"]["uses"]] == ["a.png", "{{ file }}"]
    other = folder.root / "other"
    other.mkdir()
    for name in ("flow.yaml", "a.png"):
        (folder.work / name).rename(other / name)
    ran = folder.strands("run", "../other/flow.yaml", "--var", "file=a.png")
    assert (ran.code, ran.codes, server.model_requests) == (21, ["untrusted-workflow"], [])
    assert "{{ file }}" in ran.err
    assert folder.strands("workflows", "trust", "../other/flow.yaml").code == 0
    assert folder.strands("run", "../other/flow.yaml", "--var", "file=a.png").code == 0


def test_a_refusal_of_the_provider_is_explained(folder: Folder, server: ModelServer, wording: Wording) -> None:
    flow(folder, {"attachments": ["a.png"]})
    server.script = lambda request: Turn(status=400)
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == 10
    wording(ran.reported[0].replace(server.url, "URL"))
