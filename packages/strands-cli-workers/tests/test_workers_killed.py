"""Workers that die at any boundary of a run: each call that was finished is made once, and every run completes.

With `KILLED_WORKERS=all` one is killed at each.
"""

from __future__ import annotations

import os
import random
import re
import signal
from collections import Counter

import pytest
from worker_sites import HERE, Site

from tests.distributions import make_distribution

pytestmark = pytest.mark.postgres

HOW_MANY = os.environ.get("KILLED_WORKERS", "2")
SOURCE = """
import os

TOOL_SPEC = {{"name": "act", "description": "Acts.", "inputSchema": {{"json": {{"type": "object"}}}}}}


def log(what, id):
    descriptor = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, f"{{what}} {{id}}\\n".encode())
    os.close(descriptor)


def act(tool, **kwargs):
    id = tool["input"]["id"]
    log("begin", id)
    acting(id)
    log("end", id)
    return {{"toolUseId": tool["toolUseId"], "status": "success", "content": [{{"text": id}}]}}


def acting(id):
    pass
"""
STEPS = [
    {"agent": "writer", "input": "first {{ topic }}"},
    {"tool": "native:act", "input": {"id": "{{ topic }}"}},
    {"agent": "writer", "input": "second {{ topic }}"},
]
# What is committed: each call when it begins and when it has ended, and facts. A run has at least so many commits.
COMMITS = [f"group_commit.py:store_entries:{event}:{number}" for number in range(1, 8) for event in ("call", "return")]
OTHERS = [
    "handover.py:hold:call:1",
    "handover.py:hold:return:1",
    "handover.py:plan:return:1",
    "strands_tool_act/__init__.py:acting:call:1",
    "dispatching.py:_ended:call:1",
    "dispatching.py:_ended:return:1",
    "_sys_db.py:update_workflow_outcome:call:1",
    "_sys_db.py:update_workflow_outcome:return:1",
]


def places() -> list[str]:
    """Return where workers die: everywhere, or at so many places of each kind."""
    if HOW_MANY == "all":
        return [*OTHERS, *COMMITS]
    count = int(HOW_MANY)
    return [*OTHERS[3 : 3 + count // 2], *COMMITS[:: len(COMMITS) // (count - count // 2)]]


@pytest.fixture(scope="module")
def flow(site: Site) -> str:
    log = str(site.folder.root / "calls.log")
    files = {"strands_tool_act/__init__.py": SOURCE.format(log=log)}
    make_distribution(site.folder.site, "strands-tool-act", "1.0", {"act": "strands_tool_act"}, files)
    return site.flow("acts", pattern={"type": "chain", "config": {"steps": STEPS}})


def acted(site: Site) -> Counter[str]:
    """Return how often the tool began, for each run."""
    log = site.folder.root / "calls.log"
    return (
        Counter(line.split()[1] for line in log.read_text().splitlines() if line.startswith("begin"))
        if (log.exists())
        else Counter()
    )


def effects(site: Site, run: str) -> dict[tuple[str, str], bool]:
    """Return the kind and the step of the effects in the journal, and whether each is done."""
    document = site.json("runs", "show", run)
    return {(row["kind"], row["key"].split("/")[0]): row["status"] == "done" for row in document["effects"]}


def completed(site: Site, run: str) -> int:
    """Wait for the end of a run; return how many calls a person had repeated, since they were cut off."""
    for redone in range(4):
        site.until(lambda: site.status(run) not in ("queued", "running", "interrupted"))
        if site.status(run) == "completed":
            return redone
        shown = site.strands("runs", "show", run).out
        key = re.findall(r"--redo '?([^\s']+)", shown)
        assert key, shown
        assert site.strands("resume", run, "--redo", key[0]).code == 0
    raise AssertionError(f"{run} does not end")


def test_a_worker_that_dies_at_any_boundary_leaves_a_run_that_completes(clean: Site, flow: str) -> None:
    """Each has a queue of its own, so that none works on the run of another one before all have died."""
    site = clean
    queues = [f"q{number}" for number in range(len(places()))]
    runs: list[tuple[str, Counter[str], dict[tuple[str, str], bool], Counter[str]]] = []
    for place, queue in zip(places(), queues, strict=True):
        run = site.submit(queue, "--yes", "--queue", queue, flow=flow)
        dying = site.worker("--name", "dying", "--queue", queue, killed_at=place)
        assert dying.end() == -signal.SIGKILL, (place, dying.log)
        runs.append((run, Counter(site.model.asked), effects(site, run), acted(site)))
    site.worker("--name", "other", *(word for queue in queues for word in ("--queue", queue))).wait_for("started")
    for place, queue, (run, asked, done, acts) in zip(places(), queues, runs, strict=True):
        redone = completed(site, run)
        for step, text in (("steps.0", f"first {queue}"), ("steps.2", f"second {queue}")):
            assert site.model.asked[text] - asked[text] == (not done.get(("model", step))), place
            assert site.model.asked[text] <= 2, place
        # A person decides about a call of the tool that had begun; without one it is never repeated.
        assert redone == (done.get(("tool", "steps.1")) is False), place
        assert acted(site)[queue] - acts[queue] == (not done.get(("tool", "steps.1"))), place
        assert acts[queue] <= (("tool", "steps.1") in done), place
    states = site.json("workers", "queue", "status")["queues"]
    assert sum(one["running"] + one["waiting"] + one["delayed"] for one in states) == 0


@pytest.mark.parametrize("place", ["run_facts.py:_new_or_unbegun:return:1", "run_queue.py:put:call:1"])
def test_a_submitter_that_dies_before_the_run_is_in_its_queue_leaves_nothing_that_is_lost(
    clean: Site, place: str
) -> None:
    """A run that is stored is found by a worker; one that is not is submitted again under the same id."""
    site, topic = clean, f"submitted-{place.split(':')[1].strip('_')}"
    words = ("workers", "submit", "flow.yaml", "--var", f"topic={topic}", "--id", topic)
    path = os.pathsep.join([str(site.folder.site), str(HERE)])
    killed = site.strands(*words, STRANDS_TEST_FIRST="killed_at", STRANDS_TEST_KILLED_AT=place, PYTHONPATH=path)
    assert killed.code == -signal.SIGKILL
    site.worker("--name", "finder")
    if place.startswith("run_facts"):
        assert site.strands(*words).code == 0
    site.until(lambda: site.status(topic) == "completed")
    assert (site.model.asked[f"first {topic}"], site.model.asked[f"second (first {topic})"]) == (1, 1)


@pytest.mark.parametrize("number", range(20 if HOW_MANY == "all" else 1))
def test_workers_that_are_killed_at_random_repeat_only_what_they_were_doing(clean: Site, number: int) -> None:
    site, chance = clean, random.Random(number)
    workers = [site.worker("--name", "twin"), site.worker("--name", "twin")]
    topics = [f"random{number}-{index}" for index in range(8)]
    texts = [f"first {topic}" for topic in topics] + [f"second (first {topic})" for topic in topics]
    for worker in workers:
        worker.wait_for("started")
    runs = [site.submit(topic) for topic in topics]
    for _ in range(2):
        least = sum(site.model.asked[text] for text in texts) + chance.randrange(6)
        with site.model.came:
            site.model.came.wait_for(lambda: sum(site.model.asked[text] for text in texts) >= least, timeout=10)  # noqa: B023
        workers.pop(0).kill()
        asked = Counter(site.model.asked)
        done = {topic: effects(site, run) for topic, run in zip(topics, runs, strict=True)}
        workers.append(site.worker("--name", "twin"))
        workers[-1].wait_for("started")
        for topic in topics:
            for step, text in (("steps.0", f"first {topic}"), ("steps.1", f"second (first {topic})")):
                assert not done[topic].get(("model", step)) or site.model.asked[text] == asked[text], (topic, step)
    for run in runs:
        site.until(lambda run=run: site.status(run) == "completed")
    assert sum(site.model.asked[text] - 1 for text in texts) <= 2 * 4, "at most what both were doing"
