"""Agents and schemas in files of their own are brought in, from inside the workflow's folder only."""

from __future__ import annotations

from pathlib import Path

import pytest

from strands_cli.workflow.loader import load_spec
from strands_cli.workflow.model import LoadedWorkflow
from strands_cli.yaml_files.document_reader import read_document

WORKFLOW = """\
version: 2
name: refs
runtime: {{provider: replay}}
agents:
  main: {agent}
pattern: {{type: chain, config: {{steps: [{{agent: main}}]}}}}
"""


def load(folder: Path, agent: str, **files: str) -> LoadedWorkflow:
    (folder / "flow.yaml").write_text(WORKFLOW.format(agent=agent), encoding="utf-8")
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_yaml", ".yaml").replace("_json", ".json")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return load_spec(read_document(folder / "flow.yaml"))


def places_of(loaded: LoadedWorkflow) -> list[tuple[str, str, int | None]]:
    return [(f.code, Path(f.where.file).name, f.where.line) for f in loaded.findings if f.where]


def test_a_ref_brings_an_agent_and_keys_beside_it_win(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        "{$ref: agents/a.yaml, model_id: mine}",
        agents__a_yaml="prompt: from file\nmodel_id: theirs\ntools: [x]\n",
    )
    assert loaded.findings == ()
    assert loaded.spec is not None
    agent = loaded.spec.agents["main"]
    assert (agent.prompt, agent.model_id, agent.ref) == ("from file", "mine", "agents/a.yaml")
    assert [entry.tool for entry in agent.tools or ()] == ["x"]
    assert [Path(file.file).name for file in loaded.files] == ["a.yaml"]
    assert loaded.where("/agents/main/prompt").file.endswith("a.yaml")
    assert loaded.where("/agents/main/tools/0").line == 3
    assert loaded.where("/agents/main/model_id").file.endswith("flow.yaml")


def test_a_ref_to_a_whole_workflow_takes_its_one_agent(tmp_path: Path) -> None:
    loaded = load(tmp_path, "{$ref: a.yaml}", a_yaml="version: 2\nagents:\n  only: {prompt: hi}\n")
    assert loaded.findings == ()
    assert loaded.spec is not None
    assert loaded.spec.agents["main"].prompt == "hi"
    assert loaded.where("/agents/main/prompt").line == 3


def test_refs_can_follow_refs(tmp_path: Path) -> None:
    loaded = load(
        tmp_path, "{$ref: x/a.yaml}", x__a_yaml="$ref: b.yaml\nmodel_id: a\n", x__b_yaml="prompt: deep\nmodel_id: b\n"
    )
    assert loaded.findings == ()
    assert loaded.spec is not None
    assert (loaded.spec.agents["main"].prompt, loaded.spec.agents["main"].model_id) == ("deep", "a")


def test_mistakes_in_the_file_are_reported_in_the_file(tmp_path: Path) -> None:
    loaded = load(tmp_path, "{$ref: a.yaml}", a_yaml="prompt: '{{ x y }}'\nmemory: all\nmodelid: 5\n")
    assert places_of(loaded) == [("bad-value", "a.yaml", 2), ("unknown-key", "a.yaml", 3)]
    loaded = load(tmp_path, "{$ref: a.yaml}", a_yaml="model_id: x\nprompt: |\n  one\n  {{ x y }}\n")
    assert places_of(loaded) == [("bad-template", "a.yaml", 4)]
    loaded = load(tmp_path, "{$ref: a.yaml}", a_yaml="prompt: hi\noutput_schema: {type: 5}\n")
    assert places_of(loaded) == [("bad-schema", "a.yaml", 2)]


@pytest.mark.parametrize(
    ("text", "code", "file", "line"),
    [
        ("agents:\n  a: {prompt: A}\n  b: {prompt: B}\n", "ref-not-one-agent", "a.yaml", 1),
        ("version: 2\nagents: {}\n", "ref-not-one-agent", "a.yaml", 2),
        ("- prompt: x\n", "ref-not-one-agent", "flow.yaml", 5),
        ("", "document-empty", "a.yaml", 1),
        ("a: [\n", "not-yaml", "a.yaml", 2),
        ("prompt: A\nprompt: B\n", "duplicate-key", "a.yaml", 2),
        ("$ref: a.yaml\n", "ref-loop", "a.yaml", 1),
        ("$ref: flow.yaml\n", "ref-loop", "flow.yaml", 5),
        ("model_id: x\n", "missing-key", "flow.yaml", 5),
    ],
)
def test_a_file_without_an_agent_is_reported(tmp_path: Path, text: str, code: str, file: str, line: int) -> None:
    assert (code, file, line) in places_of(load(tmp_path, "{$ref: a.yaml}", a_yaml=text))


def test_nothing_outside_the_folder_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "inside"
    folder.mkdir()
    (tmp_path / "secret.yaml").write_text("prompt: secret\n", encoding="utf-8")
    (folder / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    for ref in ("../secret.yaml", str(tmp_path / "secret.yaml"), "link.yaml", "x/../../secret.yaml"):
        loaded = load(folder, f"{{$ref: '{ref}'}}")
        assert places_of(loaded) == [("bad-path", "flow.yaml", 5)], ref
        assert loaded.files == ()


def test_a_missing_file_is_reported_where_it_is_named(tmp_path: Path) -> None:
    assert places_of(load(tmp_path, "{$ref: nowhere.yaml}")) == [("file-unreadable", "flow.yaml", 5)]
    assert places_of(load(tmp_path, "{prompt: A, input_schema: nowhere.json}")) == [("file-unreadable", "flow.yaml", 5)]
    assert places_of(load(tmp_path, '{prompt: A, output_schema: "a\\0b"}'))[0][0] in ("bad-path", "file-unreadable")


def test_a_schema_file_is_in_the_agent(tmp_path: Path) -> None:
    loaded = load(tmp_path, "{prompt: A, output_schema: s/out.json}", s__out_json='{"type": "object"}')
    assert loaded.findings == ()
    assert loaded.spec is not None
    assert loaded.spec.agents["main"].output_schema == {"type": "object"}
    assert loaded.where("/agents/main/output_schema").file.endswith("out.json")


def test_a_file_that_is_not_a_schema_is_reported(tmp_path: Path) -> None:
    assert places_of(load(tmp_path, "{prompt: A, output_schema: s.json}", s_json='{\n"type": 5}')) == [
        ("bad-schema", "s.json", 1)
    ]
    assert places_of(load(tmp_path, "{prompt: A, output_schema: s.json}", s_json="[1]")) == [
        ("bad-schema", "s.json", 1)
    ]


def test_a_workflow_from_standard_input_reads_beside_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.yaml").write_text("prompt: hi\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    loaded = load_spec(read_document("-", WORKFLOW.format(agent="{$ref: a.yaml}")))
    assert loaded.findings == ()
    assert loaded.spec is not None
    assert loaded.spec.agents["main"].prompt == "hi"
