"""The reference page names what is public, all of it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import strands_cli.api
from strands_cli import Workflow
from strands_cli.api import RunChoices, StoredRunChoices
from strands_cli.planning.run_request import options
from strands_cli.workflow import builder

CLONE = Path(__file__).parent.parent.parent
PAGE = (CLONE / "docs" / "reference" / "python-api.md").read_text(encoding="utf-8")
FOR_DISTRIBUTIONS = (CLONE / "docs" / "reference" / "api.md").read_text(encoding="utf-8")
CODE = " ".join(re.findall(r"`([^`]+)`", PAGE + FOR_DISTRIBUTIONS))
OF_PROGRAMS = {"tools", "catalog", "hooks", "context"}
PINNED = (CLONE / "tests" / "golden" / "public-names.txt").read_text(encoding="utf-8").split()


def is_on_the_page(name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", CODE) is not None


@pytest.mark.parametrize("name", [name.rpartition(".")[2] for name in PINNED])
def test_every_public_name_is_on_the_page(name: str) -> None:
    assert is_on_the_page(name)


def test_every_method_and_choice_is_on_the_page() -> None:
    methods = [name for name in vars(Workflow) if not name.startswith("_")]
    assert [name for name in [*methods, *RunChoices.__annotations__] if not is_on_the_page(name)] == []


def arguments_of(function: Callable[..., object]) -> list[str]:
    """Return the names of a function's arguments; `**options` are those of a typed dictionary."""
    parameters = inspect.signature(function).parameters
    options = re.fullmatch(r"Unpack\[(\w+)\]", str(getattr(parameters.get("options"), "annotation", "")))
    named = [name for name in parameters if name != "options"]
    return [*named, *getattr(builder, options[1]).__annotations__] if options else list(parameters)


@pytest.mark.parametrize("name", [name for name in builder.__all__ if name.islower()])
def test_the_page_shows_every_argument_of_the_builder(name: str) -> None:
    shown = next(code for code in re.findall(r"`([^`]+)`", PAGE) if f"{name}(" in code and code.startswith(f"{name}("))
    mapped = {"choices", "routes"}  # the page shows what is in the mapping
    arguments = arguments_of(getattr(builder, name))
    assert [word for word in arguments if word not in mapped and not re.search(rf"\b{word}\b", shown)] == []


def test_the_choices_of_a_program_are_options_and_what_only_a_program_has() -> None:
    assert set(RunChoices.__annotations__) - set(options()) == OF_PROGRAMS
    left_to_the_command = {name for name, one in options().items() if not one.in_python}
    assert set(options()) - set(RunChoices.__annotations__) == left_to_the_command
    again = {name for name, one in options().items() if one.again and one.in_python}
    assert set(StoredRunChoices.__annotations__) == again | OF_PROGRAMS


def test_names_for_distributions_are_listed_where_python_lists_names() -> None:
    pinned = {name.rpartition(".")[2] for name in PINNED if name.startswith("strands_cli.api.")}
    assert pinned <= set(dir(strands_cli.api))
