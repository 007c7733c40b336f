"""The installed tools, to look at them: the origin of each, and the rules and the lock of a folder on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.catalog.publisher_records import find_provenance
from strands_cli.errors import Finding, StrandsCliError, UsageError
from strands_cli.hooks.hook_values import HookContext
from strands_cli.planning.machine.installation import read_installation
from strands_cli.planning.machine.lock_check import require_locked
from strands_cli.planning.planned_tool import request_of
from strands_cli.planning.policy_explanation import explain_policy
from strands_cli.planning.resolve.single_tool import find_single_tool, installed_tool
from strands_cli.policy.decision import Policy
from strands_cli.workflow.format_schema import agent_schema, offer_tools, workflow_schema

if TYPE_CHECKING:
    from strands_cli.catalog.tool_record import ToolRecord
    from strands_cli.planning.policy_explanation import Explanation


class InstalledTools:
    """The tools of this machine as a folder sees them; none is imported.

    Attributes:
        policy_error: Why the policy files cannot be read; the explanations are then those without any.
        findings: The faults of installed tools.

    Args:
        folder: Its policy file, its adopted tools and its lock count.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.policy_error: StrandsCliError | None = None
        try:
            self._machine = read_installation(folder=folder)
        except StrandsCliError as error:
            self.policy_error = error
            self._machine = read_installation(policy=Policy())
        self.findings: Sequence[Finding] = self._machine.catalog.findings

    def all(self) -> list[ToolRecord]:
        """Return every single tool; of a class, a suite or a provider its members."""
        return [member for record in self._machine.catalog.tools for member in (record.members or (record,))]

    @property
    def owners(self) -> dict[str, str]:
        """The names of tools, and of holders of several, each with its distribution."""
        return {record.name: record.distribution for record in self._machine.catalog.tools}

    def denials(self, records: Iterable[ToolRecord], source: str) -> dict[str, str]:
        """Return the words of the rule that denies a tool, by its entry, for unused tools.

        Args:
            records: The tools.
            source: The further source that they would have, a word of policy: `adopted`.

        Raises:
            Denied: A hook plugin is missing or broken, so that nothing can be decided.
        """
        machine, denied = self._machine, dict[str, str]()
        machine.require_hooks()
        for record in records:
            request = request_of(installed_tool(record, machine.catalog, f"native:{record.name}"))
            request = replace(request, sources=frozenset({*request.sources, source}))
            context = HookContext(rules=tuple(machine.policy.rules), request=request)
            if machine.hooks is not None:
                decision = machine.hooks.allow_tool(record, f"native:{record.name}", context)
                if decision.effect == "deny":
                    denied[record.entry] = str(decision.rule)
        return denied

    def workflow_schema(self, *, of_agent: bool = False) -> dict[str, Any]:
        """Return the JSON Schema of workflows, or of files with one agent, with these tools filled in."""
        catalog = self._machine.catalog
        tools = {ref: catalog.resolve(ref).config_schema for ref in catalog.allowed_refs}
        return offer_tools(agent_schema() if of_agent else workflow_schema(), tools)

    def find(self, ref_name: str) -> ToolRecord:
        """Return a tool, or a holder of several, by the name in its reference.

        Raises:
            UsageError: No installed tool has this name.
        """
        for record in self._machine.catalog.tools:
            for member in (record, *(record.members or ())):
                if member.ref_name == ref_name:
                    return member
        raise UsageError(f"there is no tool {ref_name!r}", fix="see the list of tools")

    def policy_of(self, record: ToolRecord) -> list[Explanation]:
        """Return the decisions of the rules on a tool, or on each that it holds."""
        return explain_policy(f"native:{record.ref_name}", self._machine)

    def source_of(self, record: ToolRecord) -> dict[str, Any]:
        """Return where a tool comes from, as `list-tools --json --source` has it."""
        return {**record.source, **find_provenance(record, self._machine.catalog).as_dict()}

    def require_locked(self, record: ToolRecord, required_by: str) -> None:
        """Compare a tool with the lock of the folder.

        Args:
            required_by: Who asks for a lock where none is.

        Raises:
            StrandsCliError: It cannot be used by itself, there is no lock, or the tool is not as it was locked.
        """
        catalog = self._machine.catalog
        require_locked(find_single_tool(f"native:{record.ref_name}", catalog), self._folder, catalog, required_by)
