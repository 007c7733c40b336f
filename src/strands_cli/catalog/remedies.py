"""Ways to get a tool that is not installed or does not work; none installs a name that only a workflow has."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from functools import cache

from strands_cli.catalog.distributions.dist_info import read_text
from strands_cli.catalog.tool_record import ToolRecord

LOOK = "see what is installed: strands list-tools"
# Any person can register a name in an index, so the word of a workflow's author is not enough.
ELSEWHERE = f"correct the name ({LOOK}), or install what provides it from a source that you trust"


_SDK = "strands-agents"
_MAX_METADATA = 262_144


def may_have_tools(name: str, record: str) -> bool:
    """Return whether a distribution that declares no tools may have some: its metadata says that it needs the SDK.

    Args:
        name: Its normalised name.
        record: Its `*.dist-info`.
    """
    if name == _SDK or name.startswith("strands-cli"):
        return False
    head = (read_text(record, "METADATA", _MAX_METADATA) or "").partition("\n\n")[0].lower()
    return f"requires-dist: {_SDK}" in head


@cache
def first_party() -> dict[str, str]:
    """Return the distribution of each first-party tool, from data that is made from their manifests."""
    from importlib.resources import files  # brings modules that a listing does without

    text = files("strands_cli.catalog").joinpath("first_party.json").read_text(encoding="utf-8")
    found: dict[str, str] = json.loads(text)
    return found


def install_tool(name: str) -> str:
    """Return how to get a tool that no installed distribution provides."""
    owner = first_party().get(name)
    return f"pip install {owner}" if owner else _find(name)


def install_distribution(name: str) -> str:
    """Return how to get a distribution that a workflow names, for one of its tools."""
    return f"pip install {name}" if name in first_party().values() else _find(name)


def _find(name: str) -> str:
    return f"{ELSEWHERE} (what your plugin indexes have: strands plugin search {shlex.quote(name)})"


def adopt_again(record: ToolRecord) -> str:
    """Return how to make a broken adopted tool work again."""
    adopted = record.adopted
    if not record.path:  # the distribution is not installed; the word of a workflow's author is not enough for that
        by_user = adopted is not None and adopted.level == "user"
        return f"pip install {record.distribution}" if by_user else ELSEWHERE
    command = adopted.command(record.distribution, imports=adopted.imported) if adopted else ""
    return f"read the change, then adopt it again: {command}"


def meet(missing: Iterable[str]) -> str:
    """Return how to provide what a tool needs, from the phrases that name it."""
    return "; ".join(dict.fromkeys(map(_provide, missing)))


def _provide(phrase: str) -> str:
    _, is_package, command = phrase.partition("pip install ")
    if is_package:
        return f"pip install {command}"
    if phrase.startswith("the module "):
        return f"install what provides {phrase}"
    _, is_variable, name = phrase.partition("the environment variable ")
    return f"export {name}=..." if is_variable else "use a machine that has it, or another tool"
