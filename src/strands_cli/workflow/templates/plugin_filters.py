"""Template filters of installed distributions, imported when one is first called."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

from strands_cli.errors import StrandsCliError
from strands_cli.parts.named_parts import Part, broken_part, imported_part
from strands_cli.workflow.templates.template_errors import TemplateError

# What a filter may return: a template can go on with these, and no object of a plugin reaches it.
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


def plugin_filter(part: Part) -> Callable[..., Any]:
    """Return a function that calls the filter of a distribution with copies of its arguments."""
    loaded: list[Callable[..., Any]] = []

    def call(*given: Any, **named: Any) -> Any:
        if _plans.get():
            raise TemplateError(f"{part} is called in a run alone")
        if not loaded:
            loaded.append(_imported(part))
        try:
            made = loaded[0](*map(_plain, given), **{name: _plain(value) for name, value in named.items()})
        except (StrandsCliError, TemplateError):
            raise
        except (Exception, SystemExit) as error:  # a plugin may raise anything, and call sys.exit
            raise TemplateError(f"{part} of {part.distribution} failed: {type(error).__name__}: {error}") from error
        if not _is_plain(made):
            raise TemplateError(f"{part} of {part.distribution} returns {type(made).__name__}, which no template takes")
        return made

    return call


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
        return all(isinstance(key, str) and _is_plain(one) for key, one in value.items())
    return type(value) in _VALUES
