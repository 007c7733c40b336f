"""Build the SDK's model object for one set of model settings, so that every setting reaches the provider."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from strands_cli.agents.model.checked_transport import NAME_IT, checked_transport, held_to, is_held_to
from strands_cli.agents.model.read_answer import is_this_machine
from strands_cli.catalog.distributions.scan import import_named
from strands_cli.errors import Denied, InvalidInput, NotEquipped, StrandsCliError, suggest
from strands_cli.planning.provider_checks import check_extra
from strands_cli.provider_table import OFF, PROVIDERS, Place, Provider, known_provider
from strands_cli.providers import (
    SETTING_FIELDS,
    ModelSettings,
    has_key,
    key_variables,
    needs_no_key,
    place_of,
    value_at,
    written_host,
)
from strands_cli.tools.pinned_transport import UnopenedPlace, library_of, require_admitted_now, tls_context_for
from strands_cli.user_files.stored_keys import with_taken_keys

if TYPE_CHECKING:
    import httpx
    from strands.models import Model


# Give the clients of all models the checked connections, in the place where each client takes one.


# A person's options for a client's connections; the client makes its own then.
_OWN = frozenset({"cert", "http2", "mounts", "proxy", "transport", "trust_env", "verify"})


def use_checked_connections(provider: str, arguments: dict[str, Any]) -> None:
    """Add checked connections to the constructor's arguments of a provider's SDK class, in place.

    The connection settings of `options` are kept. `openai` gets whole clients (see `LoopClients`), llama.cpp's class
    after it is made; LiteLLM makes its own. botocore has none of ours, but no proxy for this machine.
    """
    use = _USING.get(provider)
    if use is not None:
        use(arguments)


def use_checked_client(model: Model) -> None:
    """Replace the client of llama.cpp's class, which its constructor does not take."""
    import httpx

    client: httpx.AsyncClient = vars(model)["client"]
    transport = checked_transport("httpx", "llamacpp")
    vars(model)["client"] = httpx.AsyncClient(base_url=client.base_url, timeout=client.timeout, transport=transport)


def _use_with_stainless(module: str, provider: str) -> Callable[[dict[str, Any]], None]:
    def use(arguments: dict[str, Any]) -> None:
        http_class = import_module(module).DefaultAsyncHttpxClient
        client = http_class(transport=checked_transport(library_of(http_class), provider))
        arguments.setdefault("client_args", {}).setdefault("http_client", client)

    return use


def _use_with_responses(arguments: dict[str, Any]) -> None:
    if "bedrock_mantle_config" in arguments:
        return
    http_class = import_module("openai").DefaultAsyncHttpxClient

    class LastingClient(http_class):  # type: ignore[misc, valid-type]
        """The SDK's class closes its client after each request; no connection outlives one here."""

        async def aclose(self) -> None:
            """Do nothing."""

    client = LastingClient(transport=_transport_for_requests(http_class, "openai_responses"))
    arguments.setdefault("client_args", {}).setdefault("http_client", client)


def _use_with_ollama(arguments: dict[str, Any]) -> None:
    client_args = arguments.setdefault("ollama_client_args", {})
    if _OWN & client_args.keys():
        client_args.setdefault("verify", _context_of_httpx())
    else:
        client_args["transport"] = _transport_for_requests(_httpx_client(), "ollama")


def _use_with_mistral(arguments: dict[str, Any]) -> None:
    import httpx

    # No connection outlives its request, as with the clients that Mistral's class makes for each.
    limits = httpx.Limits(max_keepalive_connections=0)
    client_args = arguments.setdefault("client_args", {})
    client_args.setdefault("client", httpx.Client(verify=_context_of_httpx(), follow_redirects=True, limits=limits))
    transport = _transport_for_requests(httpx.AsyncClient, "mistral")
    client_args.setdefault("async_client", httpx.AsyncClient(transport=transport, follow_redirects=True))


def _transport_for_requests(client_class: type, provider: str) -> httpx.AsyncBaseTransport:
    """Return a transport for clients made for each request, in whatever event loop."""
    return checked_transport(library_of(client_class), provider, keeps_connections=False)


def _httpx_client() -> type:
    import httpx

    return httpx.AsyncClient


def _context_of_httpx() -> Any:
    return tls_context_for(_httpx_client())


def _use_with_gemini(arguments: dict[str, Any]) -> None:
    client_args = arguments.setdefault("client_args", {})
    gemini = PROVIDERS["gemini"]
    of_vertex = (value_at(arguments, path) for path in gemini.keyless)
    if any(of_vertex) or any(map(os.environ.get, gemini.keyless_variables)):
        return  # the client may then have a certificate of its own to show
    http_options = client_args.setdefault("http_options", {})
    context = _context_of_httpx()
    http_options.setdefault("client_args", {}).setdefault("verify", context)
    async_args = http_options.setdefault("async_client_args", {})
    if not _OWN & async_args.keys():
        async_args["transport"] = _transport_for_requests(_httpx_client(), "gemini")
    # `verify` is httpx's name, `ssl` that of aiohttp and of web sockets; each client accepts its own.
    for name in ("verify", "ssl"):
        async_args.setdefault(name, context)


def _use_with_aws(arguments: dict[str, Any]) -> None:
    from urllib.parse import urlsplit

    host = urlsplit(str(arguments.get("endpoint_url") or "")).hostname
    if host and is_this_machine(host) and isinstance(arguments.get("boto_client_config"), dict):
        arguments["boto_client_config"].setdefault("proxies", {})


_USING: dict[str, Callable[[dict[str, Any]], None]] = {
    "anthropic": _use_with_stainless("anthropic", "anthropic"),
    "writer": _use_with_stainless("writerai", "writer"),
    "openai_responses": _use_with_responses,
    "ollama": _use_with_ollama,
    "mistral": _use_with_mistral,
    "gemini": _use_with_gemini,
    "bedrock": _use_with_aws,
}


# The HTTP connections to providers: one client for each event loop, shared by all models and runs.


@dataclass(slots=True)
class _SharedClient:
    """A loop's HTTP client, and the number of models that use it."""

    client: Any
    users: int = 0


# By the address to which the connections are held, too: they go to the names of one workflow alone then.
_shared: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _SharedClient]] = WeakKeyDictionary()


class LoopClients:
    """The client for `OpenAIModel`: the model's own settings over the connections that all models share.

    The SDK's class creates a client for each request. A client cannot move between event loops, and the SDK opens its
    own loops for synchronous calls, so this object has one client for each loop.
    """

    def __init__(self, client_class: Callable[..., Any], http_class: type, arguments: Any) -> None:
        self._make = client_class
        self._make_http = http_class
        self._arguments: Mapping[str, Any] = arguments
        self._written = is_held_to()
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    @property
    def chat(self) -> Any:
        """Return the running loop's `chat` interface, the only one that the SDK's class uses."""
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            shared = _shared.setdefault(loop, {}).setdefault(self._written, _SharedClient(None))
            library = library_of(self._make_http)
            with held_to(self._written):
                shared.client = shared.client or self._make_http(transport=checked_transport(library, "openai"))
            self._clients[loop] = self._make(**self._arguments, http_client=shared.client)
            shared.users += 1
        return self._clients[loop].chat

    async def aclose(self) -> None:
        """Release the running loop's client; its connections close when no other model uses them."""
        loop = asyncio.get_running_loop()
        if self._clients.pop(loop, None) is None:
            return
        shared = _shared[loop][self._written]
        shared.users -= 1
        if not shared.users:
            await _shared[loop].pop(self._written).client.aclose()


# Clients of OpenAI-compatible servers raise without a key, even if the server needs none.
# Providers whose clients make connections that no transport of ours is in.
_OF_NONE = "a model that no row of the program makes"
_CLIENTS_OF_THEIR_OWN = ("bedrock", "sagemaker", "litellm", _OF_NONE)
STAND_IN_KEY = "not-needed"


def build_model(settings: ModelSettings, environ: Mapping[str, str] | None = None, *, of_others: bool = False) -> Model:
    """Return the model of a provider, importing only that provider's module.

    The client's own retries are disabled unless `options` sets them: the engine retries, so that each attempt is
    counted, shown and journaled.

    Args:
        settings: Settings that `check_provider` has passed.
        environ: The environment; `os.environ` by default. Keys stay there: the client reads them itself.
        of_others: Whether others wrote the host: a name that looks public must lead to a public place then.

    Raises:
        NotEquipped: The provider's client is not installed or cannot be imported; that of a distribution fails.
        Denied: The host of others leads to a place that is not public.
        InvalidInput: The class or its client refuses a setting.
        ValueError: The provider is unknown, or is `replay`, whose models come from a recording.
    """
    provider = known_provider(settings.provider)
    if provider is None or provider.make is None:
        raise ValueError(f"provider {settings.provider!r} makes no model")
    findings = tuple(check_extra(provider))
    if findings:
        raise NotEquipped(findings[0].message, findings=findings, fix=findings[0].fix)
    arguments = model_arguments(settings, with_taken_keys(os.environ if environ is None else environ))
    written = (of_others and written_host(provider, settings)) or ""
    if written and (_name_of_class(provider) or _OF_NONE) in _CLIENTS_OF_THEIR_OWN:
        _require_admitted(written)
    if not provider.is_sdk_class:
        return _model_of_others(provider, arguments)
    model_class = _load(provider, str(provider.make))
    _require_client_arguments(provider, arguments)
    try:
        with held_to(written):
            return _made(provider, model_class, arguments)
    # Third-party constructors raise anything: ValueError, TypeError, botocore and openai errors.
    except Exception as error:
        raise InvalidInput(
            f"provider '{provider.name}' refused its settings: {error}",
            fix="correct `runtime` or its `options`; `strands plan SPEC` shows them",
        ) from error


def _require_admitted(text: str) -> None:
    """Check the place of a client whose connections are not ours: only as it is now, since it looks it up again."""
    try:
        require_admitted_now(text)
    except UnopenedPlace as error:
        raise Denied(str(error), fix=NAME_IT) from error


def _name_of_class(provider: Provider) -> str | None:
    """Return the program's own provider with the same class of the SDK, whose connections are checked the same way."""
    if provider.is_of_core:
        return provider.name
    return next((row.name for row in PROVIDERS.values() if provider.is_sdk_class and row.make == provider.make), None)


def _model_of_others(provider: Provider, arguments: dict[str, Any]) -> Model:
    """Return the model that the function of a distribution makes."""
    from strands.models import Model

    make = provider.make
    maker = make if isinstance(make, str) else f"{getattr(make, '__module__', '')}:{getattr(make, '__qualname__', '')}"
    who = f"provider '{provider.name}' of {provider.distribution} ({maker})"
    fix = f"pip install --upgrade {provider.distribution}, or take another provider"
    try:
        function: Any = import_named(make) if isinstance(make, str) else make
        model = function(**arguments)
    except (StrandsCliError, KeyboardInterrupt):
        raise
    except BaseException as error:  # a plugin may raise anything, SystemExit too
        raise NotEquipped(f"{who} failed: {type(error).__name__}: {error}", fix=fix) from error
    if not isinstance(model, Model):
        raise NotEquipped(f"{who} returned {type(model).__name__}, not a model of the SDK", fix=fix)
    return model


def _made(provider: Provider, model_class: Callable[..., Any], arguments: dict[str, Any]) -> Model:
    name = _name_of_class(provider) or ""
    use_checked_connections(name, arguments)
    _make_objects(provider, arguments)
    if name == "openai" and "bedrock_mantle_config" not in arguments:
        http_class: Any = _load(provider, "openai:DefaultAsyncHttpxClient")
        client = LoopClients(_load(provider, "openai:AsyncOpenAI"), http_class, arguments.pop("client_args"))
        model: Model = model_class(client=client, **arguments)
        vars(model)["client"] = client
    else:
        model = model_class(**arguments)
        if name == "llamacpp":
            use_checked_client(model)
    return model


async def close_model(model: Model) -> None:
    """Close the connections of a model, in the event loop that used it.

    Several of the SDK's classes (llama.cpp, Anthropic, Writer, those of AWS) open one client for their lifetime and
    cannot close it; OpenAI's uses ours; the others open one for each request.
    """
    from inspect import isawaitable

    client = getattr(model, "client", None)
    close = getattr(client, "aclose", None) or getattr(client, "close", None)
    closing = close() if close is not None else None
    if isawaitable(closing):
        await closing


async def failure_to_close(who: str, model: Model) -> str | None:
    """Close a model as `close_model` does; return the error, since the results of its runs are valid all the same."""
    try:
        await close_model(model)
    except Exception as error:  # noqa: BLE001 - a provider's client may raise anything
        return f"closing the model of '{who}' failed: {type(error).__name__}: {error}"
    return None


def model_arguments(settings: ModelSettings, environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the keyword arguments of the provider's constructor, as plain values.

    A field of the settings takes precedence over `options`, and `options` over the presets of the table.
    """
    provider = known_provider(settings.provider) or PROVIDERS[settings.provider]
    arguments: dict[str, Any] = copied(settings.options)
    if arguments.get("cache_config") == OFF:
        del arguments["cache_config"]
    for name in SETTING_FIELDS:
        path, value = place_of(provider, name, settings, environ), getattr(settings, name)
        if path is not None and value is not None:
            _put(arguments, path, value)
    for path, value in provider.presets.items():
        if value_at(arguments, path) is None:
            _put(arguments, path, value)
    if provider.key_place and needs_no_key(provider, settings, environ) and not has_key(provider, settings, environ):
        _put(arguments, provider.key_place, STAND_IN_KEY)
    elif names := [name for name in key_variables(provider, settings) if environ.get(name, "").strip()]:
        _put_key(arguments, provider, names[0], environ[names[0]])
    return _completed(_name_of_class(provider), arguments)


def _put_key(arguments: dict[str, Any], provider: Provider, name: str, key: str) -> None:
    """Give the constructor a key that its client does not read by itself: one that the environment lacks."""
    is_stored = not os.environ.get(name, "").strip()
    place = ("client_args", "auth_token") if name == "ANTHROPIC_AUTH_TOKEN" else provider.key_place
    has_own = any(value_at(arguments, path) is not None for path in (*([place] if place else []), *provider.keyless))
    if place is None and is_stored:  # the client of a distribution that has no other way
        os.environ[name] = key
    elif place is not None and not has_own and (is_stored or provider.passes_key):
        _put(arguments, place, key)


def _completed(name: str | None, arguments: dict[str, Any]) -> dict[str, Any]:
    """Add the keyword arguments without a default in the constructor."""
    if name == "ollama":
        arguments.setdefault("host", None)
    elif name == "sagemaker":
        arguments.setdefault("endpoint_config", {})
        arguments.setdefault("payload_config", {})
    return arguments


def copied(node: Any) -> Any:
    """Return a copy of mappings and lists, because the SDK's classes modify their arguments."""
    if isinstance(node, Mapping):
        return {key: copied(value) for key, value in node.items()}
    return [copied(value) for value in node] if isinstance(node, list) else node


def _put(arguments: dict[str, Any], path: Place, value: Any) -> None:
    for key in path[:-1]:
        inner = arguments.get(key)
        if not isinstance(inner, dict):
            inner = arguments[key] = {}
        arguments = inner
    arguments[path[-1]] = value


def _load(provider: Provider, path: str) -> Callable[..., Any]:
    """Return the object that the table names as `module:name`."""
    from importlib import import_module

    if "litellm" in path:
        # Otherwise its import downloads a price map, with retries.
        os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    module, _, name = path.partition(":")
    try:
        factory: Callable[..., Any] = getattr(import_module(module), name)
        if "litellm" in path:
            # It prints advice to standard output on every failed request, among the results.
            vars(import_module("litellm"))["suppress_debug_info"] = True
    # Importing a client runs its code; an incomplete installation raises anything.
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        fix = f"pip install --upgrade '{provider.distribution}[{provider.extra}]'" if provider.extra else None
        raise NotEquipped(f"the client of provider '{provider.name}' cannot be imported: {reason}", fix=fix) from error
    return factory


def _require_client_arguments(provider: Provider, arguments: Mapping[str, Any]) -> None:
    """Refuse unknown `client_args` now, because several SDK classes create their client only for a request."""
    written = arguments.get("client_args")
    if provider.client_class is None or not written:
        return
    from inspect import Parameter, signature

    parameters = signature(_load(provider, provider.client_class)).parameters
    # A client wrapped by an instrumentation may accept any keyword and pass it on.
    open_ended = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values())
    parameter_names = [name for name in parameters if not name.startswith("_")]
    for key in written:
        if key not in parameter_names and not open_ended:
            fix = suggest(str(key), parameter_names, f"use one of: {', '.join(parameter_names)}")
            raise InvalidInput(f"the client of provider '{provider.name}' has no argument '{key}'", fix=fix)


def _make_objects(provider: Provider, arguments: dict[str, Any]) -> None:
    """Replace options by the Python objects that a file cannot contain, in place."""
    for holder in (arguments, arguments.get("endpoint_config")):
        if isinstance(holder, dict) and isinstance(holder.get("cache_config"), dict):
            from strands.models import CacheConfig

            holder["cache_config"] = CacheConfig(**holder["cache_config"])
    if isinstance(arguments.get("boto_client_config"), dict):
        config_class = _load(provider, "botocore.config:Config")
        arguments["boto_client_config"] = config_class(**arguments["boto_client_config"])
    if "gemini_tools" in arguments:
        tool_class = _load(provider, "google.genai.types:Tool")
        arguments["gemini_tools"] = [tool_class(**tool) for tool in arguments["gemini_tools"]]
    if isinstance(arguments.get("timeout"), list):
        # llama.cpp's class accepts (connect, read) seconds only as a tuple.
        arguments["timeout"] = tuple(arguments["timeout"])
