"""The patterns of the format by name; each file here is one pattern."""

from __future__ import annotations

from typing import Annotated, Any, Union

from pydantic import Discriminator, GetCoreSchemaHandler, Tag
from pydantic_core import CoreSchema

from strands_cli.workflow.pattern_model import PatternModel
from strands_cli.workflow.patterns.chain import Chain
from strands_cli.workflow.patterns.evaluator_optimizer import EvaluatorOptimizer
from strands_cli.workflow.patterns.graph import Graph
from strands_cli.workflow.patterns.orchestrator_workers import OrchestratorWorkers
from strands_cli.workflow.patterns.parallel import Parallel
from strands_cli.workflow.patterns.routing import Routing
from strands_cli.workflow.patterns.workflow import WorkflowPattern
from strands_cli.workflow.template_scope import COMMON_NAMES, YIELDING

PATTERNS: dict[str, type[PatternModel]] = {
    "chain": Chain,
    "workflow": WorkflowPattern,
    "routing": Routing,
    "parallel": Parallel,
    "evaluator_optimizer": EvaluatorOptimizer,
    "orchestrator_workers": OrchestratorWorkers,
    "graph": Graph,
}


class _OneOfPatterns:
    """Validates a pattern as the model that `PATTERNS` has for its `type`."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        tagged = tuple(Annotated[model, Tag(tag_of(name))] for name, model in PATTERNS.items())
        return handler.generate_schema(Annotated[Union[tagged], Discriminator(_tag)])  # noqa: UP007


Pattern = Annotated[PatternModel, _OneOfPatterns()]


def tag_of(name: str) -> str:
    """Return how the location of a validation error names a pattern."""
    return f"<{name}>"


def _tag(value: Any) -> str | None:
    name = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return tag_of(name) if isinstance(name, str) and name in PATTERNS else None


def reserved_names() -> frozenset[str]:
    """Return the names that templates give a meaning somewhere, so that an input should not have them."""
    return COMMON_NAMES.union(YIELDING, *(model.reserved for model in PATTERNS.values()))


def hiding_names() -> frozenset[str]:
    """Return those of the reserved names that win over an input."""
    return reserved_names() - YIELDING
