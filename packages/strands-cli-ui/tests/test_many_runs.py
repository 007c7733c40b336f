"""Several runs at once: two compared, all counted, and texts found in them."""

from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from strands_cli.engine.journal.sqlite_journal import DATABASE
from strands_cli.engine.stored_runs.folder_store import FolderStore
from tests.cli.strands import Folder, Ran
from tests.wordings import Wording

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

    def copy_to(self, folder: Path) -> Path:
        return Path(shutil.copytree(self.folder.runs, folder / "runs"))


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
        (ids[name],) = [run.id for run in FolderStore(folder.runs).runs()[0] if run.id not in known]

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


def test_what_a_rerun_took_over_counts_once(made: Made) -> None:
    total = made.document("stats")["total"]
    assert (total["runs"], total["succeeded"], total["failed"]) == (5, 3, 1)
    assert total["tool_calls"] == 4, "the rerun has not called the tool again"
    assert total["model_calls"] == 4
    assert total["most_failing_tool"] == {"tool": "look", "failed": 1, "calls": 4}
    assert 0 < total["p50_seconds"] <= total["p95_seconds"]


def test_numbers_are_of_what_they_are_grouped_by(made: Made) -> None:
    (tool,) = made.document("stats", "--by", "tool")["groups"]
    assert (tool["name"], tool["runs"], tool["succeeded"], tool["failed"]) == ("look", 4, 3, 1)
    (agent,) = made.document("stats", "--by", "agent")["groups"]
    assert (agent["name"], agent["runs"], agent["succeeded"], agent["model_calls"]) == ("writer", 4, 4, 4)
    (model,) = made.document("stats", "--by", "model")["groups"]
    assert (model["name"], model["succeeded"], model["cost_usd"]) == ("replay", 4, 0)
    (flow,) = made.document("stats", "--by", "workflow")["groups"]
    assert (flow["name"], flow["success_rate"]) == ("flow", 0.75)
    days = made.document("stats", "--by", "day")["groups"]
    assert sum(one["runs"] for one in days) == 5


@pytest.mark.parametrize(("model", "rate"), [("anthropic/claude-haiku-4-5", 0.75), ("openai/gpt-4o", 1.0)])
def test_the_part_of_the_requests_that_a_cache_answered_is_counted_as_the_provider_reports_it(
    made: Made, tmp_path: Path, model: str, rate: float
) -> None:
    runs = made.copy_to(tmp_path)
    usage = '{"input_tokens": 100, "output_tokens": 5, "cache_read_tokens": 300}'
    with contextlib.closing(sqlite3.connect(runs / made.ids["first"] / DATABASE)) as journal, journal:
        journal.execute(
            "UPDATE effects SET usage = ?, detail = json_set(detail, '$.model', ?) WHERE kind = 'model'", (usage, model)
        )
    total = made.document("stats", "--runs-dir", str(runs))["total"]
    assert (total["cache_read_tokens"], total["cache_write_tokens"], total["cache_hit_rate"]) == (300, 0, rate)
    assert f"{rate:.0%}" in made.runs("stats", "--runs-dir", str(runs)).out
    assert made.document("stats")["total"]["cache_hit_rate"] is None


def test_a_cost_that_is_not_known_is_never_shown_as_nothing(made: Made, tmp_path: Path) -> None:
    runs = made.copy_to(tmp_path)
    with contextlib.closing(sqlite3.connect(runs / made.ids["first"] / DATABASE)) as journal, journal:
        journal.execute("UPDATE effects SET cost = NULL WHERE kind = 'model'")
    with contextlib.closing(sqlite3.connect(runs / made.ids["second"] / DATABASE)) as journal, journal:
        journal.execute("UPDATE effects SET cost = 0.25 WHERE kind = 'model'")
    total = made.document("stats", "--runs-dir", str(runs))["total"]
    assert (total["cost_usd"], total["known_cost_usd"], total["calls_of_unknown_cost"]) == (None, 0.25, 1)
    assert "$0.2500 + unknown" in made.runs("stats", "--runs-dir", str(runs)).out
    assert "  unknown" in made.runs("diff", "first", "second", "--runs-dir", str(runs)).out


def test_a_text_is_found_wherever_it_is_in_a_run(made: Made) -> None:
    found = {(one["run"], one["key"], one["where"]) for one in made.document("search", "ANTS")["hits"]}
    ants = made.ids["second"]
    assert found == {
        (ants, "", "input topic"),
        (ants, "", "response"),
        (ants, "steps.0", "answer"),
        (ants, "steps.0/tool.0.look", "arguments"),
        (ants, "steps.0/tool.0.look", "result"),
        (ants, "steps.1", "answer"),
        (ants, "steps.1/model.0", "request"),
        (ants, "steps.1/model.0", "answer"),
    }
    errors = made.document("search", "is a stone")["hits"]
    assert {one["run"] for one in errors} == {made.ids["failed"]}
    places = {(one["key"], one["where"]) for one in errors}
    assert {("", "reason"), ("steps.0", "error"), ("steps.0/tool.0.look", "result")} <= places
    assert [one["where"] for one in made.document("search", "publish?")["hits"]] == ["reason", "question"]


def test_the_lines_that_are_found_have_no_control_characters(made: Made) -> None:
    ran = made.runs("search", "red")
    assert (ran.code, "\x1b" in ran.out, "\\x1b[31mred\\r\\u202e" in ran.out) == (0, False, True)
    assert all(line.startswith(made.ids["second"]) for line in ran.out.splitlines())


def test_nothing_found_and_no_runs_exit_with_1(made: Made, tmp_path: Path, wording: Wording) -> None:
    said = [made.runs("search", "wasps"), made.runs("search", "bees", "--runs-dir", str(tmp_path / "none"))]
    assert [(ran.code, ran.out) for ran in said] == [(1, ""), (1, "")]
    wording("".join(ran.err for ran in said))
    assert made.document("search", "wasps") == {"format": 1, "hits": [], "more": False, "problems": []}
    wrong = [made.runs("search", " "), made.runs("search", "bees", "--since", "soon")]
    assert [ran.code for ran in wrong] == [2, 2]
    wording("".join(ran.err for ran in wrong))


def test_a_search_ends_at_its_limit_and_says_so(made: Made, wording: Wording) -> None:
    ran = made.runs("search", "bees", "--limit", "2")
    assert (ran.code, len(ran.out.splitlines())) == (0, 2)
    wording(ran.err)
    document = made.document("search", "bees", "--limit", "2")
    assert (len(document["hits"]), document["more"]) == (2, True)


def test_runs_before_the_time_are_left_out(made: Made, tmp_path: Path) -> None:
    runs = made.copy_to(tmp_path)
    with contextlib.closing(sqlite3.connect(runs / made.ids["second"] / DATABASE)) as journal, journal:
        journal.execute("UPDATE facts SET value = '5.0' WHERE name = 'started_at'")
    place = ["--runs-dir", str(runs)]
    assert made.runs("search", "ants", "--since", "3d", *place).code == 1
    assert made.runs("search", "ants", *place).code == 0
    assert made.document("stats", "--since", "3d", *place)["total"]["runs"] == 4


def test_a_journal_that_cannot_be_read_is_a_warning_and_no_end(made: Made, tmp_path: Path) -> None:
    runs = made.copy_to(tmp_path)
    (runs / made.ids["waiting"] / DATABASE).write_bytes(b"not a database" * 1000)
    with contextlib.closing(sqlite3.connect(runs / made.ids["again"] / DATABASE)) as journal, journal:
        journal.execute("PRAGMA user_version = 99")
    place = ["--runs-dir", str(runs)]
    ran = made.runs("search", "ants", *place)
    assert (ran.code, len(re.findall("^warning: ", ran.err, re.MULTILINE))) == (0, 2)
    for document in (made.document("search", "ants", *place), made.document("stats", *place)):
        assert [name in "".join(document["problems"]) for name in map(made.ids.get, ("waiting", "again"))] == [True] * 2
    assert made.document("stats", *place)["total"]["runs"] == 3
    assert made.runs("diff", "first", "again", *place).code == 17


def test_a_damaged_row_is_a_warning_and_a_difference(made: Made, tmp_path: Path, wording: Wording) -> None:
    runs = made.copy_to(tmp_path)
    with contextlib.closing(sqlite3.connect(runs / made.ids["again"] / DATABASE)) as journal, journal:
        journal.execute("UPDATE effects SET output = '{', usage = '{' WHERE key = 'steps.1/model.0'")
    place = ["--runs-dir", str(runs)]
    ran = made.runs("search", "seen bees", *place)
    assert ran.code == 0, "the other rows are searched"
    wording(ran.err.replace(str(runs / made.ids["again"]), "DIRECTORY"))
    assert len(made.document("stats", *place)["problems"]) == 1
    document = made.document("diff", "first", "again", *place)
    assert document["first"] == "steps.1/model.0"
    assert "damage" in {change["what"] for one in document["effects"] for change in one["changes"]}
