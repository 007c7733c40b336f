"""Queues as people name them: one with a slip is noticed, and what is printed of them is for people and programs."""

from __future__ import annotations

import re

import pytest
from worker_sites import Site

from strands_cli.api import StorePlace
from strands_cli_workers.open_queue import opened_queue
from strands_cli_workers.queue_values import Ticket

pytestmark = pytest.mark.postgres


def names(site: Site) -> set[str]:
    return {one["name"] for one in site.json("workers", "queue", "status")["queues"]}


def test_a_queue_that_does_not_exist_is_limited_only_when_it_is_to_be_made(site: Site) -> None:
    assert site.strands("workers", "queue", "limit", "default", "--rate", "60/m").code == 0, (
        "it counts before it is used"
    )
    refused = site.strands("workers", "queue", "limit", "defualt", "--rate", "60/m")
    assert (refused.code, "did you mean default?" in refused.err, "--new" in refused.err) == (2, True, True)
    assert "defualt" not in names(site)
    assert site.strands("workers", "queue", "limit", "slow", "--new", "--concurrency", "3").code == 0
    assert site.strands("workers", "queue", "limit", "slow", "--concurrency", "none").code == 0
    assert "slow" in names(site)


@pytest.mark.parametrize("name", ["", " ", "two words", "a,b", "-x", "q" * 101, "two\nlines"])
def test_a_queue_is_named_by_one_word(site: Site, name: str) -> None:
    words = (
        ("workers", "start", "--drain", "--queue", name),
        ("workers", "submit", "flow.yaml", "--var", "topic=bees", f"--queue={name}"),
        ("batch", "run", "flow.yaml", "none.csv", f"--queue={name}"),
        ("workers", "queue", "limit", "--new", "--rate", "60/m", "--", name),
    )
    site.folder.write("none.csv", "topic\nbees\n")
    assert [site.strands(*each).code for each in words[:3]] == [2] * 3
    assert site.folder.strands(*words[3], STRANDS_STORE=site.address, STRANDS_RUNS_DIR="").code == 2
    assert name not in names(site)


def test_a_run_that_is_submitted_to_a_new_queue_says_so(site: Site) -> None:
    submit = ("workers", "submit", "flow.yaml", "--var", "topic=bees", "--queue")
    first = site.strands(*submit, "reports")
    assert (first.code, "'reports' is new" in first.err) == (0, True)
    assert "is new" not in site.strands(*submit, "reports").err
    assert "is new" not in site.strands(*submit, "default").err
    near = site.strands(*submit, "reprots", "--json")
    assert (near.document["queue"], "did you mean 'reports'?" in near.err) == ("reprots", True)
    assert site.strands(*submit, "others", "--quiet").err == ""


def test_a_worker_of_a_new_queue_says_so_in_its_log(site: Site) -> None:
    site.submit("bees", "--queue", "letters")
    worker = site.worker("--queue", "leters", "--queue", "default", "--drain")
    assert worker.end() == 0
    # Other tests leave runs and schedules in the database, of which a worker may warn as well.
    (warned,) = (event["message"] for event in worker.events("warning") if "'leters'" in event["message"])
    assert "did you mean 'letters'?" in warned
    again = site.worker("--queue", "leters", "--drain")
    assert again.end() == 0
    assert not [event for event in again.events("warning") if "'leters'" in event["message"]]


def test_a_time_that_has_passed_is_a_warning_and_the_run_waits(site: Site) -> None:
    submit = ("workers", "submit", "flow.yaml", "--var", "topic=bees", "--queue", "timed", "--at")
    passed = site.strands(*submit, "2020-01-01T06:00")
    assert (passed.code, passed.err.count("warning: "), "2020-01-01T06:00" in passed.err) == (0, 1, True)
    assert "warning: " not in site.strands(*submit, "2199-01-01T06:00").err
    (queue,) = (one for one in site.json("workers", "queue", "status")["queues"] if one["name"] == "timed")
    assert (queue["waiting"], queue["delayed"]) == (1, 1)


def test_a_zone_or_times_with_a_slip_are_refused_and_nothing_is_stored(site: Site) -> None:
    before = site.json("runs", "list")["runs"]
    submit = ("workers", "submit", "flow.yaml", "--var", "topic=bees")
    zone = site.strands(*submit, "--every", "0 6 * * *", "--timezone", "Europe/Berln")
    assert (zone.code, "--timezone Europe/Berlin?" in zone.err, "--every" in zone.err) == (2, True, False)
    assert site.strands(*submit, "--every", "0 99 * * *").code == 2
    assert site.strands(*submit, "--timezone", "Europe/Berlin").code == 2, "without --every it would have no effect"
    assert site.json("runs", "list")["runs"] == before


def test_limits_and_ages_are_printed_as_people_write_them(site: Site) -> None:
    site.strands("workers", "queue", "limit", "daily", "--new", "--rate", "5000/d")
    with opened_queue(StorePlace(address=site.address)) as (_, queue):  # no command makes it
        queue.put(Ticket("of-others", "two\nlines\x1b[31m"))
    shown = site.strands("workers", "queue", "status").out
    assert re.search(r"^daily .* 5000/d$", shown, re.MULTILINE)
    assert re.search(r"^two.* \d+(\.\d)? m?s$", shown, re.MULTILINE), shown
    assert "\x1b" not in shown
    for one in site.json("workers", "queue", "status")["queues"]:
        assert one["oldest_s"] is None or round(one["oldest_s"], 3) == one["oldest_s"]
