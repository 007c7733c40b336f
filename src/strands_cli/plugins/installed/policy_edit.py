"""Edit the `hooks` of a policy file as text: comments and everything else stay as they are."""

from __future__ import annotations

from typing import Any

import yaml

from strands_cli.catalog.distributions.entry_points import normalise


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
    others = [one for one in old.get("hooks") or [] if _same(one) != normalise(name)]
    replaced = [hooks[0] if _same(one) == normalise(name) else one for one in old.get("hooks") or []]
    return _checked(new, {**old, "hooks": replaced if same else [*others, *hooks]}, f"hooks: [{item}]")


def without_hook(text: str, name: str) -> str:
    """Return a policy file that does not switch on a hook plugin.

    Raises:
        CannotEditError: The file has a form that cannot be edited.
    """
    _, listed = _hooks_of(text)
    old = yaml.safe_load(text)
    left = [one for one in old.get("hooks") or [] if _same(one) != normalise(name)]
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
        place = document.end_mark.index - 1
        return f"{text[:place].rstrip()}, hooks: [{item}]{text[place:]}"
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
    place = listed.value.index(node)
    if listed.flow_style:
        if place:
            return text[: _end(listed.value[place - 1])] + text[_end(node) :]
        after = listed.value[1].start_mark.index if len(listed.value) > 1 else _end(node)
        return text[: node.start_mark.index] + text[after:]
    if is_last:
        indent = "" if listed.start_mark.column else "  "
        return f"{text[: listed.start_mark.index]}{indent}[]{text[_end(node) :]}"
    start = text.rfind("\n", 0, node.start_mark.index) + 1
    line_end = text.find("\n", _end(node))
    return text[:start] + (text[line_end + 1 :] if line_end >= 0 else "")


def _checked(new: str, wanted: Any, by_hand: str) -> str:
    """Return an edited text if it says what it is to say."""
    try:
        found = yaml.safe_load(new)
    except yaml.YAMLError as error:
        raise CannotEditError(by_hand) from error
    if found != wanted:
        raise CannotEditError(by_hand)
    return new
