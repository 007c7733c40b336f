"""Routing: an agent chooses one of several routes, and only its steps run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from strands_cli.errors import Code
from strands_cli.workflow.findings import unknown
from strands_cli.workflow.pattern_model import (
    CONFIG,
    STEP,
    Items,
    PatternModel,
    PlacedStep,
    Scope,
    StepEdge,
    Text,
    gate_scope,
    in_order,
    steps_in_order,
)
from strands_cli.workflow.sections import FormatModel, Named
from strands_cli.workflow.steps import APPROVALS, AgentStep, GateStep, Step, meant_word
from strands_cli.yaml_files.document import escape

if TYPE_CHECKING:
    from strands_cli.errors import Finding
    from strands_cli.workflow.findings import Locator

UNKNOWN_ROUTE = Code(
    "unknown-route", "The default names a route that is not defined.", "Correct the name or define the route."
)

ROUTER: Scope = {"router": {"chosen_route": Text(), "response": Text()}, "chosen_route": Text()}

STARTER = """\
agents:
  router: {prompt: You sort questions. Answer with the name of a route., tools: []}
  expert: {prompt: You answer in two sentences., tools: []}

pattern:
  type: routing
  config:
    router: {agent: router, input: "Does this need facts or an opinion? Tell me about {{ topic }}."}
    routes:
      facts: {then: [{agent: expert, input: "Facts only: tell me about {{ topic }}."}]}
      opinion: {then: [{agent: expert, input: "Say what you think of {{ topic }}."}]}
    default: facts

outputs:
  overwrite: true   # a run replaces the file of the run before
  artifacts:
    - {path: "{{ name }}.md", from: "{{ last_response }}"}
"""
RECORDING = """\
recording: 1
steps:
  router: [{text: '{"route": "facts"}'}]
  routes.facts.steps.0: [{text: They dance to tell where flowers are. They keep their hive at 35 degrees.}]
"""


class Router(AgentStep):
    """The agent that chooses a route; it answers `{"route": name}`."""

    max_retries: int = Field(default=2, ge=0, description="Further calls of the router after an invalid route.")
    review_router: GateStep | None = Field(default=None, description="A gate at which a person confirms the route.")


class Route(FormatModel):
    """The steps of a chosen route."""

    then: tuple[Step, ...] = Field(default=(), description="The steps of the route, in order.")


class RoutingConfig(FormatModel):
    """An agent chooses one of several routes."""

    router: Router = Field(description="The agent that chooses.")
    routes: Named[Route] = Field(min_length=1, description="The routes, by name.")
    default: str | None = Field(default=None, description="The route if the router chooses no valid one.")

    @property
    def review_words(self) -> tuple[str, ...]:
        """The answers to the review: words that confirm, unless they name a route; then the routes."""
        routes = [name.casefold() for name in self.routes]
        confirming = [word for word in APPROVALS if word not in routes]
        words, review = (*confirming, *self.routes), self.router.review_router
        default = review.default if review is not None else None
        return words if default is None or meant_word(default, words) is not None else (*words, default)


class Routing(PatternModel):
    """One of several routes."""

    runs = "strands_cli.engine.patterns.routing:routing"
    purpose = "A router chooses one of the routes; only that one runs."
    starter = STARTER
    recording = RECORDING

    type: Literal["routing"] = Field(description="The pattern's name.")
    config: RoutingConfig = Field(description="Router and routes.")

    def steps(self) -> Iterator[PlacedStep]:
        """Yield the router, its review, and the steps of each route."""
        router, review = self.config.router, self.config.router.review_router
        yield PlacedStep("router", f"{CONFIG}/router", router, answers='`{"route": name}`')
        if review is not None:
            words = self.config.review_words
            yield PlacedStep(
                "router.review", f"{CONFIG}/router/review_router", review, ROUTER, words=words, only_words=True
            )
        scope = {**ROUTER, **gate_scope([review])}
        for name, route in self.config.routes.items():
            pointer = f"{CONFIG}/routes/{escape(name)}/then"
            yield from steps_in_order(f"routes.{name}.steps", pointer, route.then, scope)

    def names_at_end(self) -> Scope:
        """Return the choice, and the results of the route's steps."""
        return {**ROUTER, "steps": Items(STEP)}

    def edges(self) -> list[StepEdge]:
        """Return the way from the router to the first step of each route, then the order in each route."""
        has_review = self.config.router.review_router is not None
        first = "router.review" if has_review else "router"
        routes = {name: len(route.then) for name, route in self.config.routes.items() if route.then}
        return [
            *([StepEdge("router", first)] if has_review else []),
            *(StepEdge(first, f"routes.{name}.steps.0", name) for name in routes),
            *(edge for name, n in routes.items() for edge in in_order([f"routes.{name}.steps.{i}" for i in range(n)])),
        ]

    def check(self, locator: Locator) -> Iterator[Finding]:
        """Report a default without a route of its name."""
        default = self.config.default
        if default is not None and default not in self.config.routes:
            yield unknown(UNKNOWN_ROUTE, default, self.config.routes, locator.where(f"{CONFIG}/default"))

    def limits(self) -> Iterator[str]:
        """Yield the effect of an answer without a valid route."""
        if self.config.default is not None:
            yield f"Where the router gives no valid route, it is {self.config.default}."
