"""Calls of the tool `Skill`: a text of a folder, from what was read when the run was planned."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any

from strands_cli.errors import did_you_mean
from strands_cli.phrases import first_of
from strands_cli.planning.plan import Skills
from strands_cli.tools.tool_results import Result, error_result
from strands_cli.workflow.files import ENTRY, SkillFolder, without_front_matter

_SHOWN = 100


def load_skill(skills: Skills, arguments: Mapping[str, Any], identity: str) -> Result:
    """Return a text of a skill, or in an error which there are; nothing is opened, so no path leads anywhere else.

    Args:
        arguments: `skill_id`, and perhaps `file`, a path inside the folder.
    """
    folder = next(one for one in skills.folders if one.id == arguments["skill_id"])
    name = posixpath.normpath(str(arguments.get("file", ENTRY)).replace("\\", "/"))
    if name.startswith(("/", "..")):
        message = f"the files of the skill '{folder.id}' are named by paths inside its folder, without '..'"
        return error_result(identity, "invalid_input", message, details={"reason": "outside"})
    if name not in folder.texts:
        guess = did_you_mean(name, folder.texts)
        others = f"did you mean {guess!r}?" if guess else f"it has: {_listed(folder)}"
        message = f"the skill '{folder.id}' has no text {name!r}; {others}"
        return error_result(identity, "invalid_input", message, details={"reason": "unknown-file"})
    text = folder.texts[name]
    if name == ENTRY:
        text = without_front_matter(text).strip("\n")
        if len(folder.texts) > 1:
            text += f"\n\nFiles of this skill, which `file` names: {_listed(folder)}"
    return {"toolUseId": identity, "status": "success", "content": [{"text": text or "(empty)"}]}


def _listed(folder: SkillFolder) -> str:
    names = [name for name in folder.texts if name != ENTRY]
    return first_of(names, _SHOWN) or ENTRY
