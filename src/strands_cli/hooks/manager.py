"""Call hooks, contain the exceptions of a plugin, and join the answers of deciding ones to policy's decision."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import pluggy

from strands_cli.catalog.catalog import Catalog, join_records, scan_tools
from strands_cli.catalog.distributions.entry_points import Scan, find_package, normalise
from strands_cli.catalog.record_builder import build_record
from strands_cli.catalog.tool_record import ToolRecord
from strands_cli.errors import Code, Denied, Finding, RaisedException
from strands_cli.hooks.hook_values import (
    Check,
    HookContext,
    PlanFacts,
    PlanProblem,
    RunEnded,
    RunStarted,
    ToolCall,
    WaitingQuestion,
    Wrapper,
)
from strands_cli.policy.decision import Decision, decide, strongest
from strands_cli.policy.rule import LATE
from strands_cli.quick_dataclass import dataclass

HOOK_FAILED = Code(
    "hook-failed",
    "A hook plugin cannot be used, or returns a value that its hook does not allow.",
    "Upgrade it, or remove it from `hooks:`.",
    21,
)

HOOK_WITHOUT_EFFECT = Code(
    "hook-without-effect",
    "A hook plugin allows something, and the policy file that enables it does not let it.",
    "Let it: strands plugin enable NAME --may allow",
)

Tell = Callable[[str], None]


@dataclass(slots=True)
class Hooks:
    """The hook plugins in force.

    Attributes:
        manager: pluggy's.
        path: Where tools are looked for; `sys.path` without the current directory by default.
        findings: The faults of hook plugins; an error among them means that nothing may run.
        tell: Takes one line for the person, for notifications that failed; from any thread.
        watched: Whether a person watches the runs at a terminal.
        may_allow: The distributions whose plugins may allow, by a word of the policy file.
    """

    manager: pluggy.PluginManager
    path: Sequence[str] | None = None
    findings: list[Finding] = field(default_factory=list)
    tell: Tell = lambda _line: None
    may_allow: frozenset[str] = frozenset()
    watched: bool = False
    _powerless: set[str] = field(default_factory=set, init=False)

    @property
    def plugins(self) -> tuple[str, ...]:
        """The distributions whose hook plugins are in force, in the order of their registration."""
        return tuple(name for name, _ in self.manager.list_name_plugin())

    def implementers(self, hook: str) -> tuple[str, ...]:
        """Return the plugins that implement a hook; their code may block, and may raise anything."""
        return tuple(hookimpl.plugin_name for hookimpl in getattr(self.manager.hook, hook).get_hookimpls())

    def discover(self, context: HookContext, project: Path | None = None) -> Catalog:
        """Return the catalog of installed tools, of adopted ones, and of those that plugins register.

        A faulty plugin is a finding.

        Args:
            context: The context for the plugins.
            project: The folder of a workflow, whose adopted tools count too.
        """
        records, scan = scan_tools(self.path, project)
        scan.findings += self.findings
        for plugin, answer in self._call("strands_register_tools", context=context):
            records += _records(plugin, answer, scan)
        return join_records(records, scan)

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

        A plugin that may allow answers the tool's own question; no deny, no rule that asks, no other plugin. A late
        tool may have the name of any other, so only a rule or a person allows it.
        """
        decision, allowing = self._decide("strands_decide_call", context, record=record, call=call)
        is_late = context.request is not None and LATE in context.request.sources
        if not decision.asks_for_the_tool or is_late:
            return decision
        return self._with_power(allowing, f"a call of '{call.name}'") or decision

    def _may_allow_calls(self) -> str:
        deciding = self.implementers("strands_decide_call") if self.may_allow else ()
        return " or ".join(plugin for plugin in deciding if plugin.partition(":")[0] in self.may_allow)

    def _with_power(self, allowing: Sequence[Decision], subject: str) -> Decision | None:
        """Return the first answer of a plugin that may allow; report each other plugin once."""
        for decision in allowing:
            plugin = str(decision.plugin)
            distribution = plugin.partition(":")[0]
            if distribution in self.may_allow:
                return decision
            if plugin not in self._powerless:
                self._powerless.add(plugin)
                message = (
                    f"the hook plugin {plugin} allows {subject}, which has no effect: it is not switched on for that"
                )
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
            Denied: a plugin failed to answer, so that its purpose would be missed.
        """
        wrappers = []
        for plugin, wrapper in self._call("strands_wrap_tool", record=record):
            if isinstance(wrapper, RaisedException) or not (wrapper is None or callable(wrapper)):
                message = f"the hook plugin {plugin} failed in strands_wrap_tool: {wrapper}"
                raise Denied(message, fix=f"upgrade it, or: strands plugin disable {plugin}")
            if wrapper is not None:
                wrappers.append((plugin, wrapper))
        return wrappers

    def doctor_checks(self, context: HookContext) -> list[tuple[str, Check]]:
        """Return the plugins' lines for `strands doctor`; a plugin that fails is a failed line."""
        lines: list[tuple[str, Check]] = []
        for plugin, answer in self._call("strands_doctor_checks", context=context):
            good = _all_of(answer, Check)
            if not isinstance(good, list):
                problem = good or f"gave {type(answer).__name__}, not checks"
                good = [Check("hook plugin", "failed", f"strands_doctor_checks: {problem}", f"upgrade {plugin}")]
            lines += [(plugin, check) for check in good]
        return lines

    def plan_checks(self, plan: PlanFacts, context: HookContext) -> list[tuple[str, PlanProblem]]:
        """Return the problems that plugins report about a plan; a plugin that fails is a problem too."""
        problems: list[tuple[str, PlanProblem]] = []
        for plugin, answer in self._call("strands_plan_checks", plan=plan, context=context):
            good = _all_of(answer, PlanProblem)
            if not isinstance(good, list):
                problem = good or f"gave {type(answer).__name__}, not problems"
                good = [PlanProblem(f"it failed in strands_plan_checks: {problem}", f"upgrade {plugin}")]
            problems += [(plugin, problem_found) for problem_found in good]
        return problems

    def run_started(self, run: RunStarted, context: HookContext) -> None:
        """Notify that a run begins or continues."""
        self._notify("strands_run_started", run=run, context=context)

    def run_ended(self, run: RunEnded, context: HookContext) -> None:
        """Notify that this process does not work on a run any more; tell the lines that plugins return."""
        for answer in self._notify("strands_run_ended", run=run, context=context):
            lines = _all_of(answer, str)
            for line in lines if isinstance(lines, list) else ():
                self.tell(line)

    def _call(self, hook: str, **arguments: Any) -> list[tuple[str, Any]]:
        """Let pluggy call a hook, with its wrappers; return each answer with its plugin.

        An exception of an implementation is its answer, and the others are called all the same. An answer of a wrapper
        has the wrappers' names.
        """
        caller = getattr(self.manager.hook, hook)
        answers: list[tuple[str, Any]] = []
        token = _ANSWERS.set(answers)
        try:
            results = caller(**arguments)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a wrapper may raise anything, SystemExit too
            return [*answers, (_wrappers_of(caller), RaisedException(error))]
        finally:
            _ANSWERS.reset(token)
        plugins = {id(answer): plugin for plugin, answer in answers}
        raised = [(plugin, answer) for plugin, answer in answers if isinstance(answer, RaisedException)]
        # pluggy asks the last first, and puts each answer behind the others; here they are as they were registered.
        all_answers = results[::-1] if isinstance(results, list) else [results]
        return [
            *((plugins.get(id(given_answer)) or _wrappers_of(caller), given_answer) for given_answer in all_answers),
            *raised,
        ]

    def _ask(self, hook: str, **arguments: Any) -> Iterator[tuple[str, Any]]:
        """Call each plugin's implementation of a deciding hook by itself; yield its name and its answer."""
        implementations = getattr(self.manager.hook, hook).get_hookimpls()
        for implementation in implementations:
            others = [other.plugin for other in implementations if other is not implementation]
            answers: list[tuple[str, Any]] = []
            token = _ANSWERS.set(answers)
            try:
                self.manager.subset_hook_caller(hook, others)(**arguments)
            finally:
                _ANSWERS.reset(token)
            yield from answers or [(implementation.plugin_name, None)]

    def _decide(self, hook: str, context: HookContext, **arguments: Any) -> tuple[Decision, list[Decision]]:
        """Return the strictest answer of policy and the plugins, and the plugins that allow.

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
                problem = (
                    answer if isinstance(answer, RaisedException) else f"gave {type(answer).__name__}, not a Decision"
                )
                message = f"the hook plugin {plugin} failed in {hook}: {problem}"
                decisions.append(Decision("deny", message, plugin=plugin))
        # Of equals the first holds: a plugin's denial keeps a tool from being imported, the workflow's own does not,
        # and its question is one that no option answers.
        return strongest([*decisions, decide(context.rules, context.request)]), allowing

    def _notify(self, hook: str, **arguments: Any) -> list[Any]:
        """Call a hook that observes; tell its exceptions, and return the other answers."""
        answers = self._call(hook, **arguments)
        for plugin, answer in answers:
            if isinstance(answer, RaisedException):
                self.tell(f"warning: the hook plugin {plugin} failed in {hook}: {answer}")
        return [answer for _, answer in answers if not isinstance(answer, RaisedException)]


def _records(plugin: str, answer: Any, scan: Scan) -> list[ToolRecord]:
    """Return the records that a plugin may register: of installed distributions."""
    records = _all_of(answer, ToolRecord)
    if not isinstance(records, list):
        problem = records or f"it gave {type(answer).__name__}, not tool records"
        message = f"the hook plugin {plugin} registers no tools: {problem}"
        scan.findings.append(Finding(HOOK_FAILED, message, None, f"upgrade {plugin}"))
        return []
    tool_records = []
    for record in records:
        name = normalise(record.distribution) or plugin.partition(":")[0]
        if not record.distribution:
            tool_records.append(_registered(build_record(record.entry, record.name, name, scan), plugin))
        elif name in scan.records:
            tool_records.append(_attributed(record, plugin, name, scan))
        else:
            message = f"the hook plugin {plugin} registers '{record.name}' of '{record.distribution}', "
            fix = "install it from a source that you trust, or correct the plugin"
            scan.findings.append(Finding(HOOK_FAILED, message + "which is not installed", None, fix))
    return tool_records


def _registered(record: ToolRecord, plugin: str) -> ToolRecord:
    members = record.members and tuple(replace(member, registered_by=plugin) for member in record.members)
    return replace(record, members=members, registered_by=plugin)


def _attributed(record: ToolRecord, plugin: str, distribution: str, scan: Scan) -> ToolRecord:
    """Return a plugin's record with the facts that rules and the lock use taken from the installation."""
    home = scan.records[distribution][0][0]
    package = find_package(record.module.partition(".")[0], scan.listings, home)
    return replace(
        record,
        distribution=distribution,
        version=scan.version(distribution),
        path=home,  # without which it would pass for an object of a program, which no lock covers
        location=(package.directory or package.file) if package else None,
        members=record.members and tuple(_attributed(member, plugin, distribution, scan) for member in record.members),
        registered_by=plugin,
    )


# The answers of one call of a hook, each with its plugin, in the order in which they are given.
_ANSWERS: ContextVar[list[tuple[str, Any]] | None] = ContextVar("answers", default=None)


class ContainedPlugins(pluggy.PluginManager):
    """pluggy's manager; an exception of an implementation is its answer, and each gets its own copies of arguments.

    Wrappers are left as they are: they see the arguments that pluggy shows them.
    """

    def register(self, plugin: object, name: str | None = None) -> str | None:
        """Register a plugin, and contain its implementations."""
        registered = super().register(plugin, name)
        for caller in self.get_hookcallers(plugin) or []:
            for implementation in caller.get_hookimpls():
                if implementation.plugin is plugin and not (implementation.wrapper or implementation.hookwrapper):
                    contained = _contained(implementation.function, implementation.plugin_name)
                    implementation.function = contained  # type: ignore[misc]
        return registered


def _contained(function: Callable[..., Any], plugin: str) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        answers = _ANSWERS.get()
        try:
            answer = function(*map(_copied, arguments))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if answers is None:
                raise
            answers.append((plugin, RaisedException(error)))
            return None
        if answers is not None and answer is not None:
            answers.append((plugin, answer))
        return answer

    return call


def _wrappers_of(caller: Any) -> str:
    """Return the names of the plugins that wrap a hook."""
    wrapping = [hookimpl.plugin_name for hookimpl in caller.get_hookimpls() if hookimpl.wrapper or hookimpl.hookwrapper]
    return " or ".join(wrapping) or "a hook plugin"


def _copied(value: Any) -> Any:
    """Return a plugin's own copy of a changeable value, so that no other plugin and no tool gets that."""
    if isinstance(value, ToolCall):
        return replace(value, arguments=copy.deepcopy(dict(value.arguments)))
    if isinstance(value, HookContext) and value.request is not None and value.request.arguments is not None:
        return replace(value, request=replace(value.request, arguments=copy.deepcopy(dict(value.request.arguments))))
    if isinstance(value, PlanFacts):
        return replace(value, document=copy.deepcopy(dict(value.document)))
    return copy.deepcopy(dict(value)) if isinstance(value, Mapping) else value


def _all_of(answer: Any, kind: type) -> list[Any] | RaisedException | None:
    """Return the items where all are of the kind, None for another value, or the exception of making them."""
    if isinstance(answer, RaisedException):
        return answer
    if isinstance(answer, (str, Mapping)) or not isinstance(answer, Iterable):
        return [] if answer is None else None
    try:
        items = list(answer)  # a generator runs the plugin's code only now
    except Exception as error:  # noqa: BLE001 - foreign code
        return RaisedException(error)
    return items if all(isinstance(item, kind) for item in items) else None
