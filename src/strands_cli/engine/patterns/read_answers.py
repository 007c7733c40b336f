"""Answers to patterns in another form than the asked one, as models without tools write them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

_LISTS = ("tasks", "subtasks", "answer")


class ReadSchema(dict[str, Any]):
    """A JSON Schema of a pattern, with how an answer is read before it must satisfy it.

    In a text, such an answer may be among other words.
    """

    def __init__(self, schema: Mapping[str, Any], read: Callable[[Any], Any] = lambda answer: answer) -> None:
        super().__init__(schema)
        self.read = read


def read_answer(schema: Mapping[str, Any] | None, answer: Any) -> Any:
    """Return an answer as its schema reads it."""
    return schema.read(answer) if isinstance(schema, ReadSchema) else answer


def as_evaluation(answer: Any) -> Any:
    """Read a score in text, other values for lists, and a single text for a list."""
    if not isinstance(answer, Mapping):
        return answer
    return {name: _part(name, value) for name, value in answer.items() if value is not None}


def _part(name: str, value: Any) -> Any:
    if name == "score" and isinstance(value, str):
        try:
            return float(value) if "." in value else int(value)
        except ValueError:
            return value
    return [value] if name in ("issues", "fixes") and isinstance(value, str) else value


def as_tasks(answer: Any) -> Any:
    """Read a list of texts, of `{"description", "context"}`, and an object with one list of them."""
    if isinstance(answer, Mapping):
        lists = [answer[name] for name in _LISTS if isinstance(answer.get(name), list)]
        if len(lists) != 1:
            return answer
        answer = lists[0]
    return [_task(task) for task in answer] if isinstance(answer, list) else answer


def _task(task: Any) -> Any:
    if isinstance(task, str):
        return {"task": task}
    if not isinstance(task, Mapping) or "task" in task or not isinstance(task.get("description"), str):
        return task
    context = task.get("context") or ""
    written = context if isinstance(context, str) else json.dumps(context, ensure_ascii=False)
    return {**task, "task": "\n\nContext: ".join(filter(None, (task["description"], written)))}
