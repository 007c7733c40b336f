"""The skills of a workflow: one tool, `Skill`, that gives agents the text of a folder when they ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from strands_cli.errors import Where, has_errors
from strands_cli.planning.plan.plan_values import PlannedTool, Skills, WorkflowTool
from strands_cli.planning.resolve.resolve_context import ResolveContext
from strands_cli.planning.workflow_tools.tool_records import workflow_record

if TYPE_CHECKING:
    from strands_cli.workflow.files.skill_folders import SkillFolder
    from strands_cli.workflow.steps.tool_entries import ToolEntry

TOOL = "Skill"
# A file has at most 128 KiB; as JSON, and with the list of files, it may be longer.
_OUTPUT_BYTES = 512 * 1024
_READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


def planned_skills(context: ResolveContext) -> WorkflowTool | None:
    """Return the tool that gives the skills of a workflow, if it has any that can be used."""
    skills, around = context.spec.skills, context.around
    if not skills:
        return None
    from strands_cli.workflow.files.skill_folders import read_skills

    folders, findings = read_skills(skills, around.base_dir, context.document, around.snapshot)
    context.findings += findings
    context.is_complete &= not has_errors(findings)
    if not folders:
        return None
    record = workflow_record(
        "skill", TOOL, description_of(folders), _schema(folders), _READS, max_output_bytes=_OUTPUT_BYTES
    )
    tool = WorkflowTool(name=TOOL, ref=TOOL, record=record, definition=Skills(folders), depth=1)
    return context.decide(tool, context.document.where("/skills", key=True))


def renamed_skill(
    context: ResolveContext, tool: WorkflowTool | None, entry: ToolEntry, where: Where
) -> tuple[PlannedTool, ...]:
    """Return the tool under another name; where it cannot be used there is a finding already."""
    context.refuse_config(entry, "made of `skills`", where, "write it there")
    return () if tool is None else (context.decide(replace(tool, name=entry.as_ or TOOL), where),)


def skill_files(tools: tuple[PlannedTool, ...]) -> dict[str, str]:
    """Return the texts of the skills among a workflow's tools, by the names under which a run keeps files."""
    made = [tool.definition for tool in tools if isinstance(tool, WorkflowTool)]
    folders = (folder for definition in made if isinstance(definition, Skills) for folder in definition.folders)
    return {place: text for folder in folders for place, text in folder.files.items()}


def description_of(folders: tuple[SkillFolder, ...]) -> str:
    """Return what models see: the ids of all skills, and when to use those whose metadata is preloaded."""
    lines = ["Load instructions for a kind of task before you begin with it. Skills:"]
    for folder in folders:
        about = f": {folder.description}" if folder.preload_metadata and folder.description else ""
        lines.append(f"- {folder.id}{about}")
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
