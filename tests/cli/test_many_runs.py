"""Several runs at once: two compared, all counted, and texts found in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from strands_cli.engine.stored_runs.run_store import list_runs
from tests.cli.strands import Folder, Ran

# What a terminal would act on: a colour, a line end, a mark that turns the direction of text.
HOSTILE = "Ants \x1b[31mred\r\u202e</script> and \U0001f41d bees."
STEPS = [
    {"tool": "native:look", "input": {"text": "{{ topic }}"}},
    {"agent": "writer", "input": "Write about {{ topic }}."},
]
LOOK = """text = tool['input']['text']
if text == 'stones':
    raise ValueError('it is a stone')
return answer('seen ' + text)"""
INPUTS = {"optional": {"topic": {"type": "string", "default": "bees"}}}


@dataclass(frozen=True)
class Made:
    """A folder with stored runs, by name."""

    folder: Folder
    ids: dict[str, str]

    def runs(self, command: str, *arguments: str) -> Ran:
        return self.folder.strands("runs", command, *(self.ids.get(one, one) for one in arguments))

    def document(self, command: str, *arguments: str) -> Any:
        return self.runs(command, *arguments, "--json").document


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """Return runs that completed (twice, and a rerun), failed and wait; none of the tests changes them."""
    folder = Folder(tmp_path_factory.mktemp("many"))
    folder.work.mkdir()
    folder.site.mkdir()
    folder.tool("look", LOOK)
    ids: dict[str, str] = {}

    def keep(name: str, code: int, *arguments: str) -> None:
        ran = folder.strands(*arguments)
        assert ran.code == code, ran.err
        known = set(ids.values())
        (ids[name],) = [run.id for run in list_runs(folder.runs)[0] if run.id not in known]

    folder.workflow(STEPS, {"steps.1": [{"text": "Bees hum."}]}, inputs=INPUTS)
    keep("first", 0, "run", "flow.yaml")
    keep("again", 0, "rerun", ids["first"], "--from", "steps.1")
    folder.workflow(STEPS, {"steps.1": [{"text": HOSTILE}]}, inputs=INPUTS)
    keep("second", 0, "run", "flow.yaml", "--var", "topic=ants")
    keep("failed", 10, "run", "flow.yaml", "--var", "topic=stones")
    folder.workflow(
        [*STEPS, {"type": "hitl", "prompt": "Publish?"}], {"steps.1": [{"text": "Bees hum."}]}, inputs=INPUTS
    )
    keep("waiting", 19, "run", "flow.yaml")
    yield Made(folder, ids)
    folder.end_started()


def test_a_rerun_that_does_the_same_does_not_differ(made: Made) -> None:
    assert made.runs("diff", "first", "again", "--exit-code").code == 0
    document = made.document("diff", "first", "again")
    assert (document["same"], document["first"], document["changes"], document["effects"]) == (True, None, [], [])
    assert document["same_effects"] == document["before"]["effects"] == document["after"]["effects"]


def test_runs_part_at_the_effect_that_is_the_cause(made: Made) -> None:
    document = made.document("diff", "first", "second")
    assert document["first"] == "steps.0/tool.0.look"
    changed = {(one["key"], change["what"]): change for one in document["effects"] for change in one["changes"]}
    assert changed["steps.0/tool.0.look", "arguments"]["after"] == {"text": "ants"}
    assert changed["steps.1/model.0", "request"]["before"] == "Write about bees."
    assert changed["steps.1/model.0", "answer"]["after"] == HOSTILE
    (given,) = (one for one in document["changes"] if one["what"] == "input")
    assert (given["name"], given["before"], given["after"]) == ("topic", "bees", "ants")
    assert [one["what"] for one in document["changes"]] == ["input", "response"]


def test_exit_code_1_says_that_runs_differ_where_it_is_asked_for(made: Made) -> None:
    assert [made.runs("diff", "first", "second", *more).code for more in ([], ["--exit-code"])] == [0, 1]
    assert made.runs("diff", "first", "nowhere", "--exit-code").code == 17


def test_the_text_has_the_divergence_first_and_no_control_characters(made: Made) -> None:
    shown = made.runs("diff", "first", "second").out
    assert "steps.0/tool.0.look" in shown.splitlines()[0]
    assert "- Bees hum." in shown
    assert "\\x1b[31mred\\r\\u202e" in shown
    assert "\x1b" not in shown
    assert shown.count("Bees hum.") == 1, "the answer of the step and of the run are said to be that of the model"


def test_an_effect_of_one_run_and_other_ends_differ(made: Made) -> None:
    document = made.document("diff", "first", "waiting")
    only = {
        one["key"]: (one["before"], one["after"])
        for one in document["effects"]
        if None in (one["before"], one["after"])
    }
    assert {key: values[0] is None for key, values in only.items()} == {"steps.2": True}
    ends = {one["what"]: (one["before"], one["after"]) for one in document["changes"]}
    assert ends["status"] == ("completed", "waiting")
    assert "workflow" in ends
    failed = made.document("diff", "first", "failed")
    assert failed["first"] == "steps.0/tool.0.look"
    assert failed["after"]["status"] == "failed"
