"""The options that the Python API takes: those of `RunRequest`; the stub beside it is generated for type checkers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypedDict

from strands_cli.planning.run_request import RunRequest, options

# Choices of a program alone.
_OF_PROGRAMS = {
    "tools": "Python objects as tools: `@tool` functions, an `AgentTool`, a module, a provider, a class with tools.",
    "catalog": "The installed tools; found again by default.",
    "hooks": "Distributions of hook plugins, besides those that the managed and the user's policy file switch on.",
    "context": "Values for the tools of this run, such as a user's id; they are neither stored nor hidden in output.",
}
_OF_PROGRAMS_TYPES = {
    "tools": "Sequence[Any]",
    "catalog": "Catalog | None",
    "hooks": "Sequence[str]",
    "context": "Mapping[str, Any]",
}


def choices(*, again: bool) -> Iterator[tuple[str, str, str]]:
    """Yield name, type and meaning of each choice; with `again` of those for a stored run, else of the others."""
    if again:
        yield from ((name, _OF_PROGRAMS_TYPES[name], text) for name, text in _OF_PROGRAMS.items())
    for name, option in options().items():
        if option.in_python and option.again == again:
            yield (
                name,
                _accepted(RunRequest.__annotations__[name]),
                option.help_again if again and option.help_again else option.help,
            )


def _accepted(kind: str) -> str:
    """Return the type that a program may pass for a field: paths also as text, tuples as any sequence."""
    return kind.replace("Path", "str | Path").replace("tuple[str, ...]", "Sequence[str]")


def _typed(name: str, intro: str, *names: str, again: bool) -> Any:
    """Return a `TypedDict` with these choices and those of `names`, documented by their help texts."""
    texts = {choice: text for choice, _, text in choices(again=again)}
    kind = TypedDict(name, dict.fromkeys([*names, *texts], Any), total=False)
    kind.__doc__ = "\n".join([intro, "", *(f"{choice}: {text}" for choice, text in texts.items())])
    return kind


StoredRunChoices = _typed("StoredRunChoices", "What may be chosen again for a stored run.", again=True)
RunChoices = _typed(
    "RunChoices",
    "The options of a run besides its inputs, with those of `StoredRunChoices`.",
    *StoredRunChoices.__annotations__,
    again=False,
)
