"""Rows of a journal, questions to people, and their ports."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

from strands_cli.events import Usage

if TYPE_CHECKING:
    from strands_cli.policy.decision import PermissionQuestion


# Runs that consist of other runs: each part has the id of the whole and a digest, and a command continues all.


DIGEST_CHARS = 16
# The journal of a whole has this, with the name of the command, in the place of the pattern of a workflow.
_PATTERN = re.compile(r"parts:(?P<command>[a-z][a-z0-9-]{0,63})")
# The form of the ids of other runs, which begin with the second of their start.
_TIMED = re.compile(r"\d{8}-\d{6}-.*", re.DOTALL)
_PART = re.compile(r"(?P<whole>.+-[0-9a-f]{8})\.(?P<digest>[0-9a-f]{16})", re.DOTALL)


class ListedRun(Protocol):
    """One run as a list has it."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def command(self) -> str | None:
        """The command that continues it, if it consists of other runs."""


AnyRun = TypeVar("AnyRun", bound=ListedRun)


def pattern_of_whole(command: str) -> str:
    """Return the pattern of a run that consists of others, which a command makes and continues."""
    return f"parts:{command}"


def command_of(pattern: object) -> str | None:
    """Return the command that continues a run with a pattern, if it consists of other runs."""
    match = _PATTERN.fullmatch(str(pattern))
    return match["command"] if match else None


def part_id(whole: str, digest: str) -> str:
    """Return the id of a part."""
    return f"{whole}.{digest[:DIGEST_CHARS]}"


def whole_of(run_id: str) -> str | None:
    """Return the id of the run that a run is a part of; None for a run of its own."""
    match = _PART.fullmatch(run_id)
    return match["whole"] if match else None


def without_parts(runs: Iterable[AnyRun]) -> list[AnyRun]:
    """Return runs without the parts of others among them."""
    runs = list(runs)
    wholes = {run.id for run in runs if run.command is not None}
    return [run for run in runs if not wholes or whole_of(run.id) not in wholes]


def newest_ids(ids: Iterable[str]) -> Sequence[str]:
    """Return the ids among which that of the newest run is: those of the latest second, and those without a time.

    Parts are left out.
    """
    ids = [run for run in ids if whole_of(run) is None]
    second = max((run for run in ids if _TIMED.fullmatch(run)), default="")[: len("20261121-033012")]
    return [run for run in ids if not _TIMED.fullmatch(run) or run.startswith(second)]


# The kind of effect in a row of a journal.
RowKind = Literal["step", "model", "tool", "human", "notes", "attachment", "artifacts", "row"]
RowStatus = Literal["started", "done", "failed", "waiting"]

# The mark in the detail of a row that another run has paid for.
REUSED = "reused"
# In a row's detail: how many finished calls it has replaced. They were made, and so they count.
_REPLACED = "replaced"
# The part of a key that names a tool call of a step.
_CALL = re.compile(r"/tool\.(\d+)\.")


@dataclass(frozen=True, slots=True)
class Row:
    """One effect in the journal.

    Attributes:
        key: Its path in the workflow.
        digest: The digest of its input.
        output: Its result as JSON.
        cost: In US dollars, or None where it is not known.
        started_at: Seconds since the epoch, as `ended_at`.
        detail: Further facts, such as the decision on a tool call and its rule.
    """

    key: str
    kind: RowKind
    status: RowStatus
    digest: str
    attempt: int = 1
    output: Any = None
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    started_at: float = 0.0
    ended_at: float | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def paid_calls(self) -> int:
        """The number of its answered calls: those that it has replaced, and its own."""
        return int(self.detail.get(_REPLACED, 0)) + (self.status == "done")

    @property
    def is_reused(self) -> bool:
        """Whether another run has made and paid for it, which this one goes on from."""
        return bool(self.detail.get(REUSED))

    def as_replaced(self, more: int = 0) -> dict[str, int]:
        """Return, for the detail of the next attempt, how many answered calls it replaces."""
        number = self.paid_calls + more
        return {_REPLACED: number} if number else {}

    @property
    def is_step(self) -> bool:
        """Whether it is a whole step: a gate's answer is one, the answer to an approval or an interrupt is not."""
        name = self.key.rpartition("/")[2]
        return self.kind == "step" or (
            self.kind == "human" and name != "approval" and not name.startswith("interrupt.")
        )


class StoredRow(Row):
    """A row whose output is decoded when it is first read: most readers of many rows only count them."""

    __slots__ = ("_decode",)

    def __init__(self, *values: Any, decode: Callable[[], Any] | None = None, **named: Any) -> None:
        """Take the values of a row; `decode` returns its output."""
        super().__init__(*values, **named)
        if decode is not None:
            object.__setattr__(self, "_decode", decode)
            object.__delattr__(self, "output")

    def __getattr__(self, name: str) -> Any:
        """Return the output, the only attribute that may be missing."""
        if name != "output":
            raise AttributeError(name)
        object.__setattr__(self, "output", self._decode())
        return self.output

    def __eq__(self, other: object) -> bool:
        """Compare the values of rows, however they were made."""
        return isinstance(other, Row) and all(
            getattr(self, field_of_row.name) == getattr(other, field_of_row.name) for field_of_row in fields(Row)
        )

    __hash__ = None  # type: ignore[assignment]  # as that of a row: details are mappings


# The setters of each field but the output; a loop over them takes a third of the time of `StoredRow(...)`.
_SETTERS = tuple(vars(Row)[one.name].__set__ for one in fields(Row) if one.name != "output")
_set_decode = vars(StoredRow)["_decode"].__set__


def stored_row(values: Iterable[Any], decode: Callable[[], Any]) -> StoredRow:
    """Return `StoredRow` of its values in their order, without the output, which `decode` returns."""
    row = object.__new__(StoredRow)
    for set_field, value in zip(_SETTERS, values, strict=True):
        set_field(row, value)
    _set_decode(row, decode)
    return row


def in_order_of_request(rows: Iterable[Row]) -> list[Row]:
    """Return rows with the tool calls of each step in the order in which its model requested them.

    Args:
        rows: In the order in which their effects first started.
    """
    ordered = list(rows)
    depth = 0
    while steps := _calls_by_step(ordered, depth):
        for places in steps.values():
            calls = [ordered[position] for position in sorted(places, key=places.__getitem__)]
            for position, row in zip(places, calls, strict=True):
                ordered[position] = row
        depth += 1
    return ordered


def _calls_by_step(rows: list[Row], depth: int) -> dict[str, dict[int, int]]:
    """Return the index and the number of each tool call by its step; `depth` counts calls within calls."""
    steps: dict[str, dict[int, int]] = {}
    for position, row in enumerate(rows):
        matches = list(_CALL.finditer(row.key))[depth : depth + 1]
        for match in matches:
            steps.setdefault(row.key[: match.start()], {})[position] = int(match[1])
    return steps


class Journal(Protocol):
    """The journal of one run. A row is durable when `write` returns, and some time after `note`.

    That of a whole step may become durable later, at the latest before the next effect begins and before the run ends:
    the effects in it have rows of their own.
    """

    def row(self, key: str) -> Row | None:
        """Return the newest row of this key, or None."""

    def rows(self, kind: RowKind | None = None, below: str = "") -> Iterator[Row]:
        """Yield rows in the order in which their effects first started.

        Args:
            below: Only rows with keys that begin with it and `/`; the others are not read.
        """

    async def write(self, row: Row) -> None:
        """Store a row and return when it is committed; raise `RunRecordError` where that fails."""

    async def begin(self, row: Row) -> None:
        """Store that an effect begins which may be repeated, and return when it may begin.

        A journal that another process can take over stores the row first, so that a process which was stopped meanwhile
        learns it before the effect. One whose process alone can write notes the row.

        Raises:
            RunRecordError: This process no longer holds the run, or the row cannot be stored.
        """

    def note(self, row: Row) -> None:
        """Store a row with the next commit, without waiting."""

    def get(self, name: str) -> Any:
        """Return one fact about the run itself, or None."""

    def put(self, **facts: Any) -> None:
        """Store facts about the run itself (status, reason, inputs) and commit at once."""

    async def store(self, **facts: Any) -> None:
        """Store facts as `put` does, and return when they are committed; the loop's other runs go on meanwhile."""

    def close(self) -> None:
        """Commit pending rows and release the run."""


class Clock(Protocol):
    """Time; tests use a clock that does not wait."""

    def now(self) -> float:
        """Return seconds since the epoch."""

    def monotonic(self) -> float:
        """Return seconds that never jump back, for durations."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a person: a gate, the approval of a tool call, or a question of a tool (`interrupt`).

    A tool gets the answer to its question as it is. The approval of a call has the `call`, with all of its arguments;
    one that must not wait is about code that ends with this process. A gate has the `words` that its workflow knows.
    `schema` is that of the arguments of a call. Where a person has changed these and the change was refused, `problem`
    is the reason and `tried` are the changed arguments.

    The `schema` of a gate is that of its answer. As many different people as `approvers` says must give the same one:
    `answers` are those so far. When `timeout_s` is over, `on_expiry` follows: `reject`, `fail`, or else the default.
    The last person in `delegated` should answer.
    """

    key: str
    kind: Literal["gate", "approval", "interrupt"]
    prompt: str
    context: str = ""
    pattern: str | None = None
    default: str | None = None
    timeout_s: float | None = None
    problem: str | None = None
    call: PermissionQuestion | None = None
    may_wait: bool = True
    words: tuple[str, ...] = ()
    only_words: bool = False
    schema: Mapping[str, Any] | None = None
    tried: Mapping[str, Any] | None = None
    approvers: int = 1
    answers: tuple[Mapping[str, Any], ...] = ()
    on_expiry: str = ""
    delegated: tuple[Mapping[str, str], ...] = ()

    @property
    def delegate(self) -> str:
        """The person who should answer; empty where the gate names none."""
        return self.delegated[-1]["to"] if self.delegated else ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question, or that it must wait, or that no person can be asked.

    An answer with a `reason` rejects: the step of a gate then fails, and a tool call is denied. `is_typed` says that a
    person typed it at a terminal, which a call needs if a managed policy file asks. `grants` is the `call.grant` of the
    question where the answer is meant for every call of that tool in the run. Where no person is asked, `by` is the
    option that denies the call in their place, `--deny`, or empty. With `stays` the run itself waits for the default.

    With `arguments`, a yes is to the call with these in place of the `call.arguments` of the question: they are checked
    as those of a model are, and where they are refused the question is asked again. `who` is the account or the name
    of the person, where it is known. `note` is for the agents that work with the answer, and `answers` are those of
    the other people who had to give the same.
    """

    outcome: Literal["answered", "waiting", "nobody", "stays"]
    text: str = ""
    by: str = "person"
    reason: str | None = None
    is_typed: bool = False
    grants: str = ""
    arguments: Mapping[str, Any] | None = None
    who: str = ""
    note: str = ""
    answers: tuple[Mapping[str, Any], ...] = ()

    @property
    def by_whom(self) -> str:
        """The person's name or account, else the kind of the answerer."""
        return self.who or self.by

    def stored(self) -> dict[str, Any]:
        """Return the fields of an answer for the journal."""
        further = {
            "reason": self.reason,
            "is_typed": self.is_typed or None,
            "grants": self.grants or None,
            "arguments": self.arguments,
            "who": self.who or None,
            "note": self.note or None,
            "answers": list(self.answers) or None,
        }
        present = {name: value for name, value in further.items() if value is not None}
        return {"text": self.text, "by": self.by, **present}


def unanswered(question: Question) -> Answer:
    """Return the answer of a person who has none: every question waits that can."""
    return Answer("waiting") if question.may_wait else Answer("nobody", by="")


class Human(Protocol):
    """Answers questions: a person at a terminal, a program, or stored answers."""

    async def ask(self, question: Question) -> Answer:
        """Ask one question; the outcome says so if no person can be asked."""


# The row of a run's artifacts: the written files, and the texts where the journal keeps them.


# The name of the written files in the detail of a row whose output are the texts.
WRITTEN = "written"


def row_of_artifacts(rows: Iterable[Row]) -> Row | None:
    """Return the row of the artifacts of a run, if it has written them."""
    return next((row for row in rows if row.kind == "artifacts" and row.status == "done"), None)


def keeps_texts(row: Row) -> bool:
    """Return whether a row of artifacts has their texts."""
    return WRITTEN in row.detail


def written_of(row: Row) -> list[Mapping[str, Any]]:
    """Return the `path`, `digest` and `size` of each written file; damaged entries are left out."""
    artifacts = row.detail[WRITTEN] if keeps_texts(row) else row.output
    return [artifact for artifact in artifacts if _is_artifact(artifact)] if isinstance(artifacts, list) else []


def texts_of(row: Row) -> Sequence[tuple[str, str]]:
    """Return for each file its path below the output directory and its text; nothing where the row has no texts.

    Raises:
        ValueError, TypeError: The row is damaged.
    """
    return [(str(path), str(text)) for path, text in row.output] if keeps_texts(row) else ()


def _is_artifact(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("path"), str) and isinstance(value.get("size"), int)
