"""Findings, exceptions sorted by who must act, and exit codes."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, Literal, Self

Severity = Literal["error", "warning"]


class ExitCode(enum.IntEnum):
    """The exit status of the process; scripts depend on the numbers."""

    OK = 0
    NO = 1
    USAGE = 2
    INVALID = 3
    RUN_FAILED = 10
    ARTIFACT = 12
    RUN_RECORD = 17
    NOT_EQUIPPED = 18
    WAITING = 19
    BUDGET = 20
    DENIED = 21
    AGENT_LOOP = 22
    INTERNAL = 70
    HUNG_UP = 129
    INTERRUPTED = 130
    READER_STOPPED = 141
    TERMINATED = 143


class Code(str):
    """The stable name of one kind of finding; scripts match on it, so codes are added and never renamed.

    Each is declared in a module that reports it, as `NAME = Code(...)` with literal arguments: `codes_by_file` reads
    them from the sources.

    Attributes:
        meaning: The fault, in general.
        remedy: The usual fix.
        exit_code: That of a command which reports it as an error.
    """

    __slots__ = ("exit_code", "meaning", "remedy")

    meaning: str
    remedy: str
    exit_code: int

    def __new__(cls, name: str, meaning: str, remedy: str, exit_code: int = 3) -> Code:
        """Build a code from its name, meaning, remedy and exit code."""
        code = super().__new__(cls, name)
        code.meaning, code.remedy, code.exit_code = meaning, remedy, exit_code
        return code

    def __reduce__(self) -> tuple[type[Code], tuple[str, str, str, int]]:
        """Return the call for copying and pickling."""
        return Code, (str(self), self.meaning, self.remedy, self.exit_code)


@dataclass(frozen=True, slots=True)
class Where:
    """A place in a file: 1-based line and column, and the JSON pointer of the node (`""` is the root)."""

    file: str
    line: int | None = None
    column: int | None = None
    pointer: str = ""

    def __str__(self) -> str:
        parts = [self.file, *(str(n) for n in (self.line, self.column) if n is not None)]
        position = ":".join(parts)
        return f"{position}  ({self.pointer})" if self.pointer else position


def continued(text: str) -> str:
    """Return the text with every line after the first marked, so that a name in it cannot imitate a line of output.

    Lines indented at least as far as the text of a fix stay as they are: no line of output begins there.
    """
    first, *more = text.split("\n")
    return "\n".join([first, *(line if line.startswith(" " * 7) else f"    | {line}" for line in more)])


@dataclass(frozen=True, slots=True)
class Edit:
    """A correction of the text at the place of a finding.

    Attributes:
        old: The wrong text; a word in a template comes with what is before its dot, as in `write.response`.
        new: The right text.
        kind: `word` is the key or the value there, or a word of its templates. `name` is such a word that the author
            has chosen, so that its definition may be the wrong one. `node` writes the whole value. `list` puts it into
            a list, `item` takes it out of one. `entry` removes the key, as an equal one is before it. `top` is a line
            before all others, `text` the very characters at the place. In faulty YAML, `tabs` become spaces, `syntax`
            adds a missing character near the place, and `indent` changes the indentation there.
    """

    old: str
    new: str
    kind: Literal["word", "name", "node", "list", "item", "entry", "top", "text", "tabs", "syntax", "indent"] = "word"


# The most characters of a message or a fix.
_LONGEST = 4000


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault of an input: the message, the place, and the fix; without a `fix`, the remedy of its code.

    `count` is more than one where it reports only how many others there are. `edits` correct it, each in its own way.
    """

    code: Code
    message: str
    where: Where | None = None
    fix: str | None = None
    severity: Severity = "error"
    count: int = 1
    edits: tuple[Edit, ...] = ()

    def __post_init__(self) -> None:
        for name in ("message", "fix"):
            if len(text := getattr(self, name) or "") > _LONGEST:  # a name of a megabyte
                object.__setattr__(self, name, f"{text[:_LONGEST]}...")
        if not self.fix:
            remedy = self.code.remedy.removesuffix(".")
            object.__setattr__(self, "fix", remedy[0].lower() + remedy[1:])

    def __str__(self) -> str:
        lines = [f"{self.severity}[{self.code}]: {self.message}"]
        if self.where is not None:
            lines.append(f"  --> {self.where}")
        lines.append(f"  fix: {self.fix}")
        return "\n".join(map(continued, lines))

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON shape that every `--json` and `--format json` output uses."""
        where = self.where
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "file": where.file if where else None,
            "line": where.line if where else None,
            "column": where.column if where else None,
            "pointer": where.pointer if where else None,
            "fix": self.fix,
        }


def too_many(message: str, where: Where, count: int = 1) -> Finding:
    """Report that the other mistakes are only counted, or not looked for."""
    return Finding(TOO_MANY_MISTAKES, message, where, count=count)


def has_errors(findings: Iterable[Finding]) -> bool:
    """Return whether any finding stops the work (warnings do not)."""
    return any(finding.severity == "error" for finding in findings)


TOO_MANY_MISTAKES = Code(
    "too-many-mistakes", "More mistakes than are reported one by one.", "Correct the first ones, and check again."
)
# So many findings of one code are reported; the others are counted.
MOST_ALIKE = 200


def few_of_each(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the first findings of each code, each once, and how many more of it there are."""
    every = list(dict.fromkeys(findings))
    counts = Counter(finding.code for finding in every)
    count_of, worst = Counter[Code](), dict[Code, Severity]()
    few: list[Finding] = []
    for finding in every:
        count_of[finding.code] += 1
        if count_of[finding.code] <= MOST_ALIKE:
            few.append(finding)
        elif finding.severity == "error" or finding.code not in worst:
            worst[finding.code] = finding.severity
    for code, severity in worst.items():
        more = counts[code] - MOST_ALIKE
        few.append(Finding(TOO_MANY_MISTAKES, f"and {more:,} more with the code {code}", None, None, severity, more))
    return tuple(few)


class StrandsCliError(Exception):
    """Something a person must act on; each subclass says who and carries the exit code.

    Args:
        message: The fault, in one sentence.
        findings: Every known problem, when there are several or when they have places.
        fix: The remedy.

    `brief` replaces the message for a person who has just read it in the lines of the run. `run_id` is the stopped run,
    for `Workflow.resume` and `strands resume`; it is empty where none had begun.
    """

    exit_code: ExitCode = ExitCode.INTERNAL
    brief: str | None = None
    run_id: str = ""

    def __init__(self, message: str, *, findings: Iterable[Finding] = (), fix: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.findings = tuple(findings)
        self.fix = fix

    @property
    def whole_message(self) -> str:
        """The message, with the findings of severity error, for those who see nothing else of it."""
        return "; ".join([self.message, *(finding.message for finding in self.findings if finding.severity == "error")])


class UsageError(StrandsCliError):
    """The command line is not valid."""

    exit_code = ExitCode.USAGE


class InvalidInput(StrandsCliError):
    """The author of a file must change it: a workflow, a manifest, a policy, a lock."""

    exit_code = ExitCode.INVALID


class RunFailed(StrandsCliError):
    """A run ended without reaching its result."""

    exit_code = ExitCode.RUN_FAILED


class FileAtFault(RunFailed):
    """The workflow or its recording must change first: a resumed run has those that it began with, a new run does not.

    Attributes:
        step: The step from which a new run can continue, where it is known.
    """

    step: str | None = None


class CallFailed(RunFailed):
    """The call of a tool step failed: a resumed run makes it again, also with a corrected workflow."""


class CallDenied(RunFailed):
    """Calls without which a run has not done its work were denied: by policy, a plugin, or without a person."""

    exit_code = ExitCode.DENIED


class UnusableAnswer(RunFailed):
    """The last answer of a model made its step fail; a resumed run asks again."""


class InvalidAnswer(UnusableAnswer):
    """An agent's answer does not have the required form, and neither do its corrections.

    Attributes:
        begins_with: How its message begins, by which a stored reason is recognized.
    """

    begins_with = "invalid_output: "


class AgentLoop(UnusableAnswer):
    """An agent was stopped since it repeated calls that gave nothing new."""

    exit_code = ExitCode.AGENT_LOOP


class ArtifactError(StrandsCliError):
    """An output file cannot be written, or must not be overwritten."""

    exit_code = ExitCode.ARTIFACT


class RunRecordError(StrandsCliError):
    """The journal of a run is missing, damaged, used by another process or from another version."""

    exit_code = ExitCode.RUN_RECORD


class HoldLost(RunRecordError):
    """Work on a run was stopped: a person cancelled it elsewhere, or its store is lost and another process may have it.

    Attributes:
        is_asked: Whether a person has asked for it.
    """

    is_asked: bool = False


class CannotStore(RunRecordError):
    """Where runs are stored cannot be written or read now: no space, no permission, a disk that fails."""


class Unreachable(RunRecordError):
    """The store of runs does not answer now; it may do so when it is asked again."""


class NotEquipped(StrandsCliError):
    """The file is right, but this machine lacks an extra, a key, an engine or something a tool requires."""

    exit_code = ExitCode.NOT_EQUIPPED


class PluginFailed(StrandsCliError):
    """A command of an installed distribution raised an exception that only a fault of its own explains."""

    exit_code = ExitCode.INTERNAL


class WaitingForPerson(StrandsCliError):
    """The run is stored and continues when a person has answered."""

    exit_code = ExitCode.WAITING

    @classmethod
    def for_answer(cls, key: str, prompt: str) -> Self:
        """Return the error of a run that waits for this answer."""
        return cls(f"the run waits for an answer to {key}: {prompt}")


class BudgetExceeded(StrandsCliError):
    """A run or a step reached a limit.

    Attributes:
        limit: The name of the limit, one of `runtime.budgets`, which a resumed run may raise.
        spent: The used amount, at least the limit.
        is_of_many: Whether many runs have it together, so that a single one of them is only interrupted.
        free_at: When the next period of a limit over time begins; None for another limit.
    """

    limit: str | None = None
    spent: float = 0
    is_of_many: bool = False
    free_at: float | None = None

    exit_code = ExitCode.BUDGET


class Denied(StrandsCliError):
    """Policy, allowlist or lock denies the request."""

    exit_code = ExitCode.DENIED


class Interrupted(StrandsCliError):
    """A person pressed Ctrl-C; the run's journal has everything that finished."""

    exit_code = ExitCode.INTERRUPTED


class Terminated(StrandsCliError):
    """The process got SIGTERM; the run's journal has everything that finished."""

    exit_code = ExitCode.TERMINATED


class ReaderStopped(StrandsCliError):
    """The reader of the results stopped before the work was done (`| head -1`); finished work is stored."""

    exit_code = ExitCode.READER_STOPPED


class HungUp(StrandsCliError):
    """The terminal was closed (SIGHUP); the run's journal has everything that finished."""

    exit_code = ExitCode.HUNG_UP


def exit_code_of(error: BaseException) -> ExitCode:
    """Return the process's exit code for any exception; an unexpected one is a fault of this program (70)."""
    if isinstance(error, StrandsCliError):
        return error.exit_code
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    return ExitCode.INTERNAL


# Longer words, and more names, are not compared: that takes the product of their lengths. Of many names, only those
# that share most letters are compared letter by letter.
_COMPARED_LENGTH, _COMPARED_NAMES, _COMPARED_CLOSELY = 200, 1000, 20


def did_you_mean(word: str, known_words: Iterable[str]) -> str | None:
    """Return the closest known word, whatever its case, or None when nothing is close."""
    import difflib  # off the happy path

    if len(word) > _COMPARED_LENGTH:
        return None
    by_folded: dict[str, str] = {}
    near = (name for name in known_words if len(word) < 3 * len(name) and len(name) < 3 * max(len(word), 1))
    for name in islice(near, _COMPARED_NAMES):
        by_folded.setdefault(name.casefold(), name)
    folded, names = word.casefold(), list(by_folded)
    if len(names) > _COMPARED_CLOSELY:
        letters = _letters(folded)
        names.sort(key=lambda name: len(letters & _letters(name)) / (len(folded) + len(name)), reverse=True)
    matches = difflib.get_close_matches(folded, names[:_COMPARED_CLOSELY], n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else None


@lru_cache(maxsize=2 * _COMPARED_NAMES)
def _letters(word: str) -> frozenset[tuple[str, int]]:
    """Return the letters of a word, each as often as it has it."""
    return frozenset((letter, word.count(letter, 0, position)) for position, letter in enumerate(word))


def suggest(word: str, known_words: Iterable[str], otherwise: str | None = None, *, form: str = "'{}'") -> str | None:
    """Return a fix that names the closest known word, spelled as in `form`; `otherwise` when nothing is close."""
    close = did_you_mean(word, known_words)
    return f"did you mean {form.format(close)}?" if close else otherwise


def clear_edit(word: str, known_words: Iterable[str], *, of_author: bool = False) -> tuple[Edit, ...]:
    """Return the edit to the only known word from which a word differs by one slip, or by case and hyphens; else none.

    Args:
        of_author: Whether the author of the file has chosen the words. Other words of four letters are too alike then.
    """
    names = [name for name in islice(dict.fromkeys(known_words), _COMPARED_NAMES) if name != word]
    meant = [name for name in names if _folded(name) == _folded(word)]
    meant = meant or [name for name in names if _is_slip(_folded(word), _folded(name), 5 if of_author else 3)]
    return (Edit(word, meant[0], "name" if of_author else "word"),) if len(meant) == 1 else ()


def _folded(word: str) -> str:
    return word.casefold().replace("-", "_").replace(" ", "_")


def _is_slip(word: str, name: str, least: int) -> bool:
    """Return whether a letter too many, too few or wrong, or two that changed places, make a word of a name."""
    shared = min(len(word), len(name))
    if shared < 3 or len(word) > _COMPARED_LENGTH:
        return False
    begin = next((at for at in range(shared) if word[at] != name[at]), shared)
    rest, other = word[begin:], name[begin:]
    while rest and other and rest[-1] == other[-1]:
        rest, other = rest[:-1], other[:-1]
    if any(char.isdigit() for char in rest + other):
        return False  # `step2` is another step than `step1`
    is_wrong_letter = len(rest) == len(other) == 1 and len(name) >= least
    return is_wrong_letter or len(rest) + len(other) == 1 or (len(rest) == 2 and rest == other[::-1])


def exit_code_meanings() -> dict[ExitCode, str]:
    """Return the meaning of each exit code: the first line of its exception's docstring."""
    kinds: list[type[StrandsCliError]] = [*StrandsCliError.__subclasses__(), AgentLoop]
    meanings = {kind.exit_code: (kind.__doc__ or "").split("\n")[0] for kind in kinds}
    meanings |= {ExitCode.OK: "Done.", ExitCode.NO: "Nothing was found, or the two runs differ."}
    meanings[ExitCode.INTERNAL] = "An error in this program."
    return {code: meanings[code] for code in ExitCode}


@dataclass(frozen=True, slots=True)
class RaisedException:
    """An exception of foreign code in place of an answer."""

    error: BaseException

    def __str__(self) -> str:
        return f"{type(self.error).__name__}: {self.error}"
