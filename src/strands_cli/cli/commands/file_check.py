"""The work of `validate`: read workflow files and report their findings, without importing an option parser."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from strands_cli.cli.output.messages import say
from strands_cli.errors import Denied, ExitCode, Finding, StrandsCliError, UsageError, has_errors
from strands_cli.texts.phrases import counted

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.planning.data_flow.authority import Use
    from strands_cli.workflow.model import LoadedWorkflow, WorkflowSpec


# The workflows and agents below a folder, for `strands validate DIR`.


# Folders of other people's files: environments, and the output of package managers and builds.
_OTHERS = frozenset({"node_modules", "site-packages", "__pycache__"})
_MEANT = re.compile(r"^[\"']?(pattern|agents|prompt)[\"']?\s*:", re.MULTILINE)


class FoundFile(NamedTuple):
    """A file to check: its path as it is shown, and its kind."""

    name: str
    kind: Literal["workflow", "agent"]


def files_in(folder: str) -> list[FoundFile]:
    """Return the workflows and agents below a folder, by their paths; other YAML and JSON is left alone.

    Hidden folders, virtual environments and links to folders are left out. A file that cannot be read is one of them if
    its text has a key of theirs, and is otherwise named on stderr.

    Raises:
        UsageError: The folder cannot be read, or there is none of them in it.
    """
    files = [FoundFile(str(path), kind) for path in _yaml_below(folder) if (kind := _kind(path)) is not None]
    if not files:
        raise UsageError(f"there is no workflow and no agent in {folder}", fix="name a file, or another folder")
    return files


def _yaml_below(folder: str) -> Iterator[Path]:
    from strands_cli.yaml_files.document_reader import SUFFIXES

    def refuse(error: OSError) -> None:
        if error.filename == folder:
            raise UsageError(f"{folder} cannot be read: {error.strerror}", fix="correct its permissions") from error
        say(f"warning: {error.filename} is not looked at: {error.strerror}")

    for parent, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = sorted(name for name in folders if not _is_skipped(Path(parent, name)))
        yield from (Path(parent, name) for name in sorted(files) if name.endswith(SUFFIXES) and name[0] != ".")


def _is_skipped(folder: Path) -> bool:
    return folder.name.startswith(".") or folder.name in _OTHERS or (folder / "pyvenv.cfg").is_file()


def _kind(path: Path) -> Literal["workflow", "agent"] | None:
    from strands_cli.planning.workflow_folder import is_workflow
    from strands_cli.workflow.parts.agent_file import is_agent_file
    from strands_cli.yaml_files.document_reader import read_document

    try:
        document = read_document(path)
    except StrandsCliError as error:
        if _seems_meant(path):
            return "workflow"
        say(f"warning: {path} is not looked at: {error.findings[0].message if error.findings else error.message}")
        return None
    keys = document.value.keys() if isinstance(document.value, dict) else ()
    if is_workflow(document) or "agents" in keys:
        return "workflow"
    return "agent" if is_agent_file(document.value) else None


def _seems_meant(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return _MEANT.search(stream.read(262_144).decode("utf-8", "replace")) is not None
    except OSError:
        return False


Format = Literal["text", "json", "github", "sarif"]
# So many lines about one file are read by a person.
MOST_USES = 200


class FileReport(NamedTuple):
    """The result for one file: findings, an exit code, and its uses of the machine."""

    name: str
    findings: tuple[Finding, ...]
    code: ExitCode
    uses: tuple[Use, ...] = ()


def check_files(specs: Sequence[str], output: Format = "text") -> int:
    """Check workflow files and folders (`-` is standard input), report the findings, and return the exit code."""
    return FileChecks().report(FileChecks.named(specs), output)


class FileChecks:
    """Checks files as `strands validate` does, also with texts that are not written yet.

    Args:
        texts: What files have in place of their texts, by their paths.
    """

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        self._texts = {os.path.realpath(name): text for name, text in (texts or {}).items()}
        self._catalogs: dict[Path, Catalog] = {}

    @staticmethod
    def named(specs: Sequence[str], *, of_agents: bool = False) -> Iterator[FoundFile]:
        """Yield the files that are named, and the workflows and agents in the folders that are.

        Args:
            specs: Paths, and `-` for standard input.
            of_agents: Whether each file has one agent and no workflow.
        """
        for name in dict.fromkeys(specs):
            # pathlib is not needed yet
            is_folder = not of_agents and os.path.isdir(name)  # noqa: PTH112
            yield from files_in(name) if is_folder else [FoundFile(name, "agent" if of_agents else "workflow")]

    def findings(self, file: FoundFile, text: str) -> tuple[Finding, ...]:
        """Return the findings of a file if it had this text.

        Raises:
            StrandsCliError: It cannot be read.
        """
        name, kind = file
        if kind == "agent":
            return _agent_findings(name, text)
        from strands_cli import app
        from strands_cli.catalog.catalog import discover_catalog
        from strands_cli.yaml_files.document_reader import FileSnapshot

        folder = Path.cwd() if name == "-" else Path(name).absolute().parent
        if folder not in self._catalogs:
            self._catalogs[folder] = discover_catalog(project=folder)
        return app.check(name, text, FileSnapshot(texts=self._texts), self._catalogs[folder])

    def report(
        self, files: Iterable[FoundFile], output: Format = "text", facts: Mapping[str, Mapping[str, Any]] | None = None
    ) -> int:
        """Report the findings of each file and its uses of the machine; return the highest of their exit codes.

        Args:
            files: The files.
            output: The form.
            facts: What else the JSON has of each file, by its name.
        """
        return report_files([self._check(file) for file in files], output, facts or {})

    def _check(self, file: FoundFile) -> FileReport:
        text = self._texts.get(os.path.realpath(file.name)) if self._texts else None
        return _check_agent(file.name, text) if file.kind == "agent" else _check(file.name, text)


def _agent_findings(name: str, text: str | None) -> tuple[Finding, ...]:
    from strands_cli.app.agent_files import check_atomic
    from strands_cli.workflow.parts.agent_file import open_atomic

    return check_atomic(open_atomic(Path(name), text=text))


def _check_agent(name: str, text: str | None) -> FileReport:
    try:
        findings = _agent_findings(name, text)
    except StrandsCliError as error:
        return FileReport(name, error.findings, error.exit_code)
    return FileReport(name, findings, ExitCode.INVALID if has_errors(findings) else ExitCode.OK)


def report_files(checked: Sequence[FileReport], output: Format, facts: Mapping[str, Mapping[str, Any]]) -> int:
    """Report what was found in files, as `FileChecks.report` does."""
    from strands_cli.cli.output.messages import say, say_findings
    from strands_cli.cli.output.results import print_json, print_result

    findings = [finding for report in checked for finding in report.findings]
    if output in ("github", "sarif"):
        _print_annotations(findings, output)
    elif output == "json":
        print_json(
            {
                "files": [{**_document(report), **facts.get(report.name, {})} for report in checked],
                "findings": [finding.as_dict() for finding in findings],
            }
        )
    else:
        for report in checked:
            say_findings(report.findings)
            if has_errors(report.findings):
                say(f"{report.name}: {_count(report.findings)}")
            else:
                counted_findings = f", {_count(report.findings)}" if report.findings else ""
                print_result("\n".join([f"{report.name}: ok{counted_findings}", *_use_lines(report.uses)]))
    return max((report.code for report in checked), default=ExitCode.OK)


def _document(report: FileReport) -> dict[str, Any]:
    return {
        "file": report.name,
        "valid": not has_errors(report.findings),
        "uses": [use.as_dict() for use in report.uses],
    }


def _use_lines(uses: Sequence[Use]) -> list[str]:
    if not uses:
        return []
    from strands_cli.cli.terminal_text import one_line
    from strands_cli.planning.authority_sentences import use_lines

    # Uses that a person is asked about are always shown.
    shown_uses = uses if len(uses) <= MOST_USES else sorted(uses, key=lambda use: not use.asks)[:MOST_USES]
    rest = len(uses) - len(shown_uses)
    more = [f"  And {rest} more, which --format json has."] if rest else []
    return [*(one_line(f"  {line}") for line in use_lines(shown_uses)), *more]


def _print_annotations(findings: list[Finding], form: Format) -> None:
    from strands_cli.__about__ import __version__
    from strands_cli.cli.output.results import print_json, print_result
    from strands_cli.cli.terminal.workflow_summary import github_line, sarif_document

    if form == "sarif":
        print_json(sarif_document(findings, __version__), is_ours=False)
    elif findings:
        print_result("\n".join(map(github_line, findings)))


def _check(name: str, text: str | None) -> FileReport:
    """Return the findings of one file."""
    from strands_cli import app
    from strands_cli.planning.name_checks import check_names

    try:
        workflow = check_names(app.load(name, text))
    except StrandsCliError as error:
        return FileReport(name, error.findings, error.exit_code)
    if has_errors(workflow.findings):
        return FileReport(name, workflow.findings, ExitCode.INVALID)
    return FileReport(name, workflow.findings, ExitCode.OK, _uses_of(workflow))


def _uses_of(workflow: LoadedWorkflow) -> tuple[Use, ...]:
    """Return the uses of this machine by a valid workflow, as `plan` shows them, but for decisions of hook plugins."""
    from strands_cli.planning.data_flow.authority import may_use

    if workflow.spec is None or not may_use(workflow.spec):
        return ()
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.config import read_settings
    from strands_cli.planning.data_flow.planned_authority import authority_of
    from strands_cli.planning.machine.installation import without_policy
    from strands_cli.planning.plan_builder import build_plan
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.user_files.policy_files import read_policies
    from strands_cli.yaml_files.document_reader import folder_of

    folder = workflow.snapshot.folder or folder_of(workflow.document)
    # Installed distributions matter to a workflow with tools.
    installed = discover_catalog(None if _may_have_tools(workflow.spec) else (), project=folder)
    machine = without_policy(installed, read_settings())
    with contextlib.suppress(Denied):  # a mistake in a policy file is none of the workflow
        machine = dataclasses.replace(machine, policy=read_policies(machine.settings, folder))
    request = RunRequest(as_written=True)  # nothing is used because of a text, so that no template is rendered
    return authority_of(build_plan(workflow, machine, request)).uses


def _may_have_tools(spec: WorkflowSpec) -> bool:
    sections = (spec.tools, spec.context_policy)
    return bool(spec.skills or spec.named_tools() or any(section.model_fields_set for section in sections))


def _count(findings: Any) -> str:
    errors = sum(finding.severity == "error" for finding in findings)
    counts = [(errors, "error"), (len(findings) - errors, "warning")]
    return ", ".join(counted(number, noun) for number, noun in counts if number)
