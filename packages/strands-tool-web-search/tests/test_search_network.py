"""Where searches may go: https with verified certificates, and plain http on this machine only."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

from strands_tool_kit import resolve
from strands_tool_web_search._service import Service


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Answer names from a table of the test."""
    table: dict[str, list[str]] = {}

    async def look_up(host: str, port: int) -> list[str]:
        if host not in table:
            raise OSError("no such name in this test")
        return table[host]

    monkeypatch.setattr(resolve, "look_up", look_up)
    return table


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(key), "-out", str(cert), "-days", "3650", "-subj", "/CN=own.test"]
    command += ["-addext", "subjectAltName=DNS:own.test", "-addext", "keyUsage=critical,keyCertSign,digitalSignature"]
    subprocess.run(command, check=True, capture_output=True)
    return key, cert


@pytest.fixture(scope="module")
def tls_server(start_server, certificate: tuple[Path, Path]):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate[1], certificate[0])
    return start_server(ssl=context)


@pytest.fixture
def secure(room, tls_server, names, certificate: tuple[Path, Path]):
    """A room whose services are at own.test, with a certificate for that name."""
    tls_server.asked.clear()
    names |= {"own.test": ["127.0.0.1"], "other.test": ["127.0.0.1"]}
    room.config |= {"base_url": tls_server.url(scheme="https", host="own.test"), "ca_file": str(certificate[1])}
    room.server = tls_server
    room.answers(room.recorded("tavily.json"))
    return room


def test_a_verified_certificate_is_accepted(secure) -> None:
    assert secure.tavily().status == "success"
    assert secure.server.asked[0].headers["host"] == f"own.test:{secure.server.port}"


@pytest.mark.parametrize("host", ["other.test", "127.0.0.1"])
def test_a_certificate_for_another_name_is_not(secure, host: str) -> None:
    secure.config["base_url"] = secure.server.url(scheme="https", host=host)
    answer = secure.tavily()
    assert (answer.error, answer.is_retryable) == (("unavailable", "tls"), False)
    assert not secure.server.asked


def test_an_unknown_authority_is_not(secure) -> None:
    del secure.config["ca_file"]
    assert secure.tavily().error == ("unavailable", "tls")
    assert not secure.server.asked


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"base_url": "http://example.org"}, "https://"),
        ({"base_url": "http://10.0.0.1:8080"}, "https://"),
        ({"base_url": "http://127.0.0.1.evil.test"}, "https://"),
        ({"base_url": "http://localhost.evil.test"}, "https://"),
        ({"base_url": "ftp://example.org"}, "https://"),
        ({"base_url": "https://"}, "https://"),
        ({"base_url": "example.org"}, "https://"),
        ({"base_url": "https://user:pw@example.org"}, "user name"),
        ({"base_url": "https://example.org/?a=b"}, "query"),
        ({"base_url": "https://exa mple.org:port"}, ""),
        ({"base_url": 7}, ""),
        ({"proxy": "https://example.org"}, "proxy"),
        ({"proxy": "socks5://example.org"}, "proxy"),
        ({"base_url": "https://127.0.0.1:1", "ca_file": "/nowhere/ca.pem"}, "ca_file"),
    ],
)
def test_a_wrong_configuration_is_reported_as_the_operators(room, config: dict, words: str) -> None:
    room.config |= config
    answer = room.tavily()
    assert answer.error == ("unavailable", "config")
    assert words in answer.text
    assert not answer.is_retryable


def test_plain_http_stays_on_this_machine_whatever_its_name_says(room, names) -> None:
    room.config["base_url"] = f"http://localhost:{room.server.port}"
    room.answers(room.recorded("tavily.json"))
    names["localhost"] = ["127.0.0.1"]
    assert room.tavily().status == "success"
    names["localhost"] = ["127.0.0.1", "192.0.2.1"]
    assert room.tavily().error == ("unavailable", "config")
    assert len(room.server.asked) == 1


def test_a_second_address_is_tried_when_the_first_is_dead(room, names) -> None:
    room.config["base_url"] = f"http://localhost:{room.server.port}"
    room.answers(room.recorded("tavily.json"))
    names["localhost"] = ["127.0.0.9", "127.0.0.1"]
    assert room.tavily().status == "success"


def test_a_closed_port_and_an_unknown_name_may_be_asked_again(room, names) -> None:
    for base, reason in (("http://127.0.0.1:1", "connect"), ("https://nowhere.test", "resolve")):
        room.config["base_url"] = base
        answer = room.duck()
        assert (answer.error, answer.is_retryable) == (("unavailable", reason), True)


def test_a_resolver_that_hangs_does_not_hold_up_the_call(room, monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(host: str, port: int) -> list[str]:
        await asyncio.Event().wait()
        return []

    monkeypatch.setattr(resolve, "look_up", hang)
    room.config |= {"base_url": "https://slow.test", "timeout_s": 0.1}
    assert room.duck().error == ("timeout", "deadline")


def test_nothing_is_taken_from_the_environment(room, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    room.answers(room.recorded("results.html"))
    assert room.duck(max_results=1).status == "success"
    assert "authorization" not in room.server.asked[0].headers


def test_a_proxy_of_the_operator_is_used_and_sees_no_key(room, names) -> None:
    # What it is asked for is a tunnel; the request itself would go through that, encrypted.
    room.config |= {"base_url": "https://own.test", "proxy": room.server.url().replace("//", "//user:word@")}
    room.answers(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n")
    assert room.tavily().error == ("unavailable", "connect")
    asked = room.server.asked[0]
    assert (asked.method, asked.target) == ("CONNECT", "own.test:443")
    assert asked.headers["proxy-authorization"].startswith("Basic ")
    assert room.key not in str(asked.headers)


def test_without_configuration_the_services_themselves_are_asked() -> None:
    from strands_tool_web_search import _news, duckduckgo_search, tavily_search

    assert str(Service.of({}, _news.BASE_URL, "news.js").url) == "https://duckduckgo.com/news.js"
    declared = duckduckgo_search.TOOL_SPEC["strands_cli"]["capabilities"]["network"]
    assert [f"https://{host}" for host in declared] == [duckduckgo_search.BASE_URL, _news.BASE_URL]
    assert str(Service.of({}, duckduckgo_search.BASE_URL, "html/").url) == "https://html.duckduckgo.com/html/"
    assert str(Service.of({}, tavily_search.BASE_URL, "search").url) == "https://api.tavily.com/search"
