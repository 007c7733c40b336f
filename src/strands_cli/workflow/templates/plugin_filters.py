"""Template filters of installed distributions, imported when one is first called."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, NamedTuple, cast

from strands_cli.errors import Edit, StrandsCliError
from strands_cli.parts.named_parts import Part, broken_part, imported_part

# Errors of templates, and the paths of names in them.


# A name with the attributes and indexes that follow it: `steps[0].response` is `("steps", 0, "response")`.
Path = tuple[str | int, ...]


class TemplateError(Exception):
    """A template or condition that cannot be compiled or rendered.

    Attributes:
        message: The fault, without the place.
        is_syntax: Whether the message is that of Jinja's parser.
        is_unknown: Whether a name or one of its parts has no value.
        of_text: The name that a text was asked for, as if it had fields.
        fix: The next act of a person, where the template has no mistake.
        edits: The correction of a word.
    """

    edits: tuple[Edit, ...] = ()

    def __init__(self, message: str, line: int | None = None, *, is_syntax: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.is_syntax = is_syntax
        self.is_unknown = False
        self.of_text = ""
        self.fix: str | None = None

    def __str__(self) -> str:
        return f"line {self.line} of the template: {self.message}" if self.line and self.line > 1 else self.message


class UnknownNameError(TemplateError):
    """A name or attribute without a value; `known_names` are its siblings with one, None for a root name."""

    def __init__(self, message: str, name: str, known_names: Iterable[str] | None) -> None:
        super().__init__(message)
        self.name = name
        self.known_names = None if known_names is None else tuple(known_names)


# The facts of a template about the names that it uses; taken from its tree once, without keeping the tree.


class TemplateRead(NamedTuple):
    """One path that a template reads: whether it is called, and whether the template takes it for possibly missing."""

    path: Path
    is_called: bool
    may_be_missing: bool


class Facts(NamedTuple):
    """The facts of one template or condition.

    Attributes:
        paths: The paths of names from outside, without those that may be absent.
        reads: All reads of names from outside, those that may be missing and those by filters among them.
        mentions: Every written path, also of names that the template sets.
        certain: The paths evaluated in every case, and without whose second part rendering always fails.
        sets: The names that it sets itself.
        words: Each path compared with a constant text, with the text.
        printed: Each printed path, with whether as it is.
        assumed_missing: The names that have a default, or that are tested for being there.
        asked_names: The names in conditions of `if`.
    """

    paths: frozenset[Path] = frozenset()
    reads: tuple[TemplateRead, ...] = ()
    mentions: frozenset[Path] = frozenset()
    certain: frozenset[Path] = frozenset()
    sets: frozenset[str] = frozenset()
    words: tuple[tuple[Path, str], ...] = ()
    printed: tuple[tuple[Path, bool], ...] = ()
    assumed_missing: tuple[str, ...] = ()
    asked_names: frozenset[str] = frozenset()


NO_FACTS = Facts()


# The types of a filter's result: a template can go on with these, and no object of a plugin reaches it.
_VALUES = (str, int, float, bool, list, dict, type(None))

# Whether a plan is being made, which imports no plugin.
_plans: ContextVar[bool] = ContextVar("plans", default=False)


@contextmanager
def without_plugin_filters() -> Iterator[None]:
    """Let templates that call a filter of a distribution fail with `TemplateError`: only a run imports one."""
    token = _plans.set(True)
    try:
        yield
    finally:
        _plans.reset(token)


# Templates are rendered while no other step goes on.
SECONDS = 5.0
# The filters of distributions that a template of this process names, each with what imports it.
_named: dict[Part, Callable[[], object]] = {}


def import_filters(texts: Iterable[str]) -> None:
    """Import the filters of distributions in these texts, so that one that cannot be used stops no run in its middle.

    Args:
        texts: A workflow that was checked, and its other files.

    Raises:
        NotEquipped: One cannot be imported, or is not a function.
    """
    words = set(re.findall(r"\w+", "\n".join(texts))) if _named else set()
    for part, load in _named.items():
        if part.name in words:
            load()


def plugin_filter(part: Part) -> Callable[..., Any]:
    """Return a function that calls the filter of a distribution with copies of its arguments."""
    loaded: list[Callable[..., Any]] = []

    def load() -> None:
        if not loaded:
            loaded.append(_imported(part))

    def call(*args: Any, **kwargs: Any) -> Any:
        if _plans.get():
            raise TemplateError(f"{part} is called in a run alone")
        load()
        try:
            result = _within_time(
                part, partial(loaded[0], *map(_plain, args), **{name: _plain(value) for name, value in kwargs.items()})
            )
        except (StrandsCliError, TemplateError):
            raise
        except (Exception, SystemExit) as error:  # a plugin may raise anything, and call sys.exit
            raise _failed(part, f"failed: {type(error).__name__}: {error}") from error
        if not _is_plain(result):
            raise _failed(part, f"returns {type(result).__name__}, which no template takes")
        return result

    _named[part] = load
    return call


def _within_time(part: Part, call: Callable[[], Any]) -> Any:
    """Return the result of a call, which goes on by itself where it takes too long: a thread cannot be ended."""
    from strands_cli.system.daemon_threads import DaemonThreads  # nothing that checks needs a thread

    result = DaemonThreads().submit(copy_context().run, call)
    try:
        return result.result(SECONDS)
    except TimeoutError:
        if result.done():  # its own
            raise
        raise _failed(part, f"did not answer in {SECONDS:g} s") from None


def _failed(part: Part, problem: str) -> TemplateError:
    error = TemplateError(f"{part} of {part.distribution} {problem}")
    error.fix = f"correct the expression, or report it to the authors of {part.distribution}"
    return error


def _imported(part: Part) -> Callable[..., Any]:
    function = imported_part(part)
    if not callable(function):
        raise broken_part(part, f"is {type(function).__name__}, not a function")
    return cast("Callable[..., Any]", function)


def _plain(value: Any) -> Any:
    return copy.deepcopy(value) if isinstance(value, (list, dict)) else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    return type(value) in _VALUES
