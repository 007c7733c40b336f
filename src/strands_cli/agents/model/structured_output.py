"""Structured answers: the SDK's class for a JSON Schema, and answers in text."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from itertools import islice
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from strands_cli.engine.patterns.read_answers import ReadSchema, read_answer
from strands_cli.engine.ports import AgentRequest
from strands_cli.errors import RunFailed
from strands_cli.tools.messages.message_json import text_in
from strands_cli.tools.schema.schemas import first_problem, problem_of_text
from strands_cli.tools.schema_for_provider import offered_schema

# The key for an answer of another type than object, and the name of the tool that takes answers.
ANSWER = "answer"
TOOL = "final_answer"
_OPENING = re.compile(r"[{[]")
# Text that begins as JSON does; a word in brackets does not.
_BEGUN = re.compile(r'\{\s*"|\[\s*[\[{"]')
# In how many places of a text JSON may begin.
_PLACES = 100
_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)\n?\s*```", re.DOTALL)


def answer_class(schema: Mapping[str, Any], refused: Callable[[str], None]) -> type[BaseModel]:
    """Return a pydantic class for a JSON Schema, because the SDK accepts only classes.

    A schema of another type (a list of tasks) is wrapped under the key `answer`, because a tool's input is an object.

    Args:
        schema: The schema that an answer must satisfy.
        refused: Called with the problem of each answer that does not satisfy it.
    """
    wrapped = wrap(schema)
    # Neither pydantic nor the SDK resolves references of others; the provider's schema is built elsewhere.
    top_schema = offered_schema(wrapped, "")[0] if "$ref" in json.dumps(wrapped) else dict(wrapped)

    class Answer(BaseModel):
        """Give the final answer of this step."""

        model_config = ConfigDict(extra="allow")

        @model_validator(mode="before")
        @classmethod
        def _fits(cls, value: Any) -> Any:
            value = _as_read(schema, value)
            if problem := first_problem(wrapped, value):
                refused(problem)
                raise ValueError(problem)
            return value

        @classmethod
        def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> dict[str, Any]:
            return top_schema

    Answer.__name__ = TOOL
    return Answer


def require_input(request: AgentRequest) -> None:
    """Check a step's input against the agent's `input_schema`, as JSON if it is JSON, else as text.

    Raises:
        RunFailed: The input does not fit the schema.
    """
    schema = request.agent.input_schema
    if schema is None or request.agent.takes_any_message:
        return
    if problem := problem_of_text(schema, request.prompt):
        raise RunFailed(
            f"the input of the agent '{request.agent.id}' does not fit its input_schema: {problem}",
            fix="correct the step's `input`; `{{ value | tojson }}` writes a value as JSON",
        )


def wrap(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema itself if it describes an object, else an object with the schema under `answer`."""
    if schema.get("type") == "object" or "properties" in schema:
        return schema
    return {"type": "object", "properties": {ANSWER: dict(schema)}, "required": [ANSWER]}


def as_written(spec: Any, schema: Mapping[str, Any] | None) -> Any:
    """Return a tool spec; that of the answer tool gets its whole schema back, most of which the SDK loses."""
    if schema is None or spec["name"] != TOOL:
        return spec
    return {**spec, "inputSchema": {"json": wrap(schema)}}


def _as_read(schema: Mapping[str, Any], wrapped: Any) -> Any:
    """Return an answer in wrapped form as its schema reads it."""
    if wrap(schema) is schema:
        return read_answer(schema, wrapped)
    is_wrapped = isinstance(wrapped, Mapping) and wrapped.keys() == {ANSWER}
    return {ANSWER: read_answer(schema, wrapped[ANSWER])} if is_wrapped else wrapped


def unwrap(schema: Mapping[str, Any], answer: Any) -> Any:
    """Return the answer as the schema describes it."""
    return answer if wrap(schema) is schema else answer[ANSWER]


def answer_in(text: str, schema: Mapping[str, Any]) -> Any:
    """Return the answer in a text in wrapped form, or None if it has none that fits the schema.

    It is the text, or fenced in it. That of a pattern may also be the only one that fits among the words of a sentence.
    """
    for candidate in (text.strip(), *(match.strip() for match in _FENCED.findall(text))):
        try:
            value = json.loads(candidate)
        except ValueError:
            continue
        if (answer := _fitting(value, schema)) is not None:
            return answer
    if not isinstance(schema, ReadSchema):
        return None
    fitting = [answer for value in _values_in(text) if value and (answer := _fitting(value, schema)) is not None]
    return fitting[0] if fitting and all(answer == fitting[0] for answer in fitting) else None


def _fitting(value: Any, schema: Mapping[str, Any]) -> Any:
    """Return a value as an answer in wrapped form, or None if it is none."""
    for written in (value, {ANSWER: value} if wrap(schema) is not schema else value):
        wrapped = _as_read(schema, written)
        if first_problem(wrap(schema), wrapped) is None:
            return wrapped
    return None


def _values_in(text: str) -> list[Any]:
    """Return the outermost objects and lists of JSON in a text; none where one of them is cut off or damaged."""
    decoder, end, values = json.JSONDecoder(), 0, list[Any]()
    for opening in islice(_OPENING.finditer(text), _PLACES):
        if opening.start() < end:
            continue
        try:
            value, end = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            if _BEGUN.match(text, opening.start()):
                return []
            continue
        values.append(value)
    return values


async def answered_in_text(events: AsyncIterator[Any], schema: Mapping[str, Any], key: str) -> AsyncIterator[Any]:
    """Yield a turn's stream events; an answer in text becomes a call of the answer tool.

    Many local models cannot call tools, and for the others this saves the SDK's second request.
    """
    text, calls_tools = "", False
    async for event in events:
        text += text_in(event)
        calls_tools = calls_tools or "toolUse" in event.get("contentBlockStart", {}).get("start", {})
        answer = answer_in(text, schema) if "messageStop" in event and not calls_tools else None
        if answer is None:
            yield event
            continue
        # Some providers accept only letters, digits, `_` and `-` in an id.
        start = {"toolUse": {"name": TOOL, "toolUseId": re.sub(r"[^A-Za-z0-9_-]", "_", f"{key}_answer")}}
        yield {"contentBlockStart": {"start": start}}
        yield {"contentBlockDelta": {"delta": {"toolUse": {"input": json.dumps(answer)}}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "tool_use"}}
