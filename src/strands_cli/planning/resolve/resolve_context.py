"""The context in which the tools of one workflow are resolved, its surroundings, and the findings about its tools."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from strands_cli.catalog.catalog import Catalog
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.config import Settings
from strands_cli.errors import Code, Finding, Severity, Where, did_you_mean, has_errors, suggest
from strands_cli.planning.plan_values import PlannedTool, Skills, WorkflowTool, workflow_record
from strands_cli.planning.planned_tool import AnyTool, McpTool, secrets_in
from strands_cli.planning.resolve.single_tool import decided, denial_of, is_denied_by_policy
from strands_cli.planning.run_request import RunRequest
from strands_cli.policy.decision import Policy
from strands_cli.policy.rule import Rule
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.canonical_json import canonical_json, json_object
from strands_cli.workflow.findings import UNKNOWN_SECRET
from strands_cli.workflow.model import WorkflowSpec
from strands_cli.workflow.steps import ToolEntry
from strands_cli.yaml_files.document import Document
from strands_cli.yaml_files.document_reader import NO_SNAPSHOT, FileSnapshot

if TYPE_CHECKING:
    from jsonschema import ValidationError

    from strands_cli.hooks.manager import Hooks
    from strands_cli.workflow.skill_folders import SkillFolder
    from strands_cli.workflow.steps import ToolEntry


TWIN_TOOL_NAMES = Code(
    "twin-tool-names", "Two tools of one agent have the same name for the model.", "Rename one of them with `as:`."
)
TOOL_CONFIG = Code(
    "tool-config", "A tool's `config` does not fit its schema, or the tool has no config.", "Correct the setting."
)

# A file and a part of it: `agent:a`, a composite's id, or nothing for the whole workflow.
Place = tuple[str, str]
Kind = TypeVar("Kind", bound=AnyTool)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The context in which a workflow is planned, besides itself and the installed distributions.

    For a tool of another workflow, `rules` are those in force around it, `recording` is for its agents that name none,
    and `making` are the tools that it becomes a part of.
    """

    base_dir: Path
    options: RunRequest = field(default_factory=RunRequest)
    environ: Mapping[str, str] = field(default_factory=dict)
    snapshot: FileSnapshot = NO_SNAPSHOT
    policy: Policy = field(default_factory=Policy)
    rules: tuple[Rule, ...] = ()
    recording: Path | None = None
    making: tuple[Place, ...] = ()

    @property
    def is_tool(self) -> bool:
        """Return whether the workflow is a tool of another."""
        return bool(self.making)


@dataclass(slots=True)
class ResolveContext:
    """One workflow with the context of its tools; faults collect in `findings`.

    `is_complete` is False once a part of the workflow is left out of the plan because it cannot be planned;
    `of_modules` has the answers about modules of Python, by question and module.
    """

    spec: WorkflowSpec
    document: Document
    catalog: Catalog
    rules: Sequence[Rule]
    settings: Settings
    hooks: Hooks | None = None
    around: Surroundings = field(default_factory=lambda: Surroundings(Path.cwd()))
    findings: list[Finding] = field(default_factory=list)
    is_complete: bool = True
    of_modules: dict[tuple[str, str], Any] = field(default_factory=dict)

    def report(
        self, code: Code, message: str, where: Where | None, fix: str | None, severity: Severity = "error"
    ) -> None:
        """Add a finding."""
        self.findings.append(Finding(code, message, where, fix, severity))

    def omit(self, code: Code, message: str, where: Where | None, fix: str | None) -> None:
        """Add a finding about a part, and leave the part out of the plan."""
        self.report(code, message, where, fix)
        self.is_complete = False

    def refuse_config(self, entry: ToolEntry, reason: str, where: Where, fix: str) -> None:
        """Report a `config` that cannot have an effect, because the tool gets its settings elsewhere."""
        if entry.config:
            self.report(TOOL_CONFIG, f"'{entry.tool}' is {reason}, so `config` has no effect", where, fix)

    def decide(self, tool: Kind, where: Where) -> Kind:
        """Return a tool with the decision of policy; a denial, and secrets that it cannot have, become findings."""
        secret_names = [secret.name or secret.key for secret in self.spec.env.secrets]
        # Those of servers and executors are reported where they are written.
        is_checked = isinstance(tool, McpTool) or (where.pointer or "").startswith("/tools/http_executors/")
        named = () if is_checked else secrets_in(tool.config, tool.record.config_schema)
        for name in (name for name in named if name not in secret_names):
            fix = suggest(name, secret_names, f"name it: env: {{secrets: [{{key: {name}}}]}}")
            message = f"the config of '{tool.name}' names the secret '{name}', which `env.secrets` does not have"
            self.report(UNKNOWN_SECRET, message, where, fix)
        planned = decided(tool, self.rules, self.hooks, self.document.file)
        if is_denied_by_policy(planned):
            self.findings.append(denial_of(planned, where))
        return planned

    def check_config(self, record: ToolRecord, config: Mapping[str, Any], where: Where) -> None:
        """Report a configuration that does not fit the tool's schema."""
        needed = json_object(record.config_schema).get("required")
        if not (config or needed) or (record.config_schema is None and record.manifest is None):
            return  # without a manifest the settings of the tool are unknown
        if record.config_schema is None:
            message = f"'{record.name}' of {record.distribution} declares no settings, so `config` has no effect"
            self.report(TOOL_CONFIG, message, where, "remove `config`")
            return
        settings = ", ".join(record.config_schema.get("properties", ())) or "none"
        fix = f"its settings: {settings}"
        if record.kind != "custom":
            fix += f"; see `strands tools show {record.ref_name}`"
        for problem in _config_problems(record.config_schema, config):
            self.report(TOOL_CONFIG, f"the config of '{record.name}': {problem}", where, fix)


def _config_problems(schema: Mapping[str, Any], config: Mapping[str, Any]) -> list[str]:
    """Return the faults of a tool's settings, each with its path; a `$ref` to another document is not fetched."""
    import jsonschema  # only where a tool is configured
    import referencing

    try:
        validator = _validator_of(canonical_json(schema))
        errors = sorted(validator.iter_errors(dict(config)), key=lambda error: error.json_path)
    except (jsonschema.SchemaError, referencing.exceptions.Unresolvable, RecursionError) as error:
        return [f"its schema cannot be used: {getattr(error, 'message', error)}"]
    mistyped = {word for error in errors for word in _unknown_settings(error).values()}
    return [
        ": ".join(filter(None, (error.json_path.removeprefix("$").lstrip("."), _problem_of(error))))
        for error in errors
        if error.validator != "required" or _lacking(error) not in mistyped
    ]


@lru_cache(maxsize=64)
def _validator_of(schema: str) -> Any:
    """Return the validator of a schema, which many tools of a workflow may have; raises `SchemaError`."""
    import jsonschema
    import referencing

    read = json.loads(schema)
    jsonschema.Draft202012Validator.check_schema(read)
    return jsonschema.Draft202012Validator(read, registry=referencing.Registry())


def _lacking(error: ValidationError) -> str:
    """Return the setting that an error of `required` is about: there is one error for each."""
    required = json_object(error.schema).get("required", ())
    return next((name for name in required if error.message.startswith(repr(name))), "")


def _unknown_settings(error: ValidationError) -> dict[str, str | None]:
    """Return the settings that the schema does not have, each with the one that it may mean."""
    if error.validator != "additionalProperties" or error.validator_value is not False:
        return {}
    properties, settings = json_object(json_object(error.schema).get("properties")), json_object(error.instance)
    return {
        name: did_you_mean(name, properties.keys() - settings.keys()) for name in settings if name not in properties
    }


def _problem_of(error: ValidationError) -> str:
    """Return the message of an error; where a text does not match, a person reads its meaning and no pattern."""
    if unknown := _unknown_settings(error):
        named = (f"`{name}`" + (f" (did you mean `{close}`?)" if close else "") for name, close in unknown.items())
        return f"there is no setting {', '.join(named)}"
    if error.validator == "required":
        return f"`{_lacking(error)}` is missing"
    description = json_object(error.schema).get("description") if error.validator == "pattern" else None
    return error.message if description is None else f"{error.instance!r} is not {description}"


# The skills of a workflow: one tool, `Skill`, that gives agents the text of a folder when they ask for it.


TOOL = "Skill"
# A file has at most 128 KiB; as JSON, and with the list of files, it may be longer.
_OUTPUT_BYTES = 512 * 1024
_READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}


def planned_skills(context: ResolveContext) -> WorkflowTool | None:
    """Return the tool that gives the skills of a workflow, if it has any that can be used."""
    skills, around = context.spec.skills, context.around
    if not skills:
        return None
    from strands_cli.workflow.skill_folders import read_skills

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
    definitions = [tool.definition for tool in tools if isinstance(tool, WorkflowTool)]
    folders = (folder for definition in definitions if isinstance(definition, Skills) for folder in definition.folders)
    return {file: text for folder in folders for file, text in folder.files.items()}


def description_of(folders: tuple[SkillFolder, ...]) -> str:
    """Return the description for models: the ids of all skills, and when to use those whose metadata is preloaded."""
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
