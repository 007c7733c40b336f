"""The attachments of steps in a plan: looked at before a run, by their bytes."""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from strands_cli.planning.attachments import MOST_BYTES, type_of
from strands_cli.planning.data_flow.planned_authority import authority_of
from strands_cli.planning.plan_values import Plan, PlannedAttachment
from strands_cli.planning.run_request import RunRequest
from strands_cli.workflow.patterns.pattern_models import PATTERNS
from tests.fakes.plans import found, plan_of

PNG = b"\x89PNG\r\n\x1a\n" + bytes(60)
JPEG = b"\xff\xd8\xff\xe0" + bytes(60)
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)


def office(part: str) -> bytes:
    """Return a file of an office program with the part that names its kind."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<Types/>" * 100)
        archive.writestr(part, "<x/>" * 100)
    return file.getvalue()


BYTES: dict[str, bytes] = {
    "png": PNG,
    "jpeg": JPEG,
    "gif": b"GIF89a" + bytes(20),
    "webp": b"RIFF\x10\0\0\0WEBPVP8 ",
    "pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n",
    "docx": office("word/document.xml"),
    "xlsx": office("xl/workbook.xml"),
    "doc": OLE + "WordDocument".encode("utf-16-le"),
    "xls": OLE + "Workbook".encode("utf-16-le"),
    "txt": "a,b\n1,\N{HONEYBEE}\n".encode(),
}
FLOW = """\
version: 2
name: look
runtime: {provider: PROVIDER, model_id: m, max_tokens: 9}
inputs: {optional: {file: {type: string}, files: {type: array}}}
agents: {eye: {prompt: You look.}}
pattern: {type: chain, config: {steps: [{agent: eye, input: What is it?, attachments: ATTACHED}]}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the working directory, in which the workflow is too."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


def plan(*attached: Any, provider: str = "openai", head: str = "", **values: Any) -> Plan:
    text = FLOW.replace("PROVIDER", provider).replace("ATTACHED", json.dumps(attached)) + head
    return plan_of(text, options=RunRequest(values=values), file=str(Path("flow.yaml").absolute()))


def attached(plan: Plan) -> list[tuple[str, str | None, int | None]]:
    return [(each.path, each.type, each.size) for each in plan.steps[0].attachments]


def codes(plan: Plan) -> list[tuple[str, str]]:
    return [(found.code, found.severity) for found in plan.findings if found.code.startswith("attachment")]


@pytest.mark.parametrize("kind", BYTES)
def test_the_type_is_in_the_bytes(kind: str, folder: Path) -> None:
    assert type_of(BYTES[kind]) == kind
    (folder / "thing").write_bytes(BYTES[kind])
    (folder / f"thing.{kind}").write_bytes(BYTES[kind])
    made = plan("thing", f"thing.{kind}", {"path": "thing", "type": kind}, provider="bedrock")
    assert attached(made) == [(name, kind, len(BYTES[kind])) for name in ("thing", f"thing.{kind}", "thing")]
    assert codes(made) == []


@pytest.mark.parametrize("kind", ["csv", "html", "md", "txt"])
def test_texts_have_the_type_of_their_name_and_every_model_reads_them(kind: str, folder: Path) -> None:
    (folder / f"notes.{kind}").write_bytes(BYTES["txt"])
    (folder / "notes.py").write_bytes(BYTES["txt"])
    made = plan(f"notes.{kind}", "notes.py", {"path": "notes.py", "type": kind}, provider="mistral")
    assert [name for _, name, _ in attached(made)] == [kind, "txt", kind]
    assert codes(made) == []


@pytest.mark.parametrize("data", [bytes(200), b"\xff\xfe\0", b"PK\x03\x04" + bytes(90), OLE, b"\xe4"])
def test_bytes_of_no_type_are_refused(data: bytes, folder: Path) -> None:
    (folder / "thing.txt").write_bytes(data)
    assert codes(plan("thing.txt")) == [("attachment-type", "error")]


def test_a_lying_type_is_named_with_the_true_one(folder: Path) -> None:
    (folder / "a.pdf").write_bytes(PNG)
    (folder / "b.png").write_bytes(b"<html>Sign in</html>")
    made = plan("a.pdf", "b.png", {"path": "a.pdf", "type": "jpeg"})
    findings = found(made, "attachment-type")
    assert [finding.severity for finding in findings] == ["error"] * 3
    for finding, words in zip(findings, (("png", "pdf"), ("txt", "png"), ("png", "jpeg")), strict=True):
        assert all(word in finding.message for word in words)


def test_a_picture_of_another_format_than_its_name_is_sent_with_a_warning(folder: Path) -> None:
    (folder / "a.jpg").write_bytes(PNG)
    made = plan("a.jpg")
    assert (attached(made), codes(made)) == ([("a.jpg", "png", 68)], [("attachment-type", "warning")])


def test_a_file_of_a_terabyte_is_refused_by_its_size(folder: Path) -> None:
    with (folder / "huge.png").open("wb") as stream:
        stream.truncate(10**12)
    assert codes(plan("huge.png")) == [("attachment-too-large", "error")]


def test_files_that_are_too_large_together_are_refused(folder: Path) -> None:
    for name in ("a.txt", "b.txt"):
        (folder / name).write_bytes(b"x" * MOST_BYTES)
    assert codes(plan("a.txt")) == []
    assert codes(plan("a.txt", "b.txt")) == [("attachment-too-large", "error")]


def test_what_is_not_a_file_is_refused(folder: Path) -> None:
    (folder / "empty.png").touch()
    (folder / "folder.png").mkdir()
    if hasattr(os, "mkfifo"):
        os.mkfifo(folder / "pipe.png")
    for name in ("none.png", "empty.png", "folder.png", "pipe.png", "https://example.com/a.png", "a\0b"):
        assert codes(plan("{{ file }}", file=name)) == [("attachment-missing", "error")], name
    assert codes(plan("{{ file }}", file="")) == [("attachment-missing", "error")]


def test_a_template_does_not_lead_out_of_the_folders_of_the_workflow(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "pictures"
    outside.mkdir()
    (outside / "a.png").write_bytes(PNG)
    (folder / "link.png").symlink_to(outside / "a.png")
    for name in (str(outside / "a.png"), "../pictures/a.png", "link.png"):
        assert codes(plan("{{ file }}", file=name)) == [("attachment-outside", "error")]
        assert codes(plan("{{ file }}", file=name, head="env: {mounts: {pictures: ../pictures}}\n")) == []


def test_a_written_path_elsewhere_is_asked_about_once(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (folder / "b.png").write_bytes(PNG)
    made = plan("../a.png", "b.png", "{{ file }}", file="b.png")
    assert codes(made) == []
    uses = [(use.what, use.to, use.asks) for use in authority_of(made, {}).uses]
    assert uses == [(name, ("the model of eye",), name == "../a.png") for name in ("../a.png", "b.png", "{{ file }}")]


@pytest.mark.parametrize("name", [".env", "keys/id_rsa.txt", "server.pem"])
def test_files_of_credentials_are_not_sent(name: str, folder: Path) -> None:
    (folder / "keys").mkdir()
    (folder / name).write_text("secret")
    for path in (name, "{{ file }}"):
        assert codes(plan(path, file=name)) == [("attachment-outside", "error")]


def test_a_path_begins_in_the_folder_of_the_workflow_and_that_of_a_template_also_in_the_working_directory(
    folder: Path,
) -> None:
    (folder / "flows").mkdir()
    text = FLOW.replace("PROVIDER", "openai").replace("ATTACHED", '[a.png, "{{ file }}", "{{ files }}", b.png]')
    for name, size in (("flows/a.png", 1), ("a.png", 2), ("b.png", 3)):
        (folder / name).write_bytes(PNG + bytes(size))
    options = RunRequest(values={"file": "a.png", "files": ["b.png"]})
    made = plan_of(text, file=str(folder / "flows" / "flow.yaml"), options=options)
    assert [size for _, _, size in attached(made)] == [69, 69, 71, None]
    assert codes(made) == [("attachment-missing", "error")]


def test_an_input_may_be_a_list_of_files_and_a_later_answer_is_not_known(folder: Path) -> None:
    (folder / "a.png").write_bytes(PNG)
    text = FLOW.replace("PROVIDER", "openai").replace("ATTACHED", "[a.png]}, {agent: eye, attachments: LIST")
    made = plan_of(text.replace("LIST", '["{{ last_response }}", a.png]'), file=str(folder / "flow.yaml"))
    assert [(each.path, each.size) for each in made.steps[1].attachments] == [
        ("{{ last_response }}", None),
        ("a.png", 68),
    ]
    assert [path for path, _, _ in attached(plan("{{ files }}", files=["a.png", "a.png"]))] == ["a.png"] * 2
    assert attached(plan("{{ files }}", files=[])) == attached(plan("{{ files }}")) == []
    assert codes(plan("{{ files }}", files=[3])) == [("attachment-missing", "error")]


@pytest.mark.parametrize(
    ("provider", "unread"),
    [("openai", ["docx"]), ("anthropic", ["docx"]), ("ollama", ["pdf", "docx"]), ("writer", ["png", "pdf", "docx"])],
)
def test_a_model_that_does_not_read_a_type_is_found_before_the_run(
    provider: str, unread: list[str], folder: Path
) -> None:
    for kind in ("png", "pdf", "docx", "txt"):
        (folder / f"a.{kind}").write_bytes(BYTES[kind])
    made = plan("a.png", "a.pdf", "a.docx", "a.txt", provider=provider)
    assert [finding.message.rpartition(".")[2] for finding in found(made, "attachment-unread")] == unread


def test_an_unreviewed_workflow_reads_no_file(folder: Path) -> None:
    text = FLOW.replace("PROVIDER", "openai").replace("ATTACHED", "[none.png]")
    made = plan_of(text, options=RunRequest(as_written=True))
    assert made.steps[0].attachments == (PlannedAttachment("none.png", "/pattern/config/steps/0/attachments/0"),)
    assert codes(made) == []


WHERE = {
    "chain": ("steps", 0),
    "routing": ("router",),
    "parallel": ("reduce",),
    "workflow": ("tasks", 0),
    "graph": ("nodes",),
    "evaluator_optimizer": ("evaluator",),
    "orchestrator_workers": ("orchestrator",),
}


@pytest.mark.parametrize("pattern", WHERE)
def test_the_steps_of_every_pattern_take_attachments(pattern: str, folder: Path) -> None:
    import yaml

    assert WHERE.keys() == set(PATTERNS)
    (folder / "a.png").write_bytes(PNG)
    document: dict[str, Any] = yaml.safe_load(PATTERNS[pattern].starter)
    step: Any = document["pattern"]["config"]
    for name in WHERE[pattern]:
        step = step[name]
    if pattern == "graph":
        step = next(iter(step.values()))
    step["attachments"] = ["{{ topic }}.png"]
    head = {"version": 2, "name": "n", "runtime": {"provider": "openai", "model_id": "m"}}
    inputs = {"optional": {"topic": {"type": "string", "default": "a"}}}
    made = plan_of(json.dumps({**head, "inputs": inputs, **document}), file=str(folder / "flow.yaml"))
    assert [each.size for step in made.steps for each in step.attachments] == [68]
