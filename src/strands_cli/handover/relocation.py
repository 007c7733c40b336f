"""A stored workflow on another machine: its texts are those of the journal, its paths start from a folder here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from strands_cli import app
from strands_cli.engine.run_start.run_facts import format_version_of, raised_budgets, stored_request
from strands_cli.errors import RunRecordError
from strands_cli.lock.format.lock_model import lock_file
from strands_cli.planning.data_flow.workflow_trust import Trust
from strands_cli.texts.canonical_json import digest_of
from strands_cli.workflow.loader import load_spec
from strands_cli.yaml_files.document_reader import read_document
from strands_cli.yaml_files.file_source import FileSnapshot

if TYPE_CHECKING:
    from strands_cli.engine.ports.store_port import StoredJournal
    from strands_cli.planning.plan.plan_values import Plan
    from strands_cli.planning.run_request import RunRequest
    from strands_cli.workflow.loaded import Loaded


class Facts(Protocol):
    """The facts of a run: its journal, or what is about to be stored in one."""

    def get(self, name: str, /) -> Any:
        """Return one fact, or None."""


def facts_to_move(planned: Plan, request: RunRequest) -> dict[str, Any]:
    """Return what another machine needs to know of a plan besides the facts of a run.

    `plan_key` is equal for runs of one workflow whose plans differ in their inputs and the folder of artifacts only.
    """
    lock = lock_file(planned.project)
    text = lock.read_text(encoding="utf-8") if lock.is_file() else ""
    options = {name: value for name, value in request.to_stored().items() if name != "out_dir"}
    of_others = Trust.of(planned).is_of_others
    version = planned.spec.version
    whole = [planned.file, planned.text, version, dict(planned.files), options, planned.packaged, text, of_others]
    folder = os.path.realpath(planned.base_dir)
    return {"folder": folder, "lock": text, "of_others": of_others, "plan_key": digest_of(whole)}


def moved_request(facts: Facts, folder: Path, changes: Mapping[str, Any]) -> RunRequest:
    """Return the request of a run on another machine, where it works in a folder.

    Args:
        folder: Where artifacts and the files of tools begin.
        changes: Fields that this machine chooses: its policy file, where its lines go.
    """
    return stored_request(facts, {"policy": None, "detach": True, "beside": folder, **changes})  # type: ignore[arg-type]


def moved_workflow(facts: Facts, base: Path) -> Loaded:
    """Return the workflow of a run, with `base` in place of the folder that it was in.

    No other file of this machine is read: what the workflow names and the journal does not have is missing here.
    """
    file, text, packaged = facts.get("file"), facts.get("text"), facts.get("packaged") or ""
    texts: Mapping[str, str] = facts.get("files") or {}
    folder = Path(facts.get("base_dir"))
    if not packaged:
        texts, folder = _moved(texts, facts.get("folder") or str(folder), base), base
    version, of_others = format_version_of(facts), facts.get("of_others")  # type: ignore[arg-type]
    snapshot = FileSnapshot(folder, texts, is_all=True, packaged=packaged, format_version=version, of_others=of_others)
    return load_spec(read_document(file, text), snapshot)


def _moved(texts: Mapping[str, str], before: str, base: Path) -> dict[str, str]:
    """Return texts by the names that their files have from `base`, and by those that they had: a path may be whole."""
    there = os.path.realpath(base)

    def place(name: str) -> str:
        return os.path.normpath(os.path.join(there, os.path.relpath(name, before)))  # noqa: PTH118 - names, not files

    return {**texts, **{place(name): text for name, text in texts.items()}}


def install_lock(facts: Facts, base: Path) -> None:
    """Put the lock of a run beside its workflow, so that what is installed here is compared with it.

    Raises:
        RunRecordError: Another lock is there: that of this worker's own project.
    """
    text, file = facts.get("lock") or "", lock_file(base)
    here = file.read_text(encoding="utf-8") if file.is_file() else ""
    if here == text or not text:
        return
    if here:
        raise RunRecordError(
            f"the run was submitted with another {file.name} than {file}: {_difference(text, here)}",
            fix="give the worker the project that the run was submitted from, or start it without --workspace",
        )
    base.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def _difference(one: str, other: str) -> str:
    """Return the first lines in which two locks differ."""
    both = {*one.splitlines()} ^ {*other.splitlines()}
    lines = [line.strip() for line in (*one.splitlines(), *other.splitlines()) if line in both and "=" in line]
    return "; ".join(lines[:3]) or "they have other entries"


def raise_limits(journal: StoredJournal, limits: Mapping[str, str]) -> None:
    """Store limits that were raised in a held run; the process that continues it applies them.

    Raises:
        UsageError: There is no such limit, or it is not raised.
    """
    base = Path(journal.get("base_dir"))
    raised_budgets(app.plan(moved_workflow(journal, base), moved_request(journal, base, {})), journal, limits)
