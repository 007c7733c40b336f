"""Give the clients of all models the checked connections, in the place where each client takes one."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from strands_cli.agents.model.checked_transport import checked_transport
from strands_cli.agents.model.environment_proxy import is_this_machine
from strands_cli.provider_table import PROVIDERS
from strands_cli.providers import value_at
from strands_cli.tools.tls_context import library_of, tls_context_for

if TYPE_CHECKING:
    import httpx
    from strands.models import Model

# What a person may say of a client's connections; the client makes its own then.
_OWN = frozenset({"cert", "http2", "mounts", "proxy", "transport", "trust_env", "verify"})


def use_checked_connections(provider: str, arguments: dict[str, Any]) -> None:
    """Add checked connections to the constructor's arguments of a provider's SDK class, in place.

    What `options` says of the connection is kept. `openai` gets whole clients (see `http_clients`), llama.cpp's class
    after it is made; LiteLLM makes its own. botocore has none of ours, but no proxy for this machine.
    """
    use = _USING.get(provider)
    if use is not None:
        use(arguments)


def use_checked_client(model: Model) -> None:
    """Replace the client of llama.cpp's class, which its constructor does not take."""
    import httpx

    made: httpx.AsyncClient = vars(model)["client"]
    transport = checked_transport("httpx", "llamacpp")
    vars(model)["client"] = httpx.AsyncClient(base_url=made.base_url, timeout=made.timeout, transport=transport)


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
    """Return a transport for clients that are made for each request, in whatever event loop."""
    return checked_transport(library_of(client_class), provider, keeps_connections=False)


def _httpx_client() -> type:
    import httpx

    return httpx.AsyncClient


def _context_of_httpx() -> Any:
    return tls_context_for(_httpx_client())


def _use_with_gemini(arguments: dict[str, Any]) -> None:
    client_args = arguments.setdefault("client_args", {})
    gemini = PROVIDERS["gemini"]
    of_vertex = (value_at(arguments, place) for place in gemini.keyless)
    if any(of_vertex) or any(map(os.environ.get, gemini.keyless_variables)):
        return  # the client may then have a certificate of its own to show
    http_options = client_args.setdefault("http_options", {})
    context = _context_of_httpx()
    http_options.setdefault("client_args", {}).setdefault("verify", context)
    async_args = http_options.setdefault("async_client_args", {})
    if not _OWN & async_args.keys():
        async_args["transport"] = _transport_for_requests(_httpx_client(), "gemini")
    # `verify` is httpx's name, `ssl` that of aiohttp and of web sockets; the client takes what each accepts.
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
