"""The model settings of workflows: those of an agent over those of the runtime, and where requests go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

from strands_cli.provider_table import Place, Provider
from strands_cli.quick_dataclass import dataclass

SETTING_FIELDS = ("model_id", "region", "host", "temperature", "top_p", "max_tokens")


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """The settings of one model: `runtime`, overridden by an agent's own settings (`merge_settings`)."""

    provider: str
    model_id: str | None = None
    region: str | None = None
    host: str | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Provider and model for people and prices: `openai/gpt-4.1-mini`; the provider alone where it has no name."""
        return f"{self.provider}/{self.model_id}" if self.model_id else self.provider


# Placeholders for a key in examples and fixes.
_PLACEHOLDER = (
    r"(sk-(ant-|proj-)?)?([.\u2026]+|[x*_-]{2,})?"
    r"|<[^>]*>|\[[^\]]*\]|\{\{?[^}]*\}\}?|\$\{?\w+\}?"
    r"|(insert|enter|paste|add|put)?[-_ ]*(your|my|the)?[-_ ]*(\w+[-_ ])?api[-_ ]?key([-_ ]*here)?"
    r"|(insert|enter|paste|add|put|your|my|the)[-_ ]*(your|my|the)?[-_ ]*(\w+[-_ ])?(key|token|secret)([-_ ]*here)?"
    r"|(sk-)?(change[-_ ]?me|replace[-_ ]?me|todo|fixme|placeholder|example|dummy|none|null|undefined)"
)
# LiteLLM takes the service from the model's prefix. https://docs.litellm.ai/docs/providers
_LITELLM_KEYS = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "groq": "GROQ_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "xai": "XAI_API_KEY",
}


def merge_settings(
    runtime: ModelSettings,
    *,
    provider: str | None = None,
    model_id: str | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    max_tokens: int | None = None,
) -> ModelSettings:
    """Return the workflow's settings overridden by those of an agent or the command line.

    The settings of one provider (`model_id`, `region`, `host`, `options`) are dropped when the provider changes, except
    from or to `replay`: a workflow that replays a recording keeps the settings of its live model.
    """
    new = provider or runtime.provider
    if new != runtime.provider and "replay" not in (new, runtime.provider):
        runtime = replace(runtime, model_id=None, region=None, host=None, options={})
    return replace(
        runtime,
        provider=new,
        model_id=runtime.model_id if model_id is None else model_id,
        temperature=runtime.temperature if temperature is None else temperature,
        top_p=runtime.top_p if top_p is None else top_p,
        max_tokens=runtime.max_tokens if max_tokens is None else max_tokens,
    )


def value_at(options: Mapping[str, Any], path: Place) -> Any:
    """Return the value at a keyword path, or None if any part of the path is absent."""
    node: Any = options
    for key in path:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node


def place_of(provider: Provider, setting: str, settings: ModelSettings, environ: Mapping[str, str]) -> Place | None:
    """Return the constructor keyword path of a setting, or None when the provider has no such setting.

    OpenAI's own service refuses `max_tokens` for its newer models and takes `max_completion_tokens` for all
    (https://platform.openai.com/docs/api-reference/chat/create); many compatible servers know only the older name.
    """
    path = provider.places.get(setting)
    if provider.name != "openai" or setting != "max_tokens":
        return path
    newer = ("params", "max_completion_tokens")
    written = next((p for p in (newer, path) if p and value_at(settings.options, p) is not None), None)
    if written is not None:
        return written
    host = host_of(provider, settings, environ)
    return newer if host is None or same_host(host, provider.default_host) else path


def host_of(provider: Provider, settings: ModelSettings, environ: Mapping[str, str]) -> str | None:
    """Return the host from the field, the option or the variable; None for the provider's own host."""
    inherited = environ.get(provider.host_variable) if provider.host_variable else None
    return written_host(provider, settings) or inherited or None


def written_host(provider: Provider, settings: ModelSettings) -> str | None:
    """Return the host that the workflow names, in the field or in the options."""
    path = provider.places.get("host")
    written = settings.host or (value_at(settings.options, path) if path else None)
    return written if isinstance(written, str) else None


def has_key(provider: Provider, settings: ModelSettings, environ: Mapping[str, str]) -> bool:
    """Return whether a key, or its replacement, is in the environment or in the options."""
    places = (*((provider.key_place,) if provider.key_place else ()), *provider.keyless)
    variables = (*key_variables(provider, settings), *provider.keyless_variables)
    written = any(value_at(settings.options, path) for path in places)
    return written or any(environ.get(name, "").strip() for name in variables)


def fault_of_key(value: str) -> str | None:
    """Return the sign that the value of a variable is not a key, or None; the value itself is not repeated."""
    text = value.strip()
    if re.fullmatch(_PLACEHOLDER, text, re.IGNORECASE):
        return "a placeholder"
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'`":
        return "quotation marks around the key"
    if not text.isascii():
        return "characters that no key has"
    return "spaces or line ends" if value != text or len(text.split()) > 1 else None


def needs_no_key(provider: Provider, settings: ModelSettings, environ: Mapping[str, str]) -> bool:
    """Return whether requests go to a local server; a client that requires a key gets a placeholder for it."""
    host = host_of(provider, settings, environ)
    if provider.key_place is None or provider.aws or host is None:
        return False
    from strands_cli.addresses.written_places import is_local

    return is_local(host)


def same_host(left: str, right: str | None) -> bool:
    """Return whether two addresses name the same host."""
    from urllib.parse import urlsplit

    try:
        return right is not None and urlsplit(left).hostname == urlsplit(right).hostname
    except ValueError:
        return False


def key_variables(provider: Provider, settings: ModelSettings) -> tuple[str, ...]:
    """Return the environment variables that may hold the provider's key."""
    if provider.name == "litellm":
        name = _LITELLM_KEYS.get((settings.model_id or "").split("/")[0])
        return (name,) if name else ()
    return provider.keys
