"""Routing: an agent chooses a route, a person may correct it, and the steps of that route run."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from strands_cli.engine.patterns.read_answers import ReadSchema
from strands_cli.errors import InvalidAnswer, RunFailed
from strands_cli.workflow.steps import meant_word, question_to

if TYPE_CHECKING:
    from strands_cli.engine.run import Run
    from strands_cli.engine.step_results import StepResult
    from strands_cli.workflow.patterns.routing import RoutingConfig
    from strands_cli.workflow.steps import GateStep


async def routing(run: Run, config: RoutingConfig) -> dict[str, Any]:
    """Choose a route and run it; its steps see `chosen_route` and `router.response`."""
    route, response = await choose(run, config)
    names = _chosen(run, route, response)
    if config.router.review_router is not None:
        route, answer = await _reviewed(run, config.router.review_router, config, names)
        names = {**_chosen(run, route, response), **answer.of_person}
    return await run.sequence(f"routes.{route}.steps", config.routes[route].then, names, is_path=True)


def _chosen(run: Run, route: str, response: str) -> dict[str, Any]:
    return {"router": {"chosen_route": route, "response": response}, **run.unless_inputs(chosen_route=route)}


async def _reviewed(run: Run, review: GateStep, config: RoutingConfig, names: dict[str, Any]) -> tuple[str, StepResult]:
    """Return the route that a person's answer names, or the one that it confirms, and the answer; ask until it does."""
    chosen: str = names["router"]["chosen_route"]
    for key in itertools.chain(["router.review"], (f"router.review#{number}" for number in itertools.count(2))):
        answer = await run.step(key, review, names)
        word = meant_word(answer.response, config.review_words)
        if word is not None:
            break
    return word if word is not None and word in config.routes else chosen, answer


async def choose(run: Run, config: RoutingConfig) -> tuple[str, str]:
    """Ask the router until it names a route, `max_retries` times more; then take `default`; then fail."""
    router, route_names = config.router, ", ".join(config.routes)
    route = {"type": "string", "description": f"One of: {route_names}"}
    schema = ReadSchema({"type": "object", "properties": {"route": route}, "required": ["route"]})
    question = question_to(router, run.plan.agents[router.agent].prompt)
    step, response = router, ""
    for attempt in range(1, router.max_retries + 2):
        key = "router" if attempt == 1 else f"router#{attempt}"
        # An answer without the required form that later steps have followed stays as it was.
        is_last = attempt > router.max_retries
        later = ("router.review", f"routes.{config.default}.steps.0") if is_last else (f"router#{attempt + 1}",)
        followed = any(map(run.has_begun, later))
        try:
            answer = await run.decide(key, step, schema, {}, keep_failure=followed)
        except InvalidAnswer as error:
            response = error.message
        else:
            response = answer.response
            if answer.output["route"] in config.routes:
                return answer.output["route"], answer.response
        text = f"{question}\n\nYour last answer named no route. The routes are: {route_names}."
        step = router.model_copy(update={"input": text})
    if config.default is not None:
        return config.default, response
    raise RunFailed(
        f"the router named no route in {router.max_retries + 1} tries; its answer was: {response}",
        fix=f"the routes are: {route_names}; give the pattern a `default`, or name them in the router's prompt",
    )
