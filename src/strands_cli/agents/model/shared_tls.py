"""One TLS context for the clients of all models: certificate authorities are read once for a process."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable
from importlib import import_module
from typing import Any

from strands_cli.provider_table import PROVIDERS
from strands_cli.providers import value_at
from strands_cli.tools import tls_context_for


def share_tls_context(provider: str, arguments: dict[str, Any]) -> None:
    """Add the process's TLS context to the constructor's arguments of a provider's SDK class, in place.

    What `options` says of the connection is kept. `openai` gets whole connections (see `http_clients`); LiteLLM shares
    its own context; the classes of llama.cpp and of OpenAI's responses, and botocore, accept none.
    """
    share = _SHARING.get(provider)
    if share is not None:
        share(arguments)


def _share_with_stainless(module: str) -> Callable[[dict[str, Any]], None]:
    def share(arguments: dict[str, Any]) -> None:
        http_class = import_module(module).DefaultAsyncHttpxClient
        client = http_class(verify=tls_context_for(http_class))
        arguments.setdefault("client_args", {}).setdefault("http_client", client)

    return share


def _share_with_ollama(arguments: dict[str, Any]) -> None:
    arguments.setdefault("ollama_client_args", {}).setdefault("verify", _context_of_httpx())


def _share_with_mistral(arguments: dict[str, Any]) -> None:
    import httpx

    # No connection outlives its request, as with the clients that Mistral's class makes for each.
    settings: Any = {
        "verify": _context_of_httpx(),
        "follow_redirects": True,
        "limits": httpx.Limits(max_keepalive_connections=0),
    }
    client_args = arguments.setdefault("client_args", {})
    client_args.setdefault("client", httpx.Client(**settings))
    client_args.setdefault("async_client", httpx.AsyncClient(**settings))


def _context_of_httpx() -> ssl.SSLContext:
    import httpx

    return tls_context_for(httpx.AsyncClient)


def _share_with_gemini(arguments: dict[str, Any]) -> None:
    client_args = arguments.setdefault("client_args", {})
    gemini = PROVIDERS["gemini"]
    of_vertex = (value_at(arguments, place) for place in gemini.keyless)
    if any(of_vertex) or any(map(os.environ.get, gemini.keyless_variables)):
        return  # the client may then have a certificate of its own to show
    http_options = client_args.setdefault("http_options", {})
    context = _context_of_httpx()
    http_options.setdefault("client_args", {}).setdefault("verify", context)
    # `verify` is httpx's name, `ssl` that of aiohttp and of web sockets; the client takes what each accepts.
    for name in ("verify", "ssl"):
        http_options.setdefault("async_client_args", {}).setdefault(name, context)


_SHARING: dict[str, Callable[[dict[str, Any]], None]] = {
    "anthropic": _share_with_stainless("anthropic"),
    "writer": _share_with_stainless("writerai"),
    "ollama": _share_with_ollama,
    "mistral": _share_with_mistral,
    "gemini": _share_with_gemini,
}
