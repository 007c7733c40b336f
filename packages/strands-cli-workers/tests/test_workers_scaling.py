"""The query by which Kubernetes scales workers counts the runs that need one, by a real queue."""

from __future__ import annotations

import psycopg
import pytest
from worker_sites import Site

from tests.docs.pages import CLONE
from tests.yaml_texts import read_yaml

pytestmark = pytest.mark.postgres

SCALED = CLONE / "examples" / "deploy" / "kubernetes" / "scaled-object.yaml"


def runs_that_need_a_worker(site: Site) -> int:
    (trigger,) = read_yaml(SCALED.read_text(encoding="utf-8"))["spec"]["triggers"]
    with psycopg.connect(site.address) as connection:
        (count,) = connection.execute(trigger["metadata"]["query"]).fetchone() or (-1,)
        return int(count)


def test_runs_that_wait_and_runs_that_are_worked_on_need_a_worker(site: Site) -> None:
    assert runs_that_need_a_worker(site) == 0
    held = site.model.hold("scaled one")
    one, two = site.submit("scaled one"), site.submit("scaled two")
    site.submit("elsewhere", "--queue", "elsewhere")
    assert runs_that_need_a_worker(site) == 2, "those of the queue of these workers"
    worker = site.worker("--concurrency", "1")
    worker.wait_for("dispatched", one)
    assert runs_that_need_a_worker(site) == 2, "one is worked on, and would be interrupted"
    held.set()
    for run in (one, two):
        worker.wait_for("finished", run)
    site.until(lambda: runs_that_need_a_worker(site) == 0)
