"""Write a turn of the SDK as a request of llama.cpp's chat interface.

A turn has one of three forms. With `TEMPLATE` the model's own chat template offers the tools. With `CHOICE` the prompt
describes them, and a grammar admits a call of one of them or an answer. With `FORCED` a grammar admits nothing but the
arguments of one tool, the form of structured answers.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from strands_cli.api import InvalidInput

TOOL, ARGUMENTS, ANSWER = "tool", "arguments", "answer"
# The SDK's own description of the tool that takes a structured answer.
_TAKES_THE_ANSWER = "StructuredOutputTool"
_ALL_TEXT = {"type": "object", "properties": {ANSWER: {"type": "string"}}, "required": [ANSWER]}


class Form(enum.Enum):
    """How an answer is to be read."""

    TEXT = "text"
    TEMPLATE = "template"
    CHOICE = "choice"
    FORCED = "forced"


@dataclass(frozen=True, slots=True)
class Turn:
    """A request without sampling settings, and how its answer is read; `forced` is the tool's name with `FORCED`."""

    form: Form
    body: Mapping[str, Any]
    forced: str = ""


def turn_of(
    messages: Sequence[Mapping[str, Any]],
    system: str,
    tools: Sequence[Mapping[str, Any]],
    choice: Mapping[str, Any] | None,
    *,
    by_template: bool | None,
) -> Turn:
    """Return the request for one turn.

    Args:
        messages: The conversation in the SDK's form.
        system: The system prompt; empty for none.
        tools: The SDK's tool specs.
        choice: The SDK's tool choice: `{"any": {}}` and `{"tool": {"name": ...}}` force a call.
        by_template: Whether the chat template (True) or a grammar (False) makes calls possible; None for neither.

    Raises:
        InvalidInput: A message has more than text in it, or tools are offered where nothing makes calls possible.
    """
    offered = [spec for spec in tools if not choice or "tool" not in choice or spec["name"] == choice["tool"]["name"]]
    must = bool(choice) and "auto" not in (choice or {})
    if not must and by_template is not True and all(map(takes_the_answer, offered)):
        must = bool(offered)
    if not offered:
        return Turn(Form.TEXT, {"messages": written(messages, system, as_roles=by_template is True)})
    if must and len(offered) == 1:
        return _forced(messages, system, offered[0], as_roles=by_template is True)
    if by_template is True and not must:
        functions = [{"type": "function", "function": _function(spec)} for spec in offered]
        return Turn(Form.TEMPLATE, {"messages": written(messages, system, as_roles=True), "tools": functions})
    if by_template is None and not must:
        names = ", ".join(str(spec["name"]) for spec in offered)
        raise InvalidInput(
            f"the chat template of this model has no place for tools, and the agent has some: {names}",
            fix="take a model that was trained to call tools, or have a grammar make its calls: "
            "`options: {tool_calls: grammar}`",
        )
    return _choice(messages, system, offered, may_answer=not must and not any(map(takes_the_answer, offered)))


def takes_the_answer(spec: Mapping[str, Any]) -> bool:
    """Return whether a tool is the one by which the SDK gets structured answers."""
    return _TAKES_THE_ANSWER in spec.get("description", "")


def _function(spec: Mapping[str, Any]) -> dict[str, Any]:
    schema = spec["inputSchema"]
    return {
        "name": spec["name"],
        "description": spec.get("description", ""),
        "parameters": schema.get("json", schema),
    }


def _forced(messages: Sequence[Mapping[str, Any]], system: str, spec: Mapping[str, Any], *, as_roles: bool) -> Turn:
    schema = _function(spec)["parameters"]
    words = f"Answer with one JSON object that fits this JSON Schema:\n{json.dumps(schema, ensure_ascii=False)}"
    if not takes_the_answer(spec):
        words = f"Call the tool {spec['name']}: {spec.get('description', '')}\n{words}"
    body = {"messages": written(messages, _joined(system, words), as_roles=as_roles), **_bound(schema)}
    return Turn(Form.FORCED, body, str(spec["name"]))


def _choice(
    messages: Sequence[Mapping[str, Any]], system: str, offered: Sequence[Mapping[str, Any]], *, may_answer: bool
) -> Turn:
    functions = [_function(spec) for spec in offered]
    words = "You have tools. Answer with one JSON object:\n"
    words += f'{{"{TOOL}": NAME, "{ARGUMENTS}": {{...}}}} to call a tool'
    words += f', or {{"{ANSWER}": TEXT}} if you need none.\n' if may_answer else ".\n"
    words += f"The tools:\n{json.dumps(functions, ensure_ascii=False)}"
    forms = [
        {
            "type": "object",
            "properties": {TOOL: {"const": function["name"]}, ARGUMENTS: function["parameters"]},
            "required": [TOOL, ARGUMENTS],
            "additionalProperties": False,
        }
        for function in functions
    ]
    schema = {"anyOf": [*forms, *([{**_ALL_TEXT, "additionalProperties": False}] if may_answer else [])]}
    body = {"messages": written(messages, _joined(system, words), as_roles=False), **_bound(schema)}
    return Turn(Form.CHOICE, body)


def _bound(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"schema": schema}}}


def _joined(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


def written(messages: Sequence[Mapping[str, Any]], system: str, *, as_roles: bool) -> list[dict[str, Any]]:
    """Return messages in the form of the chat interface.

    Args:
        messages: The conversation in the SDK's form.
        system: The system prompt; empty for none.
        as_roles: Whether calls and results have roles of their own, for a template that knows tools, or are text.
    """
    roles = [{"role": "system", "content": system}] if system else []
    for message in messages:
        roles += _with_roles(message) if as_roles else _as_text(message)
    return roles


def _with_roles(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    texts, calls = [], []
    for block in message["content"]:
        if "toolUse" in block:
            use = block["toolUse"]
            function = {"name": use["name"], "arguments": json.dumps(use["input"], ensure_ascii=False)}
            calls.append({"id": use["toolUseId"], "type": "function", "function": function})
        elif "toolResult" in block:
            result = block["toolResult"]
            yield {"role": "tool", "tool_call_id": result["toolUseId"], "content": _result_text(result)}
        else:
            texts.append(_text_of(block))
    text = _joined(*texts)
    if text or calls:
        yield {"role": message["role"], "content": text, **({"tool_calls": calls} if calls else {})}


def _as_text(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    texts = []
    for block in message["content"]:
        if "toolUse" in block:
            use = block["toolUse"]
            texts.append(json.dumps({TOOL: use["name"], ARGUMENTS: use["input"]}, ensure_ascii=False))
        elif "toolResult" in block:
            texts.append(f"The result of the tool:\n{_result_text(block['toolResult'])}")
        else:
            texts.append(_text_of(block))
    if text := _joined(*texts):
        yield {"role": message["role"], "content": text}


def _text_of(block: Mapping[str, Any]) -> str:
    """Return the text of a block; earlier thoughts of a model are left out."""
    if "text" in block:
        return str(block["text"])
    if "citationsContent" in block:
        return "".join(str(part.get("text", "")) for part in block["citationsContent"].get("content", ()))
    if "reasoningContent" in block or "cachePoint" in block:
        return ""
    kind = next(iter(block), "nothing")
    raise InvalidInput(
        f"a message has a block of the kind '{kind}', and a local model reads text alone", fix="send text"
    )


def _result_text(result: Mapping[str, Any]) -> str:
    parts = (
        json.dumps(part["json"], ensure_ascii=False) if "json" in part else _text_of(part) for part in result["content"]
    )
    text = "\n".join(parts)
    return f"error: {text}" if result.get("status") == "error" else text
