"""The lines of the results: one for each ended or waiting row, in the order of the rows or as they end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strands_cli.api import RunEnd
    from strands_cli_batch.batch_choices import Order
    from strands_cli_batch.batch_journal import BatchJournal, BatchRow, RowOrder
    from strands_cli_batch.result_file import ResultFile

_LINE_ENDS = "\x85\u2028\u2029"


class ResultLines:
    """Writes the lines of a batch; a line that must wait for earlier rows is read from the journal when it is due."""

    def __init__(
        self,
        batch: BatchJournal,
        order: RowOrder,
        file: ResultFile,
        how: Order,
        encode: Callable[[Any], str] | None = None,
    ) -> None:
        self._batch, self._order, self._file, self._how = batch, order, file, how
        self._encode = encode or line_of
        self._next = 0  # the place of the first row without a line yet
        self._due: set[str] = set()  # digests of ended rows

    def repeat(self, wants: Callable[[BatchRow], bool]) -> None:
        """Write the lines of the rows that ended in earlier processes.

        Args:
            wants: Tells which rows are run again, so that their lines are to come.
        """
        self._file.begin()
        self._settle_rows(lambda row: row.is_settled and not wants(row))
        self._advance()
        self._file.settle()

    def ended(self, row: BatchRow) -> None:
        """Write the lines of an ended row, and those that have waited for it."""
        self._settle(row)
        self._advance()

    def finish(self) -> None:
        """Write the lines of ended rows behind unfinished ones, and close the file."""
        self._settle_rows(lambda row: row.is_settled)
        if self._how == "rows":
            for position in range(self._next, len(self._order)):
                if self._order[position][2] in self._due:
                    self._write(position, None)
        for line in self._batch.left_out:
            self._file.write(self._encode(line))
        self._file.close()

    def _settle_rows(self, is_due: Callable[[BatchRow], bool]) -> None:
        for digest in self._order.distinct():
            if digest not in self._due and is_due(row := self._batch.row(digest)):
                self._settle(row)

    def _settle(self, row: BatchRow) -> None:
        """Take that the lines of a row are due: now, or behind those of the rows before it."""
        self._due.add(row.digest)
        if self._how == "done":
            for position in self._order.places(row.digest):
                self._write(position, row)

    def _advance(self) -> None:
        if self._how == "done":
            return
        while self._next < len(self._order) and self._order[self._next][2] in self._due:
            self._write(self._next, None)
            self._next += 1

    def _write(self, position: int, row: BatchRow | None) -> None:
        number, line, digest = self._order[position]
        row = row or self._batch.row(digest)
        if row.outcome is not None:
            inputs = self._batch.redactor.json(dict(row.inputs))
            self._file.write(self._encode(line_of_row(number, line, row.run_id, inputs, row.outcome)))


def line_of_row(number: int, line: int, run: str, inputs: Mapping[str, Any], end: RunEnd) -> dict[str, Any]:
    """Return the object of one line of the results.

    Args:
        number: The number of the row.
        line: The line of the file of rows where it begins.
        run: The id of its run.
        inputs: The inputs of the row.
        end: The end of the run, or its open questions.
    """
    whole = {
        "row": number,
        "line": line,
        "run": run,
        "status": end.status,
        "inputs": dict(inputs),
        "response": end.response,
        "output": end.output,
        "artifacts": [dict(artifact) for artifact in end.artifacts],
        "usage": {"input_tokens": end.usage.input_tokens, "output_tokens": end.usage.output_tokens},
        "model_calls": end.model_calls,
        "tool_calls": end.tool_calls,
        "cost_usd": end.cost_usd,
        "seconds": round(end.seconds, 3),
    }
    further: dict[str, Any] = {
        "denied": list(end.denied),
        "error": end.error,
        "questions": list(end.questions),
        "failed_calls": end.failed_calls,
        "failures": [dict(failure) for failure in end.failures],
    }
    return {**whole, **(end.verdict or {}), **{name: value for name, value in further.items() if value}}


def line_of(document: Any) -> str:
    """Return an object as one line of JSON."""
    text = json.dumps(document, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(document)
    for char in _LINE_ENDS:  # characters that end a line for some readers
        text = text.replace(char, json.dumps(char)[1:-1])
    return text
