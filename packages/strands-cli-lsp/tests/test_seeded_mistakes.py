"""Seeded mistakes in fifty workflows: at least four of five are corrected to the byte, and none wrongly."""

from __future__ import annotations

from collections import Counter

import pytest
from mistakes import Outcome, outcomes


def _assert_corrected(made: list[Outcome], count: int, share: float) -> None:
    verdicts = Counter(outcome.verdict for outcome in made)
    wrong = [outcome for outcome in made if outcome.verdict == "wrong"]
    assert wrong == []
    assert len(made) == count
    assert verdicts["restored"] >= share * count, verdicts


def test_two_mistakes_in_each_of_some_workflows() -> None:
    _assert_corrected([*outcomes(seed=27, count=60)], 60, share=0.7)


@pytest.mark.hostile
def test_ten_mistakes_in_each_of_fifty_workflows() -> None:
    _assert_corrected([*outcomes(seed=1, count=500)], 500, share=0.8)
