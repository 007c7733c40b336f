"""Workflows of the earlier format send the requests, ask the questions and write the files that their cases say.

So they do as they are, and when `strands workflows migrate` has written them in the present format.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from earlier_format.kit import CASES, COMPARED, read_case, read_yaml, requests_of

from strands_cli_migrate.earlier.versions import is_present

pytestmark = pytest.mark.docs

NAMES = sorted(path.stem for path in CASES.glob("*.yaml"))
# Some cases show what the present format means for comparison.
OLD = [name for name in NAMES if not is_present(read_yaml(read_case(name)["workflow"])["version"])]


# Regular expressions in templates have `\\d`; Jinja reads it with a warning.
@pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning")
@pytest.mark.parametrize(("name", "is_migrated"), [(name, False) for name in NAMES] + [(name, True) for name in OLD])
def test_a_workflow_does_what_its_case_says(name: str, is_migrated: bool, folder: Path) -> None:
    case = read_case(name)
    played = requests_of(case, folder, is_migrated=is_migrated)
    wanted = {key: case.get(key, type(getattr(played, key))()) for key in COMPARED}
    if case.get("any_order"):
        wanted["sends"] = sorted(wanted["sends"], key=yaml.safe_dump)
    if is_migrated:  # what was translated is no longer reported, and other lines have moved
        found = [one.partition(":")[0] for one in wanted["warns"]]
        wanted["warns"] = [code for code in found if code != "prompt-as-text"]
        wanted["refused"] = [one.partition(":")[0] for one in wanted["refused"]]
    found = {key: getattr(played, key) for key in COMPARED}
    if is_migrated:  # a rule that denies a call is named with its line
        found, wanted = (json.loads(re.sub(r"flow\.yaml:\d+", "flow.yaml", json.dumps(one))) for one in (found, wanted))
    assert found == wanted
    assert not (played.refused and played.sends), "what is refused is refused before the first paid call"
