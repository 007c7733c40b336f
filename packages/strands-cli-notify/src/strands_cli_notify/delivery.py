"""Send one message to every target at the same time, within a few seconds, and report the failures."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from strands_cli.api import StrandsCliError
from strands_cli_notify.message import Message
from strands_cli_notify.programs import Programs, run_program
from strands_cli_notify.targets import Command, Webhook
from strands_cli_notify.webhook import NotSent, send_signed

# How long all targets may take together: nothing waits for more than that at the end of a run.
SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Delivery:
    """The result of a message to one target.

    Attributes:
        problem: Why it was not sent; None if it was.
        fix: The remedy, if that is known.
    """

    way: Command | Webhook
    problem: str | None = None
    fix: str | None = None


def deliver(message: Message, ways: Sequence[Command | Webhook], seconds: float = SECONDS) -> list[Delivery]:
    """Send a message by all ways; every failure is in the result.

    Args:
        seconds: How long it takes at most.
    """
    until = time.monotonic() + seconds
    programs = Programs()
    try:
        # In threads, which Ctrl-C does not reach. A running attempt ends by itself a little before it is given up.
        sending = [(way, _start(message, way, 0.9 * seconds, programs)) for way in ways]
        return [_outcome(way, future, until) for way, future in sending]
    finally:
        programs.end()


def _start(message: Message, way: Command | Webhook, seconds: float, programs: Programs) -> Future[None]:
    """Send in a thread that does not delay the end of the process."""
    future: Future[None] = Future()

    def work() -> None:
        try:
            if isinstance(way, Command):
                run_program(way, message.facts, message.body, seconds, programs)
            else:
                send_signed(way.url, way.secret(), message.id, message.body, seconds)
            future.set_result(None)
        except BaseException as error:  # noqa: BLE001 - the waiting thread gets it
            future.set_exception(error)

    threading.Thread(target=work, daemon=True, name="strands-notify").start()
    return future


def _outcome(way: Command | Webhook, future: Future[None], until: float) -> Delivery:
    try:
        future.result(max(0.0, until - time.monotonic()))
    except StrandsCliError as error:
        return Delivery(way, error.message, error.fix)
    except NotSent as error:
        return Delivery(way, str(error))
    except TimeoutError:
        return Delivery(way, "no answer in time")
    except Exception as error:  # noqa: BLE001 - a message must not fail the run that it is about
        return Delivery(way, f"{type(error).__name__}: {error}")
    return Delivery(way)
