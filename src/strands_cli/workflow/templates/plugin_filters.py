"""Template filters of installed distributions, imported when one is first called."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, cast

from strands_cli.errors import StrandsCliError
from strands_cli.parts.named_parts import Part, imported_part
from strands_cli.workflow.templates.template_errors import TemplateError

# What a filter may return: a template can go on with these, and no object of a plugin reaches it.
_VALUES = (str, int, float, bool, list, dict, type(None))


def plugin_filter(part: Part) -> Callable[..., Any]:
    """Return a function that calls the filter of a distribution with copies of its arguments."""
    loaded: list[Callable[..., Any]] = []

    def call(*given: Any, **named: Any) -> Any:
        if not loaded:
            loaded.append(_imported(part))
        try:
            made = loaded[0](*map(_plain, given), **{name: _plain(value) for name, value in named.items()})
        except (StrandsCliError, TemplateError):
            raise
        except Exception as error:  # a plugin may raise anything
            raise TemplateError(f"{part} of {part.distribution} failed: {type(error).__name__}: {error}") from error
        if not _is_plain(made):
            raise TemplateError(f"{part} of {part.distribution} returns {type(made).__name__}, which no template takes")
        return made

    return call


def _imported(part: Part) -> Callable[..., Any]:
    try:
        function = imported_part(part)
    except StrandsCliError:
        raise
    except Exception as error:  # a plugin may raise anything when it is imported
        problem = f"{type(error).__name__}: {error}"
        raise TemplateError(f"{part} of {part.distribution} cannot be imported: {problem}") from error
    if not callable(function):
        raise TemplateError(f"{part} of {part.distribution} is {type(function).__name__}, not a function")
    return cast("Callable[..., Any]", function)


def _plain(value: Any) -> Any:
    return copy.deepcopy(value) if isinstance(value, (list, dict)) else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(one) for key, one in value.items())
    return type(value) in _VALUES
