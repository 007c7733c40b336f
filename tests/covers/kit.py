"""A workflow run for real against a model server on loopback, with one of its fields dropped before it is read.

`@covers("/runtime/temperature")` makes a test of two: as written it must pass, and with the field dropped it must fail.
So each field of the format is claimed by a test that shows what it does to what a model or a tool received, to what a
person is asked, or to what is left behind.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from strands_cli import Workflow
from strands_cli.engine.plan_execution import RunResult
from strands_cli.errors import StrandsCliError
from strands_cli.events import Event
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.pattern_model import PatternModel
from strands_cli.workflow.patterns.pattern_models import PATTERNS
from tests.fakes.model_server import ModelServer, Turn
from tests.yaml_texts import read_yaml, write_yaml

CLAIMED: set[str] = set()


def covers(*pointers: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Claim fields of the format: the test passes as written, and fails with each of them dropped."""
    cases = [("as written", None, None), *((f"without {pointer}", None, pointer) for pointer in pointers)]
    return _marked(pointers, cases)


def covers_each(cases: Mapping[Any, str]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Claim one field for each case; the test is given its `case` besides the world."""
    written = [(f"{case}", case, None) for case in cases]
    without = [(f"{case}, without {pointer}", case, pointer) for case, pointer in cases.items()]
    return _marked(cases.values(), [*written, *without])


def _marked(pointers: Iterable[str], cases: list[tuple[str, Any, str | None]]) -> Any:
    CLAIMED.update(pointers)

    def mark(test: Callable[..., None]) -> Callable[..., None]:
        takes = [name for name in inspect.signature(test).parameters if name not in ("world", "case")]
        takes_case = "case" in inspect.signature(test).parameters

        @functools.wraps(test)
        def both(world: World, case: Any, dropped: str | None, **given: Any) -> None:
            given = {**given, "case": case} if takes_case else given
            if dropped is None:
                test(world, **given)
                return
            world.dropped = dropped
            with pytest.raises(Exception):  # noqa: B017 - whatever it is that the field is missed by
                test(world, **given)
            assert world.was_dropped, f"the workflow has no {dropped}"

        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        named = [inspect.Parameter(name, kind) for name in ("world", "case", "dropped", *takes)]
        vars(both)["__signature__"] = inspect.Signature(named)
        values = [(case, dropped) for _, case, dropped in cases]
        return pytest.mark.parametrize(("case", "dropped"), values, ids=[name for name, _, _ in cases])(both)

    return mark


@dataclass
class Ran:
    """What came of a run: its result or why there is none, and its events."""

    result: RunResult | None
    error: StrandsCliError | None
    events: list[Event]

    @property
    def response(self) -> str:
        assert self.result is not None, self.error and (self.error.message, self.error.findings)
        return self.result.response


@dataclass
class World:
    """A folder, a model server, and a person who answers; `run` puts a workflow into it."""

    folder: Path
    server: ModelServer
    turns: list[Turn | str] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)
    asked: list[Any] = field(default_factory=list)
    dropped: str | None = None
    was_dropped: bool = False

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What the model server was asked, in order."""
        return self.server.model_requests

    def last_message(self, number: int = -1) -> str:
        """Return the last message of a request as text."""
        return text_of(self.requests[number]["messages"][-1])

    def system(self, number: int = -1) -> str:
        """Return the system prompt of a request."""
        first = self.requests[number]["messages"][0]
        return text_of(first) if first["role"] == "system" else ""

    def tools(self, number: int = -1) -> list[str]:
        """Return the names of the tools that a request offers."""
        return [tool["function"]["name"] for tool in self.requests[number].get("tools", [])]

    def answer(self, request: dict[str, Any]) -> Turn:
        """Play the next turn; without one, echo."""
        if not self.turns:
            return Turn(f"answer {len(self.requests)}")
        turn = self.turns.pop(0)
        return turn if isinstance(turn, Turn) else Turn(turn)

    def document(self, text: str) -> dict[str, Any]:
        """Return the workflow as it is read: with what every one needs, and without what is dropped."""
        given = read_yaml(text)
        runtime: dict[str, Any] = {"host": self.server.url, "failure_policy": {"retries": 0}}
        if "models" not in given.get("runtime", {}):
            runtime |= {"provider": "openai", "model_id": "m"}
        base = {"version": 2, "name": "covered", "agents": {"a": {"prompt": "You help."}}, "pattern": chain("go")}
        document = {**base, **given, "runtime": {**runtime, **given.get("runtime", {})}}
        if self.dropped is not None:
            self.was_dropped = drop(document, self.dropped.strip("/").split("/")) or self.was_dropped
        return document

    def run(self, text: str, inputs: Mapping[str, Any] | None = None, **choices: Any) -> Ran:
        """Run a workflow; what is left out of it (version, agents, a chain of one step) is put there."""
        file = self.folder / "covered.yaml"
        file.write_text(write_yaml(self.document(text), sort_keys=False), encoding="utf-8")
        events: list[Event] = []
        choices = {"runs_dir": self.folder / "runs", "out_dir": self.folder / "out", **choices}
        answer = self._answer_person if self.answers else None
        try:
            result = Workflow.from_file(file).run(inputs, answer=answer, on_event=events.append, **choices)
        except StrandsCliError as error:
            return Ran(None, error, events)
        return Ran(result, None, events)

    def _answer_person(self, question: Any) -> Any:
        self.asked.append(question)
        return self.answers.pop(0) if self.answers else None


def chain(*inputs: str) -> dict[str, Any]:
    """Return a chain of steps of the agent `a`."""
    return {"type": "chain", "config": {"steps": [{"agent": "a", "input": text} for text in inputs]}}


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message in either of the forms of its content."""
    content = message["content"]
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


def drop(node: Any, tokens: list[str]) -> bool:
    """Remove what a pointer names, where `*` matches any key; return whether it was there."""
    token, *rest = tokens
    if token == "*":
        parts = list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
        return bool([part for part in parts if drop(part, rest)])
    if not isinstance(node, dict) or token not in node:
        return False
    if rest:
        return drop(node[token], rest)
    del node[token]
    return True


def pointers_of_format() -> set[str]:
    """Return a pointer to each field of the format, `*` for any name or index, but for those that hold only others."""
    return {pointer for pointer, is_leaf in _fields(WorkflowSpec, "", ()) if is_leaf}


def _fields(kind: type[BaseModel], at: str, seen: tuple[type, ...]) -> Iterator[tuple[str, bool]]:
    for name, told in kind.model_fields.items():
        pointer = f"{at}/{told.alias or name}"
        inner = list(_parts(told.annotation, pointer, (*seen, kind)))
        yield pointer, not inner
        yield from inner


def _parts(annotation: Any, at: str, seen: tuple[type, ...]) -> Iterator[tuple[str, bool]]:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is PatternModel:
        for model in PATTERNS.values():
            yield from _fields(model, at, seen)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if annotation not in seen:
            yield from _fields(annotation, at, seen)
    elif origin is typing.Annotated:
        yield from _parts(arguments[0], at, seen)
    elif origin in (typing.Union, types.UnionType):
        for argument in arguments:
            yield from _parts(argument, at, seen)
    elif origin in (tuple, list):
        for argument in arguments:
            if argument is not Ellipsis:
                yield from _parts(argument, f"{at}/*", seen)
    elif len(arguments) == 2 and origin is not None:
        yield from _parts(arguments[1], f"{at}/*", seen)
