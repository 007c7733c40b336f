"""Switch hook plugins on and off in the user's policy file, which keeps its comments and its form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from strands_cli.catalog.catalog import Catalog
from strands_cli.catalog.distributions.entry_points import normalise, read_entry_points
from strands_cli.config import Settings
from strands_cli.default_parts import CONFIG_KEYS, OURS, PROVIDERS
from strands_cli.errors import Denied, InvalidInput, StrandsCliError, did_you_mean
from strands_cli.hooks.hook_plugins import open_hooks
from strands_cli.hooks.hookspecs import GROUP
from strands_cli.parts.named_parts import parts_of
from strands_cli.planning.machine.installation import without_policy
from strands_cli.planning.machine.lock_check import parts_in
from strands_cli.planning.plan_builder import build_plan
from strands_cli.planning.plan_values import agents_in, with_parts
from strands_cli.planning.planned_tool import InstalledTool
from strands_cli.planning.run_request import RunRequest
from strands_cli.planning.workflow_folder import is_workflow
from strands_cli.policy.decision import Policy, SwitchedOn
from strands_cli.system.atomic_file import write_atomically
from strands_cli.workflow.loader import load_spec
from strands_cli.yaml_files.document_reader import SUFFIXES, read_document

# Edit the `hooks` of a policy file as text: comments and everything else stay as they are.


class CannotEditError(ValueError):
    """The file has a form in which its `hooks` cannot be edited; the message is the line to write by hand."""


def with_hook(text: str, name: str, *, may_allow: bool, required: bool = False) -> str:
    """Return a policy file that switches on a hook plugin.

    Args:
        text: The file, a valid one; empty where there is none.
        may_allow: Whether the plugin may allow.
        required: Whether nothing runs where the plugin is not installed.

    Raises:
        CannotEditError: The file has a form that cannot be edited.
    """
    marks: dict[str, Any] = {**({"may": "allow"} if may_allow else {}), **({"required": True} if required else {})}
    item = f"{{name: {name}{', may: allow' if may_allow else ''}{', required: true' if required else ''}}}"
    item = item if marks else name
    hooks = [{"name": name, **marks} if marks else name]
    if not text.strip():
        return f"version: 1\nhooks:\n  - {item}\n"
    document, listed = _hooks_of(text)
    same = [node for node in listed.value if _name(node) == normalise(name)] if listed is not None else []
    if listed is None:
        new = _with_key(text, document, item)
    elif same:
        new = f"{text[: same[0].start_mark.index]}{item}{text[_end(same[0]) :]}"
    elif listed.value:
        new = _appended(text, listed, item)
    else:
        new = f"{text[: listed.start_mark.index]}[{item}]{text[listed.end_mark.index :]}"
    old = yaml.safe_load(text)
    others = [hook for hook in old.get("hooks") or [] if _same(hook) != normalise(name)]
    replaced = [hooks[0] if _same(hook) == normalise(name) else hook for hook in old.get("hooks") or []]
    return _checked(new, {**old, "hooks": replaced if same else [*others, *hooks]}, f"hooks: [{item}]")


def without_hook(text: str, name: str) -> str:
    """Return a policy file that does not switch on a hook plugin.

    Raises:
        CannotEditError: The file has a form that cannot be edited.
    """
    _, listed = _hooks_of(text)
    old = yaml.safe_load(text)
    left = [hook for hook in old.get("hooks") or [] if _same(hook) != normalise(name)]
    new = text
    for node in reversed(listed.value if listed is not None else []):
        if _name(node) == normalise(name) and listed is not None:
            new = _without(new, listed, node, is_last=not left)
    return _checked(new, {**old, "hooks": left}, f"remove {name} from `hooks`")


def _hooks_of(text: str) -> tuple[yaml.MappingNode, yaml.SequenceNode | None]:
    document = yaml.compose(text, Loader=yaml.SafeLoader)
    if not isinstance(document, yaml.MappingNode):
        raise CannotEditError("hooks: [NAME]")
    listed = next((value for key, value in document.value if key.value == "hooks"), None)
    return document, listed if isinstance(listed, yaml.SequenceNode) else None


def _same(item: Any) -> str:
    return normalise(str(item.get("name") if isinstance(item, dict) else item))


def _name(node: yaml.Node) -> str:
    return _same(yaml.safe_load(yaml.serialize(node)))


def _end(node: yaml.Node) -> int:
    """Return the end of an item; a block mapping's own mark is behind the comments that follow it."""
    while isinstance(node, (yaml.MappingNode, yaml.SequenceNode)) and not node.flow_style and node.value:
        node = node.value[-1][1] if isinstance(node, yaml.MappingNode) else node.value[-1]
    return int(node.end_mark.index)


def _with_key(text: str, document: yaml.MappingNode, item: str) -> str:
    if document.flow_style:
        position = document.end_mark.index - 1
        return f"{text[:position].rstrip()}, hooks: [{item}]{text[position:]}"
    return f"{text.rstrip()}\nhooks:\n  - {item}\n"


def _appended(text: str, listed: yaml.SequenceNode, item: str) -> str:
    last = listed.value[-1]
    end = _end(last)
    if listed.flow_style:
        return f"{text[:end]}, {item}{text[end:]}"
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    return f"{text[:line_end]}\n{' ' * listed.start_mark.column}- {item}{text[line_end:] or chr(10)}"


def _without(text: str, listed: yaml.SequenceNode, node: yaml.Node, *, is_last: bool) -> str:
    index = listed.value.index(node)
    if listed.flow_style:
        if index:
            return text[: _end(listed.value[index - 1])] + text[_end(node) :]
        after = listed.value[1].start_mark.index if len(listed.value) > 1 else _end(node)
        return text[: node.start_mark.index] + text[after:]
    if is_last:
        indent = "" if listed.start_mark.column else "  "
        return f"{text[: listed.start_mark.index]}{indent}[]{text[_end(node) :]}"
    start = text.rfind("\n", 0, node.start_mark.index) + 1
    line_end = text.find("\n", _end(node))
    return text[:start] + (text[line_end + 1 :] if line_end >= 0 else "")


def _checked(new: str, expected: Any, by_hand: str) -> str:
    """Return an edited text if it has the wanted value."""
    try:
        parsed = yaml.safe_load(new)
    except yaml.YAMLError as error:
        raise CannotEditError(by_hand) from error
    if parsed != expected:
        raise CannotEditError(by_hand)
    return new


# Find the workflows of a folder that use tools of a distribution, or name other parts of it.


class Uses(NamedTuple):
    """The parts of a distribution in a workflow: the names of its tools, and phrases such as "the pattern `debate`"."""

    tools: list[str]
    parts: list[str]


def workflows_naming(name: str, folder: Path, catalog: Catalog, settings: Settings) -> dict[Path, Uses]:
    """Return the workflows of a folder that use a distribution, with their uses; skip invalid files."""
    uses_by_file: dict[Path, Uses] = {}
    for path in sorted(folder.iterdir()):
        uses = _uses(path, name, catalog, settings) if path.suffix in SUFFIXES and path.is_file() else Uses([], [])
        if uses.tools or uses.parts:
            uses_by_file[path] = uses
    return uses_by_file


def _uses(path: Path, name: str, catalog: Catalog, settings: Settings) -> Uses:
    try:
        document = read_document(path)
        loaded = load_spec(document) if is_workflow(document) else None
        if loaded is None or loaded.spec is None:
            return Uses([], [])
        plan = build_plan(loaded, without_policy(catalog, settings), RunRequest())
        parts = parts_in([plan], catalog.scan)
    except StrandsCliError:
        return Uses([], [])
    tools = (tool for tool in with_parts(plan.called()) if isinstance(tool, InstalledTool))
    agents = (*plan.agents.values(), *agents_in(plan.called()))
    providers = {model.provider for agent in agents for model in agent.models}
    parts += [part for part in parts_of(PROVIDERS, catalog.scan) if part.name in providers]
    return Uses(
        sorted({tool.name for tool in tools if tool.distribution == name}),
        sorted({str(part) for part in parts if part.distribution == name}),
    )


# The keys of the user's config file by the hook plugins that they switch on.
_BY_CONFIG = {distribution: key for key, distribution in OURS[CONFIG_KEYS].items()}
_MANAGED = "ask the administrator of this machine to change that file"


@dataclass(frozen=True, slots=True)
class SwitchChange:
    """The change by a command: the plugin's state before and after, in words, and the file."""

    name: str
    before: str
    after: str
    file: Path


@dataclass(frozen=True, slots=True)
class HookFiles:
    """The managed and the user's policy, each by itself, and the path of the user's file."""

    managed: Policy
    own: Policy
    file: Path


def enable_hooks(
    name: str, files: HookFiles, catalog: Catalog, *, may_allow: bool, required: bool | None = None
) -> SwitchChange:
    """Switch a hook plugin on in the user's file.

    Args:
        name: Its distribution.
        files: The policy files.
        catalog: The installed tools.
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
    return SwitchChange(name, _state(own), _state(after), files.file)


def disable_hooks(name: str, files: HookFiles) -> SwitchChange:
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
    return SwitchChange(name, _state(own), "off", files.file)


def is_switched_on(name: str, files: HookFiles) -> bool:
    """Return whether a policy file, or a key of the config file, switches on the hooks of a distribution."""
    return normalise(name) in _BY_CONFIG or any(
        _switched_on(policy, normalise(name)) for policy in (files.managed, files.own)
    )


def require_known(name: str, files: HookFiles, catalog: Catalog) -> None:
    """Check that a name is an installed or enabled hook plugin.

    Raises:
        InvalidInput: It is neither; with the nearest name.
    """
    if normalise(name) not in {normalise(hook.word) for hook in (*files.managed.hooks, *files.own.hooks)}:
        _require_hooks(normalise(name), catalog)


def _require_hooks(name: str, catalog: Catalog) -> None:
    records = catalog.scan.records
    hook_distributions = [
        owner for owner, copies in records.items() if read_entry_points(copies[0][1], owner, catalog.scan, GROUP)
    ]
    if name in hook_distributions:
        return
    guess = did_you_mean(name, hook_distributions)
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
    path = file.resolve()
    try:
        text = path.read_bytes().decode("utf-8") if path.exists() else ""
        new = change(text)
        if new != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            mode = path.stat().st_mode & 0o7777 if path.exists() else 0o600
            write_atomically(path, new.encode(), force=True, mode=mode)
            path.chmod(mode)
    except CannotEditError as error:
        raise InvalidInput(f"{file} has a form that only a person can edit", fix=f"write there: {error}") from error
    except OSError as error:
        raise StrandsCliError(f"{file} cannot be written: {error.strerror}", fix="correct its permissions") from error
