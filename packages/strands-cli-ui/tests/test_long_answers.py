"""The page of a run whose answer is long: its first load stays small, and the rest is one link away."""

from __future__ import annotations

import pytest
from served import Browser

from tests.cli.strands import Folder

pytestmark = pytest.mark.hostile
FIRST_PAINT = 100_000


def test_a_long_answer_has_its_beginning_in_the_page_and_a_link_to_the_rest(browser: Browser, folder: Folder) -> None:
    answer = "\n".join(f"- **{number}** `honey` <b>{number}</b>" for number in range(2_500))
    folder.workflow([{"agent": "writer", "input": "list"}], {"steps.0": [{"text": answer}]})
    ran = folder.strands("run", "flow.yaml", "--json")
    page = browser.get(f"/runs/{ran.document['run']}")
    assert len(page.text.encode()) < FIRST_PAINT
    assert "<b>2499</b>" not in page.shown
    rest = f"/runs/{ran.document['run']}/response"
    assert f'href="{rest}"' in page.text
    assert "<b>2499</b>" in browser.get(rest).shown
