"""Batches on the local page: one line in the list, their rows where they are asked for, and their questions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from served import Browser, Served

from strands_cli.engine.stored_runs.folder_store import FolderStore
from tests.cli.strands import SECONDS, Folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Folder]:
    """Return a folder with a batch, one row of which waits."""
    made = Folder(tmp_path_factory.mktemp("batches"))
    made.work.mkdir()
    made.site.mkdir()
    steps = [
        {"agent": "writer", "input": "{{ topic }}"},
        {"type": "hitl", "prompt": "Publish {{ topic }}?"},
    ]
    made.workflow(steps, {"steps.0": [{"text": "A"}]}, inputs={"required": {"topic": "string"}})
    made.write("rows.csv", "topic\nbees\nants\n")
    assert made.strands("batch", "flow.yaml", "rows.csv", "-o", "out.jsonl").code == 19
    yield made
    made.end_started()


def test_a_batch_is_one_run_of_the_list_and_its_rows_are_found_by_its_id(browser: Browser, folder: Folder) -> None:
    batch, *_ = sorted(path.name for path in folder.runs.iterdir())
    listed = browser.get("/")
    assert f'href="/runs/{batch}"' in listed.text
    assert f'href="/runs/{batch}.' not in listed.text
    assert f'href="/?open={batch}" aria-expanded="false"' in listed.text
    for query in (f"/?text={batch}", f"/?status=waiting&open={batch}"):
        assert browser.get(query).text.count(f'href="/runs/{batch}.') == 2
    assert 'href="/?status=waiting" aria-expanded="true"' in browser.get(query).text
    page = browser.get(f"/runs/{batch}")
    assert (page.status, "rows." in page.text) == (200, True)
    inbox = browser.get("/inbox")
    assert inbox.text.count(f'href="/runs/{batch}.') == 2
    assert f'href="/runs/{batch}"' not in inbox.text


def test_a_batch_continues_from_its_page(browser: Browser, folder: Folder, served: Served) -> None:
    batch, row, *_ = sorted(path.name for path in folder.runs.iterdir())
    assert folder.strands("approve", row).code == 0
    ended_at = FolderStore(folder.runs).read(batch).ended_at
    page = browser.get(f"/runs/{batch}")
    answer = browser.post(f"/runs/{batch}/resume", {"csrf": page.csrf})
    assert answer.status in (200, 303), answer.text
    store = FolderStore(folder.runs)
    while store.read(batch).ended_at == ended_at or store.read(batch).status == "running":
        store.wait(store.state(batch), batch, wait_s=SECONDS)
    status = folder.strands("batch", "status", batch, "--json").document
    assert status["rows"] | {"completed": 1, "waiting": 1} == status["rows"]
    assert served.process.poll() is None
