"""One TLS context serves every client of a process, and it verifies as the HTTP library's own does."""

from __future__ import annotations

import asyncio
import importlib
import ssl
from pathlib import Path
from typing import Any

import pytest

from strands_cli.tools.pinned_transport import tls_context
from tests.fakes.http_service import HttpService, make_certificate

LIBRARIES = ["httpx", "httpx2"]


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    made = make_certificate(tmp_path)
    if made is None:
        pytest.skip("openssl makes the certificate")
    return made


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Notes each time that certificate authorities are read."""
    noted: list[Any] = []
    read = ssl.SSLContext.load_verify_locations

    def load_verify_locations(self: ssl.SSLContext, *places: Any, **named: Any) -> None:
        noted.append((places, named))
        read(self, *places, **named)

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", load_verify_locations)
    return noted


@pytest.mark.parametrize("name", LIBRARIES)
def test_an_authority_of_the_environment_is_trusted_and_read_once(
    name: str, certificate: tuple[Path, Path], reads: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = importlib.import_module(name)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    with HttpService({"/": {"fine": True}}, certificate) as service:
        for _ in range(3):
            with library.Client(verify=tls_context(name), trust_env=False) as client:
                assert client.get(f"{service.url}/").json() == {"fine": True}
    assert len(reads) == 1


@pytest.mark.parametrize("name", LIBRARIES)
def test_any_other_certificate_is_refused(
    name: str, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = importlib.import_module(name)
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with (
        HttpService(certificate=certificate) as service,
        library.Client(verify=tls_context(name), trust_env=False) as client,
        pytest.raises(library.ConnectError, match="CERTIFICATE_VERIFY_FAILED"),
    ):
        client.get(f"{service.url}/")


@pytest.mark.parametrize("name", LIBRARIES)
def test_an_asynchronous_client_verifies_too(
    name: str, certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    library = importlib.import_module(name)

    async def ask(service: HttpService) -> Any:
        async with library.AsyncClient(verify=tls_context(name), trust_env=False) as client:
            return (await client.get(f"{service.url}/")).json()

    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    with HttpService({"/": {"fine": True}}, certificate) as service:
        assert asyncio.run(ask(service)) == {"fine": True}
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(library.ConnectError):
            asyncio.run(ask(service))


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_client_that_speaks_without_tls_reads_no_authorities(name: str, reads: list[Any]) -> None:
    library = importlib.import_module(name)
    with HttpService({"/": {"fine": True}}) as service, library.Client(verify=tls_context(name)) as client:
        assert client.get(f"{service.url}/").json() == {"fine": True}
    assert reads == []
