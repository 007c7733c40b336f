"""The bench measures what it says: it tells a dear command from a cheap one, and a broken budget from a kept one."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from bench.__main__ import print_row
from bench.history import RESULTS, History, Measured, read_history
from bench.measure import Command, Figure, clean_environment, measure_pair, spend
from bench.rows import ROWS, Row, install_many
from scripts.measurements_reference import measurements, picture_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="os.wait4 is what tells a child's cost")
CHEAP = "pass"
DEAR = "sum(range(6_000_000)); memory = b'x' * 60_000_000"


def command(program: str, folder: Path) -> Command:
    return Command([sys.executable, "-I", "-S", "-c", program], folder, clean_environment())


def test_a_dear_command_costs_a_multiple_of_a_cheap_one(tmp_path: Path) -> None:
    figure = measure_pair(command(DEAR, tmp_path), command(CHEAP, tmp_path), pairs=2)
    assert figure.ratio is not None
    assert figure.ratio > 2
    assert figure.mb is not None
    assert figure.mb > 55


def test_a_command_that_fails_is_reported_and_not_measured(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"exit 3 of .*\nno such thing"):
        spend(command("import sys; print('no such thing'); sys.exit(3)", tmp_path))


def failing(folder: Path, pairs: int) -> Figure:
    raise RuntimeError("exit 1 of strands")


@pytest.mark.parametrize(
    ("row", "kept", "said"),
    [
        (Row("r", "what", lambda *_: Figure(10, 20, 0.5), ratio=0.5, mb=20), True, "ok"),
        (Row("r", "what", lambda *_: Figure(10, 20, 0.51), ratio=0.5, mb=20), False, "over: ratio"),
        (Row("r", "what", lambda *_: Figure(10, 21, 0.5), ratio=0.5, mb=20), False, "over: memory"),
        (Row("r", "what", lambda *_: Figure(10, 20, 3.0)), True, "no budget"),
        (Row("r", "what", lambda *_: Figure(10), ratio=0.5), False, "over: ratio"),
        (Row("r", "what", failing), False, "cannot be measured"),
    ],
)
def test_a_row_is_over_when_any_of_its_budgets_is(
    row: Row, kept: bool, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert print_row(row, 7) is kept
    assert said in capsys.readouterr().out


def test_the_row_of_many_distributions_really_lists_a_thousand_tools(tmp_path: Path) -> None:
    environment = clean_environment(HOME=str(tmp_path), **install_many(tmp_path))
    spend(Command([sys.executable, "-m", "strands_cli", "list-tools", "--json"], tmp_path, environment))
    listed = (tmp_path / "bench-child.log").read_text(encoding="utf-8")
    assert listed.count('"made_') >= 1000
    assert listed.count('"available"') >= 1000


def test_no_budget_is_of_one_machine() -> None:
    assert {row.name for row in ROWS if row.ratio is None} == set()


def test_every_row_has_a_name_of_its_own() -> None:
    assert len({row.name for row in ROWS}) == len(ROWS)


def test_each_measured_figure_is_kept_with_its_commit_and_budget(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    history = History(file, "abc1234", dirty=True)
    print_row(Row("r", "what", lambda *_: Figure(10, 20, 0.51234), ratio=0.5, mb=30), 7, history)
    print_row(Row("r", "what", failing), 7, history)
    (kept,) = read_history(file)
    assert (kept.row, kept.commit, kept.dirty, kept.pairs) == ("r", "abc1234", True, 7)
    assert (kept.ratio, kept.ratio_budget, kept.mb, kept.mb_budget) == (0.5123, 0.5, 20, 30)
    assert kept.python == sys.version.split()[0]


def test_the_history_of_the_clone_can_be_read_and_drawn() -> None:
    assert read_history(RESULTS)
    drawn = [ElementTree.fromstring(text) for file, text in measurements().items() if file.suffix == ".svg"]
    assert drawn
    assert all(one.get("role") == "img" and one.get("aria-label") for one in drawn)


def test_a_picture_of_figures_shows_each_and_marks_those_over_their_budget() -> None:
    figures = [
        Measured("2026-01-01", f"c{number}", False, "3.11", "Linux", 0.1, "r", 9, 1.0, 0.1 * number, 0.75)
        for number in range(10)
    ]
    svg = ElementTree.fromstring(picture_of("r", "a <row>", figures))
    dots = [one.get("class") for one in svg.iter("{http://www.w3.org/2000/svg}circle")]
    assert dots == ["dot"] * 8 + ["over"] * 2
