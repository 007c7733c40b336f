"""What an index offers is verified, and an index that misbehaves leaves a publisher unverified."""

from __future__ import annotations

import json
import socket
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from publisher_artifacts import ARTIFACTS, GITHUB, WHEEL, digest_of, document_of
from publisher_index_server import SIMPLE_HTML, SIMPLE_JSON, Handler, Index, started

from strands_cli.api import Publisher
from strands_cli_index.publishers.attested import PublisherAttestation
from strands_cli_index.publishers.index_offers import attested_by_indexes
from strands_cli_index.publishers.index_settings import IndexSettings
from strands_cli_index.publishers.limited_fetch import Limits

# They make wheels, indexes or keys.
pytestmark = pytest.mark.wheels

NAME = "pypi-attestations"
PAGE = f"/simple/{NAME}/"
DOCUMENT = f"/integrity/{GITHUB}"
ACME = Publisher("github", "trailofbits/pypi-attestations", "release.yml")
# For what never ends; the rest has the usual time.
SHORT = Limits(20_000_000, 0.5)


@pytest.fixture
def index() -> Iterator[Index]:
    with started() as made:
        made.publish(NAME, ARTIFACTS / GITHUB, document_of(GITHUB))
        yield made


def ask(*urls: str, limits: Limits | None = None, digest: str | None = None) -> PublisherAttestation:
    return attested_by_indexes(NAME, [(GITHUB, digest or digest_of(GITHUB))], IndexSettings(urls), limits)


def listing(*files: Any) -> bytes:
    return json.dumps({"meta": {"api-version": "1.3"}, "name": NAME, "files": files}).encode()


@pytest.mark.parametrize("html", [False, True])
def test_the_provenance_that_an_index_offers_is_verified(html: bool, index: Index) -> None:
    index.publish(NAME, ARTIFACTS / GITHUB, document_of(GITHUB), html=html)
    found = ask(index.url)
    assert (found.status, found.publisher) == ("verified", ACME)
    assert [path for path, _ in index.asked] == [PAGE, DOCUMENT]


def test_a_wheel_is_found_by_its_digest_alone(index: Index) -> None:
    index.publish("circleci", ARTIFACTS / WHEEL, document_of(WHEEL))
    found = attested_by_indexes("circleci", [("", "0" * 64), ("", digest_of(WHEEL))], IndexSettings((index.url,)))
    assert found.status == "verified"


def test_an_index_without_provenance_leaves_it_unverified(index: Index) -> None:
    index.publish(NAME, ARTIFACTS / GITHUB, None)
    assert ask(index.url).status == "unverified"


def test_a_file_of_the_same_name_with_other_bytes_is_another_file(index: Index) -> None:
    assert ask(index.url, digest=digest_of(WHEEL)).status == "unverified"
    assert [path for path, _ in index.asked] == [PAGE]


def test_provenance_of_another_file_is_wrong(index: Index) -> None:
    index.publish(NAME, ARTIFACTS / GITHUB, document_of(WHEEL))
    assert ask(index.url).status == "wrong"


def test_a_proof_of_one_index_counts_whatever_another_offers(index: Index) -> None:
    with started() as empty, started() as lying:
        lying.publish(NAME, ARTIFACTS / GITHUB, document_of(WHEEL))
        assert ask(empty.url, lying.url).status == "wrong"
        assert ask(empty.url, lying.url, index.url).publisher == ACME


def test_without_an_index_nothing_is_known() -> None:
    assert ask().status == "unverified"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"not JSON",
        b"[" * 100_000,
        b"\xff\xff",
        b"null",
        b"[]",
        b'{"files": {}}',
        b'{"files": [null, 3, "x", {}, {"filename": 3, "hashes": {"sha256": "a"}}, {"filename": "a", "hashes": []}]}',
        listing({"filename": GITHUB, "hashes": {"sha256": None}, "provenance": "/x"}),
        listing({"filename": GITHUB, "hashes": {"sha256": digest_of(GITHUB)}, "provenance": {"url": "/x"}}),
        listing({"filename": GITHUB, "hashes": {"sha256": digest_of(GITHUB)}, "provenance": "file:///etc/passwd"}),
        listing({"filename": GITHUB, "hashes": {"sha256": digest_of(GITHUB)}, "provenance": "ftp://127.0.0.1/x"}),
        listing({"filename": GITHUB, "hashes": {"sha256": digest_of(GITHUB)}, "provenance": "http://[x"}),
        listing({"filename": GITHUB, "hashes": {"sha256": digest_of(GITHUB)}, "provenance": "/not/there"}),
    ],
    ids=range(14),
)
def test_a_list_of_another_form_leaves_it_unverified(content: bytes, index: Index) -> None:
    index.give(PAGE, content, SIMPLE_JSON)
    found = ask(index.url)
    assert found.status == "unverified"
    assert found.reason


def test_a_link_that_is_not_an_address_leaves_it_unverified(index: Index) -> None:
    index.give(PAGE, f'<a href="//[#sha256={digest_of(GITHUB)}">x</a>'.encode(), SIMPLE_HTML)
    assert ask(index.url).status == "unverified"


@pytest.mark.parametrize("kind", [SIMPLE_HTML, "text/plain", "application/octet-stream"])
def test_a_page_without_links_leaves_it_unverified(kind: str, index: Index) -> None:
    index.give(PAGE, b"<a href=x#sha256=>" * 1000 + b"<!", kind)
    assert ask(index.url).status == "unverified"


@pytest.mark.parametrize("status", [301, 302, 307, 308, 401, 404, 500])
@pytest.mark.parametrize("path", [PAGE, DOCUMENT])
def test_a_status_that_is_not_an_answer_leaves_it_unverified(path: str, status: int, index: Index) -> None:
    index.give(path, b"", "text/plain", status)
    assert ask(index.url).status == "unverified"


@pytest.mark.parametrize("path", [PAGE, DOCUMENT])
def test_an_answer_that_says_it_is_large_is_not_read(path: str, index: Index) -> None:
    def answer(handler: Handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", SIMPLE_JSON)
        handler.send_header("Content-Length", str(100_000_000))
        handler.end_headers()

    index.answers[path] = answer
    found = ask(index.url)
    assert found.status == "unverified"
    assert "larger than" in found.reason


@pytest.mark.parametrize("path", [PAGE, DOCUMENT])
def test_an_answer_of_100_mb_is_read_up_to_the_limit(path: str, index: Index) -> None:
    sent = 0

    def answer(handler: Handler) -> None:
        nonlocal sent
        handler.send_response(200)
        handler.send_header("Content-Type", SIMPLE_JSON)
        handler.end_headers()
        try:
            for _ in range(100):
                handler.wfile.write(b" " * 1_000_000)
                sent += 1
        except OSError:
            pass  # the client has closed the connection

    index.answers[path] = answer
    found = ask(index.url)
    assert found.status == "unverified"
    assert "larger than" in found.reason
    assert sent < 100


@pytest.mark.parametrize("path", [PAGE, DOCUMENT])
def test_an_index_that_hangs_leaves_it_unverified(path: str, index: Index) -> None:
    index.hang(path)
    found = ask(index.url, limits=SHORT)
    assert found.status == "unverified"
    assert "in time" in found.reason


def test_headers_that_come_byte_by_byte_end_in_time(index: Index) -> None:
    def answer(handler: Handler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
        try:
            while not index.released.wait(0.05):
                handler.wfile.write(b"a")
        except OSError:
            pass

    index.answers[PAGE] = answer
    assert ask(index.url, limits=SHORT).status == "unverified"


def test_a_redirect_is_followed(index: Index) -> None:
    index.answers["/moved/"] = index.answers[PAGE]
    index.give(PAGE, b"", "text/plain", 302, Location="/moved/")
    assert ask(index.url).publisher == ACME


@pytest.mark.parametrize("target", [PAGE, "file:///etc/passwd", "ftp://127.0.0.1/x", "//[", "javascript:1"])
@pytest.mark.parametrize("path", [PAGE, DOCUMENT])
def test_a_redirect_that_goes_round_or_away_leaves_it_unverified(path: str, target: str, index: Index) -> None:
    location = path if target == PAGE else target
    index.give(path, b"", "text/plain", 302, Location=location)
    assert ask(index.url).status == "unverified"
    assert len(index.asked) < 10


def test_a_long_chain_of_redirects_ends(index: Index) -> None:
    for step in range(20):
        index.give(f"/hop/{step}", b"", "text/plain", 302, Location=f"/hop/{step + 1}")
    index.give(PAGE, b"", "text/plain", 302, Location="/hop/0")
    assert ask(index.url).status == "unverified"
    assert len(index.asked) < 10


def test_a_password_goes_to_the_index_and_nowhere_else(index: Index) -> None:
    with started() as other:
        other.publish(NAME, ARTIFACTS / GITHUB, document_of(GITHUB))
        index.give(PAGE, b"", "text/plain", 302, Location=f"{other.url}/{NAME}/")
        found = ask(index.url.replace("//", "//me:s3cret@"))
        assert found.publisher == ACME
        assert [headers.get("Authorization") for _, headers in index.asked] == ["Basic bWU6czNjcmV0"]
        assert [headers.get("Authorization") for _, headers in other.asked] == [None, None]


def test_a_password_is_not_in_the_reason(index: Index) -> None:
    index.give(PAGE, b"", "text/plain", 403)
    found = ask(index.url.replace("//", "//me:s3cret@"))
    assert found.status == "unverified"
    assert "s3cret" not in str(found)


def test_an_index_that_is_not_there_leaves_it_unverified() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert ask(f"http://127.0.0.1:{port}/simple").status == "unverified"


def test_a_server_that_does_not_speak_http_leaves_it_unverified() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(b"SSH-2.0-nothing\r\n" * 3)

        thread = threading.Thread(target=serve)
        thread.start()
        assert ask(f"http://127.0.0.1:{server.getsockname()[1]}/simple").status == "unverified"
        thread.join()


def test_without_the_extra_no_index_is_asked_and_the_words_name_it(
    index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pypi_attestations", None)
    assert str(ask(index.url)) == "unverified (install strands-cli[attestations])"
    assert index.asked == []
