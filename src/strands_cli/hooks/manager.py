"""Ask the plugins of a hook one by one, contain what one raises, and join their answers to the decision of policy."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pluggy

from strands_cli.catalog.catalog import Catalog, join_records, scan_tools
from strands_cli.catalog.distributions.entry_points import Scan, normalise
from strands_cli.catalog.files.module_files import find_package
from strands_cli.catalog.record_builder import build_record
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.errors import Code, Denied, Finding, Raised
from strands_cli.hooks.hook_values import Check, HookContext, ToolCall, WaitingQuestion, Wrapper
from strands_cli.policy.decision import Decision, decide, strongest
from strands_cli.policy.rules.rule import LATE

HOOK_FAILED = Code(
    "hook-failed",
    "A hook plugin cannot be used, or returns a value that its hook does not allow.",
    "Upgrade it, or remove it from `hooks:` of the policy file.",
    21,
)

HOOK_WITHOUT_EFFECT = Code(
    "hook-without-effect",
    "A hook plugin allows something, and the policy file that switches it on does not let it allow.",
    "Let it allow: strands plugin enable NAME --may allow",
)

Tell = Callable[[str], None]


@dataclass(slots=True)
class Hooks:
    """The hook plugins in force.

    Attributes:
        manager: pluggy's.
        path: Where tools are looked for; `sys.path` without the current directory by default.
        findings: What is wrong with hook plugins; an error among them means that nothing may run.
        tell: Takes one line for the person, for notifications that failed; from any thread.
        may_allow: The distributions whose plugins may allow, by a word of the policy file.
    """

    manager: pluggy.PluginManager
    path: Sequence[str] | None = None
    findings: list[Finding] = field(default_factory=list)
    tell: Tell = lambda _line: None
    may_allow: frozenset[str] = frozenset()
    _powerless: set[str] = field(default_factory=set, init=False)

    @property
    def plugins(self) -> tuple[str, ...]:
        """The distributions whose hook plugins are in force, in the order of their registration."""
        return tuple(name for name, _ in self.manager.list_name_plugin())

    def implementers(self, hook: str) -> tuple[str, ...]:
        """Return the plugins that implement a hook; their code may block, and may raise anything."""
        return tuple(one.plugin_name for one in getattr(self.manager.hook, hook).get_hookimpls())

    def discover(self, context: HookContext, project: Path | None = None) -> Catalog:
        """Return the catalog of installed tools, of adopted ones, and of those that plugins register.

        A faulty plugin is a finding.

        Args:
            context: What the plugins get.
            project: The folder of a workflow, whose adopted tools count too.
        """
        found, seen = scan_tools(self.path, project)
        seen.findings += self.findings
        for plugin, answer in self._ask("strands_register_tools", context=context):
            found += _records(plugin, answer, seen)
        return join_records(found, seen)

    def allow_tool(self, record: ToolRecord | None, ref: str, context: HookContext) -> Decision:
        """Return the strongest answer on whether a tool may be used at all, of policy and of the plugins.

        A plugin that may allow grants the import of custom Python with it; whether a call asks is not its subject.
        """
        decision, allowing = self._decide("strands_allow_tool", context, record=record, ref=ref)
        if decision.asks_for_the_tool and (may := self._may_allow_calls()):
            decision = replace(decision, rule=f"{decision.rule}, unless the hook plugin {may} allows the call")
        if decision.effect == "deny" or context.request is None or context.request.custom is None:
            return decision
        granting = self._with_power(allowing, f"the custom Python '{ref}'")
        return replace(decision, grant=granting.rule) if granting is not None else decision

    def decide_call(self, record: ToolRecord | None, call: ToolCall, context: HookContext) -> Decision:
        """Return the strongest answer on one call; policy's is always among them.

        A plugin that may allow answers what the tool asks of itself; no deny, no rule that asks, no other plugin. A
        late tool may have the name of any other, so only a rule or a person allows it.
        """
        decision, allowing = self._decide("strands_decide_call", context, record=record, call=call)
        is_late = context.request is not None and LATE in context.request.sources
        if not decision.asks_for_the_tool or is_late:
            return decision
        return self._with_power(allowing, f"a call of '{call.name}'") or decision

    def _may_allow_calls(self) -> str:
        deciding = self.implementers("strands_decide_call") if self.may_allow else ()
        return " or ".join(plugin for plugin in deciding if plugin.partition(":")[0] in self.may_allow)

    def _with_power(self, allowing: Sequence[Decision], what: str) -> Decision | None:
        """Return the first answer of a plugin that may allow; report each other plugin once."""
        for decision in allowing:
            plugin = str(decision.plugin)
            distribution = plugin.partition(":")[0]
            if distribution in self.may_allow:
                return decision
            if plugin not in self._powerless:
                self._powerless.add(plugin)
                message = f"the hook plugin {plugin} allows {what}, which has no effect: it is not switched on for that"
                fix = f"strands plugin enable {distribution} --may allow"
                self.tell(f"warning[{HOOK_WITHOUT_EFFECT}]: {message}\n  fix: {fix}")
        return None

    def before_load(self, record: ToolRecord) -> None:
        """Notify that a tool is about to be imported."""
        self._notify("strands_before_load", record=record)

    def after_load(
        self, record: ToolRecord, spec: Mapping[str, Any] | None, seconds: float, error: BaseException | None
    ) -> None:
        """Notify that a tool was imported, or why not."""
        self._notify("strands_after_load", record=record, spec=spec, seconds=seconds, error=error)

    def after_call(
        self, record: ToolRecord | None, call: ToolCall, result: Mapping[str, Any], context: HookContext
    ) -> None:
        """Notify of the result of a call."""
        self._notify("strands_after_call", record=record, call=call, result=result, context=context)

    def question_waiting(self, questions: Sequence[WaitingQuestion], context: HookContext) -> None:
        """Notify of the questions for which a run stops to wait."""
        self._notify("strands_question_waiting", questions=questions, context=context)

    def wrappers(self, record: ToolRecord | None) -> list[tuple[str, Wrapper]]:
        """Return the wrappers of a tool's calls, the outermost first, each with its plugin's name.

        Raises:
            Denied: a plugin failed to say, so that what it is there for would not happen.
        """
        found = []
        for plugin, wrapper in self._ask("strands_wrap_tool", record=record):
            if isinstance(wrapper, Raised) or not (wrapper is None or callable(wrapper)):
                message = f"the hook plugin {plugin} failed in strands_wrap_tool: {wrapper}"
                raise Denied(message, fix=f"upgrade it, or: strands plugin disable {plugin}")
            if wrapper is not None:
                found.append((plugin, wrapper))
        return found

    def providers(self) -> dict[str, tuple[str, str]]:
        """Return the model providers of plugins: name -> (object reference, plugin)."""
        return self._named("strands_register_providers")

    def doctor_checks(self, context: HookContext) -> list[tuple[str, Check]]:
        """Return the plugins' lines for `strands doctor`; a plugin that fails is a failed line."""
        lines: list[tuple[str, Check]] = []
        for plugin, answer in self._ask("strands_doctor_checks", context=context):
            good = _all_of(answer, Check)
            if not isinstance(good, list):
                problem = good or f"gave {type(answer).__name__}, not checks"
                good = [Check("hook plugin", "failed", f"strands_doctor_checks: {problem}", f"upgrade {plugin}")]
            lines += [(plugin, check) for check in good]
        return lines

    def _ask(self, hook: str, **arguments: Any) -> Iterator[tuple[str, Any]]:
        """Call each plugin's implementation by itself; yield its name and what it answered."""
        implementations = getattr(self.manager.hook, hook).get_hookimpls()
        for implementation in implementations:
            others = [one.plugin for one in implementations if one is not implementation]
            caller = self.manager.subset_hook_caller(hook, others)
            try:
                answers = caller(**{name: _copied(value) for name, value in arguments.items()})
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - a plugin may raise anything, SystemExit too
                yield implementation.plugin_name, Raised(error)
            else:
                # pluggy leaves None out of the answers.
                yield implementation.plugin_name, answers[0] if answers else None

    def _decide(self, hook: str, context: HookContext, **arguments: Any) -> tuple[Decision, list[Decision]]:
        """Return the strictest of what policy and the plugins answer, and the plugins that allow.

        A plugin that fails to answer denies.
        """
        if context.request is None:
            return Decision("deny", f"{hook} has no request to decide on"), []
        decisions: list[Decision] = []
        allowing: list[Decision] = []
        for plugin, answer in self._ask(hook, context=context, **arguments):
            if isinstance(answer, Decision) and answer.effect in ("allow", "ask", "deny"):
                decision = Decision(answer.effect, f"{plugin}: {answer.rule}", plugin=plugin)
                (allowing if answer.effect == "allow" else decisions).append(decision)
            elif answer is not None:
                problem = answer if isinstance(answer, Raised) else f"gave {type(answer).__name__}, not a Decision"
                message = f"the hook plugin {plugin} failed in {hook}: {problem}"
                decisions.append(Decision("deny", message, plugin=plugin))
        # Of equals the first holds: a plugin's denial keeps a tool from being imported, the workflow's own does not,
        # and its question is one that no option answers.
        return strongest([*decisions, decide(context.rules, context.request)]), allowing

    def _notify(self, hook: str, **arguments: Any) -> None:
        for plugin, answer in self._ask(hook, **arguments):
            if isinstance(answer, Raised):
                self.tell(f"warning: the hook plugin {plugin} failed in {hook}: {answer}")

    def _named(self, hook: str) -> dict[str, tuple[str, str]]:
        """Return names with object references; of two plugins that give one name neither counts."""
        found: dict[str, list[tuple[str, str]]] = {}
        for plugin, answer in self._ask(hook):
            if not isinstance(answer, Mapping):
                self.tell(f"warning: the hook plugin {plugin} failed in {hook}: {answer}")
                continue
            for name, reference in answer.items():
                found.setdefault(str(name), []).append((str(reference), plugin))
        for name, claims in found.items():
            if len(claims) > 1:
                owners = " and ".join(plugin for _, plugin in claims)
                self.tell(f"warning: {owners} both give '{name}' ({hook}); neither is used")
        return {name: claims[0] for name, claims in found.items() if len(claims) == 1}


def _records(plugin: str, answer: Any, seen: Scan) -> list[ToolRecord]:
    """Return the records that a plugin may register: of distributions that are installed."""
    records = _all_of(answer, ToolRecord)
    if not isinstance(records, list):
        problem = records or f"it gave {type(answer).__name__}, not tool records"
        message = f"the hook plugin {plugin} registers no tools: {problem}"
        seen.findings.append(Finding(HOOK_FAILED, message, None, f"upgrade {plugin}"))
        return []
    found = []
    for record in records:
        name = normalise(record.distribution) or plugin.partition(":")[0]
        if not record.distribution:
            found.append(_registered(build_record(record.entry, record.name, name, seen), plugin))
        elif name in seen.records:
            found.append(_attributed(record, plugin, name, seen))
        else:
            message = f"the hook plugin {plugin} registers '{record.name}' of '{record.distribution}', "
            fix = "install it from a source that you trust, or correct the plugin"
            seen.findings.append(Finding(HOOK_FAILED, message + "which is not installed", None, fix))
    return found


def _registered(record: ToolRecord, plugin: str) -> ToolRecord:
    members = record.members and tuple(replace(one, registered_by=plugin) for one in record.members)
    return replace(record, members=members, registered_by=plugin)


def _attributed(record: ToolRecord, plugin: str, distribution: str, seen: Scan) -> ToolRecord:
    """Return a plugin's record with the facts that rules and the lock use taken from the installation."""
    home = seen.records[distribution][0][0]
    package = find_package(record.module.partition(".")[0], seen.listings, home)
    return replace(
        record,
        distribution=distribution,
        version=seen.version(distribution),
        path=home,  # without which it would pass for an object of a program, which no lock covers
        location=(package.directory or package.file) if package else None,
        members=record.members and tuple(_attributed(one, plugin, distribution, seen) for one in record.members),
        registered_by=plugin,
    )


def _copied(value: Any) -> Any:
    """Return a plugin's own copy of what it could change, so that no other plugin and no tool gets that."""
    if isinstance(value, ToolCall):
        return replace(value, arguments=copy.deepcopy(dict(value.arguments)))
    if isinstance(value, HookContext) and value.request is not None and value.request.arguments is not None:
        return replace(value, request=replace(value.request, arguments=copy.deepcopy(dict(value.request.arguments))))
    return copy.deepcopy(dict(value)) if isinstance(value, Mapping) else value


def _all_of(answer: Any, kind: type) -> list[Any] | Raised | None:
    """Return the items where all are of the kind, None where it is something else, or what making them raised."""
    if isinstance(answer, Raised):
        return answer
    if isinstance(answer, (str, Mapping)) or not isinstance(answer, Iterable):
        return [] if answer is None else None
    try:
        items = list(answer)  # a generator runs the plugin's code only now
    except Exception as error:  # noqa: BLE001 - foreign code
        return Raised(error)
    return items if all(isinstance(item, kind) for item in items) else None
