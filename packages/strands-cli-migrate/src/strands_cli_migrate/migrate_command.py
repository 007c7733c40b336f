"""The command `workflows migrate`: write files of the earlier format in the present one, with their comments."""

from __future__ import annotations

import copy
import difflib
import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from strands_cli.api import ExitCode, Finding, UsageError, Workflow, print_json, print_result, say, say_findings
from strands_cli_migrate.earlier.versions import PRESENT

if TYPE_CHECKING:
    from strands_cli.api import Translation

STDIN = "-"


class FileMigration(NamedTuple):
    """A file, its present text and the one in the present format, and the findings in it."""

    name: str
    before: str
    after: str
    findings: tuple[Finding, ...]
    is_refused: bool

    @property
    def is_changed(self) -> bool:
        """Whether the text is to be written."""
        return self.before != self.after and not self.is_refused

    @property
    def code(self) -> int:
        """The exit code of the findings."""
        return ExitCode.INVALID if any(finding.severity == "error" for finding in self.findings) else ExitCode.OK

    @property
    def diff(self) -> str:
        """The lines that change."""
        before, after = self.before.splitlines(keepends=True), self.after.splitlines(keepends=True)
        return "".join(difflib.unified_diff(before, after, self.name, f"{self.name} (version {PRESENT})"))


def migrate(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Workflow files; - is standard input.")],
    out: Annotated[
        str | None, typer.Option("--output", "-o", metavar="OUT", help="Write here instead; - is standard output.")
    ] = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; print what would change.")] = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Write nothing; print what differs from an earlier strands-cli.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> int:
    """Write files of an earlier strands-cli in the present format, with their comments.

    With --check the exit code is 3 where something would change.

    Example: strands workflows migrate flows/*.yaml
    """
    if out is not None and (len(files) > 1 or check or explain):
        raise UsageError("--output is for one file that is written", fix="leave it out: each file is written in place")
    if as_json and not check and not explain and STDIN in ([out] if out is not None else files):
        raise UsageError("--json and the file would both go to standard output", fix="write the file: -o FILE")
    if explain:
        from strands_cli_migrate.differences import print_differences

        return print_differences(files, as_json=as_json)
    results = [migrated(name) for name in dict.fromkeys(files)]
    for result in results:
        say_findings(result.findings)
    if as_json:
        print_json({"files": [_row(result, out, check=check) for result in results]})
    for result in results:
        if not check:
            _write(result, out)
        elif result.is_changed and not as_json:
            print_result(result.diff)
    changes = any(result.is_changed for result in results)
    return max([result.code for result in results] + [ExitCode.INVALID if check and changes else ExitCode.OK])


def migrated(name: str) -> FileMigration:
    """Return a file in the present format.

    Raises:
        StrandsCliError: It cannot be read.
    """
    from strands_cli.api import json_object, read_document
    from strands_cli_migrate.earlier.translation import earlier
    from strands_cli_migrate.earlier.versions import is_present, is_version

    document = read_document(name)
    value, before = json_object(document.value), document.text
    workflow = Workflow.from_text(before, name="stdin") if name == STDIN else Workflow.from_file(name)
    reported = workflow.validate()
    version = value.get("version")
    if is_present(version) or not is_version(version) or "pattern" not in value or "format" in value:
        return FileMigration(name, before, before, reported, is_refused=not is_present(version))
    translation = earlier(copy.deepcopy(dict(value)))
    is_refused = any(problem.severity == "error" for problem in translation.problems)
    return FileMigration(
        name, before, before if is_refused else _text(name, before, value, translation), reported, is_refused
    )


def _text(name: str, before: str, old: Any, translation: Translation) -> str:
    """Return the new text of a file: with its comments, unless they cannot be kept."""
    from strands_cli.api import read_document
    from strands_cli_migrate.rewritten_text import rewritten, same, written

    ends = "\r\n" if "\r\n" in before else "\n"
    text = rewritten(before.replace("\r\n", "\n"), old, translation.value, translation.places)
    if text is None or not same(read_document(name, text).value, translation.value):
        say(f"{name}: it is written from the start, without its comments")
        text = written(translation.value)
    return text.replace("\n", ends)


def _row(result: FileMigration, out: str | None, *, check: bool) -> dict[str, Any]:
    target = None if check or not result.is_changed else out or result.name
    findings = [finding.as_dict() for finding in result.findings]
    return {
        "file": result.name,
        "changed": result.is_changed,
        "written": target,
        "diff": result.diff,
        "findings": findings,
    }


def _write(result: FileMigration, out: str | None) -> None:
    """Write the text of a file where it belongs."""
    target = out or result.name
    if result.is_refused:
        say(f"{result.name}: nothing is written")
    elif target == STDIN:  # also an unchanged text: the next program of a pipe reads it
        sys.stdout.write(result.after)
    elif not result.is_changed and out is None:
        say(f"{result.name}: it is of version {PRESENT}")
    else:
        _replace(Path(target), result.after)
        say(f"{target}: version {PRESENT}")


def _replace(path: Path, text: str) -> None:
    """Write a file whole, behind a link too, with the permissions that it has."""
    real_path = Path(os.path.realpath(path))
    new = real_path.with_name(f".{real_path.name}.{os.getpid()}.new")
    try:
        # Not as a result of a command, in which texts like secrets are hidden.
        new.write_text(text, encoding="utf-8", newline="")
        if real_path.exists():
            shutil.copymode(real_path, new)
        new.replace(real_path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", fix="name another file: -o FILE") from error
    finally:
        new.unlink(missing_ok=True)
