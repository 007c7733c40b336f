"""The names of the core for programs and other distributions: the Python API, runs, stores, queues, checks, errors.

These names are stable. Everything else that can be imported belongs to the core and may change with any version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from strands_cli.agents.loaded_plugin import LoadedPlugin as LoadedPlugin
    from strands_cli.agents.loaded_plugin import describe_plugin as describe_plugin
    from strands_cli.agents.loaded_plugin import load_plugin as load_plugin
    from strands_cli.agents.loaded_plugin import run_to_answer as run_to_answer
    from strands_cli.agents.model.replayed_turns import replay_model as replay_model
    from strands_cli.agents.plugin_values import CallOutcome as CallOutcome
    from strands_cli.agents.plugin_values import PluginTool as PluginTool
    from strands_cli.api.choice_types import RunChoices as RunChoices
    from strands_cli.api.choice_types import StoredRunChoices as StoredRunChoices
    from strands_cli.api.installed_tools import InstalledTools as InstalledTools
    from strands_cli.api.text_checks import check_text as check_text
    from strands_cli.api.workflow_preview import WorkflowPreview as WorkflowPreview
    from strands_cli.api.workflows import Workflow as Workflow
    from strands_cli.app import plan_turn as plan_turn
    from strands_cli.app import run as run
    from strands_cli.app.agent_files import check_atomic as check_atomic
    from strands_cli.app.agent_files import load_agent as load_agent
    from strands_cli.app.agent_files import plan_atomic as plan_atomic
    from strands_cli.app.agent_files import verdict_of_test as verdict_of_test
    from strands_cli.app.handover import Handover as Handover
    from strands_cli.app.handover import Takeover as Takeover
    from strands_cli.app.planned_rows import PlannedRows as PlannedRows
    from strands_cli.app.planned_rows import RunParts as RunParts
    from strands_cli.catalog.adopted.adopted_file import AdoptedFile as AdoptedFile
    from strands_cli.catalog.manifest import Manifest as Manifest
    from strands_cli.catalog.source.source_tool import SourceTool as SourceTool
    from strands_cli.catalog.tool_record import ToolRecord as ToolRecord
    from strands_cli.cli.commands.ages import age_in_seconds as age_in_seconds
    from strands_cli.cli.commands.command_options import AGENT as AGENT
    from strands_cli.cli.commands.command_options import SPEC as SPEC
    from strands_cli.cli.commands.command_options import Chosen as Chosen
    from strands_cli.cli.commands.command_options import RunFlags as RunFlags
    from strands_cli.cli.commands.command_options import ShownFlags as ShownFlags
    from strands_cli.cli.commands.command_options import run_argument as run_argument
    from strands_cli.cli.commands.command_options import with_run_options as with_run_options
    from strands_cli.cli.commands.file_check import FileChecks as FileChecks
    from strands_cli.cli.commands.next_commands import EndNotice as EndNotice
    from strands_cli.cli.commands.opened_stores import DEFAULT_STORE as DEFAULT_STORE
    from strands_cli.cli.commands.opened_stores import StoreOptions as StoreOptions
    from strands_cli.cli.commands.plugin_installer import PluginInstaller as PluginInstaller
    from strands_cli.cli.commands.running.continuation import ManyRunsView as ManyRunsView
    from strands_cli.cli.commands.running.run_command import Exporter as Exporter
    from strands_cli.cli.commands.running.run_command import json_on_failure as json_on_failure
    from strands_cli.cli.commands.running.run_command import run_in_terminal as run_in_terminal
    from strands_cli.cli.commands.running.trust_command import require_trust as require_trust
    from strands_cli.cli.commands.running.trust_command import require_trust_of_agent as require_trust_of_agent
    from strands_cli.cli.foreign_output import reserved_streams as reserved_streams
    from strands_cli.cli.foreign_output import run_to_end as run_to_end
    from strands_cli.cli.output.messages import say as say
    from strands_cli.cli.output.messages import say_findings as say_findings
    from strands_cli.cli.output.results import ExportFile as ExportFile
    from strands_cli.cli.output.results import OutputClosed as OutputClosed
    from strands_cli.cli.output.results import print_json as print_json
    from strands_cli.cli.output.results import print_result as print_result
    from strands_cli.cli.output.results import write_result as write_result
    from strands_cli.cli.terminal_text import table as table
    from strands_cli.cli.used_files import UsedFiles as UsedFiles
    from strands_cli.config import user_data_dir as user_data_dir
    from strands_cli.engine.effects.budget import Budget as Budget
    from strands_cli.engine.effects.provider_limits import Rate as Rate
    from strands_cli.engine.journal.damaged_rows import LARGE_OUTPUT_BYTES as LARGE_OUTPUT_BYTES
    from strands_cli.engine.journal.damaged_rows import json_text as json_text
    from strands_cli.engine.journal.damaged_rows import row_of as row_of
    from strands_cli.engine.journal.damaged_rows import stored_texts as stored_texts
    from strands_cli.engine.journal.damaged_rows import usage_text as usage_text
    from strands_cli.engine.journal.journal_rows import Answer as Answer
    from strands_cli.engine.journal.journal_rows import Journal as Journal
    from strands_cli.engine.journal.journal_rows import Question as Question
    from strands_cli.engine.journal.journal_rows import Row as Row
    from strands_cli.engine.journal.journal_rows import RowKind as RowKind
    from strands_cli.engine.plan_execution import RunResult as RunResult
    from strands_cli.engine.store_port import RunStore as RunStore
    from strands_cli.engine.store_port import StoredJournal as StoredJournal
    from strands_cli.engine.store_port import StoredRun as StoredRun
    from strands_cli.engine.store_port import StoreOpener as StoreOpener
    from strands_cli.engine.stored_runs.described import named_run as named_run
    from strands_cli.engine.stored_runs.folder_store import session_facts as session_facts
    from strands_cli.engine.stored_runs.many_journals import journals_of as journals_of
    from strands_cli.engine.stored_runs.run_owners import RunOwner as RunOwner
    from strands_cli.engine.stored_runs.run_owners import run_owner as run_owner
    from strands_cli.engine.stored_runs.run_owners import while_held as while_held
    from strands_cli.engine.stored_runs.summary import EffectSummary as EffectSummary
    from strands_cli.engine.stored_runs.summary import RunSummary as RunSummary
    from strands_cli.errors import ArtifactError as ArtifactError
    from strands_cli.errors import Code as Code
    from strands_cli.errors import Denied as Denied
    from strands_cli.errors import ExitCode as ExitCode
    from strands_cli.errors import Finding as Finding
    from strands_cli.errors import HoldLost as HoldLost
    from strands_cli.errors import Interrupted as Interrupted
    from strands_cli.errors import InvalidInput as InvalidInput
    from strands_cli.errors import NotEquipped as NotEquipped
    from strands_cli.errors import RunRecordError as RunRecordError
    from strands_cli.errors import StrandsCliError as StrandsCliError
    from strands_cli.errors import Unreachable as Unreachable
    from strands_cli.errors import UsageError as UsageError
    from strands_cli.errors import WaitingForPerson as WaitingForPerson
    from strands_cli.errors import Where as Where
    from strands_cli.errors import suggest as suggest
    from strands_cli.events import Event as Event
    from strands_cli.events import RunStatus as RunStatus
    from strands_cli.events import StepFinished as StepFinished
    from strands_cli.events import Usage as Usage
    from strands_cli.hooks.hook_values import Check as Check
    from strands_cli.machine_checks.core_checks import MachineChecks as MachineChecks
    from strands_cli.planning.authority_sentences import describe_permissions as describe_permissions
    from strands_cli.planning.plan_values import Plan as Plan
    from strands_cli.planning.run_request import RunRequest as RunRequest
    from strands_cli.planning.workflow_folder import PortableFile as PortableFile
    from strands_cli.plugins.new_workflow import write_agent as write_agent
    from strands_cli.plugins.plugin_source import PluginSource as PluginSource
    from strands_cli.plugins.unpacked_plugin import UnpackedPlugin as UnpackedPlugin
    from strands_cli.policy.file_places import fields_of_resource as fields_of_resource
    from strands_cli.provider_table import Provider as Provider
    from strands_cli.publishers import Publisher as Publisher
    from strands_cli.run_views.fetched_artifacts import StoredArtifact as StoredArtifact
    from strands_cli.run_views.opened_runs import Branch as Branch
    from strands_cli.run_views.opened_runs import OpenedRun as OpenedRun
    from strands_cli.run_views.opened_runs import Runs as Runs
    from strands_cli.run_views.run_end import RunEnd as RunEnd
    from strands_cli.run_views.whole_effect import WholeEffect as WholeEffect
    from strands_cli.secrets.redactor import HIDE_NOTHING as HIDE_NOTHING
    from strands_cli.secrets.redactor import RedactedFormatter as RedactedFormatter
    from strands_cli.secrets.redactor import Redactor as Redactor
    from strands_cli.store_place import StorePlace as StorePlace
    from strands_cli.system.subprocesses import run_within as run_within
    from strands_cli.texts.canonical_json import json_object as json_object
    from strands_cli.texts.phrases import counted as counted
    from strands_cli.texts.phrases import duration as duration
    from strands_cli.texts.phrases import shortened as shortened
    from strands_cli.texts.unicode_safety import hidden_characters as hidden_characters
    from strands_cli.texts.unicode_safety import printable as printable
    from strands_cli.texts.unicode_safety import texts_of as texts_of
    from strands_cli.tools.schema.schemas import first_problem as first_problem
    from strands_cli.tools.schema.schemas import schema_fault as schema_fault
    from strands_cli.user_files.model_names import named_model as named_model
    from strands_cli.user_files.user_config import ConfigPart as ConfigPart
    from strands_cli.workflow.loader import FormatProblem as FormatProblem
    from strands_cli.workflow.loader import Translation as Translation
    from strands_cli.workflow.parts.agent_file import Atomic as Atomic
    from strands_cli.workflow.parts.agent_file import find_atomic as find_atomic
    from strands_cli.workflow.parts.agent_file import open_atomic as open_atomic
    from strands_cli.workflow.pattern_model import PatternModel as PatternModel
    from strands_cli.workflow.pattern_model import PlacedStep as PlacedStep
    from strands_cli.workflow.pattern_model import Text as Text
    from strands_cli.workflow.sections import FormatModel as FormatModel
    from strands_cli.workflow.sections import InputSpec as InputSpec
    from strands_cli.workflow.steps import Step as Step
    from strands_cli.yaml_files.document_reader import SUFFIXES as SUFFIXES
    from strands_cli.yaml_files.document_reader import read_document as read_document

# Imported on first use: a program that only lists runs needs no model, and a build no store.
_PUBLIC = {
    "AGENT": "strands_cli.cli.commands.command_options",
    "AdoptedFile": "strands_cli.catalog.adopted.adopted_file",
    "Answer": "strands_cli.engine.journal.journal_rows",
    "ArtifactError": "strands_cli.errors",
    "Atomic": "strands_cli.workflow.parts.agent_file",
    "Branch": "strands_cli.run_views.opened_runs",
    "Budget": "strands_cli.engine.effects.budget",
    "CallOutcome": "strands_cli.agents.plugin_values",
    "Check": "strands_cli.hooks.hook_values",
    "Chosen": "strands_cli.cli.commands.command_options",
    "Code": "strands_cli.errors",
    "ConfigPart": "strands_cli.user_files.user_config",
    "DEFAULT_STORE": "strands_cli.cli.commands.opened_stores",
    "Denied": "strands_cli.errors",
    "EffectSummary": "strands_cli.engine.stored_runs.summary",
    "EndNotice": "strands_cli.cli.commands.next_commands",
    "Event": "strands_cli.events",
    "ExitCode": "strands_cli.errors",
    "ExportFile": "strands_cli.cli.output.results",
    "Exporter": "strands_cli.cli.commands.running.run_command",
    "FileChecks": "strands_cli.cli.commands.file_check",
    "Finding": "strands_cli.errors",
    "FormatModel": "strands_cli.workflow.sections",
    "FormatProblem": "strands_cli.workflow.loader",
    "HIDE_NOTHING": "strands_cli.secrets.redactor",
    "Handover": "strands_cli.app.handover",
    "HoldLost": "strands_cli.errors",
    "InputSpec": "strands_cli.workflow.sections",
    "InstalledTools": "strands_cli.api.installed_tools",
    "Interrupted": "strands_cli.errors",
    "InvalidInput": "strands_cli.errors",
    "Journal": "strands_cli.engine.journal.journal_rows",
    "LARGE_OUTPUT_BYTES": "strands_cli.engine.journal.damaged_rows",
    "LoadedPlugin": "strands_cli.agents.loaded_plugin",
    "MachineChecks": "strands_cli.machine_checks.core_checks",
    "Manifest": "strands_cli.catalog.manifest",
    "ManyRunsView": "strands_cli.cli.commands.running.continuation",
    "NotEquipped": "strands_cli.errors",
    "OpenedRun": "strands_cli.run_views.opened_runs",
    "OutputClosed": "strands_cli.cli.output.results",
    "PatternModel": "strands_cli.workflow.pattern_model",
    "PlacedStep": "strands_cli.workflow.pattern_model",
    "Plan": "strands_cli.planning.plan_values",
    "PlannedRows": "strands_cli.app.planned_rows",
    "PluginInstaller": "strands_cli.cli.commands.plugin_installer",
    "PluginSource": "strands_cli.plugins.plugin_source",
    "PluginTool": "strands_cli.agents.plugin_values",
    "PortableFile": "strands_cli.planning.workflow_folder",
    "Provider": "strands_cli.provider_table",
    "Publisher": "strands_cli.publishers",
    "Question": "strands_cli.engine.journal.journal_rows",
    "Rate": "strands_cli.engine.effects.provider_limits",
    "RedactedFormatter": "strands_cli.secrets.redactor",
    "Redactor": "strands_cli.secrets.redactor",
    "Row": "strands_cli.engine.journal.journal_rows",
    "RowKind": "strands_cli.engine.journal.journal_rows",
    "RunChoices": "strands_cli.api.choice_types",
    "RunEnd": "strands_cli.run_views.run_end",
    "RunFlags": "strands_cli.cli.commands.command_options",
    "RunOwner": "strands_cli.engine.stored_runs.run_owners",
    "RunParts": "strands_cli.app.planned_rows",
    "RunRecordError": "strands_cli.errors",
    "RunRequest": "strands_cli.planning.run_request",
    "RunResult": "strands_cli.engine.plan_execution",
    "RunStatus": "strands_cli.events",
    "RunStore": "strands_cli.engine.store_port",
    "RunSummary": "strands_cli.engine.stored_runs.summary",
    "Runs": "strands_cli.run_views.opened_runs",
    "SPEC": "strands_cli.cli.commands.command_options",
    "SUFFIXES": "strands_cli.yaml_files.document_reader",
    "ShownFlags": "strands_cli.cli.commands.command_options",
    "SourceTool": "strands_cli.catalog.source.source_tool",
    "Step": "strands_cli.workflow.steps",
    "StepFinished": "strands_cli.events",
    "StoreOpener": "strands_cli.engine.store_port",
    "StoreOptions": "strands_cli.cli.commands.opened_stores",
    "StorePlace": "strands_cli.store_place",
    "StoredArtifact": "strands_cli.run_views.fetched_artifacts",
    "StoredJournal": "strands_cli.engine.store_port",
    "StoredRun": "strands_cli.engine.store_port",
    "StoredRunChoices": "strands_cli.api.choice_types",
    "StrandsCliError": "strands_cli.errors",
    "Takeover": "strands_cli.app.handover",
    "Text": "strands_cli.workflow.pattern_model",
    "ToolRecord": "strands_cli.catalog.tool_record",
    "Translation": "strands_cli.workflow.loader",
    "UnpackedPlugin": "strands_cli.plugins.unpacked_plugin",
    "Unreachable": "strands_cli.errors",
    "Usage": "strands_cli.events",
    "UsageError": "strands_cli.errors",
    "UsedFiles": "strands_cli.cli.used_files",
    "WaitingForPerson": "strands_cli.errors",
    "Where": "strands_cli.errors",
    "WholeEffect": "strands_cli.run_views.whole_effect",
    "Workflow": "strands_cli.api.workflows",
    "WorkflowPreview": "strands_cli.api.workflow_preview",
    "age_in_seconds": "strands_cli.cli.commands.ages",
    "check_atomic": "strands_cli.app.agent_files",
    "check_text": "strands_cli.api.text_checks",
    "counted": "strands_cli.texts.phrases",
    "describe_permissions": "strands_cli.planning.authority_sentences",
    "describe_plugin": "strands_cli.agents.loaded_plugin",
    "duration": "strands_cli.texts.phrases",
    "fields_of_resource": "strands_cli.policy.file_places",
    "find_atomic": "strands_cli.workflow.parts.agent_file",
    "first_problem": "strands_cli.tools.schema.schemas",
    "hidden_characters": "strands_cli.texts.unicode_safety",
    "journals_of": "strands_cli.engine.stored_runs.many_journals",
    "json_object": "strands_cli.texts.canonical_json",
    "json_on_failure": "strands_cli.cli.commands.running.run_command",
    "json_text": "strands_cli.engine.journal.damaged_rows",
    "load_agent": "strands_cli.app.agent_files",
    "load_plugin": "strands_cli.agents.loaded_plugin",
    "named_model": "strands_cli.user_files.model_names",
    "named_run": "strands_cli.engine.stored_runs.described",
    "open_atomic": "strands_cli.workflow.parts.agent_file",
    "plan_atomic": "strands_cli.app.agent_files",
    "plan_turn": "strands_cli.app",
    "print_json": "strands_cli.cli.output.results",
    "print_result": "strands_cli.cli.output.results",
    "printable": "strands_cli.texts.unicode_safety",
    "read_document": "strands_cli.yaml_files.document_reader",
    "replay_model": "strands_cli.agents.model.replayed_turns",
    "require_trust": "strands_cli.cli.commands.running.trust_command",
    "require_trust_of_agent": "strands_cli.cli.commands.running.trust_command",
    "reserved_streams": "strands_cli.cli.foreign_output",
    "row_of": "strands_cli.engine.journal.damaged_rows",
    "run": "strands_cli.app",
    "run_argument": "strands_cli.cli.commands.command_options",
    "run_in_terminal": "strands_cli.cli.commands.running.run_command",
    "run_owner": "strands_cli.engine.stored_runs.run_owners",
    "run_to_answer": "strands_cli.agents.loaded_plugin",
    "run_to_end": "strands_cli.cli.foreign_output",
    "run_within": "strands_cli.system.subprocesses",
    "say": "strands_cli.cli.output.messages",
    "say_findings": "strands_cli.cli.output.messages",
    "schema_fault": "strands_cli.tools.schema.schemas",
    "session_facts": "strands_cli.engine.stored_runs.folder_store",
    "shortened": "strands_cli.texts.phrases",
    "stored_texts": "strands_cli.engine.journal.damaged_rows",
    "suggest": "strands_cli.errors",
    "table": "strands_cli.cli.terminal_text",
    "texts_of": "strands_cli.texts.unicode_safety",
    "usage_text": "strands_cli.engine.journal.damaged_rows",
    "user_data_dir": "strands_cli.config",
    "verdict_of_test": "strands_cli.app.agent_files",
    "while_held": "strands_cli.engine.stored_runs.run_owners",
    "with_run_options": "strands_cli.cli.commands.command_options",
    "write_agent": "strands_cli.plugins.new_workflow",
    "write_result": "strands_cli.cli.output.results",
}


def __dir__() -> list[str]:
    return sorted(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'strands_cli.api' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_PUBLIC[name]), name)
