"""Run the tests in the file of an agent, each as a separate run."""

from __future__ import annotations

import dataclasses
import time
from functools import partial

from strands_cli.api import (
    Answer,
    Atomic,
    Question,
    RunRequest,
    StrandsCliError,
    plan_atomic,
    run,
    verdict_of_test,
)
from strands_cli_migrate.junit import Outcome


class RefusingHuman:
    """Refuses each call that would ask: a test describes its agent's reaction, and so the run completes."""

    async def ask(self, question: Question) -> Answer:
        """Return the refusal of a call; other questions have no answer."""
        if question.kind == "approval":
            return Answer("answered", "no", by="the test")
        return Answer("waiting") if question.may_wait else Answer("nobody", by="")


async def run_test(atomic: Atomic, number: int, request: RunRequest, *, live: bool) -> Outcome:
    """Run one test of an agent as a separate run, and compare the result with its expectation.

    Args:
        number: Its place among the tests of the agent, from 0.
        request: The options of the run; the test's variables override its values.
        live: Whether the agent's model is called instead of playing the test's recording.
    """
    test = atomic.tests[number]
    outcome = partial(Outcome, atomic.document.file, atomic.name, test.name)
    if test.recording is None and not live and test.expect.error != "bad_input":
        return outcome("skipped", ("it has no recording; --live calls the model",))
    started = time.monotonic()
    request = dataclasses.replace(
        request, values={**request.values, **test.vars}, provider=request.provider if live else "replay"
    )
    try:
        plan = plan_atomic(atomic, test.input, request, None if live else test)
        response = (await run(plan, request, RefusingHuman(), lambda _event: None)).response
    except StrandsCliError as error:
        return outcome(*verdict_of_test(atomic, test, error), time.monotonic() - started)
    return outcome(*verdict_of_test(atomic, test, response), time.monotonic() - started, response)
