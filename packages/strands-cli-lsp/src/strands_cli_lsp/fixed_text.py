"""A text with the corrections of its findings that are certain, each validated before it is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from strands_cli.api import Finding, StrandsCliError
from strands_cli_lsp.text_edits import Alternatives, EditableText, TextEdit, with_edits

# So often is a text corrected, and so often is it validated for that.
_MOST_PASSES, _MOST_CHECKS = 20, 200


class Correction(NamedTuple):
    """A finding, the text in which it was reported, and the edits of that which correct it."""

    finding: Finding
    text: str
    edits: tuple[TextEdit, ...]

    @property
    def lines(self) -> Iterator[tuple[int, str, str]]:
        """The number (1-based) of each line that an edit changes, that line, and what it becomes; empty for no line."""
        for edit in self.edits:
            number = self.text.count("\n", 0, edit.start)
            begin = self.text.rfind("\n", 0, edit.start) + 1
            old, new = _line(self.text, begin), _line(with_edits(self.text, [edit]), begin)
            is_added, is_removed = edit.text.endswith("\n"), not edit.text and "\n" in self.text[edit.start : edit.end]
            yield number + 1, "" if is_added else old, "" if is_removed else new


def _line(text: str, begin: int) -> str:
    return text[begin:].partition("\n")[0].rstrip("\r")


class CheckedText(NamedTuple):
    """A text, its findings, whether it is a document at all, and the corrections that made it from another one."""

    text: str
    findings: tuple[Finding, ...]
    is_read: bool = True
    corrections: tuple[Correction, ...] = ()

    def alternatives(self, file: str) -> Iterator[tuple[Finding, Alternatives]]:
        """Yield each finding about this file that can be corrected, with the ways to do it; the most likely first."""
        editable = EditableText(self.text) if any(finding.edits for finding in self.findings) else None
        for finding in self.findings:
            if editable is not None and finding.where is not None and finding.where.file == file:
                ways = (editable.alternatives(edit, finding.where) for edit in finding.edits)
                yield from ((finding, alternatives) for alternatives in ways if alternatives)


def corrected(text: str, file: str, findings_of: Callable[[str], Sequence[Finding]]) -> CheckedText:
    """Return a text with every certain correction that adds no finding, and the findings that remain.

    Args:
        text: The text without a byte order mark.
        file: Its name in findings.
        findings_of: Validates a text; the exceptions for one that cannot be read have its findings.
    """
    return _Corrector(file, findings_of).run(text)


def check_text(text: str, findings_of: Callable[[str], Sequence[Finding]], *corrections: Correction) -> CheckedText:
    """Return a text with its findings, also those of one that cannot be read."""
    try:
        return CheckedText(text, tuple(findings_of(text)), corrections=corrections)
    except StrandsCliError as error:
        return CheckedText(text, error.findings, is_read=False, corrections=corrections)


class _Corrector:
    def __init__(self, file: str, findings_of: Callable[[str], Sequence[Finding]]) -> None:
        self._file, self._findings_of, self._checks = file, findings_of, 0

    def run(self, text: str) -> CheckedText:
        now = self._check(text)
        for _ in range(_MOST_PASSES):
            better = self._pass(now)
            if better is None:
                break
            now = better
        return now

    def _check(self, text: str, *corrections: Correction) -> CheckedText:
        self._checks += 1
        return check_text(text, self._findings_of, *corrections)

    def _pass(self, now: CheckedText) -> CheckedText | None:
        """Return the text with all certain edits; with the first of them that is right, if not all are."""
        ways = list(now.alternatives(self._file))
        certain = _compatible(
            Correction(finding, now.text, way[0]) for finding, way in ways if not way[1:] and _is_sure(finding)
        )
        tries = [certain, *([one] for one in certain if certain[1:])]
        for corrections in filter(None, tries):
            if (better := self._better(now, corrections)) is not None:
                return better
        for finding, alternatives in ways:
            if alternatives[1:] or not _is_sure(finding):
                tried = (
                    self._better(now, [Correction(finding, now.text, edits)], is_guess=True) for edits in alternatives
                )
                possible = [checked for checked in tried if checked is not None]
                right = [checked for checked in possible if not has_errors(checked.findings)] or possible
                if len(right) == 1:
                    return right[0]
        return None

    def _better(self, now: CheckedText, corrections: list[Correction], *, is_guess: bool = False) -> CheckedText | None:
        """Return the text with corrections; None if it has a finding that it did not have, or no one less."""
        if self._checks >= _MOST_CHECKS:
            return None
        text = with_edits(now.text, {edit for correction in corrections for edit in correction.edits})
        then = self._check(text, *now.corrections, *corrections)
        if not then.is_read:
            return None
        if not now.is_read:  # its other findings are not known
            return None if is_guess and has_errors(then.findings) else then
        # What is wrong with the names in a template shows once it compiles.
        hiding = {correction.finding.where for correction in corrections if correction.finding.code == "bad-template"}
        before, after = (
            Counter((finding.code, finding.severity) for finding in findings)
            for findings in (now.findings, (finding for finding in then.findings if finding.where not in hiding))
        )
        return then if after < before else None


def _compatible(corrections: Iterator[Correction]) -> list[Correction]:
    """Return corrections of which no two overlap; the others are looked at again in the next pass."""
    chosen: list[Correction] = []
    taken = set[TextEdit]()
    every = list(corrections)
    keys = Counter((_owner(one.finding), one.edits[0].text) for one in every)
    for one in every:
        if keys[_owner(one.finding), one.edits[0].text] > 1 and one.finding.code == "unknown-key":
            continue  # two keys of one mapping would be the same
        if all(edit in taken or not any(_overlap(edit, other) for other in taken) for edit in one.edits):
            taken.update(one.edits)
            chosen.append(one)
    return chosen


def _is_sure(finding: Finding) -> bool:
    """Return whether a finding has one edit; others are tries."""
    return len(finding.edits) == 1


def has_errors(findings: Iterable[Finding]) -> bool:
    """Return whether a finding is an error."""
    return any(finding.severity == "error" for finding in findings)


def _owner(finding: Finding) -> str:
    return finding.where.pointer.rpartition("/")[0] if finding.where else ""


def _overlap(edit: TextEdit, other: TextEdit) -> bool:
    return edit.start <= other.end and other.start <= edit.end
