"""Where the local page is served: an address of this machine; another one only on purpose, and with TLS."""

from __future__ import annotations

import ipaddress
import os
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from strands_cli.api import StorePlace, UsageError

LOOPBACK = "127.0.0.1"
# How many connections may wait until they are accepted.
WAITING = 1024


@dataclass(frozen=True, slots=True)
class UiOptions:
    """How the page is served.

    Attributes:
        place: Where the runs are stored.
        folder: Whose workflows are shown, and where child processes work.
        host: A name or an address of this machine.
        port: Its port; 0 takes a free one.
        is_known: Whether the person knows that other machines can then reach the page.
        certificate: A file with the certificate, and those that it depends on, in PEM.
        key: A file with its private key.
    """

    place: StorePlace
    folder: Path
    host: str = LOOPBACK
    port: int = 0
    is_known: bool = False
    certificate: Path | None = None
    key: Path | None = None

    @property
    def is_secure(self) -> bool:
        """Return whether TLS is used."""
        return self.certificate is not None

    def origins(self, port: int) -> frozenset[str]:
        """Return the addresses under which a browser may reach the page."""
        scheme = "https" if self.is_secure else "http"
        hosts = {_in_address(self.host)} | ({"127.0.0.1", "localhost", "[::1]"} if is_loopback(self.host) else set())
        usual = 443 if self.is_secure else 80
        places = {f"{host}:{port}" for host in hosts} | (hosts if port == usual else set())
        return frozenset(f"{scheme}://{address.lower()}" for address in places)

    def address(self, port: int, token: str) -> str:
        """Return the address to open in a browser."""
        return f"{'https' if self.is_secure else 'http'}://{_in_address(self.host)}:{port}/?token={token}"

    def require_allowed(self) -> None:
        """Check that only this machine can reach the page, or that the person wants it otherwise and has TLS.

        Raises:
            UsageError: Neither is so, or the files of TLS cannot be used.
        """
        if (self.certificate is None) != (self.key is None):
            raise UsageError("--tls-cert and --tls-key belong together", fix="name both files")
        if not is_loopback(self.host):
            fix = "omit --host, and reach the page over ssh: ssh -L 8765:127.0.0.1:8765 THIS_MACHINE"
            if not self.is_known or self.certificate is None:
                needed = "other machines could reach the page: --host needs --i-know, --tls-cert and --tls-key"
                raise UsageError(needed, fix=fix)
            if _is_every(self.host):
                raise UsageError(f"--host {self.host} is every address of this machine", fix="name one of them")
        if self.certificate is not None and self.key is not None:
            _require_usable(self.certificate, self.key)

    def bound(self) -> socket.socket:
        """Return a socket that listens.

        Raises:
            UsageError: The port is in use, or the host is not of this machine.
        """
        try:
            kind, *_, address = socket.getaddrinfo(self.host.strip("[]"), self.port, type=socket.SOCK_STREAM)[0]
            created = socket.create_server(address[:2], family=kind)
            listening = _ListeningSocket(kind, fileno=created.detach())
            listening.listen()
            return listening
        except (OSError, OverflowError, UnicodeError) as error:
            number = None if isinstance(error, socket.gaierror) else getattr(error, "errno", None)
            reason = os.strerror(number) if number else error
            fix = "omit --port to take a free one" if self.port else "omit --host"
            raise UsageError(f"{self.host}:{self.port} cannot be listened on: {reason}", fix=fix) from error


class _ListeningSocket(socket.socket):
    """A socket in which many connections may wait, however few the event loop accepts before it reads others."""

    def listen(self, backlog: int = WAITING, /) -> None:
        """Listen; asyncio gives how many it accepts at a time."""
        super().listen(max(backlog, WAITING))


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a host."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_every(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_unspecified
    except ValueError:
        return not host


def _in_address(host: str) -> str:
    return f"[{host.strip('[]')}]" if ":" in host else host


def _require_usable(certificate: Path, key: Path) -> None:
    try:
        # Without a password: a question for one would wait where no person sees it.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        message = f"{certificate} and {key} cannot be used for TLS: {reason}"
        raise UsageError(
            message, fix="name a certificate and its key, both in PEM, the key without a password"
        ) from error
