"""A value that an input declares as text is what is written, however YAML or JSON reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from strands_cli import app
from strands_cli.app import load
from strands_cli.cli.commands.input_options import read_values
from strands_cli.planning.run_request import RunRequest

TEXTS = (
    "1.10",
    "3.10",
    "1e3",
    "0o17",
    "010",
    "0x1F",
    "1_000",
    "12:30:45",
    "2026-01-01",
    "yes",
    "no",
    "on",
    "off",
    "True",
    "FALSE",
    ".5",
    "+1",
    "-0",
    "=",
    "1.0",
    "007",
    "12345678901234567890123",
    "1.",
    "true",
    "42",
)
HEAD = """version: 2
name: n
pattern: {type: chain, config: {steps: [{tool: native:search, input: {query: q, path: .}}]}}
"""


def inputs_of(tmp_path: Path, section: str, **request: Any) -> dict[str, Any]:
    file = tmp_path / "w.yaml"
    file.write_text(HEAD + section)
    return dict(app.plan(file, RunRequest(**request)).inputs)


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_what_is_written(tmp_path: Path, text: str) -> None:
    section = f"inputs: {{optional: {{v: {{type: string, default: {text}}}, e: {{enum: [{text}, ~], type: string}}}}}}"
    assert inputs_of(tmp_path, section)["v"] == text
    assert inputs_of(tmp_path, section, variables={"e": text})["e"] == text
    assert inputs_of(tmp_path, section, variables={"e": "~"})["e"] == "~"
    values = tmp_path / "values.yaml"
    values.write_text(f"v: {text}\ne: {text}\n")
    given = inputs_of(tmp_path, section, values=read_values([values]))
    assert (given["v"], given["e"]) == (text, text)


def test_an_alias_and_a_merge_key_are_what_is_written(tmp_path: Path) -> None:
    other = "c: {<<: *a}, d: {type: string, default: *v}"
    section = f"inputs: {{optional: {{a: &a {{type: string, default: &v 1.10}}, b: *a, {other}}}}}"
    found = inputs_of(tmp_path, section)
    assert {name: found[name] for name in "abcd"} == dict.fromkeys("abcd", "1.10")


def test_a_fixed_value_of_a_text_is_what_is_written(tmp_path: Path) -> None:
    section = "inputs: {optional: {v: string}, values: {v: 1.10, free: 1.10}}"
    found = inputs_of(tmp_path, section)
    assert (found["v"], found["free"]) == ("1.10", 1.1)


def test_a_later_file_and_a_variable_win(tmp_path: Path) -> None:
    for name, text in (("one", "v: 1.10\nw: 1.20"), ("two", '{"v": "2"}')):
        (tmp_path / f"{name}.yaml").write_text(text)
    values = read_values([tmp_path / "one.yaml", tmp_path / "two.yaml"])
    section = "inputs: {optional: {v: string, w: string}}"
    assert inputs_of(tmp_path, section, values=values) == {"v": "2", "w": "1.20"}
    assert inputs_of(tmp_path, section, values=values, variables={"w": "9"})["w"] == "9"


@pytest.mark.parametrize(("text", "number"), [("0x1F", 31), ("0o17", 15), ("010", 10), ("1e3", 1000.0), ("1.10", 1.1)])
def test_a_number_is_read_as_yaml_1_2_says(tmp_path: Path, text: str, number: float) -> None:
    section = f"inputs: {{optional: {{v: {{type: number, default: {text}}}}}}}"
    assert inputs_of(tmp_path, section)["v"] == number


def test_a_number_with_underscores_is_not_a_number(tmp_path: Path) -> None:
    section = "inputs: {optional: {v: {type: number, default: 1_000}}}"
    (tmp_path / "w.yaml").write_text(HEAD + section)
    assert [found.severity for found in load(tmp_path / "w.yaml").findings] == ["error"]


@pytest.mark.parametrize(
    ("section", "places"),
    [
        ("inputs: {values: {v: 1.10, w: 1.5, x: 2}}", ["/inputs/values/v"]),
        ("inputs: {optional: {v: {default: 1e3}}}", ["/inputs/optional/v/default"]),
        ("inputs: {optional: {v: {type: number, default: 1e3}, w: {type: string, default: 1e3}}}", []),
        ("inputs: {optional: {v: {type: string}}, values: {v: 1.10}}", []),
    ],
)
def test_a_number_without_a_type_that_is_printed_otherwise_is_reported(
    tmp_path: Path, section: str, places: list[str]
) -> None:
    file = tmp_path / "w.yaml"
    file.write_text(HEAD + section)
    found = [one for one in load(file).findings if one.code == "number-respelled"]
    assert [one.where.pointer for one in found if one.where is not None] == places
    assert {one.severity for one in found} <= {"warning"}
