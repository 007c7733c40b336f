"""The connections to a collector that others named: they end where its address says, or nothing is sent."""

from __future__ import annotations

from typing import Any

import requests
from requests.adapters import HTTPAdapter
from requests.utils import select_proxy

from strands_cli.addresses.written_places import admitted


class UnexpectedPlace(Exception):
    """A name that looks public has led to a place that is not."""


def held_adapter(written: str) -> HTTPAdapter:
    """Return an adapter for an address: each connection is checked before anything is sent; a proxy looks up itself."""

    class Held(HTTPAdapter):
        def get_connection_with_tls_context(
            self,
            request: requests.PreparedRequest,
            verify: Any,
            proxies: dict[str, str] | None = None,
            cert: Any = None,
        ) -> Any:
            pool = super().get_connection_with_tls_context(request, verify, proxies, cert)
            if select_proxy(str(request.url), proxies) is None and not hasattr(pool.ConnectionCls, "written"):
                pool.ConnectionCls = _checked(pool.ConnectionCls, written)
            return pool

    return Held()


def _checked(kind: Any, held_to: str) -> Any:
    class Checked(kind):  # type: ignore[misc]
        written = held_to

        def _new_conn(self) -> Any:
            connection = super()._new_conn()
            address, port = connection.getpeername()[:2]
            for problem in admitted(held_to, [address], port, None):
                connection.close()
                raise UnexpectedPlace(problem)
            return connection

    return Checked
