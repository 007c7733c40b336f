"""What a worker checks before it takes a run, and what it says of its own health."""

from __future__ import annotations

import shutil

import pytest
from worker_sites import Site

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize("content", [None, "rules: [", "version: 1\nrules:\n- forbid: x\n"])
def test_a_worker_with_a_wrong_policy_takes_nothing(site: Site, content: str | None) -> None:
    policy = site.folder.work / "policy.yaml"
    policy.unlink(missing_ok=True)
    if content is not None:
        policy.write_text(content, encoding="utf-8")

    ran = site.strands("workers", "start", "--drain", "--policy", "policy.yaml")

    assert (ran.code, "policy.yaml" in ran.err) == (21, True)
    assert "started" not in ran.err


def test_a_health_file_that_cannot_be_written_is_refused(site: Site) -> None:
    for file in ("missing/alive", "."):
        ran = site.strands("workers", "start", "--drain", "--health-file", file)
        assert (ran.code, "--health-file" in ran.err) == (2, True)


def test_a_health_file_that_can_no_longer_be_written_is_reported_once(site: Site) -> None:
    place = site.folder.work / "health"
    place.mkdir()
    worker = site.worker("--name", "well", "--health-file", str(place / "alive"), "--queue", "of-health")
    site.until((place / "alive").exists)
    shutil.rmtree(place)
    worker.wait_for("warning")
    place.mkdir()
    site.until((place / "alive").exists)
    assert len(worker.events("warning")) == 1
