"""What `strands_register_providers` promises to those who write a provider, as docs/reference/hooks.md has it."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from strands.types.exceptions import ContextWindowOverflowException

from strands_cli.agents.model.model_errors import explain_error
from strands_cli.hooks import hookspecs
from strands_cli.planning.plan.plan_values import PlannedAgent
from strands_cli.providers import ModelSettings
from tests.cli.strands import Folder
from tests.distributions import make_distribution

HOOKS = """
from strands_cli.hooks import hookimpl

@hookimpl
def strands_register_providers():
    return {"recorder": "recorder_model:make", "replay": "recorder_model:make"}
"""
MODEL = """
import json
from strands.models import Model
from strands.types.exceptions import ContextWindowOverflowException
from strands_cli.errors import InvalidInput, NotEquipped

class Recorder(Model):
    def update_config(self, **model_config):
        pass

    def get_config(self):
        return {}

    def structured_output(self, *args, **kwargs):
        raise NotImplementedError

    async def stream(self, messages, *args, **kwargs):
        if "long" in messages[-1]["content"][0]["text"]:
            raise ContextWindowOverflowException("9000 tokens do not fit into 4096")
        if "late" in messages[-1]["content"][0]["text"]:
            raise InvalidInput("this model reads no pictures", fix="send text")
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": "heard"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}

def make(*words, **settings):
    with open("made.txt", "a") as file:
        print(json.dumps([words, settings], sort_keys=True), file=file)
    if settings.get("model_id") == "bad":
        raise InvalidInput("there is no model 'bad'", fix="take 'good'")
    if settings.get("model_id") == "heavy":
        raise NotEquipped("this machine is too small", fix="take 'light'")
    return Recorder()
"""


@pytest.fixture
def recorder(folder: Folder) -> Folder:
    points = "[strands_cli.hooks]\nhooks = recorder_hooks\n"
    files = {"recorder_hooks.py": HOOKS, "recorder_model.py": MODEL}
    make_distribution(folder.site, "strands-provider-recorder", "1.0", points, files)
    policy = folder.root / "home" / ".config" / "strands-cli" / "policy.yaml"
    policy.parent.mkdir(parents=True)
    policy.write_text("version: 1\nhooks: [strands-provider-recorder]\n")
    return folder


def flow(folder: Folder, **runtime: Any) -> None:
    steps = [{"agent": "writer", "input": "a"}, {"agent": "writer", "input": "b"}]
    folder.workflow(steps, runtime={"provider": "recorder", **runtime})


def made(folder: Folder) -> list[Any]:
    path = folder.work / "made.txt"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def test_the_hook_takes_nothing_and_is_no_longer_provisional() -> None:
    signature = inspect.signature(hookspecs.strands_register_providers)
    assert (list(signature.parameters), signature.return_annotation) == ([], "Mapping[str, str]")


def test_a_maker_gets_every_setting_that_is_written_and_nothing_else_by_name(recorder: Folder) -> None:
    written = {"model_id": "m", "region": "r", "host": "http://localhost:1", "temperature": 0.5, "max_tokens": 9}
    flow(recorder, **written, options={"top_k": 3, "deep": {"list": [1, {"a": None}]}})
    ran = recorder.strands("run", "flow.yaml")
    assert (ran.code, ran.out) == (0, "heard\n"), ran.err
    # Once for an agent, however many steps it has.
    assert made(recorder) == [[[], {**written, "top_k": 3, "deep": {"list": [1, {"a": None}]}}]]


def test_looking_at_a_workflow_makes_no_model(recorder: Folder) -> None:
    flow(recorder)
    for command in ("plan", "explain"):
        assert recorder.strands(command, "flow.yaml").code == 0, command
    assert made(recorder) == []
    assert recorder.strands("run", "flow.yaml").code == 0
    assert made(recorder) == [[[], {}]]


@pytest.mark.parametrize(("model", "code", "words"), [("bad", 3, "take 'good'"), ("heavy", 18, "take 'light'")])
def test_an_error_of_strands_cli_keeps_its_words_its_fix_and_its_code(
    model: str, code: int, words: str, recorder: Folder
) -> None:
    flow(recorder, model_id=model)
    ran = recorder.strands("run", "flow.yaml")
    assert ran.code == code, ran.err
    assert words in ran.err
    assert not recorder.runs.exists()


@pytest.mark.parametrize(
    ("word", "code", "words"), [("long", 10, "9000 tokens do not fit into 4096"), ("late", 3, "fix: send text")]
)
def test_an_error_of_a_request_keeps_its_words_too(word: str, code: int, words: str, recorder: Folder) -> None:
    recorder.workflow([{"agent": "writer", "input": word}], runtime={"provider": "recorder"})
    ran = recorder.strands("run", "flow.yaml")
    assert ran.code == code, ran.err
    assert words in ran.err


def test_an_error_of_the_sdk_about_the_length_does_not_hide_that_of_the_provider() -> None:
    agent = PlannedAgent("writer", "be brief", ModelSettings("recorder"), ())
    error = ContextWindowOverflowException("the history is as short as it gets")
    error.__cause__ = ContextWindowOverflowException("9000 tokens do not fit into 4096")
    assert "9000 tokens" in explain_error(error, agent).message


def test_a_provider_of_the_program_is_not_replaced(recorder: Folder) -> None:
    (recorder.work / "played.yaml").write_text("recording: 1\nsteps:\n  steps.0: [{text: a}]\n  steps.1: [{text: b}]\n")
    steps = [{"agent": "writer", "input": "a"}, {"agent": "writer", "input": "b"}]
    recorder.workflow(steps, runtime={"provider": "replay", "recording": "played.yaml"})
    ran = recorder.strands("run", "flow.yaml")
    assert (ran.code, ran.out) == (0, "b\n"), ran.err
    assert made(recorder) == []
