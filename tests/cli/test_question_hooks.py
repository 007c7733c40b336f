"""Hook plugins hear of the questions of a run, and cannot change its end."""

from __future__ import annotations

import json

import pytest

from tests.cli.strands import Folder
from tests.distributions import make_distribution
from tests.wordings import Wording

GATE = {"type": "hitl", "prompt": "Publish?"}
STEPS = [{"agent": "writer", "input": "Write."}, GATE]
TURNS = {"steps.0": [{"text": "It rains."}]}


def switch_on(folder: Folder, name: str) -> None:
    path = folder.root / "home" / ".config" / "strands-cli" / "policy.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"version: 1\nhooks: [{name}]\n", encoding="utf-8")


PLUGIN = """\
import json, os
from strands_cli.hooks import hookimpl


@hookimpl
def strands_question_waiting(questions, context):
    {body}
"""


@pytest.mark.parametrize("body", ["{told}", "raise SystemExit(3)"])
def test_a_plugin_sees_questions_and_cannot_change_the_end(folder: Folder, body: str, wording: Wording) -> None:
    told = (
        "open('told', 'w').write(json.dumps([context.run, [(one.key, one.kind, one.commands) for one in questions]]))"
    )
    source = PLUGIN.replace("{body}", body.replace("{told}", told))
    points = "[strands_cli.hooks]\nhooks = strands_hooks_tell\n"
    make_distribution(folder.site, "strands-hooks-tell", "1.0", points, {"strands_hooks_tell/__init__.py": source})
    switch_on(folder, "strands-hooks-tell")
    folder.workflow(STEPS, TURNS)
    ran = folder.strands("run", "flow.yaml", "--json")
    assert (ran.code, ran.document["status"]) == (19, "waiting")
    if body == "{told}":
        run, [[key, kind, commands]] = json.loads((folder.work / "told").read_text("utf-8"))
        assert (run, key, kind) == (ran.document["run"], "steps.1", "gate")
        assert commands[0].startswith(f"strands approve {run} steps.1 ")
    wording(ran.reported)


@pytest.mark.hostile
def test_a_plugin_that_hangs_is_a_warning(folder: Folder) -> None:
    source = PLUGIN.replace("{body}", "__import__('threading').Event().wait()")
    points = "[strands_cli.hooks]\nhooks = strands_hooks_hang\n"
    make_distribution(folder.site, "strands-hooks-hang", "1.0", points, {"strands_hooks_hang/__init__.py": source})
    switch_on(folder, "strands-hooks-hang")
    folder.workflow(STEPS, TURNS)
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == 19
    (line,) = ran.reported
    assert "strands-hooks-hang" in line
    assert "strands_question_waiting" in line
