"""A run that its budget stopped: what was done, how to get it, how to go on; and what a run from its parts costs."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.cli.strands import Folder
from tests.fakes.model_server import ModelServer, Turn

STEPS = [{"agent": "writer", "input": f"Part {n}."} for n in range(3)]


def test_what_was_done_can_be_had_and_no_artifact_is_half_written(folder: Folder) -> None:
    limits = {"provider": "openai", "model_id": "gpt-4o-mini", "budgets": {"max_model_calls": 2}}
    outputs = {"artifacts": [{"path": "all.md", "from": "{{ steps[0].response }}"}]}
    folder.workflow(STEPS, runtime=limits, outputs=outputs)
    with ModelServer([*map(Turn, ("first", "second", "a", "b", "third", "again"))]) as server:
        keys = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": server.url}
        ran = folder.strands("run", "flow.yaml", **keys)
        (record,) = folder.runs.iterdir()
        run = record.name
        assert ran.code == 20, ran.err
        assert f"strands resume {run} --budget max_model_calls=4" in ran.err
        assert ": steps.0, steps.1\n" in ran.err
        assert f"strands runs show {run} --full" in ran.err
        elsewhere = folder.strands("run", "flow.yaml", "--runs-dir", "other place", "--force", **keys)
        assert "--budget max_model_calls=4 --runs-dir '" in elsewhere.err
        assert not (folder.work / "artifacts").exists()
        assert f"strands runs show {run} --full" in folder.strands("runs", "show", run).out
        effects = folder.strands("runs", "show", run, "--json").document["effects"]
        assert {e["key"]: e["response"] for e in effects if "response" in e} == {
            "steps.0": "first",
            "steps.1": "second",
        }
        ran = folder.strands("resume", run, "--budget", "max_model_calls=3", **keys)
        assert ran.out == "third\n", ran.err
        ran = folder.strands("runs", "rerun", run, "--from", "steps.2", "--force", "--json", **keys)
        assert (ran.code, ran.document["response"], ran.document["model_calls"]) == (0, "again", 1), ran.err
        again = folder.strands("runs", "show", ran.document["run"], "--json").document["effects"]
    assert [e["key"] for e in again if e["reused"]] == ["steps.0", "steps.0/model.0", "steps.1", "steps.1/model.0"]


@pytest.mark.parametrize(
    ("second", "turns", "corrected"),
    [("{{ 1 / 0 }}", 1, "{{ 1 / 1 }}"), ("{{ '' }}", 1, "Part 1."), ("Part 1.", 2, "Part 1.")],
    ids=["template", "empty input", "recording"],
)
def test_a_corrected_file_goes_on_by_the_command_that_is_shown(
    folder: Folder, second: str, turns: int, corrected: str
) -> None:
    first, answer = {"agent": "writer", "input": "Part 0."}, [{"text": "a"}]
    folder.workflow([first, {"agent": "writer", "input": second}], {"steps.0": answer, "steps.1": answer * turns})
    failed = folder.strands("run", "flow.yaml")
    assert failed.code == 10
    command = re.search(r"strands (resume .* --spec flow\.yaml)", failed.err)
    assert command
    folder.workflow([first, {"agent": "writer", "input": corrected}], {"steps.0": answer, "steps.1": answer})
    ran = folder.strands(*shlex.split(command[1]))
    assert (ran.code, ran.out) == (0, "a\n"), ran.err
