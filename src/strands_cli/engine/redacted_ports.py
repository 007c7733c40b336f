"""What leaves a run, without its secrets: events, answers of people, artifacts, results, and the error it ends with."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from strands_cli.engine.journal.journal_rows import Answer, Human, Question
from strands_cli.engine.plan_execution import WriteArtifacts
from strands_cli.errors import StrandsCliError
from strands_cli.events import Event, ModelText
from strands_cli.secrets.redactor import Redactor


class RedactedHuman:
    """Asks a person, and passes on the answer without the secrets it may contain."""

    def __init__(self, human: Human, redactor: Redactor) -> None:
        self._human = human
        self._redactor = redactor

    async def ask(self, question: Question) -> Answer:
        """Return the answer."""
        return self._redactor.record(await self._human.ask(question))


def redacted_emit(emit: Callable[[Event], None], redactor: Redactor) -> Callable[[Event], None]:
    """Return what tells listeners of events without secrets.

    The pieces of a model's text come without them: one that the model sends in two pieces is seen only there.
    """
    return lambda event: emit(event if type(event) is ModelText else redactor.record(event))


def redacted_writer(write: WriteArtifacts, redactor: Redactor) -> WriteArtifacts:
    """Return what writes artifacts without secrets; paths too, which events and the record repeat."""
    return lambda artifacts: write([(redactor.text(path), redactor.text(text)) for path, text in artifacts])


@contextlib.contextmanager
def redacted_errors(redactor: Redactor) -> Iterator[None]:
    """Remove the secrets from the error that ends the work, of any kind."""
    try:
        yield
    except StrandsCliError as error:
        error.message = redactor.text(error.message)
        error.fix = redactor.text(error.fix) if error.fix else error.fix
        error.findings = tuple(redactor.record(finding) for finding in error.findings)
        error.args = (error.message,)
        raise
    except Exception as error:
        error.args = tuple(redactor.json(list(error.args)))
        raise
