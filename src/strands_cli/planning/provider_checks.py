"""Checks that model settings take effect on this machine, without the SDK and the clients of providers."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from strands_cli.default_parts import OURS
from strands_cli.default_parts import PROVIDERS as GROUP
from strands_cli.errors import Code, Finding, Severity, Where, clear_edit, suggest
from strands_cli.provider_table import MAPPING_OPTIONS, OFF, PROVIDERS, SYNONYMS, Provider
from strands_cli.providers import (
    SETTING_FIELDS,
    ModelSettings,
    fault_of_key,
    has_key,
    key_variables,
    needs_no_key,
    place_of,
    same_host,
    value_at,
    written_host,
)
from strands_cli.secrets.secret_sources import is_short, short_secret
from strands_cli.user_files.stored_keys import take_stored_key, with_taken_keys
from strands_cli.versions import is_within

UNKNOWN_PROVIDER = Code(
    "unknown-provider", "A model provider that does not exist.", "Use one that `strands explain supported` shows."
)
MISSING_EXTRA = Code(
    "missing-extra",
    "The provider's client is not installed, or in a version that the SDK does not admit.",
    "Install the extra that the fix names.",
    18,
)
MISSING_API_KEY = Code(
    "missing-api-key",
    "The provider's API key or credentials are not in the environment.",
    "Set the variable that the fix names.",
    18,
)
PROVIDER_NEEDS = Code(
    "provider-needs",
    "A setting is missing that the provider needs, or else chooses itself.",
    "Add the setting beside `provider`.",
)
UNKNOWN_OPTION = Code(
    "unknown-option",
    "A key under `options` that the provider does not know and would ignore or refuse.",
    "Correct or remove the key.",
)
OPTION_TYPE = Code("option-type", "An option must be a mapping.", "Write its keys below it.")
OPTION_VALUE = Code(
    "option-value", "The value of an option does not fit the provider's JSON Schema for it.", "Correct the value."
)
SETTING_OUT_OF_RANGE = Code(
    "setting-out-of-range",
    "A model setting is outside the range that the provider accepts.",
    "Use a value in the range.",
)
FIELD_WITHOUT_EFFECT = Code(
    "field-without-effect", "A field is accepted but has no effect with the chosen provider.", "Remove the field."
)
# The form of an address with or without its scheme: no spaces, and a name after `//`.
_ADDRESS = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*://|(?!\w+://))[^\s/?#][^\s]*")
BAD_HOST = Code("bad-host", "The model's host is not an address that its client can use.", "Write it as the fix shows.")
LITERAL_KEY = Code(
    "literal-key",
    "An API key is in the workflow file, where every reader sees it.",
    "Remove it, revoke it, and set the environment variable.",
)
KEY_TO_OTHER_HOST = Code(
    "key-to-other-host",
    "The workflow sends the provider's key from your environment to another host.",
    "Check that the key was made for that host.",
)

# As the SDK's metadata has the client of an extra: `anthropic<1.0.0,>=0.21.0; extra == 'anthropic'`.
_REQUIRED = re.compile(
    r"(?P<name>[\w.-]+)(?:\[[^]]*])?\s*\(?(?P<bounds>[^;()]+)\)?;\s*extra == ['\"](?P<extra>[\w-]+)['\"]"
)
Locate = Callable[[str], Where | None]
# https://docs.aws.amazon.com/boto3/latest/guide/credentials.html; an instance profile sets none of them.
_AWS_VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)


def check_provider(
    settings: ModelSettings,
    environ: Mapping[str, str],
    *,
    locate: Locate = lambda _field: None,
    provider: Provider | None = None,
) -> list[Finding]:
    """Return a finding for each setting that would not take effect on this machine, importing no client and no SDK.

    Args:
        settings: One model's settings.
        environ: The environment; values are not repeated.
        locate: Returns the place of a field (`provider`, `host`, `options/params/top_k`) in the workflow file.
        provider: The row of a distribution; by default the program's own of this name. One without `make` is known by
            its name alone, and its settings are not checked.

    Returns:
        Findings; `missing-extra` and `missing-api-key` are about this machine, the others about the file.
    """
    provider = provider or PROVIDERS.get(settings.provider)
    if provider is None:
        return [unknown_provider(settings.provider, PROVIDERS, locate)]
    if provider.make is None:
        return []
    return [
        *check_extra(provider, locate),
        *_check_fields(provider, settings, environ, locate),
        *_check_options(provider, settings, locate),
        *_check_host(provider, settings, locate),
        *_check_key(provider, settings, environ, locate),
    ]


def unknown_provider(name: str, provider_names: Collection[str], locate: Locate) -> Finding:
    """Return the finding for an absent provider, with the nearest of the known ones."""
    message = f"there is no provider '{name}'"
    if (distribution := OURS[GROUP].get(name)) is None:
        known = f"use one of: {', '.join(provider_names)}; or install the distribution that brings it"
        fix = suggest(SYNONYMS.get(name.lower(), name), provider_names, known)
    else:
        message = f"the provider '{name}' is that of {distribution}, which is not installed"
        fix = f"pip install {distribution}"
    return Finding(UNKNOWN_PROVIDER, message, locate("provider"), fix)


def check_extra(provider: Provider, locate: Locate = lambda _field: None) -> Iterator[Finding]:
    """Yield a finding for a provider's client, missing or in a version that the SDK does not admit."""
    extra = f"'{provider.distribution}[{provider.extra}]'" if provider.extra else provider.distribution
    fix = f"pip install {extra}"
    missing = [module for module in provider.modules if not _importable(module)]
    if missing:
        message = f"provider '{provider.name}' needs the Python package of '{missing[0]}', which is not installed"
        yield Finding(MISSING_EXTRA, message, locate("provider"), fix)
    else:
        yield from check_client(provider, locate)


def check_client(provider: Provider, locate: Locate = lambda _field: None) -> Iterator[Finding]:
    """Yield a finding for each installed client whose version the SDK does not admit."""
    for name, bounds in _admitted(provider).items():
        installed = _field(name, "Version")
        if installed and not is_within(installed[0], bounds):
            message = f"provider '{provider.name}' needs {name} {bounds}; {installed[0]} is installed"
            yield Finding(MISSING_EXTRA, message, locate("provider"), f"pip install '{name}{bounds}'")


def _admitted(provider: Provider) -> dict[str, str]:
    """Return the versions of a provider's client that the installed SDK admits, by distribution."""
    bounds: dict[str, str] = {}
    holder = "strands-agents" if provider.is_of_core else provider.distribution
    for line in _field(holder, "Requires-Dist") if provider.extra else []:
        needed = _REQUIRED.fullmatch(line) if str(provider.extra) in line else None
        # Stubs have no effect in a run.
        if needed and needed["extra"] == provider.extra and not needed["name"].endswith("-stubs"):
            bounds[needed["name"]] = needed["bounds"].replace(" ", "")
    name, least = provider.least_major or ("", 0)
    return {**bounds, **({name: ",".join(filter(None, [bounds.get(name), f">={least}"]))} if name else {})}


def _field(distribution: str, field: str) -> list[str]:
    """Return a field of an installed distribution; `importlib.metadata` takes 40 ms to import."""
    for site in (entry or os.curdir for entry in sys.path):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            if lines := _headers(distribution, site, os.stat(site).st_mtime_ns):  # noqa: PTH116 - sooner
                return [line.partition(": ")[2].strip() for line in lines if line.startswith(f"{field}: ")]
    return []


@lru_cache(maxsize=64)
def _headers(distribution: str, site: str, _changed_at: int) -> tuple[str, ...]:
    """Return the header lines of a distribution's metadata in a folder, read again when the folder has changed."""
    folder = re.compile(re.sub("[-_.]+", "[-_.]+", distribution) + r"-[^-]+\.dist-info", re.IGNORECASE)
    for entry in filter(folder.fullmatch, os.listdir(site)):  # noqa: PTH208 - sooner
        return tuple(Path(site, entry, "METADATA").read_text(encoding="utf-8").partition("\n\n")[0].splitlines())
    return ()


def _importable(module: str) -> bool:
    """Return whether a module can be found without importing its parents, as `find_spec` on a dotted name would."""
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
    """Yield a finding for each absent setting, and one written twice, out of range, or without effect."""
    for name in SETTING_FIELDS:
        value, path = getattr(settings, name), place_of(provider, name, settings, environ)
        if value is None:
            yield from _check_absent(provider, name, settings, environ, locate)
        elif path is None:
            message = f"'{name}' has no effect with provider '{provider.name}'"
            yield Finding(FIELD_WITHOUT_EFFECT, message, locate(name), f"remove '{name}'", "warning")
        elif len(path) > 1 and value_at(settings.options, path) is not None:
            option = "/".join(("options", *path))
            message = f"'{name}' and '{option}' say the same thing twice; '{name}' is used"
            yield Finding(FIELD_WITHOUT_EFFECT, message, locate(option), f"remove '{option}'", "warning")
    limit = provider.temperature_max
    if limit is not None and settings.temperature is not None and not 0 <= settings.temperature <= limit:
        message = f"temperature {settings.temperature} is outside 0 to {limit:g}, the range of '{provider.name}'"
        yield Finding(SETTING_OUT_OF_RANGE, message, locate("temperature"), f"use a value from 0 to {limit:g}")


def _check_absent(
    provider: Provider, name: str, settings: ModelSettings, environ: Mapping[str, str], locate: Locate
) -> Iterator[Finding]:
    path = provider.places.get(name)
    if path is not None and value_at(settings.options, path) is not None:
        return
    if name in provider.needs:
        message = f"provider '{provider.name}' needs '{name}'"
        option = {"model_id": ", or pass --model NAME", "max_tokens": ", or pass --max-tokens N"}.get(name, "")
        yield Finding(PROVIDER_NEEDS, message, locate("provider"), f"add '{name}' beside 'provider'{option}")
    elif name == "model_id" and provider.name == "bedrock":
        message = "without 'model_id' the SDK chooses a Bedrock model, which changes from release to release"
        yield Finding(PROVIDER_NEEDS, message, locate("provider"), "add 'model_id'", "warning")
    elif name == "region" and provider.aws and not (_aws_variable(environ, "REGION") or _aws_file(environ, "config")):
        message = f"no region is set; '{provider.name}' will use us-west-2"
        yield Finding(PROVIDER_NEEDS, message, locate("provider"), "add 'region' or set AWS_REGION", "warning")


# No provider has as many options: of more keys, one of the first is unknown, and the file is refused for it.
_MOST_OPTIONS = 1000


def _check_options(provider: Provider, settings: ModelSettings, locate: Locate) -> Iterator[Finding]:
    """Yield a finding for each option that the SDK's class does not know, or whose value has another form."""
    fields = {path[0]: name for name, path in provider.places.items() if len(path) == 1}
    for key, value in islice(settings.options.items(), _MOST_OPTIONS):
        where = locate(f"options/{key}")
        if key in fields:
            message = f"'{key}' is not an option: it has a field of its own"
            yield Finding(UNKNOWN_OPTION, message, where, f"write '{fields[key]}' beside 'provider'")
        elif key not in provider.options:
            yield _unknown_option(key, provider.options, f"provider '{provider.name}'", where)
        elif key == "cache_config" and value == OFF:
            continue
        elif _must_be_mapping(provider, key) and not isinstance(value, Mapping):
            message = f"option '{key}' of provider '{provider.name}' must be a mapping, not {type(value).__name__}"
            yield Finding(OPTION_TYPE, message, where, f"write '{key}:' with its keys below it")
        elif key in provider.sections:
            option_names = provider.sections[key]
            for inner in value:
                if inner not in option_names:
                    inner_where = locate(f"options/{key}/{inner}")
                    yield _unknown_option(inner, option_names, f"'{key}' of provider '{provider.name}'", inner_where)
        if key in provider.option_schemas:
            yield from _check_schema(provider, key, value, where)


def _must_be_mapping(provider: Provider, option: str) -> bool:
    return option in provider.sections or (option in MAPPING_OPTIONS and provider.is_sdk_class)


def _check_schema(provider: Provider, option: str, value: object, where: Where | None) -> Iterator[Finding]:
    from jsonschema import Draft202012Validator  # 140 ms; few providers have schemas
    from referencing import Registry

    schema: Any = provider.option_schemas[option]
    who, fix = f"option '{option}' of provider '{provider.name}'", "correct the value"
    try:
        # An empty registry: a `$ref` to another document is an error and never a request.
        error = next(Draft202012Validator(schema, registry=Registry()).iter_errors(value), None)
        problem = error.message if error is not None else None
    except Exception as error:  # noqa: BLE001 - a `$ref` that leads nowhere or to itself
        problem = f"its schema cannot be used: {type(error).__name__}"
        fix = f"pip install --upgrade {provider.distribution}, or leave the option out"
    if problem is not None:
        yield Finding(OPTION_VALUE, f"{who}: {problem}", where, fix)


def _unknown_option(key: str, option_names: frozenset[str], owner: str, where: Where | None) -> Finding:
    fix = suggest(
        str(key),
        option_names,
        f"use one of: {', '.join(sorted(option_names))}" if option_names else "remove it: there is none",
    )
    edits = clear_edit(str(key), option_names)
    return Finding(UNKNOWN_OPTION, f"{owner} has no option '{key}'", where, fix, edits=edits)


def _check_host(provider: Provider, settings: ModelSettings, locate: Locate) -> Iterator[Finding]:
    """Yield a finding for a host that the client cannot use as it is written."""
    host = settings.host
    if host is None or "host" not in provider.places:
        return
    is_address = _ADDRESS.fullmatch(host) is not None
    if not is_address or (not host.startswith(("http://", "https://")) and provider.name != "ollama"):
        shown_host = _without_user(host)
        fix = (
            f"write 'http://{shown_host}' or 'https://{shown_host}'" if "://" not in host else "use http:// or https://"
        )
        fix = fix if is_address else "write one such as 'http://127.0.0.1:8000'"
        yield Finding(BAD_HOST, f"host '{shown_host}' is not an http or https address", locate("host"), fix)
    elif provider.adds_v1 and host.rstrip("/").endswith("/v1"):
        shown_host = _without_user(host.rstrip("/")).removesuffix("/v1")
        message = f"provider '{provider.name}' adds the version to its host itself: '{shown_host}/v1/v1' does not exist"
        fix = f"write '{shown_host}'"
        yield Finding(BAD_HOST, message, locate("host"), fix, "warning")


def _check_key(
    provider: Provider, settings: ModelSettings, environ: Mapping[str, str], locate: Locate
) -> Iterator[Finding]:
    """Yield a finding for an absent key, and one written in the file, or sent to another service."""
    for path in (provider.key_place, ("api_key",), ("client_args", "auth_token")):
        if path is not None and (value := value_at(settings.options, path)):
            if "${" in str(value):  # names a secret, or is reported as a name of none
                return
            field_name = "/".join(("options", *path))
            fix = f"remove it and set {' or '.join(provider.keys) or 'an environment variable'}"
            yield Finding(LITERAL_KEY, "a key is written in the workflow file", locate(field_name), fix, "warning")
            return
    variables = key_variables(provider, settings)
    fault = None
    if environ is os.environ and variables and not has_key(provider, settings, environ):
        fault = take_stored_key(variables)
        environ = with_taken_keys(environ)
    if provider.aws:
        yield from _check_aws(provider, environ, locate)
    elif not has_key(provider, settings, environ):
        if variables and not needs_no_key(provider, settings, environ):
            message = f"provider '{provider.name}' needs a key, and {' or '.join(variables)} is not set"
            # LiteLLM accepts more variables than its documentation lists, so that ours may be the wrong one.
            severity: Severity = "error" if provider.keys else "warning"
            fix = f"export {variables[0]}=..., or store it: strands keys set {provider.name}"
            message += f"; {fault}" if fault else ""
            yield Finding(MISSING_API_KEY, message, locate("provider"), fix, severity)
    elif (unusable := _unusable_key(provider, settings, environ)) is not None:
        name, problem = unusable
        message = f"provider '{provider.name}' needs a key, and {name} holds {problem}"
        fix = f"put the key that the provider gave you into {name}, as it is"
        yield Finding(MISSING_API_KEY, message, locate("provider"), fix)
    else:
        yield from _check_destination(provider, settings, variables, locate)
        if not needs_no_key(provider, settings, environ):  # the key of a server on this machine is often no secret
            short = [name for name in variables if is_short(environ.get(name, ""))]
            yield from (short_secret(f"{name}, the key of '{provider.name}',", locate("provider")) for name in short)


def _unusable_key(provider: Provider, settings: ModelSettings, environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the variable whose value is not a key, and why; a server on this machine may take any."""
    if needs_no_key(provider, settings, environ) or any(value_at(settings.options, path) for path in provider.keyless):
        return None
    name = next((name for name in key_variables(provider, settings) if environ.get(name, "").strip()), None)
    problem = fault_of_key(environ[name]) if name is not None else None
    return (name, problem) if name is not None and problem is not None else None


def _check_destination(
    provider: Provider, settings: ModelSettings, variables: tuple[str, ...], locate: Locate
) -> Iterator[Finding]:
    """Report a host in the file that gets the key from the environment, since files come from other people."""
    host = written_host(provider, settings)
    if host is None or not provider.default_host or same_host(host, provider.default_host):
        return
    from strands_cli.addresses.written_places import is_local

    if not is_local(host):
        holders = " or ".join(variables)
        message = f"'{_without_user(host)}' gets the key that {holders} holds, and is not {provider.default_host}"
        fix = "check that the key was made for that host"
        yield Finding(KEY_TO_OTHER_HOST, message, locate("host"), fix, "warning")


def _without_user(host: str) -> str:
    """Return a host without a user and password in it."""
    scheme, separator, rest = host.rpartition("://")
    return f"{scheme}{separator}{rest.rpartition('@')[2]}"


def _check_aws(provider: Provider, environ: Mapping[str, str], locate: Locate) -> Iterator[Finding]:
    """Warn if no AWS credentials are visible; only a request could confirm it."""
    if any(environ.get(name) for name in _AWS_VARIABLES):
        return
    if not (_aws_file(environ, "credentials") or _aws_file(environ, "config")):
        message = f"provider '{provider.name}' uses AWS credentials, and none are in the environment or in ~/.aws"
        fix = "run 'aws configure', or set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        yield Finding(MISSING_API_KEY, message, locate("provider"), fix, "warning")


def _aws_variable(environ: Mapping[str, str], name: str) -> bool:
    return bool(environ.get(f"AWS_{name}") or environ.get(f"AWS_DEFAULT_{name}"))


def _aws_file(environ: Mapping[str, str], name: str) -> bool:
    from pathlib import Path

    variable = {"credentials": "AWS_SHARED_CREDENTIALS_FILE", "config": "AWS_CONFIG_FILE"}[name]
    home = environ.get("HOME") or environ.get("USERPROFILE")
    written = environ.get(variable) or (f"{home}/.aws/{name}" if home else None)
    return written is not None and Path(written).is_file()
