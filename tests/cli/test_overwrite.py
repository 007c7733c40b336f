"""`outputs.overwrite: true`: a job that writes artifacts can run again, and replaces nothing but its own files."""

from __future__ import annotations

import pytest

from tests.cli.strands import Folder

STEP = {"agent": "writer", "input": "go"}


def _flow(folder: Folder, text: str, **outputs: object) -> None:
    files = {"artifacts": [{"path": "a.md", "from": "{{ last_response }}"}, {"path": "sub/b.md", "from": "b"}]}
    folder.workflow([STEP], {"steps.0": [{"text": text}]}, outputs={**files, **outputs})


def test_the_second_run_of_the_quickstart_succeeds_and_explain_has_nothing_against_it(folder: Folder) -> None:
    folder.examples()
    assert [folder.strands("run", "examples/quickstart.yaml").code for _ in range(2)] == [0, 0]
    explained = folder.strands("explain", "examples/quickstart.yaml")
    assert "It cannot run here" not in explained.out
    assert "in place of files" in explained.out
    planned = folder.strands("plan", "examples/quickstart.yaml", "--json").document
    assert (planned["artifacts"], planned["overwrites"], planned["findings"]) == (["report.md"], True, [])
    assert "replaces" in folder.strands("plan", "examples/quickstart.yaml").out


def test_a_run_replaces_the_artifacts_of_the_run_before(folder: Folder) -> None:
    _flow(folder, "first", overwrite=True)
    assert folder.strands("run", "flow.yaml", "--out", "there").code == 0
    _flow(folder, "second", overwrite=True)
    assert folder.strands("run", "flow.yaml", "--out", "there").code == 0
    there = folder.work / "there"
    assert (there / "a.md").read_text() == "second"
    assert sorted(path.name for path in there.rglob("*")) == ["a.md", "b.md", "sub"], "nothing is left over"


@pytest.mark.parametrize("kind", ["link", "dangling", "directory"])
def test_neither_a_link_nor_a_directory_is_replaced(kind: str, folder: Folder) -> None:
    _flow(folder, "text", overwrite=True)
    place, mine = folder.work / "artifacts" / "a.md", folder.work / "mine"
    place.parent.mkdir()
    if kind == "directory":
        place.mkdir()
    else:
        place.symlink_to(mine)
    if kind == "link":
        mine.write_text("mine")
    ran = folder.strands("run", "flow.yaml")
    assert (ran.code, ran.codes) == (12, ["artifact-exists"])
    assert place.is_symlink() or place.is_dir()
    assert not mine.exists() or mine.read_text() == "mine"
    assert f"remove {place.relative_to(folder.work)}" in ran.err


def test_two_artifacts_of_one_run_do_not_replace_each_other(folder: Folder) -> None:
    twice = [{"path": "{{ name }}.md", "from": "1"}, {"path": "flow.md", "from": "2"}]
    folder.workflow([STEP], {"steps.0": [{"text": "x"}]}, name="flow", outputs={"artifacts": twice, "overwrite": True})
    ran = folder.strands("run", "flow.yaml")
    assert (ran.code, ran.codes) == (12, ["artifact-twice"])


def test_what_overwrites_nothing_is_a_finding(folder: Folder) -> None:
    folder.workflow([STEP], {"steps.0": [{"text": "x"}]}, outputs={"overwrite": True})
    assert folder.strands("validate", "flow.yaml").codes == ["no-effect"]


def test_a_new_workflow_runs_twice(folder: Folder) -> None:
    folder.strands("new", "job")
    assert [folder.strands("run", "job.yaml", "--var", "topic=bees").code for _ in range(2)] == [0, 0]
