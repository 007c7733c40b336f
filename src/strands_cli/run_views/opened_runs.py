"""The runs of one place, to look at them: lists, trees, effects, files and questions. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from strands_cli.engine.journal.journal_rows import without_parts
from strands_cli.engine.stored_runs.many_journals import journals_of
from strands_cli.engine.stored_runs.opened import stored_redactor
from strands_cli.engine.stored_runs.opened_store import open_store
from strands_cli.engine.stored_runs.summary import EffectKind, EffectStatus, EffectSummary, RunSummary, summary_of
from strands_cli.errors import RunRecordError, StrandsCliError, UsageError
from strands_cli.events import RunStatus, Usage
from strands_cli.run_views.open_questions import answer_commands, command, questions_of, with_run

if TYPE_CHECKING:
    from strands_cli.engine.store_port import RunStore, StoredJournal, StoredRun
    from strands_cli.engine.stored_runs.ledger import BudgetState
    from strands_cli.engine.stored_runs.summary import RunSummary
    from strands_cli.run_views.fetched_artifacts import StoredArtifact
    from strands_cli.run_views.whole_effect import WholeEffect
    from strands_cli.secrets.redactor import Redactor
    from strands_cli.store_place import StorePlace
    from strands_cli.workflow.model import WorkflowSpec


# The effects of a run as a tree: steps, with their model turns, tool calls and questions below them.


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """One effect of a run and those below it, in the order of the model's requests.

    Attributes:
        key: Its path in the workflow.
        kind: `gate` is a step that waits for a person, `question` the approval of a call or the question of a tool,
            `group` a place with effects below it and without a row of its own.
        who: The agent of a step or a model turn, the name of a tool, or `person`; empty for others.
        effect: Its row with its answer; None for a group.
        usage: The tokens of it and of everything below it, without effects reused from another run.
        cost: In US dollars, likewise; None where one of them is unknown.
    """

    key: str
    kind: EffectKind
    status: EffectStatus
    who: str
    effect: EffectSummary | None
    usage: Usage
    cost: float | None
    children: tuple[Branch, ...] = ()

    @property
    def name(self) -> str:
        """The last part of the key."""
        return self.key.rpartition("/")[2]

    @property
    def started_at(self) -> float | None:
        """When it first started, in seconds since the epoch."""
        return self.effect.row.started_at if self.effect else min(child.started_at or 0.0 for child in self.children)

    @property
    def seconds(self) -> float | None:
        """How long it took; None while it is not done."""
        if self.effect is None or self.effect.row.ended_at is None:
            return None
        return max(0.0, self.effect.row.ended_at - self.effect.row.started_at)

    @property
    def decision(self) -> str | None:
        """The decision on a tool call: `allow`, `deny` or another word of the policy."""
        return self.effect.row.detail.get("decision") if self.effect else None

    @property
    def rule(self) -> str | None:
        """The rule that decided."""
        return self.effect.row.detail.get("rule") if self.effect else None

    def walk(self) -> Iterator[Branch]:
        """Yield it, and everything below it, parents first."""
        waiting = [self]
        while waiting:
            branch = waiting.pop()
            yield branch
            waiting += reversed(branch.children)


@dataclass(slots=True)
class _BranchBuilder:
    key: str
    effect: EffectSummary | None = None
    children: list[_BranchBuilder] = field(default_factory=list)


def tree_of(summary: RunSummary) -> tuple[Branch, ...]:
    """Return the effects of a run as trees, each below the effect whose key is the longest beginning of its own."""
    tops: list[_BranchBuilder] = []
    branches: dict[str, _BranchBuilder] = {}
    for effect in summary.effects:
        growing = _branch_of_key(effect.row.key, branches, tops)
        growing.effect = effect
    return tuple(_branch(top, summary.run.status) for top in tops)


def _branch_of_key(key: str, branches: dict[str, _BranchBuilder], tops: list[_BranchBuilder]) -> _BranchBuilder:
    """Return the place of a key, made with those above it that do not exist yet."""
    missing = []
    while key and key not in branches:
        missing.append(key)
        key = key.rpartition("/")[0]
    parent = branches.get(key)
    for missing_key in reversed(missing):
        branches[missing_key] = _BranchBuilder(missing_key)
        (parent.children if parent else tops).append(branches[missing_key])
        parent = branches[missing_key]
    return cast(_BranchBuilder, parent)


def _branch(top: _BranchBuilder, status: RunStatus) -> Branch:
    """Return a branch with those below it, deepest first, so that no depth of keys is a depth of calls."""
    order = [top]
    for branch in order:
        order += branch.children
    branches: dict[int, Branch] = {}
    for branch in reversed(order):
        branches[id(branch)] = _with_children(branch, tuple(branches[id(child)] for child in branch.children), status)
    return branches[id(top)]


def _with_children(branch: _BranchBuilder, children: tuple[Branch, ...], status: RunStatus) -> Branch:
    reused = branch.effect is not None and branch.effect.status == "reused"
    row = branch.effect.row if branch.effect and not reused else None
    is_paid = row is not None and row.kind == "model" and row.paid_calls > 0
    costs = [child.cost for child in children] + [row.cost if row and is_paid else 0.0]
    return Branch(
        key=branch.key,
        kind=branch.effect.kind if branch.effect else "group",
        status=branch.effect.status_in(status) if branch.effect else _status_of_group(children),
        who=branch.effect.who if branch.effect else "",
        effect=branch.effect,
        usage=sum((child.usage for child in children), row.usage if row else Usage()),
        cost=None if None in costs else sum(cast("list[float]", costs)),
        children=children,
    )


def _status_of_group(children: tuple[Branch, ...]) -> EffectStatus:
    statuses = [child.status for child in children]
    return next((status for status in ("running", "waiting", "failed", "stopped") if status in statuses), "done")


class Runs:
    """The runs of one place, to look at them; a context manager that closes the store.

    Every method raises `RunRecordError` where the store cannot be reached or refuses.

    Args:
        place: Where they are stored; a directory need not exist.

    Raises:
        UsageError: No store has addresses of this form, or its address names a secret without a value.
        NotEquipped: The distribution of the store is not installed.
        RunRecordError: It cannot be reached or used.
    """

    def __init__(self, place: StorePlace) -> None:
        self.store: RunStore = open_store(place)
        # A store may look through all its runs for the meaning of a name.
        self._run_ids: set[str] = set()

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Release the store."""
        self.store.close()

    def all(self) -> tuple[list[StoredRun], list[str]]:
        """Return all runs, the newest first, and the problems of journals that cannot be read."""
        runs, problems = self.store.runs()
        self._run_ids.update(run.id for run in runs)
        return runs, problems

    @staticmethod
    def without_parts(runs: Iterable[StoredRun]) -> list[StoredRun]:
        """Return runs without the parts of others among them."""
        return without_parts(runs)

    def budgets(self) -> list[BudgetState]:
        """Return the limits over time of the policy files in force here, with what the runs of the store have spent.

        Raises:
            Denied: A policy file is wrong.
        """
        from strands_cli.config import settings_without_store
        from strands_cli.run_views.money import states_of_all
        from strands_cli.user_files.policy_files import read_policies

        return states_of_all(read_policies(settings_without_store(), Path.cwd()).budgets, self.store)

    def find(self, name: str) -> str:
        """Return the id of a run, by its id, the start of its id, or `last`.

        Raises:
            RunRecordError: No run has this name, or several have it.
        """
        if name not in self._run_ids:
            self._run_ids.add(name := self.store.find(name))
        return name

    def get(self, name: str) -> StoredRun:
        """Return the run with a name, as a list has it."""
        return self.store.read(self.find(name))

    def state(self, run_id: str | None = None) -> object:
        """Return a value that differs when a run, or without an id the list of runs, has changed."""
        return self.store.state(run_id)

    def open(self, name: str) -> OpenedRun:
        """Open the run with a name, also while a process works on it."""
        return OpenedRun(self.store.open(self.find(name), hold=False))

    def open_each(self, run_ids: Iterable[str]) -> Iterator[OpenedRun | RunRecordError]:
        """Yield each of many runs, or why it cannot be opened; close one before the next is asked for.

        A store over a network is asked once for many.
        """
        for journal in journals_of(self.store, run_ids):
            yield journal if isinstance(journal, RunRecordError) else OpenedRun(journal)


class OpenedRun:
    """One stored run, to look at it; a context manager that closes it.

    Its methods return values without the secrets of the run, except for `summary` and `spec`. Of a damaged row they
    have the readable part.

    Args:
        journal: Its journal, which `journal` also returns, for facts without a method here; its texts are as stored.
    """

    def __init__(self, journal: StoredJournal) -> None:
        self.journal = journal
        self.id = journal.run_id

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Release the journal."""
        self.journal.close()

    @cached_property
    def redactor(self) -> Redactor:
        """The redactor of the secrets of the run, as far as this machine knows them."""
        return stored_redactor(self.journal.tolerant())

    def summary(self) -> RunSummary:
        """Return its facts, its costs and all its effects; its name, its answer and its keys are as stored.

        Raises:
            RunRecordError: The facts of the run, or all of its rows, cannot be read.
        """
        return summary_of(self.journal)

    def response(self) -> str:
        """Return the answer of a complete run; empty of another."""
        return self.redactor.text(str(self.journal.get("response") or ""))

    def tree(self, summary: RunSummary | None = None) -> tuple[Branch, ...]:
        """Return its effects as trees: steps, with their model turns, tool calls and questions below them.

        Args:
            summary: That of the run, where the caller has it, so that its rows are not read again.
        """
        return tree_of(summary or self.summary())

    def effects(self) -> Iterator[EffectSummary]:
        """Yield its effects in the order in which they first started, one row in memory at a time."""
        yield from map(EffectSummary, self.journal.tolerant().rows())

    def spec(self) -> WorkflowSpec | None:
        """Return its workflow as it is written; None where it has none, or one that this version does not read."""
        from strands_cli.engine.run_facts import snapshot_of
        from strands_cli.workflow.loader import load_spec
        from strands_cli.yaml_files.document_reader import read_document

        file, text = self.journal.get("file"), self.journal.get("text")
        if not isinstance(file, str) or not isinstance(text, str):
            return None
        try:
            return load_spec(read_document(file, text), snapshot_of(self.journal)).spec
        except StrandsCliError:
            return None

    def effect_keys(self, below: str = "") -> Sequence[str]:
        """Return the keys of its effects, or of those below one, in the order in which they first started."""
        return [row.key for row in self.journal.rows(below=below)]

    def has_effect(self, key: str) -> bool:
        """Return whether there is an effect with exactly this key; a place with effects below it need not be one."""
        return self.journal.row(key) is not None

    def effect(self, key: str) -> WholeEffect:
        """Return the texts, the calls and the costs of one effect.

        Raises:
            RunRecordError: The run has no such effect.
        """
        from strands_cli.run_views.whole_effect import effect_of

        return effect_of(self.journal, key).redacted(self.redactor)

    def artifacts(self, *, with_texts: bool = True) -> Sequence[StoredArtifact]:
        """Return the files that it has written.

        Args:
            with_texts: Whether their texts are read too, where the store has them.

        Raises:
            UsageError: It consists of other runs.
            ArtifactError: It is not complete.
        """
        from strands_cli.run_views.fetched_artifacts import artifacts_of

        return artifacts_of(self.journal, with_texts=with_texts).files

    def tools_to_allow(self) -> list[str]:
        """Return the names for `--allow` for the calls which it was denied without a person."""
        from strands_cli.engine.waiting.run_hooks import tools_to_allow

        return tools_to_allow(self.journal)

    def questions(self) -> Sequence[Mapping[str, Any]]:
        """Return the questions that wait for a person: `key`, `kind` and `prompt`, and further facts of each."""
        questions: Sequence[Mapping[str, Any]] = self.redactor.json(questions_of(self.journal))
        return questions

    def answer_commands(self) -> list[str]:
        """Return the command lines that answer its questions, two for each."""
        return [self.redactor.text(line) for line in answer_commands(self.journal)]

    def command(self, verb: str, *words: str) -> str:
        """Return a command line for a shell, with the option that names the store of the run where one is needed."""
        return command(verb, *words, store=self.journal.place)

    def require_waiting(self, key: str) -> None:
        """Check that a question waits for its answer.

        Raises:
            UsageError: None has this key, or it has been answered, with the answer.
        """
        from strands_cli.engine.waiting.questions import chosen_question

        try:
            chosen_question(self.journal, key)
        except UsageError as error:
            error.fix = with_run(error.fix, self.id, self.journal.place)
            raise
