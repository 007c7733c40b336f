"""The workflow files of the folder, and one of them as its page shows it."""

from __future__ import annotations

from strands_cli.api import SUFFIXES, RunRecordError, StrandsCliError, UsageError, WorkflowPreview
from strands_cli_ui.frame.ui_frame import has_address
from strands_cli_ui.frame.ui_state import Ui

# The most files of a folder that are looked at.
FILES = 300


def workflow_names(ui: Ui) -> list[str]:
    """Return the files of the folder that may be workflows, by their names; one that is not UTF-8 has no address."""
    try:
        found = [
            path
            for path in ui.folder.iterdir()
            if path.suffix in SUFFIXES and has_address(path.name) and path.is_file()
        ]
    except OSError as error:
        raise UsageError(
            f"{ui.folder} cannot be read: {error.strerror or error}", fix="start the page again"
        ) from error
    return sorted(path.name for path in found)[:FILES]


def titles_of(ui: Ui, file: str) -> tuple[str, str] | None:
    """Return the name and the description of a workflow; None for a recording, or an agent, which lie beside them."""
    try:
        return WorkflowPreview.titles(ui.folder / file)
    except StrandsCliError:  # one with a mistake in it is shown with its findings
        return None if file.endswith((".json", ".recording.yaml")) else ("", "")


def seen_workflow(ui: Ui, name: str) -> WorkflowPreview:
    """Plan a workflow of the folder, without importing a plugin; a person allows or starts exactly this.

    Raises:
        RunRecordError: The folder has no such file.
        StrandsCliError: It is not a valid workflow.
    """
    if name not in workflow_names(ui):
        raise RunRecordError(f"there is no workflow {name} in {ui.folder}", fix="see the list of workflows")
    return WorkflowPreview.of(ui.folder / name, ui.place, folder=ui.folder)
