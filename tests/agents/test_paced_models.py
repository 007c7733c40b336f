"""Runs follow the limits that a model's server tells, over HTTP, in one process and in many."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from strands_cli.events import Event, ModelRetried, ModelWaits, RunWarning
from tests.agents.kit import Site
from tests.agents.resumable import going, rows
from tests.fakes.limited_models import LimitedModel
from tests.fakes.model_server import ModelServer, Turn

pytestmark = pytest.mark.usefixtures("echo_and_key")
CLONE = Path(__file__).parent.parent.parent
KEY = "sk-test-0123456789abcdef"
FLOW = """
version: 2
name: t
runtime: {{models: [{models}], failure_policy: {{retries: 0, wait_max: 5}}}}
agents: {{a: {{prompt: be brief}}}}
pattern: {{type: chain, config: {{steps: [{{agent: a, input: One.}}, {{agent: a, input: Two.}}]}}}}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("STRANDS_SHARED_RATES")
    return tmp_path / "cache" / "strands-cli" / "rates"


def flow(server: ModelServer, *names: str) -> str:
    models = (f"{{provider: openai, model_id: {name}, host: '{server.url}'}}" for name in names)
    return FLOW.format(models=", ".join(models))


def limits(left: int, reset: str) -> dict[str, str]:
    values = {"limit": "60", "remaining": str(left), "reset": reset}
    return {f"x-ratelimit-{part}-requests": text for part, text in values.items()}


def test_a_run_waits_for_the_reset_and_says_so(site: Site, cache: Path) -> None:
    events: list[Event] = []
    with ModelServer([Turn("one", headers=limits(0, "1500ms")), Turn("two")]) as server:
        assert going(site, flow(server, "m"), events=events).response == "two"
    waits = [event for event in events if isinstance(event, ModelWaits)]
    assert [(wait.key, wait.agent, wait.model) for wait in waits] == [("steps.1/model.0", "a", "openai/m")]
    assert 0 < waits[0].wait_s <= 1.6
    (file,) = cache.glob("*.json")
    assert KEY not in file.read_text() + file.name
    assert os.environ["OPENAI_API_KEY"] == KEY


def test_another_model_goes_on_at_once_where_the_limit_is_far_away(site: Site, cache: Path) -> None:
    events: list[Event] = []
    with ModelServer(lambda request: Turn(request["model"], headers=limits(0, "1h0m0s"))) as server:
        assert going(site, flow(server, "first", "second"), events=events).response == "second"
        assert [request["model"] for request in server.model_requests] == ["first", "second"]
    row = rows()["steps.1/model.0"]
    assert (row.detail["model"], row.detail["instead_of"]) == ("openai/second", "openai/first")
    assert [event.next_model for event in events if isinstance(event, ModelRetried)] == ["openai/second"]
    assert len(list(cache.glob("*.json"))) == 2  # each model has limits of its own


def test_without_another_model_the_server_answers_itself(site: Site) -> None:
    with ModelServer(lambda _request: Turn("well", headers=limits(0, "1h0m0s"))) as server:
        assert going(site, flow(server, "m")).response == "well"
        assert len(server.model_requests) == 2


def test_a_folder_that_cannot_be_used_is_a_warning_once(site: Site, cache: Path) -> None:
    cache.parent.mkdir(parents=True)
    cache.write_text("a file")
    events: list[Event] = []
    with ModelServer(lambda _request: Turn("well", headers=limits(9, "1s"))) as server:
        assert going(site, flow(server, "m"), events=events).response == "well"
    assert [str(event.code) for event in events if isinstance(event, RunWarning)] == ["rates-not-shared"]


@pytest.mark.hostile
@pytest.mark.parametrize("kind", ["window", "bucket"])
def test_eight_processes_are_refused_nothing_after_the_first_period(kind: str) -> None:
    """How much they get is measured by `bench.governed`: that depends on the machine's other work."""
    model = LimitedModel(20, 2.0, kind, "anthropic" if kind == "window" else "openai", delay_s=0.02)
    with ModelServer(model) as server:
        command = [sys.executable, "-m", "tests.fakes.many_callers", server.url, "8", "2", "8"]
        ended = subprocess.run(command, cwd=CLONE, capture_output=True, text=True, check=False)
    assert ended.stdout.split() == ["0"], ended.stderr
    assert model.within(1, 99)[1] == 0
    assert len(model.log) > 20
