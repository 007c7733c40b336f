"""The options of `strands batch`: how rows run, where their results go, and how the work is shown."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import typer

from strands_cli.api import Budget, Rate, ShownFlags, UsageError, run_argument
from strands_cli_batch.row_queues import row_queues
from strands_cli_batch.row_source import FORMAT_OF

STDOUT = STDIN = "-"
# The engine that hands rows to workers.
ENGINE = "dbos"

# A shell evaluates the offered names.
_SAFE = re.compile(r"[\w.:/@#+=*-]+")


def _row_files(incomplete: str) -> list[str]:
    """Return the files of rows whose paths begin so, those directly in the folder that was typed first."""
    folder = incomplete.rpartition("/")[0] or ("/" if incomplete.startswith("/") else ".")
    with contextlib.suppress(OSError):
        names = (f"./{path}" if incomplete.startswith("./") else str(path) for path in _files_below(Path(folder), 4))
        return [name for name in islice(names, 200) if name.startswith(incomplete) and _SAFE.fullmatch(name)]
    return []


def _files_below(folder: Path, depth: int) -> Iterator[Path]:
    """Yield the files of rows in a folder; hidden folders and links to folders are left out."""
    entries = sorted(folder.iterdir())
    yield from (entry for entry in entries if entry.suffix in FORMAT_OF and entry.is_file())
    for entry in entries:
        if depth and entry.is_dir() and not entry.name.startswith(".") and not entry.is_symlink():
            yield from _files_below(entry, depth - 1)


ROWS = Annotated[
    str,
    typer.Argument(metavar="ROWS", help="CSV or JSON Lines, one run a row; `-`: stdin.", autocompletion=_row_files),
]
BATCH = Annotated[
    str,
    run_argument("BATCH", "The batch's id, the start of it, its name, or `last`.", has_parts=True),
]


class RowsFormat(StrEnum):
    """The format of the rows."""

    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"


class ResultOrder(StrEnum):
    """In which order results are written."""

    ROWS = "rows"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class RowChoices:
    """How the rows of a batch run: options of every command that starts one or continues one."""

    HEADING: ClassVar[str] = "Batch"
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="Results as JSON Lines; `-`, the default: stdout."),
    ] = None
    order: Annotated[
        ResultOrder | None,
        typer.Option("--order", help="Order of the results: `rows` (the default), or as they are `done`."),
    ] = None
    concurrency: Annotated[
        int | None,
        typer.Option("--concurrency", min=1, max=1000, metavar="N", help="How many rows run at a time (4)."),
    ] = None
    rate: Annotated[str | None, typer.Option("--rate", metavar="N/s|m|h", help="How many rows may begin: 60/m.")] = None
    limit: Annotated[
        list[str],
        typer.Option("--limit", metavar="PROVIDER=N|N/m", help="Requests to a provider: at a time, or 30/m."),
    ] = field(default_factory=list)
    budget: Annotated[
        list[str],
        typer.Option("--budget", metavar="NAME=LIMIT", help="What all rows may spend together: max_cost_usd=5."),
    ] = field(default_factory=list)
    fail_fast: Annotated[
        int | None, typer.Option("--fail-fast", min=1, metavar="N", help="Begin no row after N have failed.")
    ] = None

    engine: Annotated[
        str | None, typer.Option("--engine", metavar="NAME", help="Let workers of the store run the rows: dbos.")
    ] = None
    queue: Annotated[
        str | None, typer.Option("--queue", metavar="NAME", help="The queue in which rows wait for workers.")
    ] = None

    def changes(self) -> dict[str, Any]:
        """Return the typed options, as fields of `BatchChoices`.

        Raises:
            UsageError: A rate or a budget is not one, or a queue cannot have this name.
        """
        if self.rate is not None:
            Rate.parse(self.rate)
        if self.queue is not None:
            row_queues().require_queue_name(self.queue)
        if self.engine not in (None, ENGINE):
            raise UsageError(f"there is no engine {self.engine!r}", fix=f"write --engine {ENGINE}")
        out = self.output
        return {
            "out": out if out in (None, STDOUT) else str(Path(str(out)).absolute()),
            "order": self.order.value if self.order is not None else None,
            "concurrency": self.concurrency,
            "rate": self.rate,
            "limits": tuple(self.limit),
            "budget": Budget.read_limits(_read_limits(self.budget)) if self.budget else None,
            "fail_fast": self.fail_fast,
            "engine": self.engine,
            "queue": self.queue,
        }


def _read_limits(words: Sequence[str]) -> dict[str, str]:
    """Read `NAME=LIMIT` arguments; raise `UsageError` for one without `=`."""
    if bad := next((word for word in words if "=" not in word), None):
        raise UsageError(f"--budget {bad!r} is not NAME=LIMIT", fix="write --budget max_tokens=50000")
    return {name: value for name, _, value in (word.partition("=") for word in words)}


def _of_tool(flag: str, text: str) -> Any:
    return typer.Option(flag, metavar="TOOL", help=text)


@dataclass(frozen=True, slots=True)
class CutOffRows:
    """The decisions on cut-off calls, in all rows: by the tool."""

    HEADING: ClassVar[str] = "Batch"
    redo: Annotated[list[str], _of_tool("--redo", "Repeat the calls of a tool that were cut off.")] = field(
        default_factory=list
    )
    skip: Annotated[list[str], _of_tool("--skip", "Do not make them again; see --result.")] = field(
        default_factory=list
    )
    result: Annotated[
        list[str], typer.Option("--result", metavar="JSON", help="The result for --skip, in order; else a sentence.")
    ] = field(default_factory=list)
    fail: Annotated[list[str], _of_tool("--fail", "Let the rows with such calls fail.")] = field(default_factory=list)

    def decisions(self) -> dict[str, tuple[Any, ...]]:
        """Return the decision on the calls of each tool, with the result of skipped ones.

        Raises:
            UsageError: A tool has two decisions, or there are more results than tools to skip.
        """
        tools = [*self.redo, *self.skip, *self.fail]
        if twice := next((tool for tool in tools if tools.count(tool) > 1), None):
            raise UsageError(f"{twice!r} has two decisions", fix=f"name it once: --redo {twice}")
        if len(self.result) > len(self.skip):
            raise UsageError("there are more --result than --skip", fix="write one --result for each --skip")
        results = [*((_read_result(text),) for text in self.result), *[()] * (len(self.skip) - len(self.result))]
        decisions: dict[str, tuple[Any, ...]] = dict.fromkeys(self.redo, ("redo",))
        decisions |= {tool: ("skip", *result) for tool, result in zip(self.skip, results, strict=True)}
        return decisions | dict.fromkeys(self.fail, ("fail",))


def _read_result(text: str) -> Any:
    import json

    try:
        return json.loads(text)
    except ValueError:
        raise UsageError(f"--result {text!r} is not JSON", fix="quote a text twice: --result '\"paid\"'") from None


NO_DECISIONS = CutOffRows()


@dataclass(frozen=True, slots=True)
class BatchFlags(ShownFlags):
    """How the work on a batch is shown."""

    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False
    log: Annotated[
        Literal["text", "json"],
        typer.Option("--log", help="Format of stderr: `text` for a person, `json` one object a line."),
    ] = "text"
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show what models say and what the SDK logs.")] = (
        False
    )
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show errors and warnings only.")] = False

    def require_one_result(self, out: str) -> None:
        """Check that only one thing goes to stdout.

        Raises:
            UsageError: Two do.
        """
        if self.as_json and out == STDOUT:
            raise UsageError("--json and the results both want stdout", fix="write the results to a file: -o FILE")
