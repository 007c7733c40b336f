"""The patterns of the format by name; each other file here is one pattern, which is imported where it is asked for."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, MutableMapping
from functools import partial
from typing import Annotated, Any, NamedTuple, Union

from pydantic import Discriminator, GetCoreSchemaHandler, GetJsonSchemaHandler, Tag, TypeAdapter
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from strands_cli.workflow.base_model import read_when_met
from strands_cli.workflow.pattern_model import PatternModel
from strands_cli.workflow.template_scope import COMMON_NAMES, YIELDING


class _Place(NamedTuple):
    """Where the model of a pattern is: its module here and its class.

    Attributes:
        reserved: Names that its templates may use and that inputs should not have.
    """

    module: str
    model: str
    reserved: tuple[str, ...] = ()


_REVIEW = ("draft", "current_draft", "evaluation", "current_evaluation", "iteration", "iteration_index", "iterations")
_WORK = ("orchestrator_response", "subtasks", "task_count", "round_count", "workers", "num_workers", "worker_count")
_PLACES = {
    "chain": _Place("chain", "Chain"),
    "workflow": _Place("workflow", "WorkflowPattern", ("tasks",)),
    "routing": _Place("routing", "Routing", ("router", "chosen_route")),
    "parallel": _Place("parallel", "Parallel", ("branches",)),
    "evaluator_optimizer": _Place("evaluator_optimizer", "EvaluatorOptimizer", (*_REVIEW, "final_score")),
    "orchestrator_workers": _Place("orchestrator_workers", "OrchestratorWorkers", (*_WORK, "reduce_response")),
    "graph": _Place("graph", "Graph", ("nodes", "terminal_node")),
}


class _Patterns(MutableMapping[str, type[PatternModel]]):
    """The models of patterns by name; a workflow has one, and a model takes a hundredth of a cold command."""

    def __init__(self) -> None:
        self._places = dict(_PLACES)
        self._models: dict[str, type[PatternModel]] = {}
        self._reserved: frozenset[str] | None = None

    def __getitem__(self, name: str) -> type[PatternModel]:
        if name not in self._models:
            place = self._places[name]
            module = importlib.import_module(f"strands_cli.workflow.patterns.{place.module}")
            self._models[name] = getattr(module, place.model)
        return self._models[name]

    def __setitem__(self, name: str, model: type[PatternModel]) -> None:
        self._places[name] = _Place(model.__module__, model.__name__, tuple(model.reserved))
        self._models[name] = model
        self._reserved = None

    def __delitem__(self, name: str) -> None:
        del self._places[name]
        self._models.pop(name, None)
        self._reserved = None

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def reserved(self) -> frozenset[str]:
        """Return the names that the templates of any pattern may use."""
        if self._reserved is None:
            self._reserved = frozenset(name for place in self._places.values() for name in place.reserved)
        return self._reserved


PATTERNS = _Patterns()


class _OneOfPatterns:
    """Validates a pattern as the model that `PATTERNS` has for its `type`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        # Not their schemas, which would build the validators of all of them.
        choices: dict[Any, Any] = {
            tag_of(name): read_when_met(partial(PATTERNS.__getitem__, name)) for name in PATTERNS
        }
        # A union would look for the model that fits a value again, and take what a model has worked out for a field.
        return core_schema.tagged_union_schema(choices, _tag, serialization=core_schema.simple_ser_schema("any"))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        tagged = tuple(Annotated[model, Tag(tag_of(name))] for name, model in PATTERNS.items())
        union: Any = Annotated[Union[tagged], Discriminator(_tag)]  # noqa: UP007
        return handler(TypeAdapter[Any](union).core_schema)


Pattern = Annotated[PatternModel, _OneOfPatterns()]


def tag_of(name: str) -> str:
    """Return how the location of a validation error names a pattern."""
    return f"<{name}>"


def _tag(value: Any) -> str | None:
    name = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return tag_of(name) if isinstance(name, str) and name in PATTERNS else None


def reserved_names() -> frozenset[str]:
    """Return the names that templates give a meaning somewhere, so that an input should not have them."""
    return COMMON_NAMES.union(YIELDING, PATTERNS.reserved())


def hiding_names() -> frozenset[str]:
    """Return those of the reserved names that win over an input."""
    return reserved_names() - YIELDING
