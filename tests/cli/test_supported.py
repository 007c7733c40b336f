"""`explain supported` and `explain` of an exit code say what the code does, and no more."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from strands_cli.cli.commands.list_commands import REFERENCES
from strands_cli.cli.output.codes import declared_codes
from strands_cli.cli.program import run_program
from strands_cli.errors import ExitCode, exit_code_meanings
from strands_cli.provider_table import PROVIDERS
from strands_cli.toolref import RefKind, ToolRef
from strands_cli.workflow.patterns.pattern_models import PATTERNS
from strands_cli.workflow.templates.sandbox import Sandbox


def document(capsys: pytest.CaptureFixture[str], *command: str) -> Any:
    assert run_program([*command, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_pattern_provider_and_exit_code_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    listed = document(capsys, "explain", "supported")
    assert [(row["name"], row["description"]) for row in listed["patterns"]] == [
        (name, model.purpose) for name, model in PATTERNS.items()
    ]
    assert [row["name"] for row in listed["providers"]] == list(PROVIDERS)
    assert [row["name"] for row in listed["exit_codes"]] == [code.value for code in ExitCode]
    assert [row["name"] for row in listed["steps"]] == ["agent", "hitl", "tool"]
    assert all(row["description"] for name in ("patterns", "steps", "exit_codes") for row in listed[name])
    openai = next(row for row in listed["providers"] if row["name"] == "openai")
    assert (openai["extra"], openai["keys"]) == ("openai", ["OPENAI_API_KEY"])


def test_every_kind_of_reference_has_an_example_that_is_one() -> None:
    assert {ToolRef.parse(text).kind for text in REFERENCES} == set(get_args(RefKind))


def test_each_filter_that_is_listed_exists(capsys: pytest.CaptureFixture[str]) -> None:
    names = [row["name"] for row in document(capsys, "explain", "supported")["template_filters"]]
    assert {"truncate", "tojson", "fromjson", "regex_search", "join", "default"} <= set(names)
    for name in names:
        Sandbox().template(f"{{{{ topic | {name} }}}}")


def test_the_list_for_people_names_each_section(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["explain", "supported"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("patterns\n  chain ")
    assert "\n\ntemplate filters\n  abs, " in out
    assert "\n  130  " in out


def test_an_exit_code_is_explained_with_the_findings_that_lead_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    explained = document(capsys, "explain", "18")
    assert explained["exit_code"] == 18
    assert explained["findings"] == sorted(code for code in declared_codes().values() if code.exit_code == 18)
    assert run_program(["explain", "21"]) == 0
    shown = capsys.readouterr().out
    assert "tool-denied" in shown
    assert exit_code_meanings()[ExitCode.DENIED] in shown


def test_a_number_that_is_not_an_exit_code_names_those_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["explain", "99"]) == 2
    said = capsys.readouterr().err
    assert "99" in said
    assert "0, 1, 2, 3, 10, 12" in said
