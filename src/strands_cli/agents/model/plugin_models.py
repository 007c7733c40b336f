"""Models of providers from hook plugins, in addition to those of the SDK's own classes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any
from urllib.parse import quote

from strands.models import Model

from strands_cli.agents.model.models import build_model, copied
from strands_cli.canonical_json import mapped
from strands_cli.catalog.distributions.named_objects import import_named
from strands_cli.errors import InvalidInput, NotEquipped, StrandsCliError
from strands_cli.hooks.manager import Hooks
from strands_cli.planning.planned_tools.tool_config import filled_in
from strands_cli.provider_table import PROVIDERS
from strands_cli.providers import SETTING_FIELDS, ModelSettings

_FIX = "upgrade it, or take another provider"


def model_of(
    settings: ModelSettings,
    hooks: Hooks | None,
    secrets: Mapping[str, str] = MappingProxyType({}),
    *,
    of_others: bool = False,
) -> Model:
    """Return the model for one set of settings, from the SDK's own class or from a hook plugin's function.

    The values of secrets that the settings name are filled in here, so that no plan and no record has them.

    Raises:
        NotEquipped: The plugin's code cannot be imported, raises, or does not return a model of the SDK.
        InvalidInput: The function does not accept one of the settings.
    """
    settings = filled_settings(settings, secrets)
    found = provider_plugin(settings, hooks)
    if found is None:
        return build_model(settings, of_others=of_others)
    reference, plugin = found
    who = f"provider '{settings.provider}' of the hook plugin {plugin}"
    try:
        make = import_named(reference)
        arguments = arguments_for(make, settings, who)
        model = make(**arguments)
    except (StrandsCliError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a plugin may raise anything, SystemExit too
        raise NotEquipped(f"{who} ({reference}) failed: {type(error).__name__}: {error}", fix=_FIX) from error
    if not isinstance(model, Model):
        raise NotEquipped(f"{who} ({reference}) returned {type(model).__name__}, not a model of the SDK", fix=_FIX)
    return model


def provider_plugin(settings: ModelSettings, hooks: Hooks | None) -> tuple[str, str] | None:
    """Return the function that makes the model of a provider, and its plugin; None for the SDK's own classes."""
    return None if settings.provider in PROVIDERS or hooks is None else hooks.providers().get(settings.provider)


def filled_settings(settings: ModelSettings, secrets: Mapping[str, str]) -> ModelSettings:
    """Return settings with the values of the secrets that they name; they must not be shown or stored."""

    def in_address(name: str) -> str:
        return quote(secrets[name], safe="")

    host = filled_in(settings.host, in_address) if settings.host else settings.host
    return replace(
        settings, host=host, options=mapped(settings.options, lambda text: filled_in(text, secrets.__getitem__))
    )


def arguments_for(make: Callable[..., Any], settings: ModelSettings, who: str) -> dict[str, Any]:
    """Return the keyword arguments for a plugin's function: every setting of the workflow, so that none is ignored.

    Raises:
        InvalidInput: The function has no such parameter, or a setting is written twice.
    """
    written = {name: getattr(settings, name) for name in SETTING_FIELDS if getattr(settings, name) is not None}
    options: Mapping[str, Any] = copied(settings.options)
    twice = sorted(written.keys() & options.keys())
    parameters = inspect.signature(make).parameters.values()
    names = [one.name for one in parameters if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)]
    takes_all = any(one.kind is one.VAR_KEYWORD for one in parameters)
    unknown = [] if takes_all else sorted((written.keys() | options.keys()) - set(names))
    if twice:
        raise InvalidInput(f"{who}: '{twice[0]}' is written twice", fix=f"remove it from `options`: {twice[0]}")
    if unknown:
        raise InvalidInput(f"{who} has no option '{unknown[0]}'", fix=f"remove it; known: {', '.join(names) or 'none'}")
    return {**options, **written}
