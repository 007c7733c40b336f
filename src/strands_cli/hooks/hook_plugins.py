"""The one place that loads hook plugins: those that configuration names, one by one, each failure contained."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import pluggy

from strands_cli.catalog.distributions.entry_points import EntryPoint, Scan, normalise, read_entry_points
from strands_cli.catalog.distributions.scan import import_named, scan_installed
from strands_cli.default_parts import CONFIG_KEYS, OURS
from strands_cli.errors import Code, Finding, did_you_mean
from strands_cli.hooks import hookspecs as specs
from strands_cli.hooks.manager import HOOK_FAILED, ContainedPlugins, Hooks, Tell
from strands_cli.policy.decision import SwitchedOn

HOOK_MISSING = Code(
    "hook-missing",
    "A policy file requires a hook plugin that is not installed, or enables one without hooks; nothing runs.",
    "Install it, or remove it from `hooks:`.",
    21,
)
HOOK_ABSENT = Code(
    "hook-absent",
    "A hook plugin that a person switched on is not installed here; the run goes on without it.",
    "Install it, or require it: `strands plugin enable NAME --required`.",
)


def open_hooks(
    distributions: Iterable[str | SwitchedOn] = (),
    *,
    path: Sequence[str] | None = None,
    may_allow: Iterable[str] = (),
    tell: Tell = lambda _line: None,
    trace: Tell | None = None,
) -> Hooks:
    """Register the hook plugins of the named distributions.

    A named plugin that cannot be used is an error finding: it may be the one that makes the others safe. One neither
    required nor installed is a warning. Those that the user's config file switches on need no name here.

    Args:
        distributions: The plugins of policy files, or names, which are required.
        path: Where tools and plugins are looked for; `sys.path` without the current directory by default.
        may_allow: Those of the names whose "allow" counts.
        tell: Takes a line for the person when a plugin fails in a notification.
        trace: Takes a line for each call of a hook, with its time.
    """
    manager = ContainedPlugins(specs.PROJECT)
    manager.add_hookspecs(specs)
    named = [
        SwitchedOn(distribution, "command line", "") if isinstance(distribution, str) else distribution
        for distribution in distributions
    ]
    loaded_hooks = [
        hook_plugin for hook_plugin in named if normalise(hook_plugin.word) not in OURS[CONFIG_KEYS].values()
    ]
    allowing = [*may_allow, *(hook_plugin.word for hook_plugin in loaded_hooks if hook_plugin.may_allow)]
    hooks = Hooks(manager, path, tell=tell, may_allow=frozenset(map(normalise, allowing)))
    if trace is not None:
        _trace(manager, trace)
    if loaded_hooks:
        scan = scan_installed(path)
        for name, hook in {
            normalise(hook_plugin.word): hook_plugin
            for hook_plugin in sorted(loaded_hooks, key=lambda hook_plugin: hook_plugin.required)
        }.items():
            copies = scan.records.get(name)
            hooks.findings += _register(manager, name, copies[0][1], scan) if copies else [_absent(hook, name, scan)]
    # No spec is optional for pluggy; this refuses other hooks, such as a misspelt one.
    manager.check_pending()
    return hooks


def hooks_of(plugin: object, name: str) -> Hooks:
    """Return the hooks of one imported plugin, under the name of its distribution.

    Raises:
        TypeError: It implements no hook, or one that does not exist.
    """
    manager = ContainedPlugins(specs.PROJECT)
    manager.add_hookspecs(specs)
    _require_hooks(manager, plugin)
    manager.register(plugin, name)
    return Hooks(manager)


def _absent(hook: SwitchedOn, name: str, scan: Scan) -> Finding:
    """Return the finding for an absent plugin."""
    by = f" by {hook.origin}" if hook.origin else ""
    if not hook.required:
        message = f"the hook plugin '{name}' is switched on{by} and not installed here, so it has no effect here"
        fix = f"install it here too, or switch it off everywhere: strands plugin disable {name}"
        return Finding(HOOK_ABSENT, message, None, fix, "warning")
    hook_distributions = [
        distribution
        for distribution, others in scan.records.items()
        if read_entry_points(others[0][1], distribution, scan, specs.GROUP)
    ]
    guess = did_you_mean(name, hook_distributions)
    fix = f"strands plugin disable {name}; to use it, install it from a source that you trust"
    if hook.level == "managed":  # no command of a person switches it off
        fix = "install it from a source that you trust, or ask the administrator of this machine"
    fix = f"did you mean '{guess}'? Otherwise: {fix}" if guess else fix
    return Finding(HOOK_MISSING, f"the hook plugin '{name}' is switched on{by} and not installed", None, fix)


def _register(manager: pluggy.PluginManager, name: str, dist_info: str, scan: Scan) -> list[Finding]:
    """Load one distribution's hook plugins and register them under its name."""
    points = read_entry_points(dist_info, name, scan, specs.GROUP)
    if not points:
        message = f"'{name}' is switched on as a hook plugin and declares none (entry-point group {specs.GROUP})"
        return [Finding(HOOK_MISSING, message, None, f"strands plugin disable {name}")]
    return [finding for point in points for finding in _register_one(manager, name, point, len(points) > 1)]


def _register_one(
    manager: pluggy.PluginManager, name: str, point: EntryPoint, among_several: bool
) -> Iterable[Finding]:
    fix = f"upgrade it (pip install --upgrade {name}), or: strands plugin disable {name}"
    known_as = f"{name}:{point.name}" if among_several else name
    try:
        plugin = _load(point.value)
        _require_hooks(manager, plugin)
        manager.register(plugin, known_as)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - a plugin may raise anything when it is imported
        if manager.has_plugin(known_as):  # pluggy before 1.6 keeps a plugin whose functions it has refused
            manager.unregister(name=known_as)
        message = f"the hook plugin '{name}' ({point.value}) cannot be used: {type(error).__name__}: {error}"
        return [Finding(HOOK_FAILED, message, None, fix)]
    return []


def _load(value: str) -> Any:
    plugin = import_named(value)
    return plugin() if isinstance(plugin, type) else plugin


def _require_hooks(manager: pluggy.PluginManager, plugin: Any) -> None:
    """Refuse an object without implementations, a misspelt hook, and a wrapper around answers that decide."""
    options = {name: manager.parse_hookimpl_opts(plugin, name) for name in dir(plugin)}
    hooks = {(opts.get("specname") or name): opts for name, opts in options.items() if opts is not None}
    if not hooks:
        raise TypeError("it implements no hook; mark its functions with @hookimpl")
    for name, opts in hooks.items():
        if name not in specs.NAMES:
            guess = did_you_mean(name, specs.NAMES)
            raise TypeError(f"there is no hook '{name}'" + (f"; did you mean '{guess}'?" if guess else ""))
        if name in specs.DECIDING and (opts.get("wrapper") or opts.get("hookwrapper")):
            raise TypeError(f"{name} is a wrapper, which could change what other plugins decide")


def _trace(manager: pluggy.PluginManager, tell: Tell) -> None:
    """Report each hook call: the plugin, the hook, its subject, its result and its duration."""
    import threading

    here = threading.local()  # plugins are asked in threads, several at a time

    def before(_hook: str, _plugins: Sequence[Any], _arguments: Any) -> None:
        here.started = [*getattr(here, "started", ()), time.perf_counter()]

    def after(outcome: Any, hook: str, plugins: Sequence[Any], arguments: Any) -> None:
        ms = (time.perf_counter() - here.started.pop()) * 1000
        names = ", ".join(plugin.plugin_name for plugin in plugins)
        about = getattr(arguments.get("record"), "name", None) or ""
        tell(f"hook {hook}({about}) of {names}: {_outcome(outcome)}, {ms:.2f} ms")

    manager.add_hookcall_monitoring(before, after)


def _outcome(outcome: Any) -> str:
    if outcome.exception is not None:
        return f"raised {type(outcome.exception).__name__}"
    answers = outcome.get_result()
    if not answers:
        return "no answer"
    effect = getattr(answers[0], "effect", None)
    if effect:
        return f"{effect} ({answers[0].rule})"
    size = len(answers[0]) if hasattr(answers[0], "__len__") else None
    return f"{size} given" if size is not None else type(answers[0]).__name__
