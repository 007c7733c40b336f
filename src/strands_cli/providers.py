"""The model settings of workflows, and the checks that they take effect on this machine, without the SDK."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from strands_cli.errors import Finding, Severity, Where, suggest
from strands_cli.provider_table import MAPPING_OPTIONS, PROVIDERS, Place, Provider

__all__ = [
    "PROVIDERS",
    "SETTING_FIELDS",
    "Locate",
    "ModelSettings",
    "Place",
    "Provider",
    "check_extra",
    "check_provider",
    "has_key",
    "host_of",
    "is_local",
    "merge_settings",
    "needs_no_key",
    "place_of",
    "value_at",
]

Locate = Callable[[str], Where | None]

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
# https://docs.aws.amazon.com/boto3/latest/guide/credentials.html; an instance profile sets none of them.
_AWS_VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)


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


def value_at(options: Mapping[str, Any], place: Place) -> Any:
    """Return the value at a keyword path, or None if any part of the path is absent."""
    node: Any = options
    for key in place:
        node = node.get(key) if isinstance(node, Mapping) else None
    return node


def place_of(provider: Provider, setting: str, settings: ModelSettings, environ: Mapping[str, str]) -> Place | None:
    """Return the constructor keyword path of a setting, or None when the provider has no such setting.

    OpenAI's own service refuses `max_tokens` for its newer models and takes `max_completion_tokens` for all
    (https://platform.openai.com/docs/api-reference/chat/create); many compatible servers know only the older name.
    """
    place = provider.places.get(setting)
    if provider.name != "openai" or setting != "max_tokens":
        return place
    newer = ("params", "max_completion_tokens")
    written = next((p for p in (newer, place) if p and value_at(settings.options, p) is not None), None)
    if written is not None:
        return written
    host = host_of(provider, settings, environ)
    return newer if host is None or _same_host(host, provider.default_host) else place


def host_of(provider: Provider, settings: ModelSettings, environ: Mapping[str, str]) -> str | None:
    """Return the host from the field, the option or the variable; None for the provider's own host."""
    inherited = environ.get(provider.host_variable) if provider.host_variable else None
    return _written_host(provider, settings) or inherited or None


def _written_host(provider: Provider, settings: ModelSettings) -> str | None:
    place = provider.places.get("host")
    written = settings.host or (value_at(settings.options, place) if place else None)
    return written if isinstance(written, str) else None


def is_local(host: str) -> bool:
    """Return whether a host is this machine or in a private network, by its address or a name that is never public."""
    import ipaddress  # few workflows have a host
    from urllib.parse import urlsplit

    try:
        name = (urlsplit(host if "://" in host else f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    try:
        return ipaddress.ip_address(name).is_private
    except ValueError:
        return bool(name) and ("." not in name or name.endswith((".localhost", ".local", ".internal", ".home.arpa")))


def has_key(provider: Provider, settings: ModelSettings, environ: Mapping[str, str]) -> bool:
    """Return whether a key, or its replacement, is in the environment or in the options."""
    places = (*((provider.key_place,) if provider.key_place else ()), *provider.keyless)
    variables = (*_key_variables(provider, settings), *provider.keyless_variables)
    written = any(value_at(settings.options, place) for place in places)
    return written or any(environ.get(name, "").strip() for name in variables)


def needs_no_key(provider: Provider, settings: ModelSettings, environ: Mapping[str, str]) -> bool:
    """Return whether requests go to a local server; a client that requires a key gets a placeholder for it."""
    host = host_of(provider, settings, environ)
    return provider.key_place is not None and not provider.aws and host is not None and is_local(host)


def check_provider(
    settings: ModelSettings,
    environ: Mapping[str, str],
    *,
    locate: Locate = lambda _field: None,
    others: Collection[str] = (),
) -> list[Finding]:
    """Return a finding for each setting that would not take effect on this machine, importing no client and no SDK.

    Args:
        settings: One model's settings.
        environ: The environment; values are only checked for presence.
        locate: Returns the place of a field (`provider`, `host`, `options/params/top_k`) in the workflow file.
        others: Providers of hook plugins, which check their own settings.

    Returns:
        Findings; `missing-extra` and `missing-api-key` are about this machine, the others about the file.
    """
    provider = PROVIDERS.get(settings.provider)
    if provider is None and settings.provider in others:
        return []
    if provider is None:
        known = [*PROVIDERS, *others]
        fix = suggest(settings.provider, known, f"use one of: {', '.join(known)}")
        return [Finding("unknown-provider", f"there is no provider '{settings.provider}'", locate("provider"), fix)]
    if provider.model_class is None:
        return []
    return [
        *check_extra(provider, locate),
        *_check_fields(provider, settings, environ, locate),
        *_check_options(provider, settings, locate),
        *_check_host(provider, settings, locate),
        *_check_key(provider, settings, environ, locate),
    ]


def check_extra(provider: Provider, locate: Locate = lambda _field: None) -> Iterator[Finding]:
    """Yield a finding for a provider's client package that is not installed, or too old for the SDK's class."""
    fix = f"pip install 'strands-cli[{provider.extra}]'" if provider.extra else "pip install strands-cli"
    missing = [module for module in provider.modules if not _importable(module)]
    if missing:
        message = f"provider '{provider.name}' needs the Python package of '{missing[0]}', which is not installed"
        yield Finding("missing-extra", message, locate("provider"), fix)
    elif provider.least_major is not None:
        from importlib.metadata import version  # the import takes 40 ms, and only one provider needs it

        name, least = provider.least_major
        installed = version(name)
        if int(installed.split(".")[0]) < least:
            message = f"provider '{provider.name}' needs {name} {least} or newer; {installed} is installed"
            yield Finding("missing-extra", message, locate("provider"), f"pip install --upgrade '{name}>={least}'")


def _importable(module: str) -> bool:
    """Return whether a module can be found without importing its parents, as `find_spec` on a dotted name would."""
    import sys
    from importlib.machinery import PathFinder
    from importlib.util import find_spec

    if module in sys.modules:
        return True
    top, *parts = module.split(".")
    spec = find_spec(top)
    for part in parts:
        spec = PathFinder.find_spec(part, spec.submodule_search_locations or ()) if spec else None
    return spec is not None


def _check_fields(
    provider: Provider, settings: ModelSettings, environ: Mapping[str, str], locate: Locate
) -> Iterator[Finding]:
    """Yield a finding for each setting that is missing, written twice, out of range, or without effect."""
    for name in SETTING_FIELDS:
        value, place = getattr(settings, name), place_of(provider, name, settings, environ)
        if value is None:
            yield from _check_absent(provider, name, settings, environ, locate)
        elif place is None:
            message = f"'{name}' has no effect with provider '{provider.name}'"
            yield Finding("field-without-effect", message, locate(name), f"remove '{name}'", "warning")
        elif len(place) > 1 and value_at(settings.options, place) is not None:
            option = "/".join(("options", *place))
            message = f"'{name}' and '{option}' say the same thing twice; '{name}' is used"
            yield Finding("field-without-effect", message, locate(option), f"remove '{option}'", "warning")
    limit = provider.temperature_max
    if limit is not None and settings.temperature is not None and not 0 <= settings.temperature <= limit:
        message = f"temperature {settings.temperature} is outside 0 to {limit:g}, the range of '{provider.name}'"
        yield Finding("setting-out-of-range", message, locate("temperature"), f"use a value from 0 to {limit:g}")


def _check_absent(
    provider: Provider, name: str, settings: ModelSettings, environ: Mapping[str, str], locate: Locate
) -> Iterator[Finding]:
    place = provider.places.get(name)
    if place is not None and value_at(settings.options, place) is not None:
        return
    if name in provider.needs:
        message = f"provider '{provider.name}' needs '{name}'"
        yield Finding("provider-needs", message, locate("provider"), f"add '{name}' beside 'provider'")
    elif name == "model_id" and provider.name == "bedrock":
        message = "without 'model_id' the SDK chooses a Bedrock model, which changes from release to release"
        yield Finding("provider-needs", message, locate("provider"), "add 'model_id'", "warning")
    elif name == "region" and provider.aws and not (_aws_variable(environ, "REGION") or _aws_file(environ, "config")):
        message = f"no region is set; '{provider.name}' will use us-west-2"
        yield Finding("provider-needs", message, locate("provider"), "add 'region' or set AWS_REGION", "warning")


def _check_options(provider: Provider, settings: ModelSettings, locate: Locate) -> Iterator[Finding]:
    """Yield a finding for each option that the SDK's class does not know, or whose value has another form."""
    fields = {place[0]: name for name, place in provider.places.items() if len(place) == 1}
    for key, value in settings.options.items():
        where = locate(f"options/{key}")
        if key in fields:
            message = f"'{key}' is not an option: it has a field of its own"
            yield Finding("unknown-option", message, where, f"write '{fields[key]}' beside 'provider'")
        elif key not in provider.options:
            yield _unknown_option(key, provider.options, f"provider '{provider.name}'", where)
        elif key in MAPPING_OPTIONS and not isinstance(value, Mapping):
            message = f"option '{key}' of provider '{provider.name}' must be a mapping, not {type(value).__name__}"
            yield Finding("option-type", message, where, f"write '{key}:' with its keys below it")
        elif key in provider.sections:
            known = provider.sections[key]
            for inner in value:
                if inner not in known:
                    inner_where = locate(f"options/{key}/{inner}")
                    yield _unknown_option(inner, known, f"'{key}' of provider '{provider.name}'", inner_where)


def _unknown_option(key: str, known: frozenset[str], owner: str, where: Where | None) -> Finding:
    fix = suggest(str(key), known, f"use one of: {', '.join(sorted(known))}")
    return Finding("unknown-option", f"{owner} has no option '{key}'", where, fix)


def _check_host(provider: Provider, settings: ModelSettings, locate: Locate) -> Iterator[Finding]:
    """Yield a finding for a host that the client cannot use as it is written."""
    host = settings.host
    if host is None or "host" not in provider.places:
        return
    if not host.startswith(("http://", "https://")) and provider.name != "ollama":
        shown = _shown(host)
        fix = f"write 'http://{shown}' or 'https://{shown}'" if "://" not in host else "use http:// or https://"
        yield Finding("bad-host", f"host '{shown}' is not an http or https address", locate("host"), fix)
    elif provider.adds_v1 and host.rstrip("/").endswith("/v1"):
        shown = _shown(host.rstrip("/")).removesuffix("/v1")
        message = f"provider '{provider.name}' adds the version to its host itself: '{shown}/v1/v1' does not exist"
        fix = f"write '{shown}'"
        yield Finding("bad-host", message, locate("host"), fix, "warning")


def _check_key(
    provider: Provider, settings: ModelSettings, environ: Mapping[str, str], locate: Locate
) -> Iterator[Finding]:
    """Yield a finding for a key that is missing, written in the file, or sent to another service."""
    for place in (provider.key_place, ("api_key",), ("client_args", "auth_token")):
        if place is not None and value_at(settings.options, place):
            field_name = "/".join(("options", *place))
            fix = f"remove it and set {' or '.join(provider.keys) or 'an environment variable'}"
            yield Finding("literal-key", "a key is written in the workflow file", locate(field_name), fix, "warning")
            return
    variables = _key_variables(provider, settings)
    if provider.aws:
        yield from _check_aws(provider, environ, locate)
    elif not has_key(provider, settings, environ):
        if variables and not needs_no_key(provider, settings, environ):
            message = f"provider '{provider.name}' needs a key, and {' or '.join(variables)} is not set"
            # LiteLLM accepts more variables than its documentation lists, so that ours may be the wrong one.
            severity: Severity = "error" if provider.keys else "warning"
            yield Finding("missing-api-key", message, locate("provider"), f"export {variables[0]}=...", severity)
    else:
        yield from _check_destination(provider, settings, variables, locate)


def _check_destination(
    provider: Provider, settings: ModelSettings, variables: tuple[str, ...], locate: Locate
) -> Iterator[Finding]:
    """Report a host in the file that gets the key from the environment, since files come from other people."""
    host = _written_host(provider, settings)
    if (
        host is not None
        and provider.default_host
        and not is_local(host)
        and not _same_host(host, provider.default_host)
    ):
        message = (
            f"'{_shown(host)}' gets the key that {' or '.join(variables)} holds, and is not {provider.default_host}"
        )
        fix = "check that the key was made for that host"
        yield Finding("key-to-other-host", message, locate("host"), fix, "warning")


def _shown(host: str) -> str:
    """Return a host without a user and password in it."""
    scheme, separator, rest = host.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def _same_host(one: str, other: str | None) -> bool:
    from urllib.parse import urlsplit

    try:
        return other is not None and urlsplit(one).hostname == urlsplit(other).hostname
    except ValueError:
        return False


def _key_variables(provider: Provider, settings: ModelSettings) -> tuple[str, ...]:
    if provider.name == "litellm":
        name = _LITELLM_KEYS.get((settings.model_id or "").split("/")[0])
        return (name,) if name else ()
    return provider.keys


def _check_aws(provider: Provider, environ: Mapping[str, str], locate: Locate) -> Iterator[Finding]:
    """Warn if no AWS credentials are visible; only a request could confirm it."""
    if any(environ.get(name) for name in _AWS_VARIABLES):
        return
    if not (_aws_file(environ, "credentials") or _aws_file(environ, "config")):
        message = f"provider '{provider.name}' uses AWS credentials, and none are in the environment or in ~/.aws"
        fix = "run 'aws configure', or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        yield Finding("missing-api-key", message, locate("provider"), fix, "warning")


def _aws_variable(environ: Mapping[str, str], name: str) -> bool:
    return bool(environ.get(f"AWS_{name}") or environ.get(f"AWS_DEFAULT_{name}"))


def _aws_file(environ: Mapping[str, str], name: str) -> bool:
    from pathlib import Path

    variable = {"credentials": "AWS_SHARED_CREDENTIALS_FILE", "config": "AWS_CONFIG_FILE"}[name]
    home = environ.get("HOME") or environ.get("USERPROFILE")
    written = environ.get(variable) or (f"{home}/.aws/{name}" if home else None)
    return written is not None and Path(written).is_file()
