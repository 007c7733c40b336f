"""Checks rows against the inputs that a workflow declares, as `--var` and `--vars-file` are checked."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from strands_cli.api import Code, Finding, Where, shortened, suggest
from strands_cli_batch.command_parts import PARTS, first_of
from strands_cli_batch.row_findings import Rest, RowFindings
from strands_cli_batch.row_source import GivenRow

if TYPE_CHECKING:
    from strands_cli.api import PlannedRows

UNKNOWN_COLUMN = Code(
    "unknown-column",
    "A column, or a member of an object, is not an input of the workflow.",
    "Correct the name, declare the input, or remove the column.",
)
INPUT_TWICE = Code(
    "input-twice",
    "An input is given for all rows of a batch, and by the rows too.",
    "Omit --var NAME, or remove the column.",
)
ROW_INPUT = Code(
    "row-input",
    "A required input has no value in a row, or a value does not have the declared type.",
    "Correct the cell.",
)
UNKNOWN_IGNORED = Code(
    "unknown-ignored",
    "`--ignore` names a column, or a member of objects, that the rows do not have.",
    "Correct the name, or omit `--ignore`.",
)
# Numbers with the signs of a country or of a currency; integers in groups; and the forms that computers write.
_NUMBER = re.compile(r"[-+()$\u20ac\u00a3\u00a5%.,'\s\d]+")
_GROUPED = re.compile(r"[-+]?\d{1,3}(?P<sign>[,'\s])\d{3}(?:(?P=sign)\d{3})*(?:\.0+)?")
_EXPONENT = re.compile(r"[-+]?\d{1,30}(?:\.\d{1,30})?(?:[eE][-+]?\d{1,2})?")
_OTHER_SIGNS = str.maketrans({"\u2212": "-", "\u2019": "'", "\u00a0": " ", "\u202f": " ", "\u2009": " "})
# The code of a finding about an input without a value.
_MISSING = "missing-input"
# A value of megabytes is not repeated whole.
_MOST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class CheckedRow:
    """One row that can run.

    Attributes:
        number: Its 1-based number among the rows.
        line: The line of the file where it begins.
        digest: A digest of its inputs.
        inputs: The inputs of the row, in their types.
    """

    number: int
    line: int
    digest: str
    inputs: Mapping[str, Any]


class RowCheck:
    """Checks the rows of one file for one workflow."""

    def __init__(self, workflow: PlannedRows, findings: RowFindings, ignored: Iterable[str] = ()) -> None:
        """Take the workflow.

        Args:
            workflow: The workflow, with the inputs common to all rows.
            findings: Takes the faults.
            ignored: Columns besides the inputs.
        """
        self._ignored = dict.fromkeys(ignored)
        self._column_names: set[str] = set()  # names of the file; only where some are ignored
        self._workflow, self._findings = workflow, findings
        self._declared = workflow.plan.spec.inputs
        self._texts, self._values = workflow.request.variables, workflow.request.values
        self._names = {**self._declared.declared(), **self._declared.values}
        self._refused: set[str] = set()  # names that were reported once
        self._row: GivenRow | None = None  # the row under check

    def require_columns(self, columns: Iterable[str], where_of: Callable[[str], Where], header: Where) -> None:
        """Check the header of a file: its names, and that no required input lacks a column."""
        columns = list(columns)
        for name in columns:
            self._is_usable(name, where_of)
        column_names = {name for name in columns if name not in self._ignored}
        for name in self._declared.required:
            if name not in column_names and not any(
                name in names for names in (self._texts, self._values, self._declared.values)
            ):
                self._refused.add(name)
                message = f"no column has the required input '{name}'"
                otherwise = f"add the column, or pass --var {name}=VALUE"
                fix = suggest(name, self._refused & column_names, otherwise, form="the column '{}'")
                fix = self._without_ignoring(name) or fix
                self._findings.add(Finding(ROW_INPUT, message, header, fix))

    def require_ignored(self, where: Where) -> None:
        """Check, when all rows are read, that the file has the ignored columns.

        Args:
            where: The first line.
        """
        self._row = None
        for name in [ignored for ignored in self._ignored if self._column_names and ignored not in self._column_names]:
            listed = f"omit --ignore {shlex.quote(name)}; there are: {first_of(sorted(self._column_names), 20)}"
            fix = suggest(name, map(shlex.quote, self._column_names), listed, form="--ignore {}")
            message = f"there is no column '{shortened(name, 100)}' to ignore"
            self._findings.add(Finding(UNKNOWN_IGNORED, shortened(message, _MOST_MESSAGE), where, fix))

    def checked(self, row: GivenRow) -> CheckedRow | None:
        """Return a row that can run, or None: the findings say why it cannot."""
        self._row = row
        before = self._findings.count
        if self._findings.skips:
            self._refused = set()  # a header that cannot be used has been refused
        texts = {name: text for name, text in row.texts.items() if self._is_usable(name, row.place)}
        values = {name: value for name, value in row.values.items() if self._is_usable(name, row.place)}
        written = {name: text for name, text in row.written.items() if name in values}
        resolved, findings = self._workflow.check(texts, values, written)
        faults = [fault for fault in findings if fault.severity == "error"]
        for fault in faults:
            name = _name_in(fault)
            if not name:  # each input fits, and all together do not
                self._add(ROW_INPUT, fault.message, partial(_placed, row, "", "correct the row"))
            elif name not in self._refused:
                fix = f"give it a value, or pass --var {name}=VALUE for all rows"
                fix = fix if fault.code == _MISSING else self._correction_of(name, texts)
                if without := self._without_ignoring(name):
                    fix = without
                    self._refused.add(name)  # every row lacks it
                self._add(ROW_INPUT, fault.message, partial(_placed, row, name, fix))
        is_left_out = row.number in self._findings.left_out
        if faults or self._refused or is_left_out or self._findings.count > before:
            return None
        own = {name: resolved[name] for name in (*texts, *values)}
        return CheckedRow(row.number, row.line, PARTS.digest(resolved), own)

    def _is_usable(self, name: str, where_of: Callable[[str], Where]) -> bool:
        """Return whether a name is an input that rows may give; another one is reported once."""
        if self._ignored:
            self._column_names.add(name)
            if name in self._ignored:
                return False
        if name in self._names and name not in self._texts and name not in self._values:
            return True
        if name not in self._refused:
            self._refused.add(name)
            if name in self._names:
                message = f"the input '{name}' is given for all rows, and by the rows too"
                self._add(INPUT_TWICE, message, lambda: (where_of(name), f"omit --var {name}, or remove the column"))
            else:
                message = f"the workflow declares no input '{shortened(name, 100)}'"
                self._add(UNKNOWN_COLUMN, message, lambda: (where_of(name), self._meant(name)))
        return False

    def _meant(self, name: str) -> str | None:
        """Return the fix for a name that the workflow does not declare."""
        there = f"; there are: {', '.join(self._names)}" if self._names else ""
        return suggest(name, self._names, f"declare it under `inputs`, or --ignore {shlex.quote(name)}{there}")

    def _without_ignoring(self, name: str) -> str | None:
        """Return the fix for an input that lacks its value since its column is ignored; None for another one."""
        return f"omit --ignore {shlex.quote(name)}" if name in self._ignored else None

    def _correction_of(self, name: str, texts: Mapping[str, str]) -> str:
        return _correction(texts.get(name, ""), str(getattr(self._names.get(name), "type", "")))

    def _add(self, code: Code, message: str, rest: Callable[[], Rest]) -> None:
        row = None if self._row is None else (self._row.number, self._row.line)
        self._findings.add_made(code, shortened(message, _MOST_MESSAGE), rest, row)


def _placed(row: GivenRow, name: str, fix: str) -> Rest:
    return row.place(name), fix


def _correction(text: str, kind: str) -> str:
    """Return the fix for a value: spreadsheets write numbers as people of their country do."""
    plain = text.translate(_OTHER_SIGNS).strip().strip("'=\"")
    if not any(map(str.isdigit, plain)) or not (_NUMBER.fullmatch(plain) or _EXPONENT.fullmatch(plain)):
        return "correct the value"
    if kind == "integer":
        whole = _integer_in(plain)
        return f"write digits alone: {1234 if whole is None else whole}"
    return "write numbers with a point and no other sign: 1234.5"


def _integer_in(text: str) -> int | None:
    """Return the integer that a text can only mean, or None."""
    if match := _GROUPED.fullmatch(text):
        text = text.replace(match["sign"], "")
    if _EXPONENT.fullmatch(text):
        value = Decimal(text)
        return int(value) if value == value.to_integral_value() else None
    return None


def _name_in(fault: Finding) -> str:
    """Return the name of the input that a finding is about: the end of its place; empty for one about all inputs."""
    pointer = fault.where.pointer if fault.where is not None else ""
    return (
        "" if not pointer.startswith("/inputs/") else pointer.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    )
