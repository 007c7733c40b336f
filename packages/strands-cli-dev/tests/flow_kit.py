"""Projects of workflow packages, made by the scaffold, and copies of them with one thing changed."""

from __future__ import annotations

from pathlib import Path

from strands_cli.errors import Finding
from strands_cli_dev.plugin_check.plugin_project import read_project
from strands_cli_dev.plugin_check.whole_plugin import check_plugin
from strands_cli_dev.plugin_new.new_flow import NewFlow, make_flow

EXAMPLES = Path(__file__).parents[3] / "examples" / "packages"
PACKAGE = "src/strands_flow_bees/workflows"
WORKFLOW = f"{PACKAGE}/bees.yaml"
AGENT = f"{PACKAGE}/reader.yaml"


def make_bees(parent: Path) -> Path:
    """Return the project of a new package of the workflow `bees`."""
    return make_flow(NewFlow("bees"), parent)


def found_in(project: Path, *, tests: bool = False) -> list[tuple[str, str]]:
    """Return the severity and the code of each finding of `plugin check`."""
    return [(one.severity, str(one.code)) for one in findings_of(project, tests=tests)]


def findings_of(project: Path, *, tests: bool = False) -> list[Finding]:
    return check_plugin(read_project(project), tests=tests).findings


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text, f"{file} has no {old!r}"
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def replace_lines(file: Path, start: str, *instead: str) -> None:
    """Replace the lines that begin so."""
    lines = file.read_text(encoding="utf-8").splitlines()
    kept = [one for line in lines for one in (instead if line.startswith(start) else [line])]
    assert kept != lines
    file.write_text("\n".join(kept) + "\n", encoding="utf-8")
