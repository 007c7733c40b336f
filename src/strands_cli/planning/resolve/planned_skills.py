"""The skills of a workflow: one tool, `Skill`, that gives agents the text of a folder when they ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from strands_cli.errors import Finding, Where
from strands_cli.planning.plan import PlannedTool
from strands_cli.planning.workflow_tools import Skills, own_record
from strands_cli.policy import Request, decide

if TYPE_CHECKING:
    from strands_cli.planning.resolve.tool_resolver import ToolResolver
    from strands_cli.workflow.model import ToolEntry
    from strands_cli.workflow.skill_folders import SkillFolder

TOOL = "Skill"
# A file has at most 128 KiB; as JSON, and with the list of files, it may be longer.
_OUTPUT_BYTES = 512 * 1024
_READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


def planned_skills(resolver: ToolResolver) -> tuple[PlannedTool, ...]:
    """Return the tool that gives the skills of a workflow, if it has any that can be used."""
    skills, around = resolver.spec.skills, resolver.own.around
    if not skills:
        return ()
    from strands_cli.workflow.skill_folders import read_skills

    folders, findings = read_skills(skills, around.base_dir, resolver.document, around.kept)
    resolver.findings += findings
    if not folders:
        return ()
    record = own_record(
        "skill", TOOL, description_of(folders), _schema(folders), _READS, max_output_bytes=_OUTPUT_BYTES
    )
    tool = PlannedTool(TOOL, TOOL, record, _UNDECIDED, sources=_SOURCES, own=Skills(folders), depth=1)
    return (resolver.settle(tool, resolver.document.where("/skills", key=True)),)


def renamed_skill(resolver: ToolResolver, entry: ToolEntry, where: Where) -> tuple[PlannedTool, ...]:
    """Return the tool under another name; without one that can be used there is a finding already."""
    if entry.config:
        message = f"'{TOOL}' is made of `skills`, so `config` has no effect"
        resolver.findings.append(Finding("tool-config", message, where, "write it there"))
    own = (tool for tool in resolver.workflow_tools if tool.ref == TOOL and isinstance(tool.own, Skills))
    return tuple(resolver.settle(replace(tool, name=entry.as_ or TOOL), where) for tool in own)


def skill_files(tools: tuple[PlannedTool, ...]) -> dict[str, str]:
    """Return the texts of the skills among a workflow's tools, by the names under which a run keeps files."""
    folders = (folder for tool in tools if isinstance(tool.own, Skills) for folder in tool.own.folders)
    return {place: text for folder in folders for place, text in folder.files.items()}


def description_of(folders: tuple[SkillFolder, ...]) -> str:
    """Return what models are told: the ids of all skills, and when to use those whose metadata is preloaded."""
    lines = ["Load instructions for a kind of task before you begin with it. Skills:"]
    for folder in folders:
        told = f": {folder.description}" if folder.preload_metadata and folder.description else ""
        lines.append(f"- {folder.id}{told}")
    return "\n".join(lines)


def _schema(folders: tuple[SkillFolder, ...]) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": {
            "skill_id": {
                "type": "string",
                "enum": [folder.id for folder in folders],
                "description": "Which skill to load.",
            },
            "file": {
                "type": "string",
                "minLength": 1,
                "maxLength": 1024,
                "description": "A file of the skill, by its path in the folder; SKILL.md, which names them, if absent.",
            },
        },
        "required": ["skill_id"],
        "additionalProperties": False,
    }


_UNDECIDED = decide((), Request(names=()))
_SOURCES = frozenset({"workflow"})
