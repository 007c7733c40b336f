"""The model of some settings: of the program's own provider or a distribution's, with secrets filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from types import MappingProxyType
from urllib.parse import quote

from strands.models import Model

from strands_cli.agents.model.models import build_model
from strands_cli.parts.named_providers import provider_named
from strands_cli.planning.planned_tool import filled_in
from strands_cli.provider_table import known_provider
from strands_cli.providers import ModelSettings, host_of, value_at
from strands_cli.texts.canonical_json import canonical_json, mapped

_OF_AWS = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION")


def model_of(
    settings: ModelSettings,
    secrets: Mapping[str, str] = MappingProxyType({}),
    *,
    of_others: bool = False,
) -> Model:
    """Return the model for one set of settings, from the SDK's own class or from a distribution's function.

    The values of secrets that the settings name are filled in here, so that no plan and no record has them.

    Raises:
        Denied: The provider's distribution may not be imported.
        NotEquipped: The distribution's code cannot be imported, raises, or does not return a model of the SDK.
        InvalidInput: A setting is refused.
    """
    if known_provider(settings.provider) is None:  # no plan of this process has imported it
        provider_named(settings.provider)
    return build_model(filled_settings(settings, secrets), of_others=of_others)


# The providers whose services read a prompt from a cache up to a marked place, and their options about that.
MARKED = frozenset({"anthropic", "bedrock"})
_CACHE_OPTIONS = frozenset({"cache_config", "cache_tools", "cache_prompt"})


def with_cache_points(settings: ModelSettings, *, has_tools: bool) -> ModelSettings:
    """Return settings with which tools, system prompt and conversation are cached, where options say nothing of it.

    An agent without tools mostly sends one request, which nothing reads again: to write the cache costs more then.
    The SDK leaves the places out for models of Bedrock that are not known to take them.
    """
    if settings.provider not in MARKED or not has_tools or _CACHE_OPTIONS & settings.options.keys():
        return settings
    return replace(settings, options={**settings.options, "cache_config": {"tools_ttl": True}})


def maker_of(settings: ModelSettings) -> str:
    """Return the maker of the model: another plan may have another distribution for a provider of this name."""
    provider = known_provider(settings.provider)
    return f"{provider.distribution} {provider.make}" if provider is not None else ""


def account_of(settings: ModelSettings, environ: Mapping[str, str]) -> str:
    """Return a digest of the model, its address and the key: what a provider counts requests by.

    Args:
        settings: With the values of their secrets.
    """
    provider = known_provider(settings.provider)
    names: tuple[str, ...] = _OF_AWS
    written, host = None, settings.host
    if provider is not None:
        written = value_at(settings.options, provider.key_place) if provider.key_place else None
        host, names = host_of(provider, settings, environ) or provider.default_host, (*provider.keys, *_OF_AWS)
    key, place = written or [environ.get(name) for name in names], (host, settings.region, settings.model_id)
    return sha256(canonical_json([settings.provider, *place, key]).encode()).hexdigest()[:32]


def filled_settings(settings: ModelSettings, secrets: Mapping[str, str]) -> ModelSettings:
    """Return settings with the values of the secrets that they name; they must not be shown or stored."""

    def in_address(name: str) -> str:
        return quote(secrets[name], safe="")

    host = filled_in(settings.host, in_address) if settings.host else settings.host
    return replace(
        settings, host=host, options=mapped(settings.options, lambda text: filled_in(text, secrets.__getitem__))
    )
