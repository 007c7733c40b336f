from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from strands import Agent
from strands.types.exceptions import ContextWindowOverflowException

from strands_cli.api import InvalidInput, NotEquipped
from strands_cli_local.local_model import LocalModel
from strands_cli_local.memory_check import available
from strands_cli_local.provider import PROVIDER

Write = Callable[..., Path]
USAGE = {"choices": [], "usage": {"prompt_tokens": 12, "completion_tokens": 5}}
TOO_LONG = {"type": "exceed_context_size_error", "message": "request (9000 tokens) exceeds the available context size"}


def chunk(stop: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": stop, "delta": delta}]}


def saying(text: str, stop: str = "stop") -> list[Any]:
    return [chunk(role="assistant", content=None), chunk(content=text), chunk(stop), USAGE]


class City(BaseModel):
    """A city."""

    name: str


def test_the_provider_has_every_parameter_of_the_model_and_its_schemas_agree(gguf: Write, runtime: Any) -> None:
    parameters = set(inspect.signature(LocalModel).parameters)
    assert {*PROVIDER.options, *PROVIDER.places} == parameters
    assert PROVIDER.option_schemas.keys() == PROVIDER.options
    for name, schema in PROVIDER.option_schemas.items():
        wrong = schema["minimum"] - 1 if "minimum" in schema else "neither"
        with pytest.raises(InvalidInput, match=name):
            LocalModel(model_id=str(gguf()), **{name: wrong})


def agent(model: LocalModel, **how: Any) -> Agent:
    return Agent(model=model, callback_handler=None, retry_strategy=None, **how)


def test_an_agent_answers_and_counts_its_tokens(gguf: Write, runtime: Any) -> None:
    runtime.answers = [saying("Paris")]
    model = LocalModel(model_id=str(gguf()), temperature=0, max_tokens=50, context=256, parallel=3, threads=1, seed=7)
    result = agent(model, system_prompt="Be brief.")("The capital of France?")
    assert str(result).strip() == "Paris"
    usage = result.metrics.accumulated_usage
    assert (usage["inputTokens"], usage["outputTokens"], usage["totalTokens"]) == (12, 5, 17)
    (request,) = runtime.requests
    assert (request["temperature"], request["max_tokens"], request["seed"]) == (0, 50, 7)
    assert [one["role"] for one in request["messages"]] == ["system", "user"]
    (settings,) = runtime.settings
    assert (settings.n_ctx, settings.n_parallel, settings.cpuparams.n_threads) == (768, 3, 1)
    assert (settings.hostnames, settings.port, settings.ui) == (["127.0.0.1"], 0, False)
    assert model.context_window_limit == 256


def test_a_structured_answer_is_made_at_the_first_request(gguf: Write, runtime: Any) -> None:
    runtime.answers = [saying('{"name": "Paris"}')]
    result = agent(LocalModel(model_id=str(gguf())))("The capital of France?", structured_output_model=City)
    assert result.structured_output == City(name="Paris")
    (request,) = runtime.requests
    assert request["response_format"]["json_schema"]["schema"]["properties"].keys() == {"name"}


def test_the_model_itself_gives_a_structured_answer(gguf: Write, runtime: Any) -> None:
    runtime.answers = [saying('{"name": "Paris"}')]

    async def ask() -> Any:
        question: Any = [{"role": "user", "content": [{"text": "Which city?"}]}]
        return [event async for event in LocalModel(model_id=str(gguf())).structured_output(City, question)]

    assert asyncio.run(ask())[-1] == {"output": City(name="Paris")}


def test_agents_with_the_same_file_and_options_use_one_copy(gguf: Write, runtime: Any) -> None:
    path = str(gguf())
    runtime.answers = [saying("one"), saying("two"), saying("three")]

    async def ask() -> None:
        await asyncio.gather(*(agent(LocalModel(model_id=path)).invoke_async("go") for _ in range(2)))
        await agent(LocalModel(model_id=path, context=512)).invoke_async("go")

    asyncio.run(ask())
    assert [settings.n_ctx for settings in runtime.settings] == [8192, 1024]


@pytest.mark.parametrize("answer", [(400, TOO_LONG), [{"error": TOO_LONG}]])
def test_a_conversation_that_is_too_long_is_the_sdks_own_error(answer: Any, gguf: Write, runtime: Any) -> None:
    runtime.answers = [answer]

    async def ask() -> None:
        question: Any = [{"role": "user", "content": [{"text": "x"}]}]
        async for _event in LocalModel(model_id=str(gguf()), context=512).stream(question):
            pass

    with pytest.raises(ContextWindowOverflowException, match=r"9000 tokens.*options\.context` is 512"):
        asyncio.run(ask())


def test_an_answer_that_fills_the_context_says_so(gguf: Write, runtime: Any) -> None:
    runtime.answers = [saying("and so on", stop="length")]
    with pytest.raises(InvalidInput, match="filled the context of 128 tokens") as raised:
        agent(LocalModel(model_id=str(gguf()), context=128, max_tokens=100))("x")
    assert "max_tokens" in str(raised.value.fix)


def test_a_schema_without_a_grammar_is_the_authors_to_change(gguf: Write, runtime: Any) -> None:
    runtime.answers = [(400, {"type": "invalid_request_error", "message": "unrecognized type nonsense"})]
    with pytest.raises(InvalidInput, match=r"JSON Schema: .*nonsense"):
        agent(LocalModel(model_id=str(gguf())))("x", structured_output_model=City)


def test_a_task_that_is_cancelled_ends_the_request(gguf: Write, runtime: Any) -> None:
    runtime.answers = [[chunk(content="and"), threading.Event()]]
    seen = asyncio.Event()

    async def read(model: LocalModel) -> None:
        question: Any = [{"role": "user", "content": [{"text": "A story"}]}]
        async for event in model.stream(question):
            if "contentBlockDelta" in event:
                seen.set()

    async def stop() -> None:
        task = asyncio.create_task(read(LocalModel(model_id=str(gguf()))))
        await seen.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(stop())
    assert runtime.hung_up.wait(60)


def test_the_signal_of_the_sdk_ends_an_answer(gguf: Write, runtime: Any) -> None:
    runtime.answers = [[chunk(content="and"), threading.Event()]]
    signal = threading.Event()

    async def read() -> None:
        question: Any = [{"role": "user", "content": [{"text": "A story"}]}]
        async for event in LocalModel(model_id=str(gguf())).stream(question, cancel_signal=signal):
            if "contentBlockDelta" in event:
                signal.set()

    asyncio.run(read())
    assert runtime.hung_up.wait(60)


@pytest.mark.parametrize(
    "settings",
    [
        {"context": 10},
        {"context": True},
        {"context": 100_000},
        {"parallel": 0},
        {"threads": "all"},
        {"gpu_layers": -1},
        {"tool_calls": "auto"},
        {"check_memory": "no"},
        {"seed": "seven"},
        {"top_k": [1]},
        {"min_p": "low"},
        {"repeat_penalty": -1},
        {"top_p": True},
        {"max_tokens": 0},
    ],
)
def test_a_wrong_setting_is_named_with_what_fits(settings: Any, gguf: Write, runtime: Any) -> None:
    with pytest.raises(InvalidInput, match=next(iter(settings))) as raised:
        LocalModel(model_id=str(gguf()), **settings)
    assert raised.value.fix


def test_a_model_that_does_not_fit_is_refused_before_the_first_request(gguf: Write, runtime: Any) -> None:
    endless = {"context": 8192, "parallel": 10**9}
    if available() is not None:
        with pytest.raises(NotEquipped, match="GiB"):
            LocalModel(model_id=str(gguf()), **endless)
    LocalModel(model_id=str(gguf()), check_memory=False, **endless)
    assert runtime.settings == []


def test_a_model_without_a_file_is_an_error(runtime: Any) -> None:
    with pytest.raises(InvalidInput, match="needs a file"):
        LocalModel()


def test_a_missing_runtime_is_an_error_with_the_command(gguf: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    with pytest.raises(NotEquipped, match="not installed") as raised:
        LocalModel(model_id=str(gguf()))
    assert raised.value.fix == f"{sys.executable} -m pip install xllamacpp"


def test_a_file_that_the_runtime_refuses_is_an_error(
    gguf: Write, runtime: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(settings: Any) -> None:
        raise RuntimeError("no such architecture")

    monkeypatch.setattr(sys.modules["xllamacpp"], "Server", refuse)
    with pytest.raises(InvalidInput, match=r"architecture: marble\): no such architecture"):
        agent(LocalModel(model_id=str(gguf(values={"general.architecture": "marble"}))))("x")
