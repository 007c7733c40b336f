"""TLS is always verified, secrets go to their own host only, and a proxy gets what allow_hosts admits."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(key), "-out", str(cert), "-days", "3650", "-subj", "/CN=own.test"]
    command += ["-addext", "subjectAltName=DNS:own.test", "-addext", "keyUsage=critical,keyCertSign,digitalSignature"]
    subprocess.run(command, check=True, capture_output=True)
    return key, cert


@pytest.fixture(scope="module")
def tls_server(start_server, certificate: tuple[Path, Path]):
    key, cert = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return start_server(ssl=context)


@pytest.fixture
def secure(room, tls_server, certificate: tuple[Path, Path]):
    """A room whose own.test and other.test lead to a server with a certificate for own.test."""
    tls_server.asked.clear()
    tls_server.answers |= {"/": room.reply("over tls", content_type="text/plain"), "/out": room.moved(room.other.url())}
    room.other.answers["/"] = room.reply("outside", content_type="text/plain")
    room.names |= {"own.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]}
    room.config["allow_private"].append(f"127.0.0.1:{tls_server.port}")
    room.config["ca_file"] = str(certificate[1])
    return room


def test_a_verified_certificate_is_accepted(secure, tls_server) -> None:
    assert secure.request(f"https://own.test:{tls_server.port}/").text == "over tls"


@pytest.mark.parametrize("host", ["other.test", "127.0.0.1"])
def test_a_certificate_for_another_name_is_not(secure, tls_server, host: str) -> None:
    assert secure.request(f"https://{host}:{tls_server.port}/").error == ("unavailable", "tls")
    assert not tls_server.asked


def test_an_unknown_authority_is_not(secure, tls_server) -> None:
    del secure.config["ca_file"]
    assert secure.request(f"https://own.test:{tls_server.port}/").error == ("unavailable", "tls")
    assert not tls_server.asked


def test_plain_http_behind_https_is_unavailable(secure) -> None:
    secure.config["timeout_s"] = 0.3
    assert secure.request(f"https://127.0.0.1:{secure.server.port}/").status == "error"


def test_a_secret_goes_to_its_own_host_over_https_only(secure, tls_server) -> None:
    secure.config["secrets"] = [
        {"host": "own.test", "secret": "KEY", "prefix": "Bearer "},
        {"host": "127.0.0.1", "header": "X-Key", "secret": "KEY"},
    ]
    secure.extra = {"secrets": {"KEY": "s3cret"}}
    answer = secure.request(f"https://own.test:{tls_server.port}/out", headers={"Authorization": "mine"})
    assert answer.text == "outside"
    assert tls_server.asked[0].headers["authorization"] == "Bearer s3cret"
    assert not {"authorization", "x-key"} & set(secure.other.asked[0].headers)
    assert "s3cret" not in str(answer)


def test_a_secret_that_is_not_declared_is_reported(secure, tls_server) -> None:
    secure.config["secrets"] = [{"host": "own.test", "secret": "KEY"}]
    assert secure.request(f"https://own.test:{tls_server.port}/").error == ("unavailable", "secret")
    assert not tls_server.asked


def test_bytes_under_tls_are_counted_too(secure, tls_server) -> None:
    async def endless(asked, writer) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n")
        for _ in range(500):
            writer.write(b"x" * 65_536)
            await writer.drain()

    tls_server.answers["/endless"] = endless
    secure.config["max_wire_bytes"] = 100_000
    answer = secure.request(f"https://own.test:{tls_server.port}/endless")
    assert answer.value["truncated"]
    assert answer.value["size"] <= 100_000


def test_a_proxy_gets_only_allowed_hosts(room) -> None:
    room.config |= {"proxy": room.other.url(""), "allow_hosts": ["api.test"], "allow_private": []}
    room.other.answers["http://api.test/x"] = room.reply("through", content_type="text/plain")
    room.other.answers["http://api.test/out"] = room.moved("http://169.254.169.254/")
    assert room.request("http://api.test/x").text == "through"
    assert room.request("http://internal.test/").error == ("denied", "host")
    assert room.request("http://api.test/out").error == ("denied", "host")
    assert len(room.other.asked) == 2


def test_a_proxy_with_a_public_name_does_not_lead_into_a_private_network(room) -> None:
    room.names |= {"proxy.test": ["127.0.0.1"], "proxy.internal": ["127.0.0.1"]}
    room.other.answers["http://api.test/x"] = room.reply("through", content_type="text/plain")
    there = f"http://proxy.test:{room.other.port}"
    room.config |= {"proxy": there, "allow_hosts": ["api.test"], "allow_private": []}
    assert room.request("http://api.test/x").error == ("denied", "address")
    assert not room.other.asked
    room.config["allow_private"] = [f"127.0.0.0/8:{room.other.port}"]
    assert room.request("http://api.test/x").text == "through"
    room.config |= {"proxy": there.replace(".test", ".internal"), "allow_private": []}
    assert room.request("http://api.test/x").text == "through"
    assert room.request("https://api.test/").error[0] == "unavailable"
