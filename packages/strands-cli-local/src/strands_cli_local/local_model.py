"""The model of the SDK for a GGUF file."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from typing import Any, Literal

import httpx
from strands.models import Model
from strands.types.exceptions import ContextWindowOverflowException

from strands_cli.api import InvalidInput, NotEquipped
from strands_cli_local.chat_answer import AnswerReader
from strands_cli_local.chat_request import Form, Turn, turn_of
from strands_cli_local.gguf_header import read_header
from strands_cli_local.runtime import LoadedModel, LoadOptions, load, require_room, require_runtime

# Tokens of one conversation where the workflow names none; a file that was trained for fewer gets those.
CONTEXT = 4096
TOO_LONG = "exceed_context_size_error"
# A connection within the process; an answer may take as long as it takes.
_TIMES = httpx.Timeout(None, connect=10)
# An error is one short object.
_MOST_ERROR = 10_000


class LocalModel(Model):
    """A GGUF file, loaded at the first request into this process and used by every agent with the same settings.

    Args:
        model_id: The path of the file.
        temperature: That of llama.cpp where None, as all that follows.
        top_p: The considered share of probability.
        max_tokens: The most tokens of one answer.
        context: Tokens of one conversation, its answer included.
        parallel: Conversations answered at the same time; the others wait.
        threads: Threads of the processor.
        gpu_layers: Layers on a graphics card, where the installed xllamacpp has support for one.
        seed: For answers that repeat.
        top_k: The number of considered words.
        min_p: The least considered probability, as a share of the greatest.
        repeat_penalty: More than 1 discourages repetition.
        tool_calls: `template` has the file's chat template offer tools, `grammar` bounds each answer by a grammar;
            None is `template` if the file has one with a place for tools, and an error at the first tool if not.
        check_memory: Whether a file larger than the free memory is refused.

    Raises:
        InvalidInput: The file is missing or no GGUF file, or a setting has a wrong value.
        NotEquipped: The runtime is not installed, or the file does not fit into the free memory.
    """

    def __init__(
        self,
        *,
        model_id: str | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        max_tokens: int | None = None,
        context: int | None = None,
        parallel: int = 2,
        threads: int | None = None,
        gpu_layers: int | None = None,
        seed: int | None = None,
        top_k: int | None = None,
        min_p: float | None = None,
        repeat_penalty: float | None = None,
        tool_calls: Literal["template", "grammar"] | None = None,
        check_memory: bool = True,
    ) -> None:
        if not model_id:
            raise InvalidInput("the provider 'local' needs a file", fix="add `model_id: PATH.gguf` beside `provider`")
        _require(tool_calls in (None, "template", "grammar"), "tool_calls", tool_calls, "template or grammar")
        _require(isinstance(check_memory, bool), "check_memory", check_memory, "true or false")
        for name, value, least in (
            ("context", context, 64),
            ("parallel", parallel, 1),
            ("threads", threads, 1),
            ("gpu_layers", gpu_layers, 0),
            ("max_tokens", max_tokens, 1),
            ("seed", seed, 0),
            ("top_k", top_k, 0),
        ):
            fits = value is None or (_is_number(value, int) and value >= least)
            _require(fits, name, value, f"a whole number of at least {least}")
        for name, share in (
            ("temperature", temperature),
            ("top_p", top_p),
            ("min_p", min_p),
            ("repeat_penalty", repeat_penalty),
        ):
            _require(share is None or (_is_number(share, int, float) and share >= 0), name, share, "a number from 0 on")
        header = read_header(model_id)
        length = context or min(CONTEXT, header.trained_context or CONTEXT)
        trained = header.trained_context
        _require(not trained or length <= trained, "context", length, f"at most {trained}, as the file was trained for")
        require_runtime()
        sampling = {
            "temperature": temperature,
            "top_p": top_p,
            "max_tokens": max_tokens,
            "seed": seed,
            "top_k": top_k,
            "min_p": min_p,
            "repeat_penalty": repeat_penalty,
        }
        self._sampling = {name: value for name, value in sampling.items() if value is not None}
        self._loading = LoadOptions(header, length, parallel, threads, gpu_layers, check_memory)
        require_room(self._loading)
        by_template = header.calls_tools if tool_calls is None else tool_calls == "template"
        self._by_template = None if tool_calls is None and not by_template else by_template
        self._config = {"model_id": model_id, "context_window_limit": length}

    def update_config(self, **model_config: Any) -> None:
        """Change the result of `get_config`."""
        self._config.update(model_config)

    def get_config(self) -> dict[str, Any]:
        """Return the file and `context_window_limit`, by which the SDK keeps conversations short enough."""
        return self._config

    async def structured_output(
        self, output_model: Any, prompt: Any, system_prompt: str | None = None, **kwargs: Any
    ) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the events of an answer that a grammar keeps within the model's JSON Schema, and at last the answer."""
        schema = {"json": output_model.model_json_schema()}
        tool = {"name": output_model.__name__, "description": output_model.__doc__ or "", "inputSchema": schema}
        choice: Any = {"tool": {"name": output_model.__name__}}
        text = ""
        async for event in self.stream(prompt, [tool], system_prompt, tool_choice=choice):
            text += event.get("contentBlockDelta", {}).get("delta", {}).get("toolUse", {}).get("input", "")
            yield event
        yield {"output": output_model.model_validate_json(text)}

    async def stream(
        self,
        messages: Any,
        tool_specs: Any = None,
        system_prompt: str | None = None,
        *,
        tool_choice: Any = None,
        system_prompt_content: Any = None,
        cancel_signal: Any = None,
        **kwargs: Any,
    ) -> AsyncIterator[Any]:
        """Yield the events of one answer.

        Raises:
            ContextWindowOverflowException: The conversation is longer than the context.
            InvalidInput: The request has something that this model cannot do.
            NotEquipped: The model cannot be loaded here.
        """
        system = system_prompt or "\n\n".join(block.get("text", "") for block in system_prompt_content or ())
        turn = turn_of(messages, system, tool_specs or (), tool_choice, by_template=self._by_template)
        loaded = await asyncio.to_thread(load, self._loading)
        began, reader = time.monotonic(), AnswerReader(turn)
        for event in reader.begin():
            yield event
        async for chunk in self._chunks(loaded, turn):
            if cancel_signal is not None and cancel_signal.is_set():
                break
            for event in reader.read(chunk):
                yield event
        self._require_room(reader)
        for event in reader.end():
            yield event
        yield {"metadata": {"usage": reader.usage, "metrics": {"latencyMs": int(1000 * (time.monotonic() - began))}}}

    async def _chunks(self, loaded: LoadedModel, turn: Turn) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the chunks of an answer; an empty one for each second in which there is nothing else."""
        body = {**self._sampling, **turn.body, "stream": True, "stream_options": {"include_usage": True}}
        transport = httpx.AsyncHTTPTransport(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), trust_env=False)
        headers = {"Authorization": f"Bearer {loaded.key}"}
        async with (
            httpx.AsyncClient(transport=transport, timeout=_TIMES, headers=headers) as client,
            client.stream("POST", f"{loaded.address}/v1/chat/completions", json=body) as response,
        ):
            if response.status_code != httpx.codes.OK:
                raise self._refused((await response.aread())[:_MOST_ERROR], turn)
            async for line in response.aiter_lines():
                if not line.startswith("data: "):
                    yield {}
                elif (text := line.removeprefix("data: ")) != "[DONE]":
                    chunk = json.loads(text)
                    if "error" in chunk:
                        raise self._refused(text.encode(), turn)
                    yield chunk

    def _refused(self, answer: bytes, turn: Turn) -> Exception:
        """Return the error for a refusal in place of an answer."""
        try:
            problem = json.loads(answer)["error"]
            kind, reason = str(problem.get("type", "")), str(problem.get("message", ""))
        except (ValueError, LookupError, TypeError, AttributeError):
            kind, reason = "", answer.decode(errors="replace")
        if kind == TOO_LONG:
            return ContextWindowOverflowException(f"{reason}; `options.context` is {self._loading.context}")
        if turn.form in (Form.FORCED, Form.CHOICE):
            message = f"llama.cpp cannot make a grammar of the JSON Schema: {reason}"
            return InvalidInput(message, fix="use plain types, properties, required, enum and items in the schema")
        return NotEquipped(f"llama.cpp refused the request: {reason}", fix="take another file")

    def _require_room(self, reader: AnswerReader) -> None:
        """Check that an answer did not end because the context was full, for which the SDK has no word."""
        max_tokens = self._sampling.get("max_tokens")
        if reader.was_cut and (max_tokens is None or reader.usage["outputTokens"] < max_tokens):
            length = self._loading.context
            raise InvalidInput(
                f"the conversation and the answer filled the context of {length} tokens",
                fix=f"set `max_tokens`, or a larger `options: {{context: {2 * length}}}`",
            )


def _is_number(value: object, *kinds: type) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _require(fits: bool, name: str, value: object, form: str) -> None:
    if not fits:
        raise InvalidInput(f"the provider 'local' has {name}: {value!r}", fix=f"write {name} as {form}")
