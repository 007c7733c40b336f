"""Everything that a page of one run shows, as one value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strands_cli.api import RunRecordError
from strands_cli_ui.pages.html_text import escape
from strands_cli_ui.pictures.run_pictures import Pictures, pictures_of
from strands_cli_ui.pictures.waterfall import Waterfall, waterfall_of

if TYPE_CHECKING:
    from strands_cli.api import Branch, OpenedRun, Redactor, RunSummary, WholeEffect

# A page of a longer run has the whole effects of its beginning, its end, and of failed and waiting ones.
MOST_WHOLE = 1000
# The most rows to read for them: a whole effect has the sum of those below it, and keys can be deep.
MOST_READ = 20_000


@dataclass(frozen=True, slots=True)
class RunPage:
    """A stored run as a page shows it.

    Attributes:
        waterfall: Its effects as rows; their texts are as stored.
        whole: Whole effects by their key, redacted; of one that cannot be read, the reason.
        questions: The questions that wait for a person, as JSON, redacted.
        commands: The command lines that answer it.
        show_command: The command line that shows the run; with a key it shows one effect.
        redactor: It hides the secrets of the run in the other texts.
        pictures: The values of its pictures.
    """

    summary: RunSummary
    waterfall: Waterfall
    whole: Mapping[str, WholeEffect | str]
    questions: Sequence[Mapping[str, Any]]
    commands: Sequence[str]
    show_command: str
    redactor: Redactor
    pictures: Pictures

    def text(self, value: object) -> str:
        """Return a text of the run as HTML, without secrets."""
        return escape(self.redactor.text(str(value)))

    def plain(self, value: object) -> str:
        """Return a text of the run without secrets, not escaped."""
        return self.redactor.text(str(value))


def run_page_of(run: OpenedRun, *, most_whole: int = MOST_WHOLE) -> RunPage:
    """Return the value of a page of a run.

    Args:
        most_whole: Of how many effects the page has all texts; 0 where it loads them one by one.

    Raises:
        RunRecordError: The journal cannot be read.
    """
    summary = run.summary()
    branches = run.tree(summary)
    return RunPage(
        summary=summary,
        waterfall=waterfall_of(summary, branches),
        whole={key: _whole(run, key) for key in _chosen(branches, most_whole)},
        questions=run.questions(),
        commands=run.answer_commands(),
        show_command=run.command("runs", "show", run.id),
        redactor=run.redactor,
        pictures=pictures_of(run, summary, branches),
    )


def _whole(run: OpenedRun, key: str) -> WholeEffect | str:
    try:
        return run.effect(key)
    except RunRecordError as error:
        return run.redactor.text(error.message)


def _chosen(branches: Sequence[Branch], most: int) -> list[str]:
    """Return the keys of the effects to show as a whole, in their order."""
    every = [branch for branch in _walk(branches) if branch.effect is not None]
    if len(every) <= most:
        return _readable(every)
    notable = [
        branch for branch in every if branch.status in ("failed", "waiting", "running") or branch.decision == "deny"
    ]
    chosen = {branch.key for branch in [*notable[: most // 2], *every[: most // 4], *every[len(every) - most // 4 :]]}
    return _readable([branch for branch in every if branch.key in chosen])


def _readable(branches: Sequence[Branch]) -> list[str]:
    """Return the keys of those that can be read without reading too much, those with little below them first."""
    left, keys = MOST_READ, set()
    for size, branch in sorted(((sum(1 for _ in each.walk()), each) for each in branches), key=lambda pair: pair[0]):
        left -= size
        if left >= 0:
            keys.add(branch.key)
    return [each.key for each in branches if each.key in keys]


def _walk(branches: Sequence[Branch]) -> Iterator[Branch]:
    for branch in branches:
        yield from branch.walk()
