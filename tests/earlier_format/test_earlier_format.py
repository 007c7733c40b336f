"""Workflows of the earlier format send the requests, ask the questions and write the files that their cases say."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.earlier_format.kit import CASES, COMPARED, read_case, requests_of

pytestmark = pytest.mark.docs


# Regular expressions in templates have `\\d`; Jinja reads it with a warning.
@pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning")
@pytest.mark.parametrize("name", sorted(path.stem for path in CASES.glob("*.yaml")))
def test_a_workflow_does_what_its_case_says(name: str, folder: Path) -> None:
    case = read_case(name)
    played = requests_of(case, folder)
    wanted = {key: case.get(key, type(getattr(played, key))()) for key in COMPARED}
    if case.get("any_order"):
        wanted["sends"] = sorted(wanted["sends"], key=yaml.safe_dump)
    assert {key: getattr(played, key) for key in COMPARED} == wanted
    assert not (played.refused and played.sends), "what is refused is refused before the first paid call"
