"""`strands validate DIR` checks the workflows and agents of a folder, in every format, and nothing of other people."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from strands_cli.cli.program import run_program

GOOD = """\
version: 2
name: good
runtime: {provider: ollama, model_id: m}
agents: {a: {prompt: Answer.}}
pattern: {type: chain, config: {steps: [{agent: a, input: hi}]}}
"""
BAD = GOOD.replace("agent: a,", "agent: b,")
AGENT = "prompt: Answer {{ input }}.\n"


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path = path.with_name(path.name.replace("_yaml", ".yaml").replace("_json", ".json").replace("_yml", ".yml"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def checked(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run_program(["validate", *arguments])
    return code, *capsys.readouterr()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    skipped = {f"{name}__bad_yaml": BAD for name in (".hidden", "node_modules", "env", "lib/site-packages")}
    write(tmp_path, a_yaml=GOOD, inner__deep__b_yml=BAD, inner__agent_yaml=AGENT, c_json=json.dumps({"x": 1}))
    write(tmp_path, recording_yaml="recording: 1\nsteps: {}\n", compose_yaml="services: {}\n", other_yaml="a: [\n")
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "pyvenv.cfg").write_text("")
    return write(tmp_path, **skipped)


def test_every_workflow_and_agent_is_checked_and_nothing_else(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = checked(capsys, str(folder))
    assert code == 3
    assert [line.partition(": ")[0] for line in out.splitlines() if line.endswith(": ok")] == [
        str(folder / "a.yaml"),
        str(folder / "inner/agent.yaml"),
    ]
    assert f"{folder / 'inner/deep/b.yml'}: 1 error" in err
    assert f"{folder / 'other.yaml'} is not looked at" in err


@pytest.mark.parametrize("form", ["json", "github", "sarif"])
def test_each_format_has_the_findings_of_all_files(folder: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    code, out, _ = checked(capsys, str(folder), "--format", form)
    assert code == 3
    assert "inner/deep/b.yml" in out
    if form == "json":
        document = json.loads(out)
        assert {Path(one["file"]).name: one["valid"] for one in document["files"]} == {
            "a.yaml": True,
            "agent.yaml": True,
            "b.yml": False,
        }


@pytest.mark.parametrize(
    "text", ["pattern: {\n", "agents:\n  a: {prompt: x\n", '"pattern": [\n', "prompt: |\n\tx: {\n"]
)
def test_a_workflow_that_cannot_be_read_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    code, _, err = checked(capsys, str(write(tmp_path, a_yaml=GOOD, b_yaml=text)))
    assert code == 3
    assert "b.yaml" in err


def test_folders_and_files_go_together_and_an_empty_folder_is_an_error(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "none").mkdir()
    code, out, err = checked(capsys, str(folder / "a.yaml"), str(folder / "none"))
    assert (code, out) == (2, "")
    assert str(folder / "none") in err
    (folder / "link").symlink_to(folder)
    assert checked(capsys, str(folder))[1].count("a.yaml: ok") == 1
