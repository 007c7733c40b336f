"""Which workflows have the earlier meaning, who may ask for it, and runs that began before there was one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from strands_cli import Workflow, discover_catalog
from strands_cli.app import load
from strands_cli.catalog.catalog import Catalog
from strands_cli.errors import WaitingForPerson
from strands_cli.workflow.templates.template import Templates
from strands_cli.workflow.templates.template_errors import TemplateError
from tests.wordings import Wording

SRC = Path(__file__).parents[2] / "src" / "strands_cli"
# Where the format has no word for the earlier meaning (docs/decisions/0048).
READERS = {
    "engine/conversations.py",
    "engine/end_names.py",
    "engine/patterns/evaluator_optimizer.py",
    "engine/patterns/graph.py",
    "engine/patterns/orchestrator_workers.py",
    "engine/patterns/parallel.py",
    "engine/patterns/routing.py",
    "engine/run_start/corrected_workflow.py",
    "engine/step_inputs.py",
    "planning/data_flow/authority.py",
    "planning/data_flow/unnamed_secrets.py",
    "planning/planned_agents.py",
    "planning/resolve/composed_tools.py",
    "planning/resolve/tool_resolver.py",
    "planning/row_planner.py",
    "workflow/checks/check_comparisons.py",
    "workflow/checks/check_memory.py",
    "workflow/checks/check_workflow.py",
    "workflow/loader.py",
    "workflow/meaning.py",
    "workflow/model.py",
    "workflow/object_of_inputs.py",
    "workflow/template_places.py",
}

ASKS = """
version: {version}
name: asks
pattern:
  type: chain
  config:
    steps: [{{type: hitl, prompt: "Go on?"}}, {{type: hitl, prompt: "Sure?"}}]
"""


@pytest.mark.parametrize(
    ("version", "is_earlier"),
    [
        *((text, True) for text in ("0", "0.0", "'0'", "1.0.0", "0.1", "'0.1'", "v1", "latest", "1.1", "1.2.0", "2.1")),
        *((text, True) for text in ("2024-06-01", "'2024'", "3", "99999999999999999999", "-1", "1e99", "''", "one")),
        *((text, False) for text in ("1", "1.0", "'1'", "'1.0'", "2", "2.0", "'2'", "'2.0'", "' 1 '")),
    ],
)
def test_the_version_decides_what_a_workflow_means(version: str, is_earlier: bool) -> None:
    spec = load("<text>", ASKS.format(version=version)).spec
    assert spec is not None
    assert spec.is_earlier is is_earlier


def test_few_modules_ask_for_the_earlier_meaning() -> None:
    readers = {path for path in SRC.rglob("*.py") if re.search(r"\bis_earlier\b", path.read_text(encoding="utf-8"))}
    assert {path.relative_to(SRC).as_posix() for path in readers} == READERS


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return discover_catalog()


def _asking(version: str, folder: Path, catalog: Catalog) -> str:
    """Run to the first question; return the run's id."""
    (folder / "asks.yaml").write_text(ASKS.format(version=version))
    with pytest.raises(WaitingForPerson):
        Workflow.from_file("asks.yaml").run(runs_dir="runs", catalog=catalog)
    return next(path.name for path in (folder / "runs").iterdir() if path.is_dir())


def test_the_error_of_an_input_without_a_value_names_it_and_guesses_no_other(wording: Wording) -> None:
    with pytest.raises(TemplateError) as raised:
        Templates(earlier=True).render("{{ extra }}", {"extra": Templates.absent("extra")})
    assert raised.value.is_unknown
    wording(raised.value.message)
