"""Switch hook plugins on and off in the user's policy file, which keeps its comments and its form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from strands_cli.catalog.catalog import Catalog
from strands_cli.catalog.distributions.entry_points import normalise, read_entry_points
from strands_cli.default_parts import CONFIG_KEYS, OURS
from strands_cli.errors import Denied, InvalidInput, StrandsCliError, did_you_mean
from strands_cli.hooks.hook_plugins import open_hooks
from strands_cli.hooks.hookspecs import GROUP
from strands_cli.plugins.installed.policy_edit import CannotEditError, with_hook, without_hook
from strands_cli.policy.policy import Policy, SwitchedOn
from strands_cli.system.atomic_file import write_atomically

# The keys of the user's config file by the hook plugins that they switch on.
_BY_CONFIG = {distribution: key for key, distribution in OURS[CONFIG_KEYS].items()}
_MANAGED = "ask the administrator of this machine to change that file"


@dataclass(frozen=True, slots=True)
class Switched:
    """What a command changed: the plugin's state before and after, in words, and the file."""

    name: str
    before: str
    after: str
    file: Path


@dataclass(frozen=True, slots=True)
class HookFiles:
    """What the managed and the user's policy file say, each by itself, and where the user's is."""

    managed: Policy
    own: Policy
    file: Path


def enable_hooks(
    name: str, files: HookFiles, catalog: Catalog, *, may_allow: bool, required: bool | None = None
) -> Switched:
    """Switch a hook plugin on in the user's file.

    Args:
        name: Its distribution.
        files: The policy files.
        catalog: What is installed.
        may_allow: Whether its "allow" counts.
        required: Whether nothing runs where it is not installed; None leaves that as the file has it.

    Raises:
        InvalidInput: It is not installed, has no hooks, or the file cannot be edited.
        Denied: The managed file decides otherwise, or the plugin cannot be used.
    """
    name = normalise(name)
    _require_hooks(name, catalog)
    if name in _BY_CONFIG:
        message = f"{name} is switched on by `{_BY_CONFIG[name]}` in your config file"
        raise InvalidInput(message, fix="strands explain notifications")
    managed = _switched_on(files.managed, name)
    if managed is not None and managed.may_allow != may_allow:
        state = _state(managed)
        raise Denied(f"{name} is {state} by {managed.origin}, and that counts before your own file", fix=_MANAGED)
    if findings := open_hooks([name]).findings:
        raise Denied(f"{name} cannot be used, and while it is on nothing would run", findings=findings)
    own = _switched_on(files.own, name)
    required = own is not None and own.required if required is None else required
    _edit(files.file, lambda text: with_hook(text, name, may_allow=may_allow, required=required))
    after = SwitchedOn(name, "user", "", may_allow, required)
    return Switched(name, _state(own), _state(after), files.file)


def disable_hooks(name: str, files: HookFiles) -> Switched:
    """Switch a hook plugin off in the user's file; it need not be installed.

    Raises:
        InvalidInput: No file has it, or the file cannot be edited.
        Denied: The managed file switches it on.
    """
    name = normalise(name)
    managed, own = _switched_on(files.managed, name), _switched_on(files.own, name)
    if own is not None:
        _edit(files.file, lambda text: without_hook(text, name))
    if managed is not None:
        raise Denied(f"{name} stays {_state(managed)}, which {managed.origin} asks for", fix=_MANAGED)
    return Switched(name, _state(own), "off", files.file)


def is_switched_on(name: str, files: HookFiles) -> bool:
    """Return whether a policy file, or a key of the config file, is what switches on the hooks of a distribution."""
    return normalise(name) in _BY_CONFIG or any(
        _switched_on(policy, normalise(name)) for policy in (files.managed, files.own)
    )


def require_known(name: str, files: HookFiles, catalog: Catalog) -> None:
    """Check that a name is a hook plugin that is installed or switched on.

    Raises:
        InvalidInput: It is neither; with the nearest name.
    """
    if normalise(name) not in {normalise(hook.word) for hook in (*files.managed.hooks, *files.own.hooks)}:
        _require_hooks(normalise(name), catalog)


def _require_hooks(name: str, catalog: Catalog) -> None:
    records = catalog.seen.records
    known = [one for one, copies in records.items() if read_entry_points(copies[0][1], one, catalog.seen, GROUP)]
    if name in known:
        return
    guess = did_you_mean(name, known)
    fix = f"did you mean '{guess}'?" if guess else "see the installed ones: strands plugin list"
    problem = "has no hooks" if name in records else "is not installed"
    raise InvalidInput(f"'{name}' {problem}", fix=fix)


def _switched_on(policy: Policy, name: str) -> SwitchedOn | None:
    return next((hook for hook in policy.hooks if normalise(hook.word) == name), None)


def _state(hook: SwitchedOn | None) -> str:
    if hook is None:
        return "off"
    words = {"on": True, "may allow": hook.may_allow, "required": hook.required and hook.level == "user"}
    return ", ".join(word for word, is_so in words.items() if is_so)


def _edit(file: Path, change: Callable[[str], str]) -> None:
    """Write a changed file at once: a reader sees the old or the new one; a link to it stays one."""
    place = file.resolve()
    try:
        text = place.read_bytes().decode("utf-8") if place.exists() else ""
        new = change(text)
        if new != text:
            place.parent.mkdir(parents=True, exist_ok=True)
            mode = place.stat().st_mode & 0o7777 if place.exists() else 0o600
            write_atomically(place, new.encode(), force=True, mode=mode)
            place.chmod(mode)
    except CannotEditError as error:
        raise InvalidInput(f"{file} has a form that only a person can edit", fix=f"write there: {error}") from error
    except OSError as error:
        raise StrandsCliError(f"{file} cannot be written: {error.strerror}", fix="correct its permissions") from error
