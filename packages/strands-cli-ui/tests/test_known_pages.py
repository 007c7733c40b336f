"""What was read of runs for their pages is read again when a run changes, and once for many who look."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from strands_cli_ui.frame.ui_state import KnownPages


def test_a_page_is_made_once_for_a_state_and_again_for_the_next() -> None:
    known, made = KnownPages(), []

    def make() -> int:
        made.append(1)
        return len(made)

    assert [known.get("run", state, make) for state in (1, 1, 2, 2, 1)] == [1, 1, 2, 2, 3]
    assert known.get("other", 1, make) == 4
    assert known.get("run", 1, make) == 3


def test_many_who_look_at_once_wait_for_one() -> None:
    known, together, made = KnownPages(), threading.Barrier(8), []

    def look() -> str:
        together.wait()
        return known.get("run", 1, lambda: made.append(1) or "page")

    with ThreadPoolExecutor(8) as threads:
        assert {one.result() for one in [threads.submit(look) for _ in range(8)]} == {"page"}
    assert len(made) == 1


def test_few_runs_are_kept() -> None:
    known, made = KnownPages(), []
    for number in range(9):
        known.get(f"run{number}", 1, lambda: made.append(1))
    known.get("run8", 1, lambda: made.append(1))
    assert len(made) == 9
    known.get("run0", 1, lambda: made.append(1))
    assert len(made) == 10


def test_of_many_who_ask_while_a_run_changes_all_the_time_one_makes_the_page_of_all_others() -> None:
    known, made, has_asked, goes_on = KnownPages(), [], threading.Semaphore(0), threading.Event()

    class Name(str):
        def __hash__(self) -> int:
            has_asked.release()
            return super().__hash__()

    def look(name: str) -> int:
        return known.get(name, object(), lambda: (goes_on.wait() and made.append(1)) or len(made))

    with ThreadPoolExecutor(8) as threads:
        shown = [threads.submit(look, "run")]
        for _ in range(7):
            shown.append(threads.submit(look, Name("run")))
            has_asked.acquire()
        goes_on.set()
        assert {one.result() for one in shown} == {1, 2}
    assert len(made) == 2
