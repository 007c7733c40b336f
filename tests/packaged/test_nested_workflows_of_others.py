"""What others wrote is asked about wherever it is: as a tool of a tool of the person's own workflow too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from strands_cli import Workflow, app
from strands_cli.app.handover import facts_to_move, moved_request, moved_workflow
from strands_cli.engine.ports import SystemClock
from strands_cli.engine.run_facts import run_facts
from strands_cli.errors import Denied, StrandsCliError
from strands_cli.planning.data_flow.workflow_trust import Trust
from strands_cli.planning.plan_values import Plan, all_workflows_in
from strands_cli.planning.run_request import RunRequest
from tests.packaged import make_packaged

INSTALLED = ".venv/lib/python3.11/site-packages/flows"
USES = {
    "agents": {"writer": {"prompt": "Write.", "tools": ["api"]}},
    "env": {"secrets": [{"key": "TOKEN", "source": "env"}]},
    "tools": {
        "http_executors": [{"id": "api", "base_url": "https://example.com", "headers": {"X-Key": "${TOKEN}"}}],
    },
}
TURNS = "recording: 1\nsteps: {steps.0: [{text: done}]}\n"
ALL_OF_IT = {"TOKEN", "example.com"}


def flow(tool: str = "", **sections: Any) -> str:
    """Return a workflow that answers from its recording, with another one as a tool."""
    made = {
        "version": 2,
        "name": "flow",
        "runtime": {"provider": "replay", "recording": "turns.yaml"},
        "agents": {"writer": {"prompt": "Write.", "tools": [f"workflow:{tool}"] if tool else []}},
        "pattern": {"type": "chain", "config": {"steps": [{"agent": "writer", "input": "Go."}]}},
    }
    return json.dumps({**made, **sections})


def write(files: Mapping[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
        Path(name).with_name("turns.yaml").write_text(TURNS)


def planned(file: str = "own.yaml") -> Plan:
    return app.plan(file)


def asked(file: str = "own.yaml") -> set[str]:
    return {use.what for use in Trust.of(planned(file)).authority.asked_uses}


MIXED = {
    "installed": {
        "own.yaml": flow(f"./{INSTALLED}/second.yaml"),
        f"{INSTALLED}/second.yaml": flow("./third.yaml"),
        f"{INSTALLED}/third.yaml": flow(**USES),
    },
    "installed, below another of one's own": {
        "own.yaml": flow("./second.yaml"),
        "second.yaml": flow(f"./{INSTALLED}/third.yaml"),
        f"{INSTALLED}/third.yaml": flow(**USES),
    },
    "two packages": {"own.yaml": flow("package:strands-flow-second/it")},
    "a package, below another of one's own": {
        "own.yaml": flow("./second.yaml"),
        "second.yaml": flow("package:strands-flow-third/it"),
    },
}


@pytest.mark.parametrize("kind", MIXED)
def test_a_third_workflow_of_others_is_asked_about_and_runs_only_when_it_is_allowed(
    kind: str, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "any-secret-value")
    for name, text in [("second", flow("package:strands-flow-third/it")), ("third", flow(**USES))]:
        files = {"flows/it.yaml": text, "flows/turns.yaml": TURNS}
        make_packaged(site, files, {"workflows": "it = PACKAGE:flows"}, f"strands-flow-{name}")
    write(MIXED[kind])
    trust = Trust.of(planned())
    assert {use.what for use in trust.authority.asked_uses} == ALL_OF_IT
    assert (trust.standing, bool(trust.authority.foreign)) == ("unanswered", True)
    with pytest.raises(Denied) as raised:
        Workflow.from_file("own.yaml").run()
    assert "strands workflows trust own.yaml" in str(raised.value.findings[0].fix)
    trust.keep()
    assert Workflow.from_file("own.yaml").run().response == "done"


@pytest.mark.parametrize("installed", [False, True])
def test_a_third_that_reads_and_sends_is_asked_about_unless_it_is_ones_own(installed: bool, site: Path) -> None:
    folder = INSTALLED if installed else "flows"
    both = {"writer": {"prompt": "Write.", "tools": ["file_read", "http_request"]}}
    write(
        {
            "own.yaml": flow("./second.yaml"),
            "second.yaml": flow(f"./{folder}/third.yaml"),
            f"{folder}/third.yaml": flow(agents=both),
        }
    )
    sent = [use for use in Trust.of(planned()).authority.asked_uses if use.kind == "sending"]
    assert bool(sent) is installed


def test_ones_own_thirds_are_asked_about_nothing_and_links_lead_nowhere_else(site: Path, tmp_path: Path) -> None:
    chain = {"own.yaml": flow("./second.yaml"), "second.yaml": flow("./flows/third.yaml")}
    write({**chain, "flows/third.yaml": flow(**USES)})
    assert asked() == set()
    (tmp_path / "strangers").mkdir()
    (tmp_path / "strangers" / "third.yaml").write_text(flow(**USES))
    Path("linked").symlink_to(tmp_path / "strangers")
    write({"second.yaml": flow("./linked/third.yaml")})
    with pytest.raises(StrandsCliError) as raised:
        Workflow.from_file("own.yaml").run()
    assert [found.code for found in raised.value.findings] == ["bad-path"]


@pytest.mark.parametrize("at_a_worker", [False, True])
def test_a_third_of_others_is_that_of_others_by_itself_too(
    at_a_worker: bool, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a name of its own leads is looked at when it is used."""
    write(MIXED["installed"])
    own, request = planned(), RunRequest()
    if at_a_worker:
        facts = run_facts(own, request, "run", SystemClock()) | facts_to_move(own, request)
        monkeypatch.chdir("/")
        own = app.plan(moved_workflow(facts, tmp_path / "there"), moved_request(facts, tmp_path / "there", {}))
    assert [Trust.of(plan).is_of_others for plan in (own, *all_workflows_in(own))] == [False, True, True]
