"""Routing: an agent chooses one of the routes, a person may confirm it, and the steps of that route run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from strands_cli.errors import RunFailed

if TYPE_CHECKING:
    from strands_cli.engine.run import Run
    from strands_cli.spec.model import RoutingConfig


async def routing(run: Run, config: RoutingConfig) -> dict[str, Any]:
    """Choose a route and run it; its steps see `router.chosen_route` and `router.response`."""
    names = await choose(run, config)
    route = names["router"]["chosen_route"]
    return {"last_response": "", **await run.sequence(f"routes.{route}.steps", config.routes[route].then, names)}


async def choose(run: Run, config: RoutingConfig) -> dict[str, Any]:
    """Ask the router until it names a route; then `default`; then fail."""
    router = config.router
    schema = {"type": "object", "properties": {"route": {"type": "string"}}, "required": ["route"]}
    known = ", ".join(config.routes)
    key, asked = "router", router
    for attempt in range(router.max_retries + 1):
        answer = await run.decide(key, asked, schema, {}, required=config.default is None)
        route = answer.output["route"] if answer.output else None
        if route in config.routes:
            break
        key = f"router#{attempt + 2}"
        text = router.input or run.plan.agents[router.agent].prompt
        asked = router.model_copy(update={"input": f"{text}\n\nThere is no route {route!r}. The routes are: {known}."})
    else:
        if config.default is None:
            raise RunFailed(f"the router named no route after {router.max_retries + 1} tries; the routes are: {known}")
        route = config.default
    names = {"router": {"chosen_route": route, "response": answer.response}}
    if router.review_router is not None:
        review = await run.step("router.review", router.review_router, names)
        if review.response in config.routes:
            names["router"]["chosen_route"] = review.response
        names["hitl_response"] = review.response
    return names
