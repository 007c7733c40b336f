"""Send one message to every target at the same time, within a few seconds, and report what did not arrive."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from strands_cli.notifications.message import Message
from strands_cli.notifications.notified_program import Programs, run_program
from strands_cli.notifications.targets import Command, Webhook
from strands_cli.notifications.webhook import NotSent, send_signed
from strands_cli.secrets.process_streams import hide_in_output
from strands_cli.secrets.redactor import Redactor
from strands_cli.secrets.secret_sources import SecretFault, read_secret
from strands_cli.system.daemon_threads import DaemonThreads

# How long all targets may take together: nothing waits for more than that at the end of a run.
SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Delivery:
    """What became of a message to one target.

    Attributes:
        problem: Why it was not sent; None if it was.
        fix: What to do about it, if that is known.
    """

    way: Command | Webhook
    problem: str | None = None
    fix: str | None = None


def deliver(message: Message, ways: Sequence[Command | Webhook], seconds: float = SECONDS) -> list[Delivery]:
    """Send a message by all ways; whatever fails is in what is returned.

    Args:
        seconds: How long it takes at most.
    """
    until = time.monotonic() + seconds
    threads, programs = DaemonThreads(), Programs()
    # What is running ends by itself a little before it is given up.
    sending = [(way, threads.submit(_send, message, way, 0.9 * seconds, programs)) for way in ways]
    try:
        return [_outcome(way, future, until) for way, future in sending]
    finally:
        programs.end()


def _outcome(way: Command | Webhook, future: Future[Delivery], until: float) -> Delivery:
    try:
        return future.result(max(0.0, until - time.monotonic()))
    except TimeoutError:
        return Delivery(way, "no answer in time")


def _send(message: Message, way: Command | Webhook, seconds: float, programs: Programs) -> Delivery:
    try:
        if isinstance(way, Command):
            run_program(way, message.facts, message.body, seconds, programs)
        else:
            secret = read_secret(way.secret, os.environ)
            hide_in_output(Redactor([secret.strip()]))
            send_signed(way.url, secret, message.id, message.body, seconds)
    except SecretFault as error:
        return Delivery(way, str(error), error.fix)
    except NotSent as error:
        return Delivery(way, str(error))
    except Exception as error:  # noqa: BLE001 - a message must not fail the run that it is about
        return Delivery(way, f"{type(error).__name__}: {error}")
    return Delivery(way)
