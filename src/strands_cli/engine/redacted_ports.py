"""What leaves a run, without its secrets: events, answers of people, artifacts, results, and the error it ends with."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from strands_cli.engine.execute import RunResult, WriteArtifacts
from strands_cli.engine.ports import Answer, Human, Question
from strands_cli.errors import Finding, StrandsCliError
from strands_cli.events import Event
from strands_cli.secrets import redact, redact_json

Value = TypeVar("Value", Event, Finding, RunResult, Answer)


class RedactedHuman:
    """Asks a person, and hands on the answer without the secrets it may hold."""

    def __init__(self, human: Human, secrets: frozenset[str]) -> None:
        self._human = human
        self._secrets = secrets

    async def ask(self, question: Question) -> Answer:
        """Return the answer."""
        return redacted(await self._human.ask(question), self._secrets)


def redacted_emit(emit: Callable[[Event], None], secrets: frozenset[str]) -> Callable[[Event], None]:
    """Return what tells listeners of events without secrets."""
    return lambda event: emit(redacted(event, secrets))


def redacted_writer(write: WriteArtifacts, secrets: frozenset[str]) -> WriteArtifacts:
    """Return what writes artifacts without secrets; paths too, which events and the record repeat."""

    def write_redacted(artifacts: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        return write([(redact(path, secrets), redact(text, secrets)) for path, text in artifacts])

    return write_redacted


def redacted(value: Value, secrets: frozenset[str]) -> Value:
    """Return an event, a finding, an answer or a result with every secret out of its texts; others as they are."""
    changed = {}
    for field in dataclasses.fields(value):
        before = getattr(value, field.name)
        if isinstance(before, (str, dict, list, tuple)) and (after := _redacted_as(before, secrets)) != before:
            changed[field.name] = after
    return dataclasses.replace(value, **changed) if changed else value


@contextlib.contextmanager
def redacted_errors(secrets: frozenset[str]) -> Iterator[None]:
    """Take the secrets out of the error that ends the work, whatever kind it is of."""
    try:
        yield
    except StrandsCliError as error:
        error.message = redact(error.message, secrets)
        error.fix = redact(error.fix, secrets) if error.fix else error.fix
        error.findings = tuple(redacted(finding, secrets) for finding in error.findings)
        error.args = (error.message,)
        raise
    except Exception as error:
        error.args = tuple(redact_json(list(error.args), secrets))
        raise


def _redacted_as(value: Any, secrets: frozenset[str]) -> Any:
    """Return the value redacted and of the same kind; JSON knows no tuples."""
    after = redact_json(value, secrets)
    return tuple(after) if isinstance(value, tuple) else after
