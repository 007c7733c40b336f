"""Submitted runs and one worker: what travels, what waits, what is refused, and what is run once."""

from __future__ import annotations

from typing import Any

import pytest
from worker_sites import GATE, AWorker, Site

from strands_cli.api import StorePlace
from strands_cli_workers.open_queue import opened_queue

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def worker(site: Site) -> AWorker:
    return site.worker("--name", "one")


def test_a_submitted_run_waits_and_a_worker_elsewhere_completes_it_with_its_own_key(site: Site) -> None:
    flow = site.flow("writes", outputs={"artifacts": [{"path": "out.txt", "from": "{{ last_response }}"}]})

    ran = site.strands("workers", "submit", flow, "--var", "topic=bees")
    run_id = ran.out.strip()
    assert ran.code == 0
    assert site.status(run_id) == "queued"
    assert site.json("workers", "queue", "status")["queues"][0]["waiting"] == 1

    worker = site.worker("--drain")

    assert worker.end() == 0
    shown = site.json("runs", "show", run_id)
    assert (shown["status"], shown["response"]) == ("completed", "(second (first bees))")
    assert worker.files(run_id) == ["artifacts/out.txt"]
    assert site.model.asked["first bees"] == 1
    assert {one.headers["authorization"] for one in site.model.server.requests} == {"Bearer of-the-worker"}


def test_a_key_that_is_missing_where_a_run_is_submitted_is_a_warning(site: Site) -> None:
    site.flow("keyless", runtime={"provider": "openai", "model_id": "gpt"})

    ran = site.strands("workers", "submit", "keyless.yaml", "--var", "topic=bees", "--queue", "without-workers")

    assert (ran.code, ran.codes) == (0, ["missing-api-key"])


def test_a_directory_that_only_the_submitting_machine_has_is_named(site: Site) -> None:
    (site.folder.work / "orders").mkdir()
    site.flow("mounts", env={"mounts": {"orders": "orders"}})

    ran = site.strands("workers", "submit", "mounts.yaml", "--var", "topic=x", "--queue", "two")

    assert ran.code == 0
    assert [line for line in ran.err.splitlines() if line.startswith("warning: ") and line.endswith(": orders")]
    assert "strands workers start --queue two" in ran.err


def test_a_run_that_could_not_run_anywhere_is_not_submitted(site: Site) -> None:
    before = len(site.json("runs", "list")["runs"])

    assert site.strands("workers", "submit", "flow.yaml").code == 2
    assert site.strands("workers", "submit", "flow.yaml", "--var", "topic=x", "--out", "/tmp/elsewhere").code == 2
    assert site.strands("workers", "submit", "flow.yaml", "--var", "topic=x", "--at", "soon").code == 2
    assert site.strands("workers", "submit", "flow.yaml", "--var", "topic=x", "--every", "soon").code == 2

    assert len(site.json("runs", "list")["runs"]) == before


@pytest.mark.parametrize("more", [(), ("--every", "0 6 * * *")])
def test_an_id_that_leads_out_of_the_folder_of_runs_is_not_submitted(site: Site, more: tuple[str, ...]) -> None:
    ran = site.strands("workers", "submit", "flow.yaml", "--var", "topic=x", "--id", "../../escaped", *more)

    assert ran.code == 2
    assert "../../escaped" not in [run["id"] for run in site.json("runs", "list")["runs"]]


def test_the_same_id_is_the_same_run(site: Site, worker: AWorker) -> None:
    words = ("workers", "submit", "flow.yaml", "--id", "once", "--json")
    first = site.strands(*words, "--var", "topic=once").document
    again = site.strands(*words, "--var", "topic=once").document
    other = site.strands(*words, "--var", "topic=other")

    assert [first["new"], again["new"]] == [True, False]
    assert other.code == 2
    worker.wait_for("finished", "once")
    assert site.model.asked["first once"] == 1
    late = site.strands(*words, "--var", "topic=once").document
    assert (late["run"], late["new"]) == ("once", False)
    assert site.status("once") == "completed"


def test_a_waiting_run_occupies_no_worker_and_an_answer_lets_it_wait_for_one(site: Site, worker: AWorker) -> None:
    flow = site.flow("gated", pattern={"type": "chain", "config": {"steps": GATE}})
    run_id = site.submit("gate", flow=flow)
    worker.wait_for("finished", run_id)
    assert site.status(run_id) == "waiting"
    assert [one["runs"] for one in site.json("workers")["workers"]] == [[]]

    answered = site.json("approve", run_id, "--answer", "yes")

    assert (answered["run"], answered["status"]) == (run_id, "queued")
    worker.wait_for("finished", run_id, times=2)
    assert site.status(run_id) == "completed"
    assert (site.model.asked["first gate"], site.model.asked["after yes gate"]) == (1, 1)


def test_a_submitted_run_continues_in_the_terminal_where_a_person_says_here(site: Site, worker: AWorker) -> None:
    flow = site.flow("gated", pattern={"type": "chain", "config": {"steps": GATE}})
    run_id = site.submit("terminal", flow=flow)
    worker.wait_for("finished", run_id)

    ran = site.strands("approve", run_id, "--here", "--answer", "yes", OPENAI_API_KEY="of-the-person")

    assert ran.code == 0, ran.err
    assert site.status(run_id) == "completed"
    assert len(worker.events("dispatched", run_id)) == 1


def test_a_run_that_fails_is_not_repeated_until_a_person_resumes_it(site: Site, worker: AWorker) -> None:
    run_id = site.submit("will fail")
    worker.wait_for("finished", run_id)
    assert site.status(run_id) == "failed"
    asked = site.model.asked["first will fail"]

    assert site.json("resume", run_id)["status"] == "queued"

    worker.wait_for("finished", run_id, times=2)
    assert site.model.asked["first will fail"] > asked
    assert site.status(run_id) == "failed"


def test_a_queued_run_that_is_cancelled_is_never_run(site: Site, worker: AWorker) -> None:
    run_id = site.submit("cancelled", "--at", "2999-01-01T00:00")
    assert site.json("workers", "queue", "status")["queues"][0]["delayed"] == 1

    assert site.strands("runs", "cancel", run_id).code == 0

    assert site.status(run_id) == "cancelled"
    assert site.json("workers", "queue", "status")["queues"][0]["delayed"] == 0
    assert site.model.asked["first cancelled"] == 0


def test_a_queued_run_that_is_deleted_is_in_no_queue(site: Site, worker: AWorker) -> None:
    run_id = site.submit("deleted", "--at", "2999-01-01T00:00")

    assert site.strands("runs", "delete", run_id).code == 0

    assert site.json("workers", "queue", "status")["queues"][0]["delayed"] == 0


def test_a_run_that_a_worker_works_on_is_cancelled_there(site: Site, worker: AWorker) -> None:
    site.model.hold("running-cancel")
    run_id = site.submit("running-cancel")
    site.model.wait_for("first running-cancel")

    assert site.strands("runs", "cancel", run_id).code == 0

    assert site.status(run_id) == "cancelled"
    worker.wait_for("finished", run_id)
    assert site.strands("resume", run_id).code == 2


def test_a_raised_budget_travels_to_the_worker(site: Site, worker: AWorker) -> None:
    flow = site.flow("short", runtime={**_openai(site), "budgets": {"max_model_calls": 1}})
    run_id = site.submit("budget", flow=flow)
    worker.wait_for("finished", run_id)
    assert site.status(run_id) == "failed"

    assert site.json("resume", run_id, "--budget", "max_model_calls=5")["status"] == "queued"

    worker.wait_for("finished", run_id, times=2)
    assert site.status(run_id) == "completed"
    assert site.model.asked["first budget"] == 1


def _openai(site: Site) -> dict[str, Any]:
    return {"provider": "openai", "model_id": "m", "host": site.model.server.url}


def test_a_schedule_starts_runs_of_its_own_until_it_is_cancelled(site: Site, worker: AWorker) -> None:
    submitted = site.json(
        "workers", "submit", "flow.yaml", "--var", "topic=tick", "--id", "ticks", "--every", "* * * * * *"
    )
    assert submitted["status"] == "scheduled"
    assert [one["name"] for one in site.json("workers", "queue", "status")["schedules"]] == ["ticks"]

    fired = worker.wait_for("fired", times=2)
    assert site.strands("workers", "queue", "cancel", "ticks").code == 0

    worker.wait_for("finished", fired["run"])
    runs = {run["id"]: run["status"] for run in site.json("runs", "list")["runs"] if run["id"].startswith("ticks")}
    assert runs.pop("ticks") == "cancelled"
    assert runs[fired["run"]] == "completed"
    assert site.json("workers", "queue", "status")["schedules"] == []
    assert site.strands("workers", "queue", "cancel", "ticks").code == 2


def test_a_cancelled_schedule_that_is_submitted_again_starts_runs_again(site: Site, worker: AWorker) -> None:
    words = ("workers", "submit", "flow.yaml", "--var", "topic=again", "--id", "again", "--queue", "default", "--every")
    assert site.strands(*words, "0 6 1 1 *").code == 0
    assert site.strands("workers", "queue", "cancel", "again").code == 0
    assert site.strands(*words, "never").code == 2
    assert site.status("again") == "cancelled"

    submitted = site.json(*words, "* * * * * *")

    assert (submitted["new"], submitted["status"]) == (False, "scheduled")
    assert site.until(lambda: [run for run in site.json("runs", "list")["runs"] if run["id"].startswith("again-")])
    assert site.strands("workers", "queue", "cancel", "again").code == 0


def test_a_schedule_and_a_run_do_not_share_an_id(site: Site) -> None:
    words = ("workers", "submit", "flow.yaml", "--var", "topic=x", "--queue", "without-workers", "--id")
    assert site.strands(*words, "one-run").code == 0
    assert site.strands(*words, "many-runs", "--every", "0 6 1 1 *").code == 0

    assert site.strands(*words, "one-run", "--every", "0 6 1 1 *").code == 2
    assert site.strands(*words, "many-runs").code == 2


def test_what_is_submitted_again_has_the_status_that_it_has(site: Site) -> None:
    words = (
        "workers",
        "submit",
        "flow.yaml",
        "--var",
        "topic=x",
        "--queue",
        "without-workers",
        "--id",
        "gone",
        "--json",
    )
    assert site.strands(*words).document["status"] == "queued"
    assert site.strands("runs", "cancel", "gone").code == 0

    again = site.strands(*words).document

    assert (again["new"], again["status"]) == (False, "cancelled")


def test_an_artifact_of_the_submitting_machine_is_in_no_workers_way(site: Site) -> None:
    flow = site.flow("beside", outputs={"artifacts": [{"path": "there.txt", "from": "{{ last_response }}"}]})
    (site.folder.work / "artifacts").mkdir(exist_ok=True)
    (site.folder.work / "artifacts" / "there.txt").write_text("mine")

    assert site.strands("workers", "submit", flow, "--var", "topic=x", "--queue", "without-workers").code == 0


def test_a_run_whose_ticket_was_lost_gets_another_one(site: Site) -> None:
    run_id = site.submit("stranded", "--at", "2999-01-01T00:00")
    with opened_queue(StorePlace(address=site.address)) as (_, queue):
        queue.take_out(run_id)

    worker = site.worker("--drain", "--queue", "another")

    assert worker.end() == 0
    # By whichever worker of the store came first.
    assert site.until(lambda: any(one.events("recovered", run_id) for one in site.workers))
    # Its time is in its journal.
    delayed = {one["name"]: one["delayed"] for one in site.json("workers", "queue", "status")["queues"]}
    assert delayed["default"] == 1
    assert site.status(run_id) == "queued"


def test_a_worker_without_the_tool_of_a_run_refuses_it_and_another_one_runs_it(site: Site) -> None:
    site.folder.tool("shout", "return answer(text=tool['input']['text'].upper())")
    steps = [{"tool": "native:shout", "input": {"text": "{{ topic }}"}}]
    flow = site.flow("calls", agents={}, pattern={"type": "chain", "config": {"steps": steps}})
    run_id = site.submit("loud", "--queue", "tools", flow=flow)
    lacking = site.worker("--name", "lacking", "--queue", "tools", PYTHONPATH="")

    refused = lacking.wait_for("refused", run_id)

    assert "shout" in refused["message"]
    assert site.status(run_id) == "queued"
    assert set(site.json("runs", "show", run_id)["refusals"]) == {"lacking"}
    site.until(lambda: site.json("workers", "queue", "status")["refused"])
    equipped = site.worker("--name", "equipped", "--queue", "tools", PYTHONPATH=str(site.folder.site))
    equipped.wait_for("finished", run_id)
    shown = site.json("runs", "show", run_id)
    assert (shown["status"], shown["response"], shown["refusals"]) == ("completed", "LOUD", {})
    # It was planned there once.
    assert len(lacking.events("refused", run_id)) == 1


def test_what_a_tool_prints_at_a_worker_is_a_line_of_its_log_without_secrets(site: Site) -> None:
    body = """
import logging, os, sys
print("key", os.environ["OPENAI_API_KEY"], "\\x1b[31mred")
os.write(2, b"from C\\n")
logging.getLogger("a.tool").warning("logged")
return answer(text=sys.stdin.read() + "read")
"""
    site.folder.tool("chatty", body)
    steps = [{"tool": "native:chatty", "input": {"text": "{{ topic }}"}}]
    flow = site.flow("prints", agents={}, pattern={"type": "chain", "config": {"steps": steps}})
    run_id = site.submit("loud", "--queue", "prints", flow=flow)

    worker = site.worker("--queue", "prints", "--drain")

    # Its log is JSON up to the last line, and the standard input of the worker was not the tool's.
    assert worker.end() == 0
    printed = {(line["source"], line["message"]) for line in worker.log if "source" in line}
    assert printed == {
        ("stdout", "key [secret] \x1b[31mred"),
        ("stderr", "from C"),
        ("stderr", "WARNING a.tool: logged"),
    }
    assert site.json("runs", "show", run_id)["response"] == "read"


def test_a_worker_without_yes_asks_a_person_whatever_a_run_was_submitted_with(site: Site) -> None:
    write = {"tool": "native:file_write", "input": {"path": "written.txt", "content": "{{ topic }}"}}
    flow = site.flow("approved", agents={}, pattern={"type": "chain", "config": {"steps": [write]}})
    words = ("--queue", "of-careful")
    runs = [site.submit("x", *words, *how, flow=flow) for how in (("--yes",), ("--allow", "file_write"))]

    assert site.worker(*words, "--drain", "--no-yes").end() == 0
    assert [site.status(run) for run in runs] == ["waiting", "waiting"]

    assert site.strands("approve", runs[0]).code == 0
    assert site.worker(*words, "--drain", "--no-yes").end() == 0
    assert [site.status(run) for run in runs] == ["completed", "waiting"], "what a person answers counts"


def test_a_run_whose_limit_over_time_is_spent_waits_again_and_does_not_fail(site: Site) -> None:
    policy = site.folder.root / "config" / "strands-cli" / "policy.yaml"
    policy.parent.mkdir(parents=True)
    policy.write_text("version: 1\nbudgets: [{per: day, workflow: spends, max_model_calls: 1}]\n")
    run_id = site.submit("money", "--queue", "spends", flow=site.flow("spends"))
    worker = site.worker("--queue", "spends", XDG_CONFIG_HOME=str(policy.parent.parent))

    returned = worker.wait_for("returned", run_id)

    assert str(policy) in str(returned)
    assert site.status(run_id) == "interrupted"
    (queue,) = [queue for queue in site.json("queue", "status")["queues"] if queue["name"] == "spends"]
    assert (queue["delayed"], queue["running"]) == (1, 0)
    assert site.model.asked["first money"] == 1
    assert site.strands("runs", "cancel", run_id).code == 0
